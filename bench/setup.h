/* SPDX-License-Identifier: BSD-3-Clause
 * coll_gpu_perf --setup: what a communicator costs, in time and GPU memory. */
#ifndef CG_BENCH_SETUP_H
#define CG_BENCH_SETUP_H

#include "bench/options.h"

/* Prints a table "what,value" on rank 0. Exit status of the program. Between MPI_Init and MPI_Finalize, before any
 * other collective. */
int cg_setup_report(const struct cg_options *o, int rank, int size);

#endif
