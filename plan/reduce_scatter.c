/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter on the ring: the sum of block c starts at rank c + 1, goes round and is complete at rank c. Block n is
 * dst.
 *
 * In place src and dst start at the same address. Position x of dst is written in iteration x / chunk by the last step.
 * A block of src that starts at b has x in iteration (x - b) / chunk, no later; in the same iteration the steps that
 * read it come before the last, except the last one itself. So:
 *   - if no block is longer than block 0, dst lies within block 0 of src, cut into the same slices; a slice belongs to
 *     one channel, and any number of channels is safe;
 *   - otherwise there is one channel, in which iterations follow each other;
 *   - where the last step would write over parts of its own operand (0 < b < chunk), the result goes into the slot
 *     first and from there to dst.
 * No deadlock: as in ring.c, with one message ahead. */
#include "plan/build.h"

#include "core/status.h"

int cg_scatter_ring_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && req->nranks <= CG_BLOCKED_RANKS;
}

/* Blocks of src, dst as block n; the longest. */
static uint64_t add_blocks(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint64_t offset = 0, longest = 0;

    for (uint32_t i = 0; i < req->nranks; i++) {
        struct cg_block block = {offset, req->src_len ? req->src_len[i] : req->count};
        cg_build_block(plan, block);
        offset += block.len;
        if (block.len > longest) longest = block.len;
    }
    cg_build_block(plan, (struct cg_block){0, plan->block[req->rank].len});
    return longest;
}

static void add_last(struct cg_plan *plan, uint32_t n, uint32_t r, uint8_t prev)
{
    uint64_t offset = plan->block[r].offset;

    if (0 == offset || offset >= plan->range[0].chunk) {
        cg_build_from(plan, CG_STEP_RECV_REDUCE, CG_F_SLOT_FIRST, prev, CG_LINK_NONE, n, r);
        return;
    }
    cg_build_from(plan, CG_STEP_RECV_REDUCE, CG_F_SLOT_FIRST | CG_F_KEEP | CG_F_INTO_SLOT, prev, CG_LINK_NONE, n, r);
    cg_build_step(plan, CG_STEP_RECV, 0, prev, CG_LINK_NONE, n);
}

int cg_scatter_ring_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank;
    uint64_t longest = add_blocks(req, plan);
    uint8_t prev, next;
    int rc;

    cg_build_peer(req, plan, (r + n - 1) % n);
    cg_build_peer(req, plan, (r + 1) % n);
    prev = cg_build_link(plan, (r + n - 1) % n);
    next = cg_build_link(plan, (r + 1) % n);
    rc = cg_build_slices(req, plan, longest, n - 1, longest > plan->block[0].len ? CG_SLICES_ONE_CHANNEL : 0);

    cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, next, (r + n - 1) % n);
    for (uint32_t k = 1; k <= n - 2; k++)
        cg_build_step(plan, CG_STEP_RECV_REDUCE_SEND, CG_F_SLOT_FIRST, prev, next, (r + n - 1 - k) % n);
    add_last(plan, n, r, prev);
    return rc;
}
