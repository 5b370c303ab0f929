/* SPDX-License-Identifier: BSD-3-Clause
 * Owners: every rank owns a part. It gets that part from all others, reduces it in rank order and sends the result to
 * all. As many bytes as the ring, two message latencies instead of 2 (n - 1), and the order of the one-shot exchange
 * and of the fast executor: so that an allreduce of few ranks has the same bits whichever way it goes.
 *
 * No deadlock: a rank is at most one iteration ahead of another, so that a lane holds at most depth raw parts and depth
 * results, no more than slots. */
#include "plan/build.h"

#include "core/status.h"

#define MAX_RANKS 8
#define MAX_DEPTH 4 /* chunks of a part under way, as in the ring */

static uint32_t depth_of(const struct cg_plan_request *req, uint32_t nchan)
{
    uint64_t piece = (uint64_t) req->params->slot_bytes / MAX_DEPTH;
    uint64_t worth = cg_plan_bytes(req) / (nchan * req->nranks * piece);
    uint64_t depth = cg_min_u64(MAX_DEPTH, worth ? worth : 1);

    return (uint32_t) cg_min_u64(depth, (uint64_t) req->params->slots / 2);
}

/* A step of each chunk of part with the link to peer. */
static int add(struct cg_plan *plan, enum cg_opcode opcode, uint32_t peer, uint32_t part, uint32_t depth)
{
    uint8_t link = cg_build_link(plan, peer);
    int recvs = opcode == CG_STEP_RECV, rc = CG_OK;

    for (uint32_t i = 0; i < depth && CG_OK == rc; i++) {
        rc = cg_build_step(plan, opcode, 0, recvs ? link : CG_LINK_NONE, recvs ? CG_LINK_NONE : link, part * depth + i);
    }
    return rc;
}

static int reduce_and_send(struct cg_plan *plan, uint32_t chunk)
{
    int rc = cg_build_step(plan, CG_STEP_REDUCE_ALL, 0, 0, CG_LINK_NONE, chunk);

    return CG_OK == rc ? cg_build_step(plan, CG_STEP_SEND_ALL, CG_F_DST_OPERAND, 0, CG_LINK_NONE, chunk)
                       : rc;
}

int cg_owners_applies(const struct cg_plan_request *req)
{
    return req->params->rank_order && req->nranks >= 2 && req->nranks <= MAX_RANKS;
}

int cg_owners_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank, nchan = cg_build_channels(req), depth = depth_of(req, nchan);
    int rc = CG_OK;

    for (uint32_t peer = 0; peer < n && CG_OK == rc; peer++) {
        if (peer != r) rc = cg_build_peer(req, plan, peer);
    }
    for (uint32_t k = 1; k < n && CG_OK == rc; k++) rc = add(plan, CG_STEP_SEND, (r + k) % n, (r + k) % n, depth);
    for (uint32_t i = 0; i < depth && CG_OK == rc; i++) rc = reduce_and_send(plan, r * depth + i);
    for (uint32_t k = 1; k < n && CG_OK == rc; k++)
        rc = add(plan, CG_STEP_RECV, (r + n - k) % n, (r + n - k) % n, depth);
    return CG_OK == rc ? cg_build_ranges(req, plan, nchan, n * depth) : rc;
}
