/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce over nodes. Every owner gets its part from the ranks of its node and reduces them in rank order; the sums
 * of nodes go up a tree and the result comes down, chunk by chunk; then the owner sends it to its node. Chunks take the
 * two trees in turn, so that no node sends or receives more than twice the part. A node first sends up what goes up the
 * tree in which it is a leaf, and passes down first what it has to pass on: else each chunk would wait for one of the
 * other tree, and cost the way between two nodes.
 *
 * No deadlock: in an iteration a lane within a node holds depth operands, then depth results, and a lane between nodes
 * what goes up, then what comes down; all are taken in that order, and depth is no more than slots. */
#include "plan/rail.h"

#include "core/status.h"

#define MAX_DEPTH 12
#define PIECES 4 /* of a slot: chunks are not cut smaller for the sake of depth */

/* Steps of one chunk of each part on a rank, at most: to and from the other owners, up, down. */
static uint32_t steps_of(const struct cg_rail *r) { return 2 * r->rails + 8; }

static uint32_t depth_of(const struct cg_plan_request *req, const struct cg_rail *r, uint32_t nchan)
{
    uint64_t piece = (uint64_t) req->params->slot_bytes / PIECES;
    uint64_t worth = cg_plan_bytes(req) / (nchan * r->rails * piece);
    uint64_t most = cg_min_u64(CG_MAX_STEPS / steps_of(r), cg_min_u64(MAX_DEPTH, (uint64_t) req->params->slots));
    uint64_t depth = cg_min_u64(most, worth ? worth : 1);

    return (uint32_t) (depth > 1 ? depth & ~1ull : 1);
}

/* Where a part's sum is while it is formed: src, then dst. */
struct sum {
    struct cg_plan *plan;
    const struct cg_rail *r;
    uint32_t chunk;
    unsigned operand; /* CG_F_DST_OPERAND once it is in dst */
};

static uint8_t link_to(struct sum *s, uint32_t node)
{
    return cg_rail_link(s->plan, cg_node_rank(s->r->nodes, node, s->r->local));
}

static void in_node(struct sum *s)
{
    if (0 == s->plan->nall) return;
    cg_build_step(s->plan, CG_STEP_REDUCE_ALL, 0, 0, CG_LINK_NONE, s->chunk);
    s->operand = CG_F_DST_OPERAND;
}

/* Add what comes from child i; the last sum goes straight up. */
static void from_child(struct sum *s, const struct cg_fan *f, uint32_t i, int last)
{
    unsigned first = i < f->before ? CG_F_SLOT_FIRST : 0;
    int up = last && f->up >= 0;

    cg_build_step(s->plan, up ? CG_STEP_RECV_REDUCE_SEND : CG_STEP_RECV_REDUCE, s->operand | first,
                  link_to(s, f->down[i]), up ? link_to(s, (uint32_t) f->up) : CG_LINK_NONE, s->chunk);
    s->operand = CG_F_DST_OPERAND;
}

static void up(struct sum *s, const struct cg_fan *f)
{
    in_node(s);
    for (uint32_t i = f->before; i-- > 0;) from_child(s, f, i, 0 == i && f->n == f->before);
    for (uint32_t i = f->before; i < f->n; i++) from_child(s, f, i, i + 1 == f->n);
    if (0 == f->n)
        cg_build_step(s->plan, CG_STEP_SEND, s->operand, CG_LINK_NONE, link_to(s, (uint32_t) f->up), s->chunk);
}

static void down(struct sum *s, const struct cg_fan *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        int receives = 0 == i && f->up >= 0;
        cg_build_step(s->plan, receives ? CG_STEP_RECV_SEND : CG_STEP_SEND, CG_F_DST_OPERAND,
                      receives ? link_to(s, (uint32_t) f->up) : CG_LINK_NONE, link_to(s, f->down[i]), s->chunk);
    }
    if (0 == f->n) cg_build_step(s->plan, CG_STEP_RECV, 0, link_to(s, (uint32_t) f->up), CG_LINK_NONE, s->chunk);
    if (s->plan->nall)
        cg_build_step(s->plan, CG_STEP_SEND_ALL, CG_F_DST_OPERAND, 0, CG_LINK_NONE, s->chunk);
}

/* The i-th chunk of a part that is worked on in this node: first those of tree first, then those of the other. Of 3
 * nodes one has the same parent in both trees, where chunks have to come in one order: theirs (first: IN_TURN). */
#define IN_TURN 2
static uint32_t chunk_at(uint32_t part, uint32_t first, uint32_t depth, uint32_t i)
{
    uint32_t half = depth / 2, tree = i < half ? first : 1 - first;

    return 1 == depth || IN_TURN == first ? i : i % half * 2 + (tree + part) % 2;
}

/* The i-th chunk of every other owner's part: sent there, or received from there. */
static void others(struct sum *s, enum cg_opcode opcode, uint32_t depth, uint32_t first, uint32_t i)
{
    const struct cg_rail *r = s->r;

    for (uint32_t k = 1; k <= r->here; k++) {
        uint32_t p = (r->local + k) % r->here;
        if (p == r->local || p >= r->rails) continue;
        uint8_t l = cg_rail_link(s->plan, cg_node_rank(r->nodes, r->node, p));
        cg_build_step(s->plan, opcode, 0, l, l, p * depth + chunk_at(p, first, depth, i));
    }
}

/* Of both trees, whatever the depth: a rank's peers do not depend on the size. */
static void tree_links(struct sum *s, const struct cg_fan *f)
{
    if (f->up >= 0) link_to(s, (uint32_t) f->up);
    for (uint32_t i = 0; i < f->n; i++) link_to(s, f->down[i]);
}

int cg_rails_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_rail r = cg_rail_of(req);
    uint32_t nchan = cg_build_channels(req), depth = depth_of(req, &r, nchan);
    struct cg_fan fan[2] = {cg_rail_fan(r.nodes, CG_GRAPH_TREE, r.node, CG_OWN_ROOT),
                            cg_rail_fan(r.nodes, CG_GRAPH_TREE2, r.node, CG_OWN_ROOT)};
    struct sum s = {.plan = plan, .r = &r};
    uint32_t leaf = fan[0].n > fan[1].n, inner = 1 - leaf; /* the tree in which this node has less below it */

    if (3 == r.nodes->n) leaf = inner = IN_TURN;
    cg_rail_node_links(req, &r, plan);
    for (int i = 0; i < 2 && r.owner; i++) tree_links(&s, &fan[i]);
    others(&s, CG_STEP_SEND, depth, leaf, 0);
    for (uint32_t i = 0; i < depth; i++) { /* operands one chunk ahead */
        uint32_t d = chunk_at(r.local, leaf, depth, i);
        if (i + 1 < depth) others(&s, CG_STEP_SEND, depth, leaf, i + 1);
        s.chunk = r.local * depth + d;
        s.operand = 0;
        if (r.owner) up(&s, &fan[(r.local + d) % 2]);
    }
    for (uint32_t i = 0; i < depth; i++) { /* results one chunk behind */
        uint32_t d = chunk_at(r.local, inner, depth, i);
        s.chunk = r.local * depth + d;
        if (r.owner) down(&s, &fan[(r.local + d) % 2]);
        if (i > 0) others(&s, CG_STEP_RECV, depth, inner, i - 1);
    }
    others(&s, CG_STEP_RECV, depth, inner, depth - 1);
    return cg_build_ranges(req, plan, nchan, r.rails * depth);
}
