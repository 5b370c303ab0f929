/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_THREAD_MULTIPLE: threads that reduce, blocking and not, each on a communicator of its own, while one thread makes
 * and frees communicators, whose creation runs nonblocking allreduces from within progress. */
#include "test/mpi/mpi_test.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 3
#define COUNT 3000

static MPI_Comm comm[THREADS + 1];
static int rounds;

static void reduce(MPI_Comm c, int seed, int count, int *in, int *out)
{
    MPI_Request req;
    int flag = 0;

    for (int i = 0; i < count; i++) in[i] = test_rank + seed + i;
    if (seed % 2) {
        MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, c);
    } else {
        MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, c, &req);
        for (int turn = 0; !flag && turn < seed % 7; turn++) MPI_Test(&req, &flag, MPI_STATUS_IGNORE);
        if (!flag) MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < count; i++) {
        int want = test_size * (test_size - 1) / 2 + test_size * (seed + i);
        if (out[i] != want) {
            CHECK(0, "seed %d, element %d is %d, not %d", seed, i, out[i], want);
            return;
        }
    }
}

static void *reducer(void *arg)
{
    int t = (int) (intptr_t) arg, *in = malloc(COUNT * sizeof(int)), *out = malloc(COUNT * sizeof(int));

    for (int round = 0; round < rounds; round++) reduce(comm[t], round, 1 + (round * 37 + t) % COUNT, in, out);
    free(in);
    free(out);
    return NULL;
}

static void *maker(void *arg)
{
    int in[10], out[10];
    MPI_Comm dup;

    (void) arg;
    for (int round = 0; round < rounds / 4; round++) {
        MPI_Comm_dup(comm[THREADS], &dup);
        reduce(dup, round, 10, in, out);
        MPI_Comm_free(&dup);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS + 1];

    test_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    rounds = atoi(argv[1]);
    for (int t = 0; t <= THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[t]);
    for (int t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, reducer, (void *) (intptr_t) t);
    pthread_create(&thread[THREADS], NULL, maker, NULL);
    for (int t = 0; t <= THREADS; t++) pthread_join(thread[t], NULL);
    CHECK(test_counter("posts") >= (uint64_t) (THREADS * rounds), "calls were not native");
    return test_end();
}
