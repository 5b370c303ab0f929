/* SPDX-License-Identifier: BSD-3-Clause
 * Test data for benchmarks and MPI tests: random values that every rank can compute for every other rank, and a
 * reference for the reduction that shares no code with coll/gpu. All buffers here are host memory. Any thread. */
#ifndef CG_BENCH_DATA_H
#define CG_BENCH_DATA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum cg_data_class { CG_DATA_SIGNED, CG_DATA_UNSIGNED, CG_DATA_FLOAT };

struct cg_data_type {
    const char *name;
    MPI_Datatype mpi;
    int size, cls;
    int alias; /* another row has the same representation: left out of "all" */
};

enum cg_data_opcode {
    CG_DATA_SUM, CG_DATA_PROD, CG_DATA_MIN, CG_DATA_MAX, CG_DATA_BAND, CG_DATA_BOR, CG_DATA_BXOR,
    CG_DATA_LAND, CG_DATA_LOR, CG_DATA_LXOR
};

struct cg_data_op {
    const char *name;
    MPI_Op mpi;
    int code;
    int floats; /* MPI allows it on floating point */
};

extern const struct cg_data_type cg_data_types[]; /* both ended by a row without name */
extern const struct cg_data_op cg_data_ops[];

/* NULL if there is none of that name. */
const struct cg_data_type *cg_data_type_find(const char *name);
const struct cg_data_op *cg_data_op_find(const char *name);

/* Rank's input: count elements at buf (any alignment), the same on every machine for the same arguments. */
void cg_data_fill(void *buf, const struct cg_data_type *type, const struct cg_data_op *op, size_t count, uint64_t seed,
                  int rank);

/* How many of count elements at got differ from the reduction over the inputs of ranks 0 .. nranks - 1? */
uint64_t cg_data_check(const void *got, const struct cg_data_type *type, const struct cg_data_op *op, size_t count,
                       uint64_t seed, int nranks);

/* For comparing the bits of results between ranks and runs. */
uint64_t cg_data_hash(const void *buf, size_t bytes);

#endif
