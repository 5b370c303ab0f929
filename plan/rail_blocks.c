/* SPDX-License-Identifier: BSD-3-Clause
 * All-gather and reduce-scatter of equal blocks over nodes: a ring for each rail. The blocks of rank l of all nodes go
 * round among these ranks only; in each rep a rank gets one of them, and within a node everybody has one to give to, or
 * to get from, each other. Programs do not grow with the number of nodes.
 *
 * No deadlock: within a node operands are sent one rep ahead and results taken one rep behind, so that a lane holds at
 * most 2 messages; between nodes as in the rings of ranks. */
#include "plan/rail.h"

/* A step in the reps of its walk, which says where the operand is, too. */
static void put(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                uint16_t walk)
{
    cg_build_step(plan, opcode, flags, rlink, slink, walk);
}

/* Every other rank of the node: a message to it, or from it, that is about node k's block of it first, then of those
 * before. */
static void others(struct cg_plan *plan, const struct cg_grid *t, enum cg_opcode opcode, uint32_t k, uint32_t from)
{
    for (uint32_t i = 1; i < t->g; i++) {
        uint32_t l = (t->l + i) % t->g;
        uint8_t link = cg_rail_link(plan, cg_grid_rank(t, t->k, l));
        put(plan, opcode, 0, link, link, cg_grid_walk(plan, t, l, k, 0, from, from + t->n));
    }
}

static int cut(const struct cg_plan_request *req, struct cg_plan *plan, const struct cg_grid *t)
{
    cg_build_equal(plan, req->nranks, req->count, t->g > 1 || CG_COLL_ALLGATHER != req->coll ? t->n + 1 : t->n);
    return cg_build_slices(req, plan, req->count, t->n - 1, 0);
}

/* In rep r the block of node k - r comes from the node before, and the node's other ranks give theirs of rep r - 1. In
 * place the operand is where the own block lies in dst, and the copy does nothing. */
static int allgather(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_grid t = cg_grid_of(req);
    uint32_t n = t.n, before = t.k + n - 1;
    uint16_t operand = cg_grid_stay(plan, 0, 0, 1);

    cg_grid_links(&t, plan);
    uint8_t prev = cg_rail_link(plan, cg_grid_rank(&t, before, t.l));
    uint8_t next = cg_rail_link(plan, cg_grid_rank(&t, t.k + 1, t.l));
    put(plan, CG_STEP_SEND, 0, CG_LINK_NONE, next, operand);
    if (t.g > 1) put(plan, CG_STEP_SEND_ALL, 0, 0, CG_LINK_NONE, operand);
    cg_build_from(plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, cg_grid_stay(plan, req->rank, 0, 1), operand);
    put(plan, CG_STEP_RECV_SEND, 0, prev, next, cg_grid_walk(plan, &t, t.l, before, 0, 1, n - 1));
    put(plan, CG_STEP_RECV, 0, prev, CG_LINK_NONE, cg_grid_walk(plan, &t, t.l, t.k + 1, 0, n - 1, n));
    if (t.g > 1) {
        put(plan, CG_STEP_SEND_ALL, CG_F_DST_OPERAND, 0, CG_LINK_NONE, cg_grid_walk(plan, &t, t.l, before, 0, 1, n));
    }
    others(plan, &t, CG_STEP_RECV, t.k, 1);
    return cut(req, plan, &t);
}

/* In rep r + 1 the sum for node k - 1 - r gets the operands of this node, which its ranks sent in rep r, and goes on;
 * it began behind the node where it ends, in rep n, so that nodes are combined in an order that goes round. In place
 * dst lies over block 0 of src, whose slices are read before. */
static int reduce_scatter(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_grid t = cg_grid_of(req);
    uint32_t n = t.n, before = t.k + n - 1;
    uint8_t prev = cg_rail_link(plan, cg_grid_rank(&t, before, t.l));

    cg_grid_links(&t, plan);
    plan->self_pos = 1 + t.l;
    uint8_t next = cg_rail_link(plan, cg_grid_rank(&t, t.k + 1, t.l));
    others(plan, &t, CG_STEP_SEND, before, 0);
    put(plan, t.g > 1 ? CG_STEP_REDUCE_ALL_SEND : CG_STEP_SEND, 0, 1, next,
        cg_grid_walk(plan, &t, t.l, before, 0, 1, 2));
    put(plan, CG_STEP_REDUCE_ALL_SEND, 0, prev, next, cg_grid_walk(plan, &t, t.l, before + n - 1, 0, 2, n));
    cg_build_from(plan, CG_STEP_REDUCE_ALL, 0, prev, CG_LINK_NONE, cg_grid_stay(plan, 0, n, n + 1),
                  cg_grid_stay(plan, req->rank, n, n + 1));
    return cut(req, plan, &t);
}

int cg_rail_blocks_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    return CG_COLL_ALLGATHER == req->coll ? allgather(req, plan) : reduce_scatter(req, plan);
}
