/* SPDX-License-Identifier: BSD-3-Clause
 * Options of coll_gpu_perf. */
#ifndef CG_BENCH_OPTIONS_H
#define CG_BENCH_OPTIONS_H

#include "bench/data.h"

struct cg_options {
    size_t begin, end, step; /* bytes; step 0: by factor */
    double factor;
    int iters, warmup, check, nonblocking, verbose;
    int bad;                        /* mistakes found in the arguments */
    int places;                     /* bit 0: out of place, bit 1: in place */
    double gap_us;
    uint64_t seed;
    const struct cg_data_type *type; /* NULL: all */
    const struct cg_data_op *op;     /* NULL: all */
    const char *memory, *csv;
};

/* 0; 1: help was asked for, printed if speak; -1: an error, told on stderr if speak. Every rank parses the same. */
int cg_options_parse(struct cg_options *o, int argc, char **argv, int speak);

/* The size that follows. */
size_t cg_options_next(const struct cg_options *o, size_t bytes);

#endif
