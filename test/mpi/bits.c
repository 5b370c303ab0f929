/* SPDX-License-Identifier: BSD-3-Clause
 * Sums of floating-point numbers that depend on the order of additions: the same bits on all ranks and in every round.
 * Prints their hash, for comparison between runs, media and kinds of buffers. argv: h or d for send and receive buffer
 * of even ranks, then of odd ranks; rounds. */
#include "test/mpi/mpi_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX 100000

static uint64_t fnv(uint64_t hash, const void *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *) p)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static double input(int rank, int i) { return sin(i * 7.7 + rank * 3.3) * exp2((i * 31 + rank * 17) % 40 - 20); }

static void *send, *recv, *image;

static void *sum(MPI_Datatype type, size_t bytes, int count, int nonblocking)
{
    MPI_Request req;

    for (int i = 0; i < count; i++) {
        if (bytes == 4) ((float *) image)[i] = (float) input(test_rank, i);
        else ((double *) image)[i] = input(test_rank, i);
    }
    test_copy(send, image, bytes * (size_t) count);
    if (nonblocking) {
        MPI_Iallreduce(send, recv, count, type, MPI_SUM, MPI_COMM_WORLD, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(send, recv, count, type, MPI_SUM, MPI_COMM_WORLD);
    }
    test_copy(image, recv, bytes * (size_t) count);
    return image;
}

static uint64_t all_sums(int nonblocking)
{
    static const int counts[] = {1, 5, 100, 2500, 12345, MAX};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        hash = fnv(hash, sum(MPI_FLOAT, 4, counts[i], nonblocking), 4 * (size_t) counts[i]);
        hash = fnv(hash, sum(MPI_DOUBLE, 8, counts[i], nonblocking), 8 * (size_t) counts[i]);
    }
    return hash;
}

int main(int argc, char **argv)
{
    const char *kind;
    uint64_t hash, first;
    int rounds;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    kind = argv[1 + test_rank % 2];
    rounds = atoi(argv[3]);
    send = test_alloc(8 * MAX, kind[0] == 'd');
    recv = test_alloc(8 * MAX, kind[1] == 'd');
    image = test_alloc(8 * MAX, 0);
    first = all_sums(0);
    for (int round = 1; round < rounds; round++) {
        hash = all_sums(round % 2);
        CHECK(hash == first, "round %d differs from the first", round);
    }
    CHECK(test_counter("posts") == (uint64_t) (12 * rounds), "calls were not native");
    hash = first;
    MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    CHECK(hash == first, "rank %d differs from rank 0", test_rank);
    if (test_rank == 0) printf("hash %016llx\n", (unsigned long long) hash);
    return test_end();
}
