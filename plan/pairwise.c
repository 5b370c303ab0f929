/* SPDX-License-Identifier: BSD-3-Clause
 * All-to-all: every rank sends its blocks to all others, starting behind itself, then receives theirs. An empty block
 * is no message. In place (src == dst, the same blocks) a slice of a block is sent before what comes for it is received
 * in the same iteration of the same channel.
 *
 * No deadlock: a rank in the earliest iteration of all waits for room only if the receiver has not consumed a message
 * of an iteration before, which it has; when all have sent, all that is waited for has arrived. */
#include "plan/build.h"

#include "core/status.h"

int cg_pairwise_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && req->nranks <= CG_LINKED_RANKS;
}

int cg_pairwise_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank;

    for (uint32_t i = 0; i < n; i++) {
        cg_build_block(plan, cg_src_block(req, i));
        if (i != r) cg_build_peer(req, plan, i);
    }
    for (uint32_t i = 0; i < n; i++)
        cg_build_block(plan, cg_dst_block(req, i));
    for (uint32_t k = 1; k < n; k++) {
        uint32_t to = (r + k) % n;
        if (plan->block[to].len) cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, cg_build_link(plan, to), to);
    }
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, n + r, r);
    for (uint32_t k = 1; k < n; k++) {
        uint32_t by = (r + n - k) % n;
        if (plan->block[n + by].len)
            cg_build_step(plan, CG_STEP_RECV, 0, cg_build_link(plan, by), CG_LINK_NONE, n + by);
    }
    if (CG_COLL_ALLTOALLV == req->coll) return cg_build_fixed_slices(req, plan);
    return cg_build_slices(req, plan, req->count, n - 1, 0);
}
