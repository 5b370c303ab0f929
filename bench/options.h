/* SPDX-License-Identifier: BSD-3-Clause
 * Options of coll_gpu_perf. */
#ifndef CG_BENCH_OPTIONS_H
#define CG_BENCH_OPTIONS_H

#include "bench/calls.h"

enum { CG_OPTIONS_SIZES = 256 };

struct cg_options {
    size_t begin, end, step; /* bytes; step 0: by factor */
    size_t size[CG_OPTIONS_SIZES]; /* instead: these, ascending */
    int nsizes;
    size_t offset;           /* of the buffers, in elements */
    double factor;
    int iters, warmup, check, sync, verbose;
    int coll, kind;                 /* of cg_calls_find; enum cg_call_kind */
    int kernels;                    /* instead: an application's kernels right after a call */
    int setup;                      /* communicators beyond the first to set up instead of measuring; -1: measure */
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

/* The size that follows, the first for 0; 0: there is none. */
size_t cg_options_next(const struct cg_options *o, size_t bytes);

#endif
