/* SPDX-License-Identifier: BSD-3-Clause
 * The algorithms, and what is derived from them. */
#include "plan/rail.h"

#include "core/status.h"
#include "plan/choose.h"

#include <string.h>

#define PROBE_MAX (1ull << 32) /* bytes of a message to which every algorithm that is ever used applies */

const struct cg_algorithm cg_algorithms[] = {
    {"copy", "1 rank", CG_COLL_ALLREDUCE, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_doubling", "several nodes, as long as links suffice", CG_COLL_ALLREDUCE, cg_rail_doubling_applies,
     cg_rail_doubling_build, CG_SUMS_DST},
    {"rail_ring", "up to rail_ring_nodes nodes, 4 KiB for each rail and node", CG_COLL_ALLREDUCE, cg_rail_ring_applies,
     cg_rail_ring_build, CG_SUMS_DST},
    {"rails", "several nodes", CG_COLL_ALLREDUCE, cg_rail_applies, cg_rails_build, CG_SUMS_DST},
    {"exchange", "2 to 8 ranks, up to exchange_max bytes", CG_COLL_ALLREDUCE, cg_exchange_applies, cg_exchange_build,
     CG_SUMS_NONE},
    {"owners", "2 to 8 ranks, larger messages, with rank_order", CG_COLL_ALLREDUCE, cg_owners_applies,
     cg_owners_build, CG_SUMS_NONE},
    {"doubling", "up to doubling_max bytes, or more ranks than the ring serves", CG_COLL_ALLREDUCE, cg_doubling_applies,
     cg_doubling_build, CG_SUMS_DST},
    {"ring", "up to 128 ranks, larger messages", CG_COLL_ALLREDUCE, cg_ring_applies, cg_ring_build, CG_SUMS_LINK},
    {"nothing", "1 rank", CG_COLL_BCAST, cg_copy_applies, cg_nothing_build, CG_SUMS_NONE},
    {"rail_binomial", "several nodes, as long as links suffice", CG_COLL_BCAST, cg_rail_binomial_applies,
     cg_rail_binomial_build, CG_SUMS_NONE},
    {"rails", "several nodes", CG_COLL_BCAST, cg_rail_applies, cg_rails_rooted_build, CG_SUMS_NONE},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_BCAST, cg_direct_applies, cg_direct_build, CG_SUMS_NONE},
    {"tree", "more ranks, up to doubling_max bytes", CG_COLL_BCAST, cg_tree_applies, cg_tree_build, CG_SUMS_NONE},
    {"chain", "2 or more ranks", CG_COLL_BCAST, cg_chain_applies, cg_chain_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_REDUCE, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_binomial", "several nodes, as long as links suffice", CG_COLL_REDUCE, cg_rail_binomial_applies,
     cg_rail_binomial_build, CG_SUMS_LINK},
    {"rails", "several nodes", CG_COLL_REDUCE, cg_rail_applies, cg_rails_rooted_build, CG_SUMS_LINK},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_REDUCE, cg_direct_applies, cg_direct_build,
     CG_SUMS_NONE},
    {"chain", "2 or more ranks", CG_COLL_REDUCE, cg_chain_applies, cg_chain_build, CG_SUMS_LINK},
    {"copy", "1 rank", CG_COLL_SCAN, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_tree", "several nodes, or more than 128 ranks", CG_COLL_SCAN, cg_rail_scan_applies, cg_rail_scan_build,
     CG_SUMS_DST},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_SCAN, cg_direct_applies, cg_direct_build, CG_SUMS_DST},
    {"chain", "2 or more ranks", CG_COLL_SCAN, cg_chain_applies, cg_chain_build, CG_SUMS_LINK},
    {"nothing", "1 rank", CG_COLL_EXSCAN, cg_copy_applies, cg_nothing_build, CG_SUMS_NONE},
    {"rail_tree", "several nodes, or more than 128 ranks", CG_COLL_EXSCAN, cg_rail_scan_applies, cg_rail_scan_build,
     CG_SUMS_DST},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_EXSCAN, cg_direct_applies, cg_direct_build, CG_SUMS_DST},
    {"chain", "2 or more ranks", CG_COLL_EXSCAN, cg_chain_applies, cg_chain_build, CG_SUMS_LINK},
    {"copy", "1 rank", CG_COLL_ALLGATHER, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_ring", "several nodes, or more than 128 ranks", CG_COLL_ALLGATHER, cg_grid_applies, cg_rail_blocks_build,
     CG_SUMS_NONE},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_ALLGATHER, cg_direct_applies, cg_direct_build,
     CG_SUMS_NONE},
    {"ring", "up to 128 ranks", CG_COLL_ALLGATHER, cg_allgather_applies, cg_allgather_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_ALLGATHERV, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_ALLGATHERV, cg_direct_applies, cg_direct_build,
     CG_SUMS_NONE},
    {"ring", "up to 128 ranks", CG_COLL_ALLGATHERV, cg_allgather_applies, cg_allgather_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_GATHER, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_tree", "several nodes, or more than 128 ranks", CG_COLL_GATHER, cg_grid_applies, cg_rail_tree_build,
     CG_SUMS_NONE},
    {"linear", "up to 8 ranks, unless exchange_max is 0", CG_COLL_GATHER, cg_linear_applies, cg_linear_build,
     CG_SUMS_NONE},
    {"arms", "up to 128 ranks", CG_COLL_GATHER, cg_arms_applies, cg_arms_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_SCATTER, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_tree", "several nodes, or more than 128 ranks", CG_COLL_SCATTER, cg_grid_applies, cg_rail_tree_build,
     CG_SUMS_NONE},
    {"linear", "up to 8 ranks, unless exchange_max is 0", CG_COLL_SCATTER, cg_linear_applies, cg_linear_build,
     CG_SUMS_NONE},
    {"arms", "up to 128 ranks", CG_COLL_SCATTER, cg_arms_applies, cg_arms_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_GATHERV, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"linear", "up to 17 ranks", CG_COLL_GATHERV, cg_linear_applies, cg_linear_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_SCATTERV, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"linear", "up to 17 ranks", CG_COLL_SCATTERV, cg_linear_applies, cg_linear_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_ALLTOALL, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"pairwise", "up to 17 ranks", CG_COLL_ALLTOALL, cg_pairwise_applies, cg_pairwise_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_ALLTOALLV, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"pairwise", "up to 17 ranks", CG_COLL_ALLTOALLV, cg_pairwise_applies, cg_pairwise_build, CG_SUMS_NONE},
    {"copy", "1 rank", CG_COLL_REDUCE_SCATTER, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"direct", "the same, no block longer than the first", CG_COLL_REDUCE_SCATTER, cg_direct_applies,
     cg_direct_build, CG_SUMS_NONE},
    {"ring", "up to 128 ranks", CG_COLL_REDUCE_SCATTER, cg_scatter_ring_applies, cg_scatter_ring_build, CG_SUMS_LINK},
    {"copy", "1 rank", CG_COLL_REDUCE_SCATTER_BLOCK, cg_copy_applies, cg_copy_build, CG_SUMS_NONE},
    {"rail_ring", "several nodes, or more than 128 ranks", CG_COLL_REDUCE_SCATTER_BLOCK, cg_grid_applies,
     cg_rail_blocks_build, CG_SUMS_LINK},
    {"direct", "up to 8 ranks and exchange_max bytes", CG_COLL_REDUCE_SCATTER_BLOCK, cg_direct_applies,
     cg_direct_build, CG_SUMS_NONE},
    {"ring", "up to 128 ranks", CG_COLL_REDUCE_SCATTER_BLOCK, cg_scatter_ring_applies, cg_scatter_ring_build,
     CG_SUMS_LINK},
    {NULL, NULL, CG_COLL_NONE, NULL, NULL, CG_SUMS_NONE},
};

/* Those for several nodes: where the last of a collective applies, it applies to every size. */
static int for_nodes(const struct cg_algorithm *a) { return 0 == strncmp(a->name, "rail", 4); }
static int for_every_size(const struct cg_algorithm *a)
{
    return cg_rail_applies == a->applies || cg_grid_applies == a->applies;
}

/* Is it made for one node, where others are made for several? */
static int superseded(const struct cg_algorithm *a, const struct cg_plan_request *req)
{
    if (req->nranks <= CG_DIRECT_RANKS || for_nodes(a)) return 0;
    for (const struct cg_algorithm *b = cg_algorithms; b->name; b++) {
        if (b->coll == a->coll && for_every_size(b) && b->applies(req)) return 1;
    }
    return 0;
}

int cg_plan_usable(const struct cg_algorithm *a, const struct cg_plan_request *req)
{
    return a->applies(req) && !superseded(a, req);
}

static uint64_t descriptor_bytes(const struct cg_plan *plan)
{
    return sizeof(struct cg_op) + plan->nlinks * sizeof(struct cg_link) + plan->nsteps * sizeof(struct cg_step) +
           cg_plan_listed(plan) * sizeof(struct cg_block) + plan->nwalks * sizeof(struct cg_walk);
}

static int build(const struct cg_algorithm *a, const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_plan_request own = cg_build_carried(a, req);
    int rc;

    memset(plan, 0, sizeof(*plan));
    plan->name = a->name;
    plan->esize = own.esize;
    rc = a->build(&own, plan);
    if (0 == plan->nall) plan->nall = plan->nlinks;
    return CG_OK == rc && (plan->nsteps > CG_MAX_STEPS || descriptor_bytes(plan) > CG_OP_BYTES) ? CG_ERR_LIMIT : rc;
}

int cg_plan_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    const struct cg_row *row;
    const struct cg_algorithm *a = cg_choose_plan(req, &row);
    struct cg_plan_request chosen = *req;
    int rc;

    if (NULL == a) return CG_ERR_UNSUPPORTED;
    if (row && row->blocks) chosen.channels = row->blocks;
    rc = build(a, &chosen, plan);
    plan->row = row;
    return rc;
}

/* Keep out ascending and free of duplicates. */
static int merge(uint32_t *out, int n, int max, uint32_t peer)
{
    int at = 0;

    while (at < n && out[at] < peer)
        at++;
    if (at < n && out[at] == peer) return n;
    if (n == max) return CG_ERR_LIMIT;
    memmove(&out[at + 1], &out[at], sizeof(*out) * (size_t) (n - at));
    out[at] = peer;
    return n + 1;
}

/* Peers of an algorithm do not depend on the size, so its smallest size that applies shows them. */
static int merge_algorithm(const struct cg_algorithm *a, struct cg_plan_request *req, uint32_t *out, int n, int max)
{
    struct cg_plan plan;
    int rc;

    if (superseded(a, req)) return n;
    req->count = 1;
    while (req->count < PROBE_MAX && !a->applies(req))
        req->count *= 4;
    if (!a->applies(req)) return n;
    rc = build(a, req, &plan);
    if (rc != CG_OK) return rc;
    for (uint32_t l = 0; l < plan.nlinks && n >= 0; l++)
        n = merge(out, n, max, plan.peer[l]);
    return n;
}

static int has_root(int coll)
{
    return CG_COLL_BCAST == coll || CG_COLL_REDUCE == coll || CG_COLL_GATHER == coll || CG_COLL_GATHERV == coll ||
           CG_COLL_SCATTER == coll || CG_COLL_SCATTERV == coll;
}

#define CG_COLL_REACH(name, text, reduces, known, reach) [CG_COLL_##name] = reach,
static const unsigned char reaches[CG_COLL_COUNT] = {CG_COLL_TABLE(CG_COLL_REACH)};
#undef CG_COLL_REACH

int cg_plan_neighbors(uint32_t nranks, uint32_t rank, const struct cg_params *params, const struct cg_nodes *nodes,
                      int reach, uint32_t *peers, int max)
{
    struct cg_plan_request req = {
        .nranks = nranks, .rank = rank, .count = 1, .esize = 1, .params = params, .nodes = nodes};
    int n = 0;

    for (const struct cg_algorithm *a = cg_algorithms; a->name && n >= 0; a++) {
        req.coll = a->coll;
        if (reaches[a->coll] > reach) continue;
        uint32_t roots = has_root(a->coll) ? nranks : 1;
        for (req.root = 0; req.root < roots && n >= 0; req.root++)
            n = merge_algorithm(a, &req, peers, n, max);
    }
    return n;
}

void cg_plan_to_op(const struct cg_plan *plan, struct cg_op *op)
{
    op->esize = (uint8_t) plan->esize;
    op->nchan = (uint16_t) plan->nchan;
    op->nchunks = (uint16_t) plan->nchunks;
    op->nsteps = (uint16_t) plan->nsteps;
    op->nlinks = (uint16_t) plan->nlinks;
    op->self_pos = (uint16_t) plan->self_pos;
    op->nall = (uint16_t) plan->nall;
    op->nblocks = (uint16_t) plan->nblocks;
    op->block_len = plan->block_len;
    op->reps = plan->reps;
    op->nwalks = (uint16_t) plan->nwalks;
    op->size = (uint32_t) descriptor_bytes(plan);
    memcpy(op->range, plan->range, sizeof(op->range));
    memcpy(cg_op_steps(op), plan->step, plan->nsteps * sizeof(struct cg_step));
    memcpy(cg_op_blocks(op), plan->block, cg_plan_listed(plan) * sizeof(struct cg_block));
    memcpy(cg_op_walks(op), plan->walk, plan->nwalks * sizeof(struct cg_walk));
}

int cg_plan_exists(int coll, uint32_t nranks)
{
    const struct cg_row *row;
    struct cg_params params;
    struct cg_plan_request req = {.coll = coll, .nranks = nranks, .count = 1, .esize = 1, .params = &params};

    cg_params_default(&params);
    return cg_choose_plan(&req, &row) != NULL;
}
