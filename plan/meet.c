/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours tell each other which call they are in. */
#include "plan/build.h"

#include "core/status.h"

#include <string.h>

int cg_plan_meet(uint32_t rank, const uint32_t *peers, uint32_t n, struct cg_plan *plan)
{
    struct cg_plan_request req = {.rank = rank};
    int rc = n > CG_MAX_LINKS ? CG_ERR_LIMIT : CG_OK;

    memset(plan, 0, sizeof(*plan));
    plan->name = "meet";
    for (uint32_t i = 0; i < n && CG_OK == rc; i++) rc = cg_build_peer(&req, plan, peers[i]);
    if (CG_OK == rc) rc = cg_build_step(plan, CG_STEP_SEND_ALL, 0, CG_LINK_NONE, CG_LINK_NONE, 0);
    for (uint32_t l = 0; l < n && CG_OK == rc; l++)
        rc = cg_build_step(plan, CG_STEP_RECV, 0, (uint8_t) l, CG_LINK_NONE, 0);
    plan->nchan = plan->nchunks = 1;
    plan->range[0] = (struct cg_range){.end = 1, .chunk = 1, .iters = n > 0};
    return rc;
}
