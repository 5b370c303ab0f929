/* SPDX-License-Identifier: BSD-3-Clause
 * Gather and scatter of equal blocks over nodes: the blocks of rank l of all nodes go up, or come down, a binary tree
 * of these ranks, turned to root's node, and within that node between rank l and root. Every other rail uses the second
 * tree. A subtree's blocks are those of nodes in a row (which goes round), and pass in this order: so walks say which
 * block comes when, and a program does not grow with the number of nodes.
 *
 * No deadlock: messages go one way, up or down, in one order. */
#include "plan/rail.h"

/* One rank's part in it. */
struct part {
    struct cg_plan *plan;
    struct cg_grid t, root;
    int gathers, at_root; /* at_root: in root's node */
};

static struct cg_fan fan_of(const struct part *p, uint32_t l)
{
    return cg_tree_fan(p->t.n, l % 2 ? CG_GRAPH_TREE2 : CG_GRAPH_TREE, p->t.k, p->root.k);
}

static uint8_t link_out(const struct part *p, uint32_t node)
{
    return cg_rail_link(p->plan, cg_grid_rank(&p->t, node, p->t.l));
}

/* Nodes of the subtree before this one: its row begins so many before it. */
static uint32_t before(const struct cg_fan *f)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < f->before; i++) sum += f->weight[i];
    return sum;
}

/* What one place in the row does: the subtree behind a link, or (own) this rank itself. first: of its reps. */
typedef void handler(struct part *p, int own, uint8_t link, uint32_t first, uint32_t weight);

/* All places in order; the number of nodes. */
static uint32_t in_order(struct part *p, const struct cg_fan *f, handler *handle)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i <= f->n; i++) {
        if (i == f->before) handle(p, 1, CG_LINK_NONE, first++, 1);
        if (i == f->n) break;
        handle(p, 0, link_out(p, f->down[i]), first, f->weight[i]);
        first += f->weight[i];
    }
    return first;
}

/* ---- root ---- */

static void between_root_and(struct part *p, uint8_t link, uint16_t walk)
{
    cg_build_step(p->plan, p->gathers ? CG_STEP_RECV : CG_STEP_SEND, 0, link, link, walk);
}

static void root_place(struct part *p, int own, uint8_t link, uint32_t first, uint32_t weight)
{
    const struct cg_grid *t = &p->t;
    struct cg_fan f = fan_of(p, t->l);
    uint32_t node = t->k + t->n - before(&f) + first;
    uint16_t walk = cg_grid_walk(p->plan, t, t->l, node, 1, first, first + weight), start;

    if (!own) {
        between_root_and(p, link, walk);
        return;
    }
    start = cg_grid_stay(p->plan, 0, first, first + 1); /* of the other buffer */
    cg_build_from(p->plan, CG_STEP_COPY, 0, CG_LINK_NONE, CG_LINK_NONE, p->gathers ? walk : start,
                  p->gathers ? start : walk);
}

/* In every rep one block of each rail. */
static uint32_t at_root(struct part *p)
{
    const struct cg_grid *t = &p->t;
    struct cg_fan f = fan_of(p, t->l);
    uint32_t reps = in_order(p, &f, root_place);

    for (uint32_t i = 1; i < t->g; i++) {
        uint32_t l = (t->l + i) % t->g;
        struct cg_fan theirs = fan_of(p, l);
        between_root_and(p, cg_rail_link(p->plan, cg_grid_rank(t, t->k, l)),
                         cg_grid_walk(p->plan, t, l, t->k + t->n - before(&theirs), 1, 0, t->n));
    }
    return reps;
}

/* ---- all others: their block is block 0 of src, or dst ---- */

static uint8_t towards_root(const struct part *p)
{
    struct cg_fan f = fan_of(p, p->t.l);

    return p->at_root ? cg_rail_link(p->plan, cg_grid_rank(&p->t, p->t.k, p->root.l)) : link_out(p, (uint32_t) f.up);
}

static void other_place(struct part *p, int own, uint8_t link, uint32_t first, uint32_t weight)
{
    uint8_t up = towards_root(p);
    uint16_t walk = cg_grid_stay(p->plan, 0, first, first + weight);
    enum cg_opcode opcode = !own ? CG_STEP_FORWARD : p->gathers ? CG_STEP_SEND : CG_STEP_RECV;

    cg_build_step(p->plan, opcode, 0, p->gathers ? link : up, p->gathers ? up : link, walk);
}

int cg_rail_tree_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_plan_request top = *req;
    struct part p = {.plan = plan, .t = cg_grid_of(req), .gathers = CG_COLL_GATHER == req->coll};
    uint32_t reps;

    top.rank = req->root;
    p.root = cg_grid_of(&top);
    p.at_root = p.t.k == p.root.k;
    if (req->rank == req->root) {
        reps = at_root(&p);
    } else {
        struct cg_fan f = fan_of(&p, p.t.l);
        reps = in_order(&p, &f, other_place);
    }
    cg_build_equal(plan, req->rank == req->root ? req->nranks : 1, req->count, reps);
    return cg_build_slices(req, plan, req->count, p.t.n, CG_SLICES_FINE);
}
