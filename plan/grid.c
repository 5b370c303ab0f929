/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks as a grid, and walks over its blocks. */
#include "plan/rail.h"

struct cg_grid cg_grid_of(const struct cg_plan_request *req)
{
    const struct cg_nodes *nodes = req->nodes;
    struct cg_grid t = {.n = req->nranks, .g = 1, .k = req->rank, .between = 1, .within = 1};

    if (!cg_rail_applies(req) || !nodes->regular) return t;
    t = (struct cg_grid){.n = nodes->n, .g = nodes->most, .between = nodes->between, .within = nodes->within};
    t.k = nodes->node[req->rank];
    t.l = nodes->local[req->rank];
    return t;
}

int cg_grid_applies(const struct cg_plan_request *req)
{
    return (cg_rail_applies(req) || req->nranks > CG_BLOCKED_RANKS) && req->nranks <= UINT16_MAX;
}

void cg_grid_links(const struct cg_grid *t, struct cg_plan *plan)
{
    for (uint32_t i = 0; i < t->g; i++) {
        if (i != t->l) cg_rail_link(plan, cg_grid_rank(t, t->k, i));
    }
    plan->nall = plan->nlinks;
}

uint16_t cg_grid_walk(struct cg_plan *plan, const struct cg_grid *t, uint32_t l, uint32_t k, int up, uint32_t from,
                      uint32_t to)
{
    uint32_t base = cg_grid_rank(t, up ? 0 : t->n - 1, l), at = up ? k % t->n : t->n - 1 - k % t->n;

    return cg_build_walk(plan, (struct cg_walk){.base = (uint16_t) base,
                                                .stride = (uint16_t) (up ? t->between : -t->between),
                                                .at = (uint16_t) at,
                                                .wrap = (uint16_t) t->n,
                                                .from = (uint16_t) from,
                                                .to = (uint16_t) to});
}

uint16_t cg_grid_stay(struct cg_plan *plan, uint32_t block, uint32_t from, uint32_t to)
{
    return cg_build_walk(plan, (struct cg_walk){.base = (uint16_t) block,
                                                .wrap = 1,
                                                .from = (uint16_t) from,
                                                .to = (uint16_t) to});
}
