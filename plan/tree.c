/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast of small messages to many ranks: a binomial tree over the links of recursive doubling, with its folding.
 * Positions differ from root's in some bits; a position gets the message from the one without its highest bit and sends
 * it to those with one higher bit, then to the even one of its pair. */
#include "plan/build.h"

#include "core/status.h"

int cg_tree_applies(const struct cg_plan_request *req)
{
    return req->nranks > CG_DIRECT_RANKS && cg_doubling_max(req->params) > 0 &&
           cg_plan_bytes(req) <= cg_doubling_max(req->params);
}

/* Receive from a rank or nobody, then send to others, largest subtree first. */
struct fan {
    int receives;
    uint32_t from, n, to[32];
};

static struct fan fan_of(const struct cg_plan_request *req)
{
    struct cg_fold fold = cg_fold_of(req, req->rank), top = cg_fold_of(req, req->root);
    uint32_t rank = req->rank, away = fold.pos ^ top.pos, bit = 1;
    struct fan f = {.receives = rank != req->root};

    if (fold.idle) {
        f.from = rank + 1;
        if (!f.receives) f.to[f.n++] = rank + 1;
        return f;
    }
    while (bit <= away)
        bit *= 2;
    f.from = away ? cg_fold_rank(&fold, fold.pos ^ bit / 2) : req->root;
    for (uint32_t b = fold.power / 2; b >= bit; b /= 2)
        f.to[f.n++] = cg_fold_rank(&fold, fold.pos ^ b);
    if (fold.folded && req->root != rank - 1) f.to[f.n++] = rank - 1;
    return f;
}

int cg_tree_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct fan f = fan_of(req);
    uint8_t from = CG_LINK_NONE;

    if (f.receives) cg_build_peer(req, plan, f.from);
    for (uint32_t i = 0; i < f.n; i++)
        cg_build_peer(req, plan, f.to[i]);
    if (f.receives) from = cg_build_link(plan, f.from);
    if (f.receives && 0 == f.n) cg_build_step(plan, CG_STEP_RECV, 0, from, CG_LINK_NONE, 0);
    for (uint32_t i = 0; i < f.n; i++) {
        uint8_t to = cg_build_link(plan, f.to[i]);
        if (f.receives && 0 == i) {
            cg_build_step(plan, CG_STEP_RECV_SEND, 0, from, to, 0);
        } else {
            cg_build_step(plan, CG_STEP_SEND, f.receives ? CG_F_DST_OPERAND : 0, CG_LINK_NONE, to, 0);
        }
    }
    return cg_build_ranges(req, plan, 1, 1);
}
