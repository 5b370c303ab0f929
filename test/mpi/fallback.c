/* SPDX-License-Identifier: BSD-3-Clause
 * What the engine does not reduce, from buffers on the host and on the fake GPU: long double and its relatives, user
 * operations, derived types with gaps, also below their address. All of it goes to the next component, staged where
 * needed. */
#include "test/mpi/mpi_test.h"

#include <complex.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define MAX 300 /* elements */

struct pair {
    long double value;
    int index;
};

/* Two ints of which the first counts, then a gap that nobody may touch. */
struct gappy {
    int value;
    char gap[8];
};

/* Affine maps x -> p x + q modulo 251, one after the other: associative, not commutative. */
static int map(int p, int q) { return p % 251 << 8 | q % 251; }

static int compose(int f, int g)
{
    int fp = f >> 8, fq = f & 255, gp = g >> 8, gq = g & 255;

    return map(fp * gp, gp * fq + gq);
}

static void user_function(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void) type;
    for (int i = 0; i < *len; i++) b[i] = compose(a[i], b[i]);
}

static void gappy_function(void *in, void *inout, int *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent, low;

    MPI_Type_get_extent(*type, &lb, &extent);
    MPI_Type_get_true_extent(*type, &low, &lb);
    for (int i = 0; i < *len; i++) {
        *(int *) ((char *) inout + low + i * extent) += *(int *) ((char *) in + low + i * extent);
    }
}

/* Input of a rank, and result, of one element at p. */
static void pair_fill(void *p, int rank, int i)
{
    memset(p, 0, sizeof(struct pair));
    ((struct pair *) p)->value = (rank * 5 + i) % 3;
    ((struct pair *) p)->index = rank + 10 * i;
}
static void pair_expect(void *p, int i)
{
    struct pair best, other;

    pair_fill(&best, 0, i);
    for (int r = 1; r < test_size; r++) {
        pair_fill(&other, r, i);
        if (other.value < best.value || (other.value == best.value && other.index < best.index)) best = other;
    }
    ((struct pair *) p)->value = best.value;
    ((struct pair *) p)->index = best.index;
}

static void complex_fill(void *p, int rank, int i) { *(long double complex *) p = rank + i * I; }
static void complex_expect(void *p, int i)
{
    *(long double complex *) p = test_size * (test_size - 1) / 2 + (double) test_size * i * I;
}

/* Unused bytes of a long double are anything. */
static void clean_one(void *p)
{
    size_t used = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

    memset((char *) p + used, 0, sizeof(long double) - used);
}
static void clean_two(void *p)
{
    clean_one(p);
    clean_one((long double *) p + 1);
}
static void clean_none(void *p) { (void) p; }

static void user_fill(void *p, int rank, int i) { *(int *) p = map(rank + 2, rank + i); }
static void user_expect(void *p, int i)
{
    int acc = map(2, i);

    for (int r = 1; r < test_size; r++) acc = compose(acc, map(r + 2, r + i));
    *(int *) p = acc;
}

static void gappy_fill(void *p, int rank, int i) { ((struct gappy *) p)->value = rank + i; }
static void gappy_expect(void *p, int i)
{
    ((struct gappy *) p)->value = test_size * (test_size - 1) / 2 + test_size * i;
}

struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    size_t extent;
    MPI_Aint origin; /* of the buffer argument, relative to the first byte of data */
    void (*fill)(void *p, int rank, int i);
    void (*expect)(void *p, int i);
    void (*clean)(void *p);
};

static char *send_area, *recv_area, *image, *want, *got;

static void call(const struct kind *k, int count, int way)
{
    const void *sbuf = way & 1 ? MPI_IN_PLACE : send_area + 64 + k->origin;
    void *rbuf = recv_area + 64 + k->origin;
    MPI_Request req;

    if (way & 2) {
        MPI_Iallreduce(sbuf, rbuf, count, k->type, k->op, MPI_COMM_WORLD, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(sbuf, rbuf, count, k->type, k->op, MPI_COMM_WORLD);
    }
}

/* way: bit 0 in place, bit 1 nonblocking. */
static void check(const struct kind *k, int count, int way)
{
    size_t area = 128 + MAX * k->extent;

    memset(image, 0x5a, area);
    memset(want, 0xa5, area);
    for (int i = 0; i < count; i++) k->fill(image + 64 + i * k->extent, test_rank, i);
    if (way & 1) {
        for (int i = 0; i < count; i++) k->fill(want + 64 + i * k->extent, test_rank, i);
    }
    test_copy(send_area, image, area);
    test_copy(recv_area, want, area);
    call(k, count, way);
    for (int i = 0; i < count; i++) k->expect(want + 64 + i * k->extent, i);
    test_copy(got, recv_area, area);
    for (int i = 0; i < count; i++) {
        k->clean(got + 64 + i * k->extent);
        k->clean(want + 64 + i * k->extent);
    }
    CHECK(!memcmp(got, want, area), "%s, %d elements, way %d: wrong result or gap", k->name, count, way);
    test_copy(got, send_area, area);
    CHECK(!memcmp(got, image, area), "%s, %d elements, way %d: send buffer changed", k->name, count, way);
}

/* The data of each element lies lb bytes behind its address. */
static MPI_Datatype gappy_type(MPI_Aint lb)
{
    MPI_Datatype moved, type;
    int one = 1;

    MPI_Type_create_hindexed(1, &one, &lb, MPI_INT, &moved);
    MPI_Type_create_resized(moved, lb, sizeof(struct gappy), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&moved);
    return type;
}

/* argv: h or d for send and receive buffers of even ranks, then of odd ranks. */
int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 2, 17, MAX};
    uint64_t before[3], calls = 0;
    MPI_Op ordered, gappy;
    const char *kind;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    kind = argv[1 + test_rank % 2];
    MPI_Op_create(user_function, 0, &ordered);
    MPI_Op_create(gappy_function, 1, &gappy);
    const struct kind kinds[] = {
        {"MINLOC", MPI_LONG_DOUBLE_INT, MPI_MINLOC, sizeof(struct pair), 0, pair_fill, pair_expect, clean_one},
        {"complex", MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, sizeof(long double complex), 0, complex_fill, complex_expect,
         clean_two},
        {"user op", MPI_INT, ordered, sizeof(int), 0, user_fill, user_expect, clean_none},
        {"gaps", gappy_type(0), gappy, sizeof(struct gappy), 0, gappy_fill, gappy_expect, clean_none},
        {"gaps, data above", gappy_type(24), gappy, sizeof(struct gappy), -24, gappy_fill, gappy_expect, clean_none},
        {"gaps, data below", gappy_type(-16), gappy, sizeof(struct gappy), 16, gappy_fill, gappy_expect, clean_none},
    };
    send_area = test_alloc(128 + MAX * 32, kind[0] == 'd');
    recv_area = test_alloc(128 + MAX * 32, kind[1] == 'd');
    image = test_alloc(128 + MAX * 32, 0);
    want = test_alloc(128 + MAX * 32, 0);
    got = test_alloc(128 + MAX * 32, 0);
    before[0] = test_counter("posts");
    before[1] = test_counter("staged");
    before[2] = test_counter("passed");
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            for (int way = 0; way < 4; way++) {
                check(&kinds[k], counts[i], way);
                calls += counts[i] > 0;
            }
        }
    }
    CHECK(test_counter("posts") == before[0], "a call went to the engine");
    if (kind[1] == 'd') CHECK(test_counter("staged") - before[1] == calls, "not all calls were staged");
    if (kind[0] == 'h' && kind[1] == 'h')
        CHECK(test_counter("passed") - before[2] == calls, "not all calls were passed");
    return test_end();
}
