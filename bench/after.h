/* SPDX-License-Identifier: BSD-3-Clause
 * coll_gpu_perf --kernels: what kernels of an application lose right after a collective. */
#ifndef CG_BENCH_AFTER_H
#define CG_BENCH_AFTER_H

#include "bench/options.h"

/* Prints a table "kernel,bytes,alone_us,after_us,ratio" on rank 0. Exit status of the program. Between MPI_Init and
 * MPI_Finalize. */
int cg_after_report(const struct cg_options *o, int rank, int size);

#endif
