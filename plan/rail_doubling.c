/* SPDX-License-Identifier: BSD-3-Clause
 * Small allreduce over nodes: the ranks of a node exchange their operands, then each rail doubles between nodes with
 * the whole message, folded where nodes are not a power of two. Ranks that no rail has get the result from one in their
 * node. As many messages one after another as nodes have bits, and one or two. */
#include "plan/rail.h"

#include "core/status.h"

static uint32_t bits_of(uint32_t power)
{
    uint32_t n = 0;

    while (power >>= 1) n++;
    return n;
}

int cg_rail_doubling_applies(const struct cg_plan_request *req)
{
    return cg_rail_applies(req) && cg_plan_bytes(req) <= cg_doubling_max(req->params) && cg_rail_doubling_fits(req);
}

int cg_rail_doubling_fits(const struct cg_plan_request *req)
{
    struct cg_fold f = cg_rail_fold(req->nodes, 0);

    return req->nodes->most - 1 + bits_of(f.power) + (f.rem > 0) <= CG_MAX_LINKS;
}

static uint8_t link_to(struct cg_plan *plan, const struct cg_rail *r, uint32_t node)
{
    return cg_rail_link(plan, cg_node_rank(r->nodes, node, r->local));
}

static void send(struct cg_plan *plan, unsigned operand, uint8_t link)
{
    cg_build_step(plan, CG_STEP_SEND, operand, CG_LINK_NONE, link, 0);
}

/* operand: where this node's sum is. */
static void between_nodes(struct cg_plan *plan, const struct cg_rail *r, unsigned operand)
{
    struct cg_fold f = cg_rail_fold(r->nodes, r->node);

    if (f.idle) {
        uint8_t pair = link_to(plan, r, r->node + 1);
        send(plan, operand, pair);
        cg_build_step(plan, CG_STEP_RECV, 0, pair, CG_LINK_NONE, 0);
        return;
    }
    if (f.folded) {
        cg_build_step(plan, CG_STEP_RECV_REDUCE, operand | CG_F_SLOT_FIRST, link_to(plan, r, r->node - 1),
                      CG_LINK_NONE, 0);
        operand = CG_F_DST_OPERAND;
    }
    for (uint32_t bit = 1; bit < f.power; bit *= 2) {
        uint32_t peer = cg_fold_rank(&f, (uint32_t) f.pos ^ bit);
        uint8_t l = link_to(plan, r, peer);
        send(plan, operand, l);
        cg_build_step(plan, CG_STEP_RECV_REDUCE, operand | (peer < r->node ? CG_F_SLOT_FIRST : 0), l, CG_LINK_NONE, 0);
        operand = CG_F_DST_OPERAND;
    }
    if (f.folded) send(plan, CG_F_DST_OPERAND, link_to(plan, r, r->node - 1));
}

/* Every owner gets the operands of its node. */
static unsigned in_node(struct cg_plan *plan, const struct cg_rail *r)
{
    if (0 == plan->nall) return 0;
    if (r->here == r->rails || !r->owner) {
        cg_build_step(plan, CG_STEP_SEND_ALL, 0, 0, CG_LINK_NONE, 0);
    } else {
        for (uint8_t l = 0; l + 1u < r->rails; l++) send(plan, 0, l);
    }
    if (r->owner) cg_build_step(plan, CG_STEP_REDUCE_ALL, 0, 0, CG_LINK_NONE, 0);
    return CG_F_DST_OPERAND;
}

int cg_rail_doubling_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    struct cg_rail r = cg_rail_of(req);
    unsigned operand;

    cg_rail_node_links(req, &r, plan);
    operand = in_node(plan, &r);
    if (r.owner) between_nodes(plan, &r, operand);
    for (uint32_t i = r.local + r.rails; i < r.here && r.owner; i += r.rails)
        send(plan, CG_F_DST_OPERAND, cg_rail_link(plan, cg_node_rank(r.nodes, r.node, i)));
    if (!r.owner) {
        uint8_t from = cg_rail_link(plan, cg_node_rank(r.nodes, r.node, r.local % r.rails));
        cg_build_step(plan, CG_STEP_RECV, 0, from, CG_LINK_NONE, 0);
    }
    return cg_build_ranges(req, plan, cg_build_channels(req), 1);
}
