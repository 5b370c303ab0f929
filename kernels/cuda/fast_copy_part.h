/* SPDX-License-Identifier: BSD-3-Clause
 * COPY: which part of the message goes from whom to whom, where it lies, and in which chunks. From facts equal on all
 * ranks, except where it lies. */
#ifndef CG_KERNELS_CUDA_FAST_COPY_PART_H
#define CG_KERNELS_CUDA_FAST_COPY_PART_H

#include "kernels/cuda/fast_copy.h"

static inline int cg_copy_reduces(const struct cg_fast_run *r) { return (r->cmd.misc & CG_CMD_REDUCES) != 0; }

/* Does everybody get what an owner has reduced? */
static inline int cg_copy_has_results(const struct cg_fast_run *r)
{
    return cg_copy_reduces(r) && !(r->cmd.misc & (CG_CMD_TO_ROOT | CG_CMD_OUT_BLOCKS));
}

/* Does data go from one rank to the other? */
static inline int cg_copy_flows(const struct cg_fast_run *r, uint32_t from, uint32_t to)
{
    const uint32_t root = CG_CMD_ROOT(r->cmd.misc);

    return (!(r->cmd.misc & CG_CMD_FROM_ROOT) || from == root) && (!(r->cmd.misc & CG_CMD_TO_ROOT) || to == root);
}

/* Bytes that one rank pushes to the other before anything is reduced; of one rank to itself: what it keeps. */
static inline uint64_t cg_copy_part(const struct cg_fast_run *r, uint32_t from, uint32_t to)
{
    const uint64_t segment = r->window->copy->segment;

    if (!cg_copy_has_results(r)) return cg_copy_flows(r, from, to) ? r->bytes : 0;
    return cg_min_u64((to + 1) * segment, r->bytes) - cg_min_u64(to * segment, r->bytes);
}

static inline uint64_t cg_copy_chunks(const struct cg_fast_run *r, uint32_t from, uint32_t to)
{
    return (cg_copy_part(r, from, to) + r->window->copy->chunk - 1) / r->window->copy->chunk;
}

/* Chunks that a rank reduces. */
static inline uint64_t cg_copy_owned(const struct cg_fast_run *r, uint32_t rank)
{
    return cg_copy_reduces(r) ? cg_copy_chunks(r, rank, rank) : 0;
}

static inline uint64_t cg_copy_bytes(const struct cg_fast_run *r, uint32_t from, uint32_t to, uint64_t k)
{
    return cg_min_u64(r->window->copy->chunk, cg_copy_part(r, from, to) - k * r->window->copy->chunk);
}

/* Where the part begins in the sender's src and, unless it waits in slots, in the receiver's dst. */
static inline uint64_t cg_copy_src_at(const struct cg_fast_run *r, uint32_t to)
{
    if (cg_copy_has_results(r)) return to * r->window->copy->segment;
    return r->cmd.misc & CG_CMD_OUT_BLOCKS ? to * r->bytes : 0;
}

static inline uint64_t cg_copy_dst_at(const struct cg_fast_run *r, uint32_t from, uint32_t to)
{
    if (cg_copy_has_results(r)) return to * r->window->copy->segment;
    return r->cmd.misc & CG_CMD_IN_BLOCKS ? from * r->bytes : 0;
}

/* Bytes of dst that others may write. */
static inline uint64_t cg_copy_span(const struct cg_fast_run *r)
{
    const uint32_t me = r->window->view.rank, n = r->window->view.nranks;

    for (uint32_t p = 0; p < n; p++) {
        if (p != me && cg_copy_flows(r, p, me)) return r->bytes * (r->cmd.misc & CG_CMD_IN_BLOCKS ? n : 1);
    }
    return 0;
}

#endif
