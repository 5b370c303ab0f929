/* SPDX-License-Identifier: BSD-3-Clause
 * Layouts of so many ints in memory. */
#ifndef CG_TEST_GPU_LAYOUTS_H
#define CG_TEST_GPU_LAYOUTS_H

#include <mpi.h>
#include <stdint.h>

/* FOURS: contiguous(4) on rank 0, INT elsewhere (n a multiple of 4). STRIDES: vectors, strided by rank and peer. */
enum layouts { LAYOUTS_RANDOM, LAYOUTS_FOURS, LAYOUTS_STRIDES };

struct layout_of {
    MPI_Datatype type;
    int count;       /* elements for n ints */
    MPI_Aint extent; /* of an element; elements do not overlap */
    MPI_Aint low;    /* where data begin, from the origin: -64 or more */
};
struct layout_of layout_make(enum layouts kind, uint64_t seed, int n, int rank, int peer);
void layout_free(struct layout_of *l);

#endif
