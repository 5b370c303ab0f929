/* SPDX-License-Identifier: BSD-3-Clause
 * Small messages of up to 8 ranks, each straight to where it is needed: one message latency, more bytes. */
#include "plan/build.h"

#include "core/status.h"

/* Elements of the longest message; reduce_scatter and allgatherv have blocks of their own lengths. */
static uint64_t longest_of(const struct cg_plan_request *req)
{
    const uint64_t *len = req->src_len ? req->src_len : req->dst_len;
    uint64_t longest = len ? 0 : req->count;

    for (uint32_t i = 0; len && i < req->nranks; i++)
        longest = len[i] > longest ? len[i] : longest;
    return longest;
}

/* In place the result of a reduce_scatter must not lie over an operand that begins elsewhere: see reduce_scatter.c. */
int cg_direct_applies(const struct cg_plan_request *req)
{
    uint64_t longest = longest_of(req);

    if (req->src_len && longest > req->src_len[0]) return 0;
    return req->nranks >= 2 && req->nranks <= CG_DIRECT_RANKS && cg_exchange_max(req->params) > 0 &&
           longest * (uint64_t) req->esize <= cg_exchange_max(req->params);
}

static void add_peers(const struct cg_plan_request *req, struct cg_plan *plan)
{
    for (uint32_t i = 0; i < req->nranks; i++) {
        if (i != req->rank) cg_build_peer(req, plan, i);
    }
}

static void add_bcast(const struct cg_plan_request *req, struct cg_plan *plan)
{
    if (req->rank == req->root) {
        add_peers(req, plan);
        cg_build_step(plan, CG_STEP_SEND_ALL, 0, 0, CG_LINK_NONE, 0);
    } else {
        cg_build_peer(req, plan, req->root);
        cg_build_step(plan, CG_STEP_RECV, 0, 0, CG_LINK_NONE, 0);
    }
}

static void add_reduce(const struct cg_plan_request *req, struct cg_plan *plan)
{
    if (req->rank == req->root) {
        add_peers(req, plan);
        cg_build_step(plan, CG_STEP_REDUCE_ALL, 0, 0, CG_LINK_NONE, 0);
    } else {
        cg_build_peer(req, plan, req->root);
        cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, 0, 0);
    }
}

/* The operand to all higher ranks; then from the next lower one down to 0, each the left operand of what there is. */
static void add_scan(const struct cg_plan_request *req, struct cg_plan *plan)
{
    int inclusive = CG_COLL_SCAN == req->coll;
    uint32_t r = req->rank;

    add_peers(req, plan);
    for (uint32_t i = r + 1; i < req->nranks; i++)
        cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, cg_build_link(plan, i), 0);
    if (inclusive && 0 == r) cg_build_step(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, 0);
    for (uint32_t i = r; i-- > 0;) {
        int first = i + 1 == r;
        cg_build_step(plan, first && !inclusive ? CG_STEP_RECV : CG_STEP_RECV_REDUCE,
                      CG_F_SLOT_FIRST | (first ? 0 : CG_F_DST_OPERAND), cg_build_link(plan, i), CG_LINK_NONE, 0);
    }
}

static void add_allgather(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank;

    add_peers(req, plan);
    for (uint32_t i = 0; i < n; i++)
        cg_build_block(plan, cg_dst_block(req, i));
    cg_build_block(plan, (struct cg_block){0, plan->block[r].len});
    cg_build_step(plan, CG_STEP_SEND_ALL, 0, 0, CG_LINK_NONE, n);
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, r, n);
    for (uint32_t k = 1; k < n; k++) {
        uint32_t peer = (r + k) % n;
        cg_build_step(plan, CG_STEP_RECV, 0, cg_build_link(plan, peer), CG_LINK_NONE, peer);
    }
}

static void add_reduce_scatter(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank;
    uint64_t offset = 0;

    add_peers(req, plan);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = req->src_len ? req->src_len[i] : req->count;
        cg_build_block(plan, (struct cg_block){offset, len});
        offset += len;
    }
    cg_build_block(plan, (struct cg_block){0, plan->block[r].len});
    for (uint32_t k = 1; k < n; k++) {
        uint32_t peer = (r + k) % n;
        cg_build_step(plan, CG_STEP_SEND, 0, CG_LINK_NONE, cg_build_link(plan, peer), peer);
    }
    cg_build_from(plan, CG_STEP_REDUCE_ALL, 0, 0, CG_LINK_NONE, n, r);
}

int cg_direct_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    static void (*const adders[CG_COLL_COUNT])(const struct cg_plan_request *, struct cg_plan *) = {
        [CG_COLL_BCAST] = add_bcast,
        [CG_COLL_REDUCE] = add_reduce,
        [CG_COLL_SCAN] = add_scan,
        [CG_COLL_EXSCAN] = add_scan,
        [CG_COLL_ALLGATHER] = add_allgather,
        [CG_COLL_ALLGATHERV] = add_allgather,
        [CG_COLL_REDUCE_SCATTER] = add_reduce_scatter,
        [CG_COLL_REDUCE_SCATTER_BLOCK] = add_reduce_scatter,
    };

    adders[req->coll](req, plan);
    if (plan->nblocks) return cg_build_slices(req, plan, longest_of(req), 1, CG_SLICES_ONE_CHANNEL);
    return cg_build_ranges(req, plan, 1, 1);
}
