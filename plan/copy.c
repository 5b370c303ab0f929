/* SPDX-License-Identifier: BSD-3-Clause
 * One rank: the operand is the result, or there is nothing to do. */
#include "plan/build.h"

#include "core/status.h"

int cg_copy_applies(const struct cg_plan_request *req) { return 1 == req->nranks; }

int cg_copy_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint64_t len = req->dst_len ? req->dst_len[0] : req->src_len ? req->src_len[0] : req->count;
    struct cg_block src = {req->src_disp ? req->src_disp[0] : 0, len};
    struct cg_block dst = {req->dst_disp ? req->dst_disp[0] : 0, len};

    if (!req->src_len && !req->dst_len) {
        cg_build_step(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, 0);
        return cg_build_ranges(req, plan, cg_build_channels(req), 1);
    }
    cg_build_block(plan, dst);
    cg_build_block(plan, src);
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, 0, 1);
    return cg_build_slices(req, plan, len, 1, 0);
}

/* The result is there already (broadcast) or undefined (exscan). */
int cg_nothing_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    (void) req;
    plan->nchan = plan->nchunks = 1;
    return CG_OK;
}
