/* SPDX-License-Identifier: BSD-3-Clause
 * Blocking calls that are almost like the one before: other buffers, one of them in place, in the other kind of memory,
 * other counts or displacements in the same arrays, another root, an operation between them.
 *   again [device]   every third buffer is in device memory (of the fake GPU) */
#include "test/mpi/mpi_test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64, ROUNDS = 120 };

static int size, rank, device;
static int *buffer[2][3]; /* sent, received; which */
static int *mine;         /* host copy */

static int value(int r, int i, int round) { return r * 1000 + i + round * 7; }

static int *sent(int which, int n, int round)
{
    for (int i = 0; i < n; i++) mine[i] = value(rank, i, round);
    test_copy(buffer[0][which], mine, (size_t) n * sizeof(int));
    return buffer[0][which];
}

static int *received(int which, const int *in_place, int n)
{
    memset(mine, 0x77, MOST * sizeof(int));
    if (in_place) memcpy(mine, in_place, (size_t) n * sizeof(int));
    test_copy(buffer[1][which], mine, MOST * sizeof(int));
    return buffer[1][which];
}

static const int *result(int which)
{
    test_copy(mine, buffer[1][which], MOST * sizeof(int));
    return mine;
}

static void allreduce(int round, int which, int in_place)
{
    int n = 1 + round / 40, own[MOST], want;
    const int *got;

    for (int i = 0; i < n; i++) own[i] = value(rank, i, round);
    int *s = sent((which + 1) % 3, n, round), *r = received(which, in_place ? own : NULL, n);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : s, r, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    got = result(which);
    for (int i = 0; i < n; i++) {
        want = 0;
        for (int p = 0; p < size; p++) want += value(p, i, round);
        CHECK(got[i] == want, "allreduce, round %d: element %d is %d, not %d", round, i, got[i], want);
    }
}

/* counts and displs are the same arrays in every round, with other contents every ten rounds. */
static void gatherv(int round, int which, int *counts, int *displs)
{
    int n = 1 + round / 10 % 3, root = round / 30 % size, at = 0;
    const int *got;

    for (int p = 0; p < size; p++) counts[p] = n, displs[p] = at, at += n + round / 20 % 2;
    int *s = sent(which, n, round), *r = received(which, NULL, 0);
    MPI_Gatherv(s, n, MPI_INT, r, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
    got = result(which);
    for (int p = 0; p < size && rank == root; p++) {
        for (int i = 0; i < n; i++)
            CHECK(got[displs[p] + i] == value(p, i, round), "gatherv, round %d: element %d of rank %d is %d", round, i,
                  p, got[displs[p] + i]);
    }
    CHECK(got[MOST - 1] == 0x77777777, "gatherv, round %d: behind the end is %x", round, (unsigned) got[MOST - 1]);
}

static void scatter(int round, int which, int in_place)
{
    int root = round / 25 % size;
    const int *got;
    int *s = sent(which, 2 * size, round), *r = received((which + 1) % 3, NULL, 0);

    in_place &= rank == root;
    MPI_Scatter(s, 2, MPI_INT, in_place ? MPI_IN_PLACE : r, 2, MPI_INT, root, MPI_COMM_WORLD);
    got = result((which + 1) % 3);
    for (int i = 0; i < 2 && !in_place; i++)
        CHECK(got[i] == value(root, 2 * rank + i, round), "scatter, round %d: element %d is %d", round, i, got[i]);
}

static void alltoallv(int round, int which, int *counts, int *displs)
{
    int n = 1 + round / 15 % 2;
    const int *got;

    for (int p = 0; p < size; p++) counts[p] = n, displs[p] = n * (round / 12 % 2 ? size - 1 - p : p);
    int *s = sent(which, n * size, round), *r = received(which, NULL, 0);
    MPI_Alltoallv(s, counts, displs, MPI_INT, r, counts, displs, MPI_INT, MPI_COMM_WORLD);
    got = result(which);
    for (int p = 0; p < size; p++) {
        int from = n * (round / 12 % 2 ? size - 1 - rank : rank);
        CHECK(got[displs[p]] == value(p, from, round), "alltoallv, round %d: from rank %d came %d", round, p,
              got[displs[p]]);
    }
}

/* A call like the last one, but its buffers overlap. */
static void overlapping(void)
{
    int *s = sent(0, 8, 0), rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) MPI_Allreduce(s, s + 8, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    rc = MPI_Allreduce(s, s + 4, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(rc != MPI_SUCCESS, "overlapping buffers were not refused");
    rc = MPI_Allreduce(s, s + 8, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(rc == MPI_SUCCESS, "the call behind the refused one failed");
}

int main(int argc, char **argv)
{
    int counts[MOST], displs[MOST];

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    device = argc > 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = malloc(MOST * sizeof(int));
    for (int i = 0; i < 6; i++) buffer[i / 3][i % 3] = test_alloc(MOST * sizeof(int), device && i % 3 == 2);
    for (int round = 0; round < ROUNDS; round++) allreduce(round, round % 3, round / 8 & 1);
    for (int round = 0; round < ROUNDS; round++) gatherv(round, round % 3, counts, displs);
    for (int round = 0; round < ROUNDS; round++) scatter(round, round % 3, round / 8 & 1);
    for (int round = 0; round < ROUNDS; round++) alltoallv(round, round % 3, counts, displs);
    for (int round = 0; round < ROUNDS; round++) {
        allreduce(round, round % 2, 0);
        if (round % 3 == 0) alltoallv(round, 0, counts, displs);
    }
    overlapping();
    CHECK(test_counter("posts") > 4 * ROUNDS, "not served natively");
    return test_end();
}
