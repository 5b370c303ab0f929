/* SPDX-License-Identifier: BSD-3-Clause
 * LEAD: an allreduce of ranks that share GPUs, done by one rank of each GPU, its leader, for all. Processes on one GPU
 * without MPS run in turns of milliseconds; a kernel that waits for another process's kernel waits for a turn. Here no
 * kernel waits for anything, and only leaders launch any.
 *
 * Deal     every rank describes its buffers to the others.
 * Verdict  the leaders open them; each tells all ranks whether it could. If one could not, nothing was touched, and the
 *          operation goes another way on all ranks.
 * Work     each leader owns a segment of the message: its kernel reads the segment of all ranks in rank order, and
 *          writes the result into the dst of all. Any dst may be its rank's src: a segment has one leader, and a thread
 *          of it reads what it overwrites first.
 * Done     a leader tells all ranks when its kernel has ended. A rank's operation ends when all leaders have told it;
 *          so nobody reads a description any more when the next deal overwrites it.
 *
 * No CUDA here: what touches a GPU is behind struct cg_lead_ops. Under the engine's lock. */
#ifndef CG_KERNELS_CUDA_LEAD_H
#define CG_KERNELS_CUDA_LEAD_H

#include "core/status.h"
#include "kernels/cuda/fast.h"
#include "kernels/cuda/share.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Written by one rank for one other, in shared host memory, zero at first. deal, verdict and done are numbers of deals,
 * written last; verdict is twice the number, plus 1 if all was opened. */
struct cg_lead_meet {
    struct cg_share_card src, dst;
    uint64_t able, in_place; /* the cards are valid; src is not, being dst */
    uint64_t deal, verdict, done;
};
CG_STATIC_ASSERT(sizeof(struct cg_lead_meet) <= CG_LEAD_MEET_BYTES, "room in the notes");

/* A leader's segment, in this process's addresses. */
struct cg_lead_work {
    const char *in[CG_FAST_RANKS];
    char *out[CG_FAST_RANKS];
    uint64_t bytes;
    uint32_t nranks;
    uint64_t misc; /* CG_CMD's type and operation */
};

struct cg_lead_ops {
    /* As cg_share_describe, cg_share_open, cg_share_drop. */
    int (*describe)(void *ctx, const void *p, uint64_t bytes, struct cg_share_card *card);
    int (*open)(void *ctx, const struct cg_share_card *card, char **p, struct cg_share_import **user);
    void (*drop)(void *ctx, struct cg_share_import *user);
    /* Start the work. CG_OK with a number for ended, not 0, or an error. */
    int (*launch)(void *ctx, const struct cg_lead_work *work, uint64_t *number);
    /* CG_AGAIN, CG_OK when results are in memory for any process and GPU, or an error. */
    int (*ended)(void *ctx, uint64_t number);
};

struct cg_lead {
    const struct cg_lead_ops *ops;
    void *ctx;
    uint32_t nranks, rank, leaders; /* leaders: bit per rank; 0: not to be used */
    struct cg_lead_meet *out[CG_FAST_RANKS]; /* by rank; NULL for this one */
    const struct cg_lead_meet *in[CG_FAST_RANKS];
    uint64_t deals;
    /* of the operation */
    int step, able;
    const char *src;
    char *dst;
    uint64_t bytes, misc, number; /* number: of the launch; 0: none */
    struct cg_lead_work work;
    struct cg_share_import *user[2 * CG_FAST_RANKS];
};

/* Who leads: the lowest rank of each GPU, if at least two ranks share one and are not both under MPS, else 0. By facts
 * that are equal on all ranks. */
uint32_t cg_lead_choose(const unsigned char uuid[][16], const int *mps, uint32_t nranks);

/* Operations, one at a time and in the same order on all ranks. step: CG_AGAIN, CG_OK, CG_ERR_UNSUPPORTED (on all
 * ranks; nothing was touched) or an error. After all but CG_AGAIN: end. */
void cg_lead_begin(struct cg_lead *lead, const void *src, void *dst, uint64_t bytes, uint64_t misc);
int cg_lead_step(struct cg_lead *lead);
void cg_lead_end(struct cg_lead *lead);

#ifdef __cplusplus
}
#endif
#endif
