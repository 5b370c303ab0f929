/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define INIT(name) MPI_##name##_init
#else
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#endif

const char *const every_name[EVERY_COUNT] = {
#define NAME(name, iname, ...) #name,
    EVERY(NAME)
#undef NAME
};

/* As a buffer, 1 is Open MPI's MPI_IN_PLACE. */
void every_poison(struct call *c, int turn)
{
    static void *const buffers[] = {(void *) 16, NULL, (void *) 1}, *const others[] = {(void *) 1, NULL, (void *) 1};
    void *bad = others[turn % 3];

    c->sbuf = c->rbuf = buffers[turn % 3];
    c->scount = c->rcount = turn % 3 == 1 ? 0 : -7;
    c->stype = c->rtype = (MPI_Datatype) bad;
    c->scounts = c->sdisps = c->rcounts = c->rdisps = bad;
    c->swdisps = c->rwdisps = bad;
    c->stypes = c->rtypes = bad;
}

int every_issue(const struct call *c, enum form form, MPI_Request *request)
{
    if (every_large()) return every_issue_large(c, form, request);
    switch (c->coll) {
#define CASE(name, iname, ...)                                                                             \
    case name:                                                                                             \
        return form == BLOCKING      ? MPI_##name(__VA_ARGS__, c->comm)                                    \
               : form == NONBLOCKING ? MPI_##iname(__VA_ARGS__, c->comm, request)                          \
                                     : INIT(name)(__VA_ARGS__, c->comm, MPI_INFO_NULL, request);
        EVERY(CASE)
#undef CASE
    default: return MPI_ERR_OTHER;
    }
}

/* ---- layouts ---- */

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype type;

    MPI_Type_create_resized(old, lb, extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&old);
    return type;
}

static MPI_Datatype vector(int blocks, int length, int stride, MPI_Datatype of)
{
    MPI_Datatype type;

    MPI_Type_vector(blocks, length, stride, of, &type);
    return type;
}

static MPI_Datatype indexed(int blocks, int length, MPI_Aint a, MPI_Aint b, MPI_Datatype of)
{
    MPI_Aint at[2] = {a, b};
    MPI_Datatype type;

    MPI_Type_create_hindexed_block(blocks, length, at, of, &type);
    return type;
}

static MPI_Datatype pair(MPI_Aint at_double, MPI_Aint at_int)
{
    MPI_Aint at[2] = {at_double, at_int};
    MPI_Datatype of[2] = {MPI_DOUBLE, MPI_INT}, type;
    int one[2] = {1, 1};

    MPI_Type_create_struct(2, one, at, of, &type);
    return type;
}

static MPI_Datatype contiguous(int n, MPI_Datatype of)
{
    MPI_Datatype type;

    MPI_Type_contiguous(n, of, &type);
    MPI_Type_commit(&type);
    return type;
}

const struct layout *every_layout(int family, int which)
{
    static struct layout all[FAMILIES][LAYOUTS];

    if (!all[0][0].name) {
        const struct layout made[FAMILIES][LAYOUTS] = {
            {{"int x 4", MPI_INT, 4, 16, 4, {{0, 4}, {4, 4}, {8, 4}, {12, 4}}},
             {"4 ints", contiguous(4, MPI_INT), 1, 16, 4, {{0, 4}, {4, 4}, {8, 4}, {12, 4}}},
             {"vector", resized(vector(2, 2, 3, MPI_INT), 0, 32), 1, 32, 4, {{0, 4}, {4, 4}, {12, 4}, {16, 4}}},
             {"backward", resized(indexed(2, 2, 24, 8, MPI_INT), 8, 40), 1, 40, 4, {{24, 4}, {28, 4}, {8, 4}, {12, 4}}},
             {"below", resized(indexed(1, 4, -16, 0, MPI_INT), -16, 20), 1, 20, 4,
              {{-16, 4}, {-12, 4}, {-8, 4}, {-4, 4}}}},
            {{"double x 2", MPI_DOUBLE, 2, 16, 2, {{0, 8}, {8, 8}}},
             {"2 doubles", contiguous(2, MPI_DOUBLE), 1, 16, 2, {{0, 8}, {8, 8}}},
             {"strided", resized(vector(2, 1, 2, MPI_DOUBLE), 0, 40), 1, 40, 2, {{0, 8}, {16, 8}}},
             {"backward", resized(indexed(2, 1, 32, 0, MPI_DOUBLE), 0, 40), 1, 40, 2, {{32, 8}, {0, 8}}},
             {"above", resized(indexed(1, 2, 16, 0, MPI_DOUBLE), 0, 32), 1, 32, 2, {{16, 8}, {24, 8}}}},
            {{"tight", resized(pair(0, 8), 0, 12), 1, 12, 2, {{0, 8}, {8, 4}}},
             {"natural", resized(pair(0, 8), 0, 16), 1, 16, 2, {{0, 8}, {8, 4}}},
             {"int first", resized(pair(8, 0), 0, 24), 1, 24, 2, {{8, 8}, {0, 4}}},
             {"spread", resized(pair(16, 4), 0, 32), 1, 32, 2, {{16, 8}, {4, 4}}},
             {"below", resized(pair(-8, -16), -16, 16), 1, 16, 2, {{-8, 8}, {-16, 4}}}}};
        memcpy(all, made, sizeof(all));
    }
    return &all[family][which];
}

static int value(int from, int key, size_t i, int j)
{
    uint64_t v = (uint64_t) i * 4 + (uint64_t) j + (uint64_t) from * 1000003 + (uint64_t) key * 10000019;

    return (int) ((v * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

void every_put(char *p, const struct layout *l, size_t i, int from, int key)
{
    for (int j = 0; j < l->basics; j++) {
        char *at = p + (ptrdiff_t) i * l->extent + l->basic[j].at;
        int v = value(from, key, i, j);
        double d = v + 0.5;
        if (l->basic[j].bytes == 4) memcpy(at, &v, 4);
        else memcpy(at, &d, 8);
    }
}
