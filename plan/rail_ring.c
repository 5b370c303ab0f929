/* SPDX-License-Identifier: BSD-3-Clause
 * Large allreduce over few nodes: as the ring of ranks, but with nodes. Every owner's part is cut into a piece for each
 * node. The sum of piece k starts at node k + 1, gets the operands of each node on its way, and is complete at node k,
 * from where it goes round again and, at every node, from the owner to its node. Each step is done for depth chunks.
 *
 * No deadlock: operands are sent one step ahead and results taken one step behind, so that a lane within a node holds
 * at most 2 * depth messages, no more than slots; between nodes as in the ring. */
#include "plan/rail.h"

#include "core/status.h"

#define MAX_DEPTH 4
#define PIECES 4          /* as in the ring */
#define LEAST_CHUNK 4096  /* bytes; below, messages are too many for what they carry */

static uint32_t steps_of(const struct cg_nodes *nodes) { return nodes->n * (2 * nodes->rails + 4); }

int cg_rail_ring_applies(const struct cg_plan_request *req)
{
    const struct cg_nodes *nodes = req->nodes;

    return cg_rail_applies(req) && nodes->n <= (uint32_t) req->params->rail_ring_nodes &&
           steps_of(nodes) <= CG_MAX_STEPS && cg_plan_bytes(req) / (nodes->n * nodes->rails) >= LEAST_CHUNK;
}

static uint32_t depth_of(const struct cg_plan_request *req, uint32_t nchan)
{
    const struct cg_nodes *nodes = req->nodes;
    uint64_t piece = (uint64_t) req->params->slot_bytes / PIECES;
    uint64_t worth = cg_plan_bytes(req) / ((uint64_t) nchan * nodes->rails * nodes->n * piece);
    uint64_t depth = cg_min_u64(MAX_DEPTH, worth ? worth : 1);

    depth = cg_min_u64(depth, (uint64_t) req->params->slots / 2);
    return (uint32_t) cg_min_u64(depth, CG_MAX_STEPS / steps_of(nodes));
}

struct ring {
    struct cg_plan *plan;
    const struct cg_rail *r;
    uint32_t depth;
    uint8_t prev, next;
};

/* Piece of step i: towards the sum's end, then round again. */
static uint32_t piece_of(const struct ring *g, uint32_t i)
{
    uint32_t n = g->r->nodes->n;

    return (g->r->node + 2 * n - 1 - i) % n;
}

static uint32_t chunk_of(const struct ring *g, uint32_t part, uint32_t piece, uint32_t d)
{
    return (part * g->r->nodes->n + piece) * g->depth + d;
}

/* This piece of every other owner's part: sent there, or received from there. */
static void others(struct ring *g, enum cg_opcode opcode, uint32_t piece)
{
    const struct cg_rail *r = g->r;

    for (uint32_t k = 1; k <= r->here; k++) {
        uint32_t p = (r->local + k) % r->here;
        if (p == r->local || p >= r->rails) continue;
        uint8_t l = cg_rail_link(g->plan, cg_node_rank(r->nodes, r->node, p));
        for (uint32_t d = 0; d < g->depth; d++) cg_build_step(g->plan, opcode, 0, l, l, chunk_of(g, p, piece, d));
    }
}

static void own(struct ring *g, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint32_t piece)
{
    for (uint32_t d = 0; d < g->depth && g->r->owner; d++)
        cg_build_step(g->plan, opcode, flags, rlink, g->next, chunk_of(g, g->r->local, piece, d));
}

/* Link 0 is the one to prev; the others of ALL steps lead to this node's ranks. */
static void reduce(struct ring *g, uint32_t i)
{
    uint32_t n = g->r->nodes->n;
    int alone = 1 == g->plan->nall;

    if (0 == i) {
        own(g, alone ? CG_STEP_SEND : CG_STEP_REDUCE_ALL_SEND, 0, 1, piece_of(g, i));
    } else {
        own(g, i + 1 < n ? CG_STEP_REDUCE_ALL_SEND : CG_STEP_REDUCE_ALL, 0, 0, piece_of(g, i));
    }
}

/* The result of step i from n - 1 on: it is here first, then it comes from prev. */
static void spread(struct ring *g, uint32_t i)
{
    uint32_t n = g->r->nodes->n, piece = piece_of(g, i);

    if (i > n - 1) own(g, i < 2 * n - 2 ? CG_STEP_RECV_SEND : CG_STEP_RECV, 0, 0, piece);
    if (i == n - 1) own(g, CG_STEP_SEND, CG_F_DST_OPERAND, CG_LINK_NONE, piece);
    if (g->plan->nall > 1) own(g, CG_STEP_SEND_ALL, CG_F_DST_OPERAND, 1, piece);
}

static void add_links(const struct cg_plan_request *req, struct ring *g)
{
    const struct cg_rail *r = g->r;
    uint32_t n = r->nodes->n;

    if (!r->owner) {
        cg_rail_node_links(req, r, g->plan);
        return;
    }
    g->prev = cg_rail_link(g->plan, cg_node_rank(r->nodes, (r->node + n - 1) % n, r->local));
    cg_rail_node_links(req, r, g->plan);
    g->plan->self_pos = 1 + r->local;
    g->next = cg_rail_link(g->plan, cg_node_rank(r->nodes, (r->node + 1) % n, r->local));
}

int cg_rail_ring_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_rail r = cg_rail_of(req);
    uint32_t n = r.nodes->n, nchan = cg_build_channels(req);
    struct ring g = {.plan = plan, .r = &r, .depth = depth_of(req, nchan)};

    add_links(req, &g);
    others(&g, CG_STEP_SEND, piece_of(&g, 0));
    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 < n) others(&g, CG_STEP_SEND, piece_of(&g, i + 1));
        reduce(&g, i);
    }
    for (uint32_t i = n - 1; i < 2 * n - 1; i++) {
        spread(&g, i);
        if (i > n - 1) others(&g, CG_STEP_RECV, piece_of(&g, i - 1));
    }
    others(&g, CG_STEP_RECV, piece_of(&g, 2 * n - 2));
    return cg_build_ranges(req, plan, nchan, r.rails * n * g.depth);
}
