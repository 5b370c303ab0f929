/* SPDX-License-Identifier: BSD-3-Clause
 * Ring: reduce-scatter, then all-gather. The sum of part c starts at rank c + 1, goes round and is complete at rank c,
 * from where it goes round again. Every step is done for depth chunks of a part one after another, so that a chunk
 * travels while the next is worked on.
 *
 * No deadlock: a rank has sent at most depth messages more than it has received, so at most n * depth are under way,
 * fewer than the n * slots at which all could wait for room. */
#include "plan/build.h"

#include "core/status.h"

#define MAX_RANKS 128 /* 2 * n - 1 steps */
#define MAX_DEPTH 4   /* chunks are not cut smaller than a slot's MAX_DEPTH-th part for the sake of depth */

static uint32_t depth_of(const struct cg_plan_request *req, uint32_t nchan)
{
    uint64_t piece = (uint64_t) req->params->slot_bytes / MAX_DEPTH;
    uint64_t worth = cg_plan_bytes(req) / (nchan * req->nranks * piece);
    uint64_t depth = cg_min_u64(MAX_DEPTH, worth ? worth : 1);

    depth = cg_min_u64(depth, (uint64_t) req->params->slots / 2);
    return (uint32_t) cg_min_u64(depth, CG_MAX_STEPS / (2 * req->nranks - 1));
}

/* One step on every chunk of part. */
static int add(struct cg_plan *plan, enum cg_opcode opcode, uint8_t prev, uint8_t next, uint32_t part, uint32_t depth)
{
    int rc = CG_OK;

    for (uint32_t i = 0; i < depth && CG_OK == rc; i++) {
        rc = cg_build_step(plan, opcode, CG_F_SLOT_FIRST, prev, next, part * depth + i);
    }
    return rc;
}

int cg_ring_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && req->nranks <= MAX_RANKS && cg_any_order(req);
}

int cg_ring_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank, nchan = cg_build_channels(req), depth = depth_of(req, nchan);
    uint8_t prev, next;

    cg_build_peer(req, plan, (r + n - 1) % n);
    cg_build_peer(req, plan, (r + 1) % n);
    prev = cg_build_link(plan, (r + n - 1) % n);
    next = cg_build_link(plan, (r + 1) % n);

    int rc = add(plan, CG_STEP_SEND, CG_LINK_NONE, next, (r + n - 1) % n, depth);
    for (uint32_t k = 1; k <= n - 2 && CG_OK == rc; k++) {
        rc = add(plan, CG_STEP_RECV_REDUCE_SEND, prev, next, (r + n - 1 - k) % n, depth);
    }
    if (CG_OK == rc) rc = add(plan, CG_STEP_RECV_REDUCE_COPY_SEND, prev, next, r, depth);
    for (uint32_t j = 1; j <= n - 2 && CG_OK == rc; j++) {
        rc = add(plan, CG_STEP_RECV_SEND, prev, next, (r + n - j) % n, depth);
    }
    if (CG_OK == rc) rc = add(plan, CG_STEP_RECV, prev, CG_LINK_NONE, (r + 1) % n, depth);
    return CG_OK == rc ? cg_build_ranges(req, plan, nchan, n * depth) : rc;
}
