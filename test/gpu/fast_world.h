/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks of the tests of the fast executor: forked processes over the GPUs that there are, without MPI. They meet in
 * shared memory. The reference is the host executor's reduction, in rank order. */
#ifndef CG_TEST_FAST_WORLD_H
#define CG_TEST_FAST_WORLD_H

#include "kernels/cuda/fast.h"

#define FW_WINDOWS 3 /* 0 big, 1 and 2 small */

struct fw_shared;

struct fw {
    struct fw_shared *shared;
    int rank, size, device, gpus;
    int shares, crowded; /* some ranks share a GPU; there are few CPUs */
    const char *name;
    struct cg_params params;
    struct cg_fast *fast;
    struct cg_fast_window *window[FW_WINDOWS];
    void *stream;
    char *src, *dst;    /* GPU memory of bytes + 256 */
    char *host, *ref;   /* pinned, the same size */
    uint64_t *words;    /* pinned: announcements for this rank to read, written by it */
    size_t bytes;
    int took;           /* protocol of the last fw_do */
    uint64_t barriers, checks, failed, random;
};

/* What is run in every rank. */
typedef void (*fw_body)(struct fw *w);

/* Forks size ranks, sets each up with buffers of bytes and runs body. Exit status: 0, 1, or 77 without a GPU. */
int fw_run(const char *name, int size, size_t bytes, const struct cg_params *params, fw_body body);

void fw_barrier(struct fw *w);
double fw_us(void);
void fw_pause(double us);
/* Below n: the same sequence on all ranks. */
uint32_t fw_random(struct fw *w, uint32_t n);
int fw_check(struct fw *w, int ok, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Mean over ranks. */
double fw_mean(struct fw *w, double value);

#define FW_PATIENCE 60e6 /* us */
void fw_die(struct fw *w, const char *why);
void fw_must(struct fw *w, int rc, const char *what); /* a cg_status or a cudaError_t */

/* ---- fast_case.c ---- */

struct fw_case {
    int coll, window, protocol, type, redop, soon, inplace, blocks; /* coll: 0 is allreduce */
    uint32_t root;
    uint64_t count; /* of the buffer, or of a block */
    uint32_t shift_in, shift_out; /* bytes off 256-byte alignment */
    uint64_t seed;
};
/* Does the buffer of a collective consist of blocks? Does it reduce? */
int fw_blocks_out(int coll);
int fw_blocks_in(int coll);
int fw_reduces(int coll);
/* Put this rank's input into GPU memory, poison the output. copy: by the copy engine alone. */
void fw_fill(struct fw *w, const struct fw_case *c);
int fw_post(struct fw *w, const struct fw_case *c);
int fw_wait(struct fw *w, int id);
/* Compare the output, and that bytes around it are untouched. */
void fw_verify(struct fw *w, const struct fw_case *c);
/* May the operation end with CG_ERR_UNSUPPORTED, untouched? */
int fw_may_refuse(const struct fw *w, const struct fw_case *c);
/* All four. */
void fw_do(struct fw *w, const struct fw_case *c);

#endif
