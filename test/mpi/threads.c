/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_THREAD_MULTIPLE: threads that reduce, blocking, nonblocking, persistent and in two steps, each on a communicator
 * of its own, while one thread makes and frees communicators, whose creation runs nonblocking allreduces from within
 * progress. */
#include "test/mpi/every.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 3
#define COUNT 3000

static MPI_Comm comm[THREADS + 1];
static int rounds;

static void finish(MPI_Request *req, int tests)
{
    int flag = 0;

    for (int turn = 0; !flag && turn < tests; turn++) MPI_Test(req, &flag, MPI_STATUS_IGNORE);
    if (!flag) MPI_Wait(req, MPI_STATUS_IGNORE);
}

static void reduce(MPI_Comm c, int seed, int count, int *in, int *out)
{
    struct call call = {.coll = Allreduce, .comm = c, .sbuf = in, .rbuf = out, .rcount = count, .rtype = MPI_INT,
                        .op = MPI_SUM};
    MPI_Request req;

    for (int i = 0; i < count; i++) in[i] = test_rank + seed + i;
    switch (seed % 4) {
    case 0: every_issue(&call, BLOCKING, NULL); break;
    case 1:
        every_issue(&call, NONBLOCKING, &req);
        finish(&req, seed % 7);
        break;
    case 2:
        every_issue(&call, PERSISTENT, &req);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&req);
            finish(&req, seed % 7);
        }
        MPI_Request_free(&req);
        break;
    default:
        MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, c);
        MPI_Bcast(out, count, MPI_INT, 0, c);
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
