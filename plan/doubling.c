/* SPDX-License-Identifier: BSD-3-Clause
 * Recursive doubling: log2(n) rounds in which pairs of groups exchange their sums. Ranks beyond a power of two fold:
 * the even one of a pair sends its operand to the odd one, which takes part for both and sends the result back. Groups
 * are contiguous in rank order and the lower group is always the left operand, so that all ranks compute the same
 * expression. */
#include "plan/build.h"

#include "core/status.h"

static int add_peers(const struct cg_plan_request *req, struct cg_plan *plan, const struct cg_fold *f)
{
    int rc = f->folded ? cg_build_peer(req, plan, req->rank ^ 1) : CG_OK;

    for (uint32_t bit = 1; bit < f->power && !f->idle && CG_OK == rc; bit *= 2) {
        rc = cg_build_peer(req, plan, cg_fold_rank(f, f->pos ^ bit));
    }
    return rc;
}

static int add_round(struct cg_plan *plan, unsigned operand, uint32_t rank, uint32_t peer)
{
    uint8_t l = cg_build_link(plan, peer);
    unsigned first = peer < rank ? CG_F_SLOT_FIRST : 0;
    int rc = cg_build_step(plan, CG_STEP_SEND, operand, CG_LINK_NONE, l, 0);

    return CG_OK == rc ? cg_build_step(plan, CG_STEP_RECV_REDUCE, operand | first, l, CG_LINK_NONE, 0) : rc;
}

static int add_idle(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint8_t l = cg_build_link(plan, req->rank + 1);
    int rc = cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, l, 0);

    return CG_OK == rc ? cg_build_step(plan, CG_STEP_RECV, 0, l, CG_LINK_NONE, 0) : rc;
}

static int add_active(const struct cg_plan_request *req, struct cg_plan *plan, const struct cg_fold *f)
{
    unsigned operand = f->folded ? CG_F_DST_OPERAND : 0;
    uint8_t pair = f->folded ? cg_build_link(plan, req->rank - 1) : CG_LINK_NONE;
    int rc = CG_OK;

    if (f->folded) rc = cg_build_step(plan, CG_STEP_RECV_REDUCE, CG_F_SLOT_FIRST, pair, CG_LINK_NONE, 0);
    for (uint32_t bit = 1; bit < f->power && CG_OK == rc; bit *= 2) {
        rc = add_round(plan, operand, req->rank, cg_fold_rank(f, f->pos ^ bit));
        operand = CG_F_DST_OPERAND;
    }
    if (f->folded && CG_OK == rc) rc = cg_build_step(plan, CG_STEP_SEND, operand, CG_LINK_NONE, pair, 0);
    return rc;
}

int cg_doubling_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && cg_any_order(req) &&
           (cg_plan_bytes(req) <= cg_doubling_max(req->params) || !cg_ring_applies(req));
}

int cg_doubling_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_fold f = cg_fold_of(req, req->rank);
    int rc = add_peers(req, plan, &f);

    if (CG_OK == rc) rc = f.idle ? add_idle(req, plan) : add_active(req, plan, &f);
    return CG_OK == rc ? cg_build_ranges(req, plan, cg_build_channels(req), 1) : rc;
}
