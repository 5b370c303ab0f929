/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast along the ring: root, root + 1, ... The buffer is src and dst at once on every rank. */
#include "plan/build.h"

#include "core/status.h"

int cg_chain_applies(const struct cg_plan_request *req) { return req->nranks >= 2; }

int cg_chain_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank, prev = (r + n - 1) % n, next = (r + 1) % n;
    int first = r == req->root, last = next == req->root;
    enum cg_opcode opcode = first ? CG_STEP_SEND : last ? CG_STEP_RECV : CG_STEP_RECV_SEND;

    if (!first) cg_build_peer(req, plan, prev);
    if (!last) cg_build_peer(req, plan, next);
    int rc = cg_build_step(plan, opcode, 0, first ? CG_LINK_NONE : cg_build_link(plan, prev),
                           last ? CG_LINK_NONE : cg_build_link(plan, next), 0);
    return CG_OK == rc ? cg_build_ranges(req, plan, cg_build_channels(req), 1) : rc;
}
