/* SPDX-License-Identifier: BSD-3-Clause
 * Every rank and root: gatherv and scatterv, whose sizes only the two ranks of a pair know, and gather and scatter of
 * few ranks. An empty block is no message. */
#include "plan/build.h"

#include "core/status.h"

static int gathers(const struct cg_plan_request *req)
{
    return CG_COLL_GATHER == req->coll || CG_COLL_GATHERV == req->coll;
}

static int regular(const struct cg_plan_request *req)
{
    return CG_COLL_GATHER == req->coll || CG_COLL_SCATTER == req->coll;
}

static void build_leaf(const struct cg_plan_request *req, struct cg_plan *plan)
{
    cg_build_block(plan, (struct cg_block){0, req->count});
    if (0 == req->count) return;
    cg_build_peer(req, plan, req->root);
    cg_build_step(plan, gathers(req) ? CG_STEP_SEND : CG_STEP_RECV, 0, 0, 0, 0);
}

/* Block n is root's own: the operand or the result, which starts its buffer. The ranks behind root come first. */
static void build_root(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, root = req->root;
    int gather = gathers(req);

    for (uint32_t i = 0; i < n; i++) {
        cg_build_block(plan, gather ? cg_dst_block(req, i) : cg_src_block(req, i));
        if (i != root && plan->block[i].len > 0) cg_build_peer(req, plan, i);
    }
    cg_build_block(plan, (struct cg_block){0, plan->block[root].len});
    for (uint32_t k = 1; k < n; k++) {
        uint32_t peer = (root + k) % n;
        if (0 == plan->block[peer].len) continue;
        uint8_t l = cg_build_link(plan, peer);
        cg_build_step(plan, gather ? CG_STEP_RECV : CG_STEP_SEND, 0, l, l, peer);
    }
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, gather ? root : n, gather ? n : root);
}

int cg_linear_applies(const struct cg_plan_request *req)
{
    if (regular(req)) return req->nranks >= 2 && req->nranks <= CG_DIRECT_RANKS && cg_exchange_max(req->params) > 0;
    return req->nranks >= 2 && req->nranks <= CG_LINKED_RANKS;
}

int cg_linear_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    if (req->rank == req->root) {
        build_root(req, plan);
    } else {
        build_leaf(req, plan);
    }
    if (!regular(req)) return cg_build_fixed_slices(req, plan);
    return cg_build_slices(req, plan, req->count, 1, CG_SLICES_FINE);
}
