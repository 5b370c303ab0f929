/* SPDX-License-Identifier: BSD-3-Clause
 * One-shot exchange: every rank sends its operand to all others and reduces what it got in rank order. One message
 * latency, (n - 1) times the bytes: for the smallest messages of few ranks. */
#include "plan/build.h"

#include "core/status.h"

#define MAX_RANKS 8

int cg_exchange_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && req->nranks <= MAX_RANKS && cg_plan_bytes(req) <= cg_exchange_max(req->params);
}

int cg_exchange_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    int rc = CG_OK;

    for (uint32_t peer = 0; peer < req->nranks && CG_OK == rc; peer++) {
        if (peer != req->rank) rc = cg_build_peer(req, plan, peer);
    }
    if (CG_OK == rc) rc = cg_build_step(plan, CG_STEP_SEND_ALL, 0, 0, CG_LINK_NONE, 0);
    if (CG_OK == rc) rc = cg_build_step(plan, CG_STEP_REDUCE_ALL, 0, 0, CG_LINK_NONE, 0);
    return CG_OK == rc ? cg_build_ranges(req, plan, 1, 1) : rc;
}
