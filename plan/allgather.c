/* SPDX-License-Identifier: BSD-3-Clause
 * All-gather on the ring: every block goes once round. Block n is the operand; in place it is where block rank lies in
 * dst, and the copy does nothing.
 *
 * No deadlock: a rank sends at most one message more than it has received, so at most n are under way, fewer than the
 * n * slots at which all could wait for room. */
#include "plan/build.h"

#include "core/status.h"

int cg_allgather_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && req->nranks <= CG_BLOCKED_RANKS;
}

int cg_allgather_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank;
    uint64_t longest = 0;
    uint8_t prev, next;

    cg_build_peer(req, plan, (r + n - 1) % n);
    cg_build_peer(req, plan, (r + 1) % n);
    prev = cg_build_link(plan, (r + n - 1) % n);
    next = cg_build_link(plan, (r + 1) % n);
    for (uint32_t i = 0; i < n; i++) {
        struct cg_block block = cg_dst_block(req, i);
        cg_build_block(plan, block);
        if (block.len > longest) longest = block.len;
    }
    cg_build_block(plan, (struct cg_block){0, plan->block[r].len});

    cg_build_from(plan, CG_STEP_SEND, 0, CG_LINK_NONE, next, n, n);
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, r, n);
    for (uint32_t k = 1; k <= n - 2; k++)
        cg_build_step(plan, CG_STEP_RECV_SEND, 0, prev, next, (r + n - k) % n);
    cg_build_step(plan, CG_STEP_RECV, 0, prev, CG_LINK_NONE, (r + 1) % n);
    return cg_build_slices(req, plan, longest, n - 1, 0);
}
