/* SPDX-License-Identifier: BSD-3-Clause
 * Gather and scatter over the ring's links alone: root has two arms, ranks root + 1, root + 2, ... and root - 1,
 * root - 2, ...; blocks are handed on along them. Blocks go out farthest first and come in nearest first. */
#include "plan/build.h"

#include "core/status.h"

struct arm {
    uint32_t len, inner, outer; /* ranks of the arm; this rank's neighbours towards root and away from it */
    uint32_t at;                /* distance from root, 0 for root itself */
};

static uint32_t arm_len(uint32_t n, int down) { return down ? (n - 1) / 2 : n / 2; }

/* Rank at a distance from root. */
static uint32_t rank_on(const struct cg_plan_request *req, int down, uint32_t at)
{
    return (req->root + (down ? req->nranks - at : at)) % req->nranks;
}

static struct arm arm_of(const struct cg_plan_request *req)
{
    uint32_t n = req->nranks, up = (req->rank + n - req->root) % n;
    int down = up > arm_len(n, 0);
    struct arm a = {.len = arm_len(n, down), .at = down ? n - up : up};

    if (0 == a.at) return a;
    a.inner = rank_on(req, down, a.at - 1);
    a.outer = rank_on(req, down, (a.at + 1) % n);
    return a;
}

/* Root's own block: block n is the operand or the result, which starts its buffer. */
static void build_root(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks;
    int gather = CG_COLL_GATHER == req->coll, arms = n > 2 ? 2 : 1;

    for (int down = 0; down < arms; down++)
        cg_build_peer(req, plan, rank_on(req, down, 1));
    for (uint32_t i = 0; i < n; i++)
        cg_build_block(plan, (struct cg_block){i * req->count, req->count});
    cg_build_block(plan, (struct cg_block){0, req->count});
    for (uint32_t k = 1; k <= arm_len(n, 0); k++) {
        uint32_t at = gather ? k : arm_len(n, 0) + 1 - k;
        for (int down = 0; down < arms; down++) {
            if (at > arm_len(n, down)) continue;
            uint8_t l = cg_build_link(plan, rank_on(req, down, 1));
            cg_build_step(plan, gather ? CG_STEP_RECV : CG_STEP_SEND, 0, l, l, rank_on(req, down, at));
        }
    }
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, gather ? req->root : n, gather ? n : req->root);
}

static void build_arm(const struct cg_plan_request *req, struct cg_plan *plan, const struct arm *a)
{
    int gather = CG_COLL_GATHER == req->coll;
    uint8_t inner, outer = CG_LINK_NONE;

    cg_build_peer(req, plan, a->inner);
    if (a->at < a->len) cg_build_peer(req, plan, a->outer);
    inner = cg_build_link(plan, a->inner);
    if (a->at < a->len) outer = cg_build_link(plan, a->outer);
    cg_build_block(plan, (struct cg_block){0, req->count});
    if (gather) cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, inner, 0);
    for (uint32_t i = a->at; i < a->len; i++)
        cg_build_step(plan, CG_STEP_FORWARD, 0, gather ? outer : inner, gather ? inner : outer, 0);
    if (!gather) cg_build_step(plan, CG_STEP_RECV, 0, inner, CG_LINK_NONE, 0);
}

int cg_arms_applies(const struct cg_plan_request *req)
{
    return req->nranks >= 2 && req->nranks <= CG_BLOCKED_RANKS;
}

int cg_arms_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct arm a = arm_of(req);

    if (0 == a.at) {
        build_root(req, plan);
    } else {
        build_arm(req, plan, &a);
    }
    return cg_build_slices(req, plan, req->count, arm_len(req->nranks, 0), CG_SLICES_FINE);
}
