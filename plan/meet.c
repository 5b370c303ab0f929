/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours tell each other which call they are in. */
#include "plan/build.h"

#include "core/status.h"

#include <string.h>

/* Fewer, to which each of them belongs for the other as well, and which join all ranks: those of an allreduce. */
static int fewer(const struct cg_plan_request *who, uint32_t *peers, uint32_t *n)
{
    struct cg_plan_request req = *who;
    struct cg_plan plan;
    int rc;

    req.coll = CG_COLL_ALLREDUCE;
    req.count = 1;
    req.esize = 1;
    rc = cg_plan_build(&req, &plan);
    memcpy(peers, plan.peer, sizeof(plan.peer));
    *n = plan.nlinks;
    return rc;
}

int cg_plan_meet(const struct cg_plan_request *who, const uint32_t *peers, uint32_t n, struct cg_plan *plan)
{
    struct cg_plan_request req = {.rank = who->rank};
    uint32_t some[CG_MAX_LINKS];
    int rc = CG_OK;

    if (n > CG_MAX_LINKS) {
        rc = fewer(who, some, &n);
        peers = some;
    }
    if (CG_OK != rc) return rc;
    memset(plan, 0, sizeof(*plan));
    plan->name = "meet";
    plan->esize = 1;
    for (uint32_t i = 0; i < n && CG_OK == rc; i++) rc = cg_build_peer(&req, plan, peers[i]);
    if (CG_OK == rc) rc = cg_build_step(plan, CG_STEP_SEND_ALL, 0, 0, CG_LINK_NONE, 0);
    for (uint32_t l = 0; l < n && CG_OK == rc; l++)
        rc = cg_build_step(plan, CG_STEP_RECV, 0, (uint8_t) l, CG_LINK_NONE, 0);
    plan->nall = plan->nlinks;
    plan->nchan = plan->nchunks = 1;
    plan->range[0] = (struct cg_range){.end = 1, .chunk = 1, .iters = n > 0};
    return rc;
}
