/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast and reduction over nodes. Large messages are cut into a part for each rail, which root gives to, or gets
 * from, the part's owner in its node; between nodes every other rail uses the second tree, turned to root's node. Small
 * ones go whole on root's rail, along a binomial tree over the links of recursive doubling.
 *
 * A node reduces in one step: what comes from nodes before it, its own ranks in order, what comes from those behind it.
 *
 * No deadlock: messages go one way, down a tree or up it, in the same order of chunks everywhere; in a node, what an
 * owner needs is sent one chunk ahead and what it hands out is taken one chunk behind, on both sides of a lane. */
#include "plan/rail.h"

#include "core/status.h"

#define MAX_DEPTH 12
#define PIECES 4 /* of a slot: chunks are not cut smaller for the sake of depth */

/* One rank's part in it. Part p is owned by local number first + p. */
struct rooted {
    struct cg_plan *plan;
    struct cg_rail r, root;
    uint32_t me, top; /* this rank and root */
    uint32_t parts, first, depth;
    struct cg_fan fan;
    int owner, at_root; /* at_root: in root's node */
};

static uint8_t link_in(struct rooted *b, uint32_t local)
{
    return cg_rail_link(b->plan, cg_node_rank(b->r.nodes, b->r.node, local));
}

static uint8_t link_out(struct rooted *b, uint32_t node)
{
    return cg_rail_link(b->plan, cg_node_rank(b->r.nodes, node, b->r.local));
}

static uint32_t own_chunk(const struct rooted *b, uint32_t d) { return (b->r.local - b->first) * b->depth + d; }

static void put(struct rooted *b, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink, uint32_t d)
{
    cg_build_step(b->plan, opcode, flags, rlink, slink, own_chunk(b, d));
}

/* Chunk d of every part that another rank of this node owns: sent there, or received from there. */
static void others(struct rooted *b, enum cg_opcode opcode, uint32_t d)
{
    for (uint32_t k = 1; k <= b->r.here; k++) {
        uint32_t local = (b->r.local + k) % b->r.here;
        if (local == b->r.local || local < b->first || local >= b->first + b->parts) continue;
        uint8_t l = link_in(b, local);
        cg_build_step(b->plan, opcode, 0, l, l, (local - b->first) * b->depth + d);
    }
}

static struct rooted rooted_of(const struct cg_plan_request *req, struct cg_plan *plan, int small, uint32_t depth)
{
    struct cg_plan_request top = *req;
    struct rooted b = {.plan = plan, .r = cg_rail_of(req), .me = req->rank, .top = req->root, .depth = depth};
    enum cg_graph graph;

    top.rank = req->root;
    b.root = cg_rail_of(&top);
    b.parts = small ? 1 : b.r.rails;
    b.first = small ? b.root.local % b.r.rails : 0;
    b.owner = b.r.local >= b.first && b.r.local < b.first + b.parts;
    b.at_root = b.r.node == b.root.node;
    graph = small ? CG_GRAPH_BINOMIAL : b.r.local % 2 ? CG_GRAPH_TREE2 : CG_GRAPH_TREE;
    if (b.owner) b.fan = cg_rail_fan(b.r.nodes, graph, b.r.node, b.root.node);
    return b;
}

static uint32_t depth_of(const struct cg_plan_request *req, uint32_t nchan)
{
    uint32_t rails = req->nodes->rails;
    uint64_t piece = (uint64_t) req->params->slot_bytes / PIECES;
    uint64_t worth = cg_plan_bytes(req) / ((uint64_t) nchan * rails * piece);
    uint64_t most = cg_min_u64(CG_MAX_STEPS / (2 * rails + 8), cg_min_u64(MAX_DEPTH, (uint64_t) req->params->slots));

    return (uint32_t) cg_min_u64(most, worth ? worth : 1);
}

int cg_rail_binomial_applies(const struct cg_plan_request *req)
{
    return cg_rail_applies(req) && cg_plan_bytes(req) <= cg_doubling_max(req->params) && cg_rail_doubling_fits(req);
}

/* ---- broadcast ---- */

/* To the nodes below, the largest part of them first; the first of them as it comes in. */
static unsigned pass_down(struct rooted *b, uint32_t d)
{
    unsigned done = 0, receives = b->me != b->top;
    uint8_t from = CG_LINK_NONE;

    if (receives) from = b->at_root ? link_in(b, b->root.local) : link_out(b, (uint32_t) b->fan.up);
    for (uint32_t n = 0; n < b->fan.n; n++) {
        uint32_t next = CG_FAN;
        for (uint32_t i = 0; i < b->fan.n; i++) {
            if (!(done >> i & 1) && (CG_FAN == next || b->fan.weight[i] > b->fan.weight[next])) next = i;
        }
        done |= 1u << next;
        put(b, receives && 0 == n ? CG_STEP_RECV_SEND : CG_STEP_SEND, b->me == b->top ? 0 : CG_F_DST_OPERAND, from,
            link_out(b, b->fan.down[next]), d);
    }
    if (receives && 0 == b->fan.n) put(b, CG_STEP_RECV, 0, from, CG_LINK_NONE, d);
    return b->me == b->top ? 0 : CG_F_DST_OPERAND;
}

static void spread(struct rooted *b, uint32_t d)
{
    unsigned operand = pass_down(b, d);

    if (!b->at_root || b->me == b->top) {
        if (b->r.here > 1) put(b, CG_STEP_SEND_ALL, operand, 0, CG_LINK_NONE, d);
        return;
    }
    for (uint32_t i = 0; i < b->r.here; i++) {
        if (i != b->r.local && i != b->root.local) put(b, CG_STEP_SEND, operand, CG_LINK_NONE, link_in(b, i), d);
    }
}

static int bcast(const struct cg_plan_request *req, struct cg_plan *plan, int small)
{
    uint32_t nchan = cg_build_channels(req), depth = small ? 1 : depth_of(req, nchan);
    struct rooted b = rooted_of(req, plan, small, depth);

    cg_rail_node_links(req, &b.r, plan);
    if (b.me == b.top) others(&b, CG_STEP_SEND, 0);
    for (uint32_t d = 0; d < depth; d++) {
        if (b.me == b.top && d + 1 < depth) others(&b, CG_STEP_SEND, d + 1);
        if (b.owner) spread(&b, d);
        if (b.me != b.top && d > 0) others(&b, CG_STEP_RECV, d - 1);
    }
    if (b.me != b.top) others(&b, CG_STEP_RECV, depth - 1);
    return cg_build_ranges(req, plan, nchan, b.parts * depth);
}

/* ---- reduction ---- */

/* Links in the order in which what comes over them is combined; then the one that the sum takes. */
static void reduce_links(struct rooted *b)
{
    for (uint32_t i = 0; i < b->fan.before; i++) link_out(b, b->fan.down[i]);
    for (uint32_t i = 0; i < b->r.here; i++) {
        if (i != b->r.local) link_in(b, i);
    }
    for (uint32_t i = b->fan.before; i < b->fan.n; i++) link_out(b, b->fan.down[i]);
    b->plan->nall = b->plan->nlinks;
    b->plan->self_pos = b->fan.before + b->r.local;
}

static void combine(struct rooted *b, uint32_t d)
{
    if (b->me == b->top) {
        put(b, b->plan->nall ? CG_STEP_REDUCE_ALL : CG_STEP_COPY, 0, 0, CG_LINK_NONE, d);
    } else {
        uint8_t to = b->at_root ? link_in(b, b->root.local) : link_out(b, (uint32_t) b->fan.up);
        put(b, b->plan->nall ? CG_STEP_REDUCE_ALL_SEND : CG_STEP_SEND, 0, 0, to, d);
    }
}

static int reduce(const struct cg_plan_request *req, struct cg_plan *plan, int small)
{
    uint32_t nchan = cg_build_channels(req), depth = small ? 1 : depth_of(req, nchan);
    struct rooted b = rooted_of(req, plan, small, depth);

    if (b.owner) {
        reduce_links(&b);
    } else {
        for (uint32_t i = b.first; i < b.first + b.parts; i++) link_in(&b, i);
    }
    others(&b, CG_STEP_SEND, 0);
    for (uint32_t d = 0; d < depth; d++) {
        if (d + 1 < depth) others(&b, CG_STEP_SEND, d + 1);
        if (b.owner) combine(&b, d);
        if (b.me == b.top && d > 0) others(&b, CG_STEP_RECV, d - 1);
    }
    if (b.me == b.top) others(&b, CG_STEP_RECV, depth - 1);
    return cg_build_ranges(req, plan, nchan, b.parts * depth);
}

int cg_rail_binomial_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    return CG_COLL_BCAST == req->coll ? bcast(req, plan, 1) : reduce(req, plan, 1);
}

int cg_rails_rooted_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    return CG_COLL_BCAST == req->coll ? bcast(req, plan, 0) : reduce(req, plan, 0);
}
