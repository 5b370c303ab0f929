/* SPDX-License-Identifier: BSD-3-Clause
 * The calls of every.h with MPI-4's large counts. */
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

int every_large(void)
{
    const char *counts = getenv("CG_TEST_COUNTS");

    return counts && !strcmp(counts, "large");
}

#if MPI_VERSION >= 4

/* struct call with the types of the _c functions. */
struct large {
    const void *sbuf;
    void *rbuf;
    MPI_Count scount, rcount;
    int root;
    MPI_Datatype stype, rtype;
    MPI_Op op;
    const MPI_Count *scounts, *rcounts;
    const MPI_Aint *sdisps, *rdisps, *swdisps, *rwdisps;
    const MPI_Datatype *stypes, *rtypes;
};

/* They are read until the call has ended, and one call is under way at a time. A bad address stays one. */
static MPI_Count counts[2][MOST];
static MPI_Aint disps[2][MOST];

static const MPI_Count *wide_counts(int d, const int *from)
{
    if ((uintptr_t) from < 4096) return (const MPI_Count *) from;
    for (int i = 0; i < MOST; i++) counts[d][i] = from[i];
    return counts[d];
}

static const MPI_Aint *wide_disps(int d, const int *from)
{
    if ((uintptr_t) from < 4096) return (const MPI_Aint *) from;
    for (int i = 0; i < MOST; i++) disps[d][i] = from[i];
    return disps[d];
}

static int issue(enum every coll, const struct large *c, MPI_Comm comm, enum form form, MPI_Request *request)
{
    switch (coll) {
#define CASE(name, iname, ...)                                                                             \
    case name:                                                                                             \
        return form == BLOCKING      ? MPI_##name##_c(__VA_ARGS__, comm)                                   \
               : form == NONBLOCKING ? MPI_##iname##_c(__VA_ARGS__, comm, request)                         \
                                     : MPI_##name##_init_c(__VA_ARGS__, comm, MPI_INFO_NULL, request);
        EVERY(CASE)
#undef CASE
    default: return MPI_ERR_OTHER;
    }
}

int every_issue_large(const struct call *c, enum form form, MPI_Request *request)
{
    struct large l = {.sbuf = c->sbuf, .rbuf = c->rbuf, .scount = c->scount, .rcount = c->rcount, .root = c->root,
                      .stype = c->stype, .rtype = c->rtype, .op = c->op, .swdisps = c->swdisps, .rwdisps = c->rwdisps,
                      .stypes = c->stypes, .rtypes = c->rtypes, .scounts = wide_counts(0, c->scounts),
                      .rcounts = wide_counts(1, c->rcounts), .sdisps = wide_disps(0, c->sdisps),
                      .rdisps = wide_disps(1, c->rdisps)};

    return issue(c->coll, &l, c->comm, form, request);
}

#else

int every_issue_large(const struct call *c, enum form form, MPI_Request *request)
{
    (void) c;
    (void) form;
    (void) request;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

#endif
