/* SPDX-License-Identifier: BSD-3-Clause
 * One rank: the operand is the result. */
#include "plan/build.h"

#include "core/status.h"

int cg_copy_applies(const struct cg_plan_request *req) { return 1 == req->nranks; }

int cg_copy_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    int rc = cg_build_step(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, 0);

    return CG_OK == rc ? cg_build_ranges(req, plan, cg_build_channels(req), 1) : rc;
}
