/* SPDX-License-Identifier: BSD-3-Clause
 * COPY: large messages moved by copy engines; kernels only reduce, and wait for nothing. The hosts of all ranks drive
 * it, so it is for blocking operations. Described here is an allreduce; what other collectives leave out of it follows
 * from how their data flows (fast_copy_part.h): what is only moved goes to its final place, once; what is reduced for
 * one rank alone has no results to be pushed.
 *
 * Deal     each rank describes its dst to the others, opens theirs, and tells whether it could. Only if all could,
 *          the operation goes this way; otherwise an allreduce is run as TWO_SHOT, another collective ends with
 *          CG_ERR_UNSUPPORTED, nothing having been touched.
 * Raw      segment r of the message belongs to rank r. Every rank pushes its part of segment r to rank r, chunk by
 *          chunk: between two ranks out of place to its final place in dst, where it is reduced (direct); otherwise
 *          into slots in the window's rings, which TWO_SHOT does not use meanwhile.
 * Reduce   when a chunk has come from everybody, its owner reduces it in rank order into dst ...
 * Result   ... and pushes the result into the dst of all others, behind raw chunks on the same streams.
 *
 * What a rank has pushed or reduced it counts in the peers' host words after its event has passed. The counts never
 * restart. Before a deal is made all have ended the operation before it on this window, so slots and rings are free.
 * A raw part in dst is never overwritten by a result too early: direct results go elsewhere, and otherwise a result
 * replaces what its owner has received, thus what was sent. */
#ifndef CG_KERNELS_CUDA_FAST_COPY_H
#define CG_KERNELS_CUDA_FAST_COPY_H

#include "kernels/cuda/fast_host.h"
#include "kernels/cuda/share.h"

/* Written by one rank for one other, in shared host memory. deal, written last: number of the deal that card, able and
 * direct are for. verdict: twice the deal's number, plus 1 if all was opened. */
struct cg_fast_meet {
    struct cg_share_card card;
    uint64_t able, direct;
    uint64_t deal, verdict;
    uint64_t raw, result, reduced; /* chunks pushed to the reader, and reduced */
};
CG_STATIC_ASSERT(sizeof(struct cg_fast_meet) <= CG_COPY_MEET_BYTES, "room in the notes");

#define CG_COPY_QUEUE 8 /* copies on their way to a peer, and reductions */

/* To or from the rank at distance d, index d - 1. */
struct cg_copy_peer {
    volatile struct cg_fast_meet *out;
    const volatile struct cg_fast_meet *in;
    cudaStream_t stream;
    cudaEvent_t event[CG_COPY_QUEUE];
    unsigned char result[CG_COPY_QUEUE]; /* what the event stands for: a result, else raw */
    unsigned head, tail;                 /* events waited for: [head, tail) */
    uint64_t raw_in, result_in, reduced_in; /* counts of the peer's before this operation */
    uint64_t raw_next;                   /* chunk to push next */
    char *dst;
    struct cg_share_import *open;
};

struct cg_fast_copy {
    struct cg_copy_peer peer[CG_FAST_RANKS - 1];
    cudaStream_t stream; /* of reductions */
    cudaEvent_t event[CG_COPY_QUEUE];
    unsigned head, tail;
    int made;            /* streams and events */
    uint64_t deals;
    /* of the operation */
    int step, direct;
    uint64_t segment, chunk, slots, reduce_next;
};

/* Arguments of the reduction: out[] = in[0] op in[1] op ... in this order. Each thread's words are read before they are
 * written, so out may be one of in. */
struct cg_copy_reduction {
    const char *in[CG_FAST_RANKS];
    char *out;
    uint32_t bytes, n;
    uint64_t misc; /* CG_CMD's type and operation */
};
#define CG_COPY_CHUNK_MAX (256u << 20)

#ifdef __cplusplus
extern "C" {
#endif

/* In fast_copy_kernel.cu; return cudaError_t. narrow: for half and bfloat16. */
int cg_fx_copy_load(int narrow);
int cg_fx_copy_reduce(const struct cg_copy_reduction *reduction, int blocks, void *stream);

/* In fast_copy_open.c. As cg_fast_window_meet. */
void cg_copy_meet(struct cg_fast_window *window, uint32_t peer, const void *in, void *out);
/* With context, for a run whose state is CG_FAST_COPYING: CG_AGAIN, CG_OK, CG_ERR_UNSUPPORTED (no deal,
 * nothing was touched), or an error. */
int cg_copy_step(struct cg_fast *fast, struct cg_fast_run *run);
void cg_copy_begin(struct cg_fast_run *run);
void cg_copy_end(struct cg_fast_run *run);
/* In fast_copy_open.c: streams and events, on first use, for as long as the window is. CG_OK or CG_ERR_GPU. */
int cg_copy_make(struct cg_fast_window *window);
void cg_copy_free(struct cg_fast_window *window);

#ifdef __cplusplus
}
#endif

#endif
