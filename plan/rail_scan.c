/* SPDX-License-Identifier: BSD-3-Clause
 * Scan and exscan over many ranks: a binary tree in the order of ranks, where a rank lies between its left and its
 * right subtree. Sums of left subtrees go up; the sum of all ranks before a subtree comes down. dst holds the sum of
 * the left subtree and the own operand, then of all ranks up to this one. Exscan hands that to the next rank at the
 * end. As many messages one after another as twice the depth of the tree; if the ranks of nodes are consecutive, most
 * of them within nodes.
 *
 * No deadlock: in an iteration a lane holds what goes up, then what comes down, each in the order of chunks. */
#include "plan/rail.h"

#define MAX_DEPTH 8
#define PIECES 4 /* of a slot: chunks are not cut smaller for the sake of depth */
#define NOBODY (-1)

/* One rank's place. */
struct place {
    struct cg_plan *plan;
    uint32_t rank, n;
    int up, left, right; /* NOBODY: there is none */
    int sum_needed;      /* of this subtree, further up */
    int inclusive;
};

static struct place place_of(struct cg_plan *plan, uint32_t n, uint32_t rank)
{
    struct cg_fan f = cg_tree_fan(n, CG_GRAPH_TREE, rank, CG_OWN_ROOT);
    struct place p = {.plan = plan, .rank = rank, .n = n, .up = f.up};

    p.left = f.before ? (int) f.down[0] : NOBODY;
    p.right = f.n > f.before ? (int) f.down[f.before] : NOBODY;
    return p;
}

/* Whoever has it on its left needs it; whoever has it on its right passes it on, if need be. */
static int sum_needed(uint32_t n, uint32_t rank)
{
    struct place p = place_of(NULL, n, rank);

    while (p.up != NOBODY && p.up < (int) p.rank) p = place_of(NULL, n, (uint32_t) p.up);
    return p.up != NOBODY;
}

static void put(struct place *p, enum cg_opcode opcode, unsigned flags, int by, int to, uint32_t chunk)
{
    uint8_t rlink = CG_LINK_NONE, slink = CG_LINK_NONE;

    if (by != NOBODY) rlink = cg_rail_link(p->plan, (uint32_t) by);
    if (to != NOBODY) slink = cg_rail_link(p->plan, (uint32_t) to);
    cg_build_step(p->plan, opcode, flags, rlink, slink, chunk);
}

/* Rank 0 has the root, no left subtree and, in exscan, no dst. */
static void up(struct place *p, uint32_t chunk)
{
    if (p->left != NOBODY) put(p, CG_STEP_RECV_REDUCE, CG_F_SLOT_FIRST, p->left, NOBODY, chunk);
    else if (p->rank > 0 || p->inclusive) put(p, CG_STEP_COPY, 0, NOBODY, NOBODY, chunk);
    if (!p->sum_needed) return;
    put(p, p->right == NOBODY ? CG_STEP_SEND : CG_STEP_RECV_REDUCE_SEND, CG_F_DST_OPERAND, p->right, p->up, chunk);
}

static void down(struct place *p, uint32_t chunk)
{
    unsigned operand = p->rank > 0 || p->inclusive ? CG_F_DST_OPERAND : 0;

    if (p->left != NOBODY) put(p, CG_STEP_FORWARD, CG_F_KEEP, p->up, p->left, chunk);
    if (p->up != NOBODY) put(p, CG_STEP_RECV_REDUCE, CG_F_SLOT_FIRST | CG_F_DST_OPERAND, p->up, NOBODY, chunk);
    if (p->right != NOBODY) put(p, CG_STEP_SEND, operand, NOBODY, p->right, chunk);
    if (p->inclusive) return;
    if (p->rank + 1 < p->n) put(p, CG_STEP_SEND, operand, NOBODY, (int) p->rank + 1, chunk);
    if (p->rank > 0) put(p, CG_STEP_RECV, 0, (int) p->rank - 1, NOBODY, chunk);
}

static uint32_t depth_of(const struct cg_plan_request *req, uint32_t nchan)
{
    uint64_t piece = (uint64_t) req->params->slot_bytes / PIECES, worth = cg_plan_bytes(req) / (nchan * piece);
    uint64_t most = cg_min_u64(MAX_DEPTH, (uint64_t) req->params->slots / 2);

    return (uint32_t) cg_min_u64(most, worth ? worth : 1);
}

int cg_rail_scan_applies(const struct cg_plan_request *req)
{
    return cg_grid_applies(req) && cg_plan_bytes(req) <= cg_doubling_max(req->params);
}

int cg_rail_scan_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct place p = place_of(plan, req->nranks, req->rank);
    uint32_t nchan = cg_build_channels(req), depth = depth_of(req, nchan);

    p.inclusive = CG_COLL_SCAN == req->coll;
    p.sum_needed = sum_needed(req->nranks, req->rank);
    for (uint32_t d = 0; d < depth; d++) up(&p, d);
    for (uint32_t d = 0; d < depth; d++) down(&p, d);
    for (uint32_t l = 0; l < plan->nlinks; l++) plan->self_pos += plan->peer[l] < req->rank;
    return cg_build_ranges(req, plan, nchan, depth);
}
