/* SPDX-License-Identifier: BSD-3-Clause
 * Random derived types from all of MPI's constructors, nested, with gaps, bounds moved, blocks in any order. */
#ifndef CG_TEST_MPI_RANDOM_TYPE_H
#define CG_TEST_MPI_RANDOM_TYPE_H

#include <mpi.h>
#include <stdint.h>

/* 0 .. n - 1 */
uint32_t random_draw(uint64_t *seed, uint32_t n);
/* A committed type without bytes that overlap, also between elements; at most bytes of data and 16 times as much span,
 * or not much more. The caller frees it. */
MPI_Datatype random_type(uint64_t *seed, int depth, MPI_Aint bytes);
/* First and last byte of count elements, from their origin. */
void random_type_span(MPI_Datatype type, int count, MPI_Aint *low, MPI_Aint *high);

#endif
