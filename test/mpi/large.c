/* SPDX-License-Identifier: BSD-3-Clause
 * Messages beyond 2^31 bytes: as many elements of one byte with MPI-4's large counts, of eight bytes without. In place
 * where MPI allows it, so that a rank holds one buffer, of twice the size for allgatherv. argv: how many bytes. */
#include "test/mpi/mpi_test.h"

#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#define LARGE(name) MPI_##name##_c
#define TYPE MPI_UINT8_T
typedef MPI_Count count_t;
typedef MPI_Aint disp_t;
typedef uint8_t element_t;
#else
#define LARGE(name) MPI_##name
#define TYPE MPI_UINT64_T
typedef int count_t;
typedef int disp_t;
typedef uint64_t element_t;
#endif

static element_t *buffer;
static size_t elements;

/* Of rank r; the sum over ranks of a byte may wrap, as MPI's does. */
static element_t value(size_t i, int r) { return (element_t) (i * 7 + (i >> 13) + (size_t) r * 3 + 1); }

static element_t total(size_t i)
{
    element_t sum = 0;

    for (int r = 0; r < test_size; r++) sum = (element_t) (sum + value(i, r));
    return sum;
}

static void fill(void)
{
    for (size_t i = 0; i < elements; i++) buffer[i] = value(i, test_rank);
}

static void check(const char *what, const element_t *got, size_t from, int rank)
{
    for (size_t i = 0; i < elements; i++) {
        element_t right = rank < 0 ? total(i) : value(i, rank);
        if (got[from + i] == right) continue;
        CHECK(0, "%s: element %zu is %llu, not %llu", what, i, (unsigned long long) got[from + i],
              (unsigned long long) right);
        return;
    }
}

static void reductions(void)
{
    MPI_Request request;

    fill();
    LARGE(Allreduce)(MPI_IN_PLACE, buffer, (count_t) elements, TYPE, MPI_SUM, MPI_COMM_WORLD);
    check("allreduce", buffer, 0, -1);
    fill();
    LARGE(Iallreduce)(MPI_IN_PLACE, buffer, (count_t) elements, TYPE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check("iallreduce", buffer, 0, -1);
    fill();
    LARGE(Reduce)(test_rank ? buffer : MPI_IN_PLACE, buffer, (count_t) elements, TYPE, MPI_SUM, 0, MPI_COMM_WORLD);
    check("reduce", buffer, 0, test_rank ? test_rank : -1);
}

#if MPI_VERSION >= 4
static void persistent(void)
{
    MPI_Request request;

    MPI_Allreduce_init_c(MPI_IN_PLACE, buffer, (count_t) elements, TYPE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &request);
    for (int round = 0; round < 2; round++) {
        fill();
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check("persistent allreduce", buffer, 0, -1);
    }
    MPI_Request_free(&request);
}
#endif

/* Blocks backwards, with displacements beyond 2^31. */
static void moves(void)
{
    count_t *counts = calloc((size_t) test_size, sizeof(*counts));
    disp_t *disps = calloc((size_t) test_size, sizeof(*disps));
    element_t *all = malloc((size_t) test_size * elements * sizeof(*all)), *mine;

    fill();
    LARGE(Bcast)(buffer, (count_t) elements, TYPE, test_size - 1, MPI_COMM_WORLD);
    check("bcast", buffer, 0, test_size - 1);
    for (int r = 0; r < test_size; r++) {
        counts[r] = (count_t) elements;
        disps[r] = (disp_t) (elements * (size_t) (test_size - 1 - r));
    }
    mine = all + disps[test_rank];
    for (size_t i = 0; i < elements; i++) mine[i] = value(i, test_rank);
    LARGE(Allgatherv)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, disps, TYPE, MPI_COMM_WORLD);
    for (int r = 0; r < test_size; r++) check("allgatherv", all, (size_t) disps[r], r);
    free(all);
    free(counts);
    free(disps);
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    elements = (size_t) strtoull(argv[1], NULL, 0) / sizeof(element_t);
    buffer = malloc(elements * sizeof(element_t));
    reductions();
#if MPI_VERSION >= 4
    persistent();
#endif
    moves();
    free(buffer);
    CHECK(test_counter("posts") == (MPI_VERSION >= 4 ? 7 : 5), "%llu calls were native",
          (unsigned long long) test_counter("posts"));
    return test_end();
}
