/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/rail.h"

#include "core/status.h"

struct cg_rail cg_rail_of(const struct cg_plan_request *req)
{
    const struct cg_nodes *nodes = req->nodes;
    struct cg_rail r = {.nodes = nodes, .rails = nodes->rails};

    r.node = nodes->node[req->rank];
    r.local = nodes->local[req->rank];
    r.here = cg_node_ranks(nodes, r.node);
    r.owner = r.local < r.rails;
    return r;
}

int cg_rail_applies(const struct cg_plan_request *req)
{
    const struct cg_nodes *nodes = req->nodes;

    if (!req->params->hierarchy || !nodes || nodes->nhosts < 2) return 0;
    if (nodes->nranks > CG_DIRECT_RANKS) return 1;
    return nodes->most > 1 && req->params->rank_order < 2;
}

uint8_t cg_rail_link(struct cg_plan *plan, uint32_t peer)
{
    for (uint32_t l = 0; l < plan->nlinks; l++) {
        if (plan->peer[l] == peer) return (uint8_t) l;
    }
    if (plan->nlinks == CG_MAX_LINKS) {
        plan->nsteps = CG_MAX_STEPS + 1; /* refused by cg_plan_build */
        return 0;
    }
    plan->peer[plan->nlinks] = peer;
    return (uint8_t) plan->nlinks++;
}

void cg_rail_node_links(const struct cg_plan_request *req, const struct cg_rail *r, struct cg_plan *plan)
{
    for (uint32_t i = 0; i < (r->owner ? r->here : r->rails); i++) {
        uint32_t peer = cg_node_rank(r->nodes, r->node, i);
        if (peer != req->rank) cg_rail_link(plan, peer);
    }
    plan->nall = plan->nlinks;
    plan->self_pos = r->owner ? r->local : plan->nlinks;
}

/* ---- graphs of nodes ---- */

static uint32_t low_bit(uint32_t x) { return x & -x; }

/* Number of a node in the tree; its own inverse, or the other way. */
static uint32_t in_tree(uint32_t n, enum cg_graph graph, uint32_t node)
{
    if (CG_GRAPH_TREE == graph) return node;
    return n % 2 ? (node + n - 1) % n : n - 1 - node;
}

static uint32_t out_of_tree(uint32_t n, enum cg_graph graph, uint32_t x)
{
    if (CG_GRAPH_TREE == graph) return x;
    return n % 2 ? (x + 1) % n : n - 1 - x;
}

enum side { LEFT, OWN, RIGHT, PARENT, SIDES };

/* Around x: neighbours (-1: none), and how many nodes there are on each side. */
struct around {
    int64_t at[SIDES];
    uint32_t size[SIDES];
};

static struct around around_of(uint32_t n, uint32_t x)
{
    struct around a = {{-1, x, -1, -1}, {0, 1, 0, 0}};
    uint32_t bit = 1, right;

    if (x > 0) bit = low_bit(x);
    while (0 == x && bit < n)
        bit *= 2;
    right = (uint32_t) cg_min_u64(bit - 1, n - 1 - x);
    if (x > 0 && bit > 1) {
        a.at[LEFT] = x - bit / 2;
        a.size[LEFT] = bit - 1;
    }
    if (right > 0) {
        uint32_t down = bit / 2;
        while (x + down >= n)
            down /= 2;
        a.at[RIGHT] = x + down;
        a.size[RIGHT] = right;
    }
    if (x > 0) {
        uint32_t up = (x ^ bit) | bit << 1;
        a.at[PARENT] = up < n ? up : x ^ bit;
        a.size[PARENT] = n - 1 - a.size[LEFT] - right;
    }
    return a;
}

static int side_of(const struct around *a, uint32_t x, uint32_t y)
{
    if (y == x) return OWN;
    if (y < x && x - y <= a->size[LEFT]) return LEFT;
    return y > x && y - x <= a->size[RIGHT] ? RIGHT : PARENT;
}

/* Sides in the order of nodes, which goes round, beginning behind the one that leads to the root. */
struct cg_fan cg_tree_fan(uint32_t n, enum cg_graph graph, uint32_t node, uint32_t root)
{
    uint32_t x = in_tree(n, graph, node);
    struct around a = around_of(n, x);
    int to = side_of(&a, x, CG_OWN_ROOT == root ? 0 : in_tree(n, graph, root));
    int mirrored = CG_GRAPH_TREE2 == graph && 0 == n % 2;
    struct cg_fan f = {.up = -1};

    if (OWN != to) f.up = (int) out_of_tree(n, graph, (uint32_t) a.at[to]);
    for (int k = 0; k < SIDES; k++) {
        int first = OWN == to ? (mirrored ? PARENT : LEFT) : mirrored ? to + SIDES - 1 : to + 1;
        int side = (mirrored ? first + SIDES - k : first + k) % SIDES;
        if (OWN == side) f.before = f.n;
        if (OWN == side || side == to || a.at[side] < 0) continue;
        f.weight[f.n] = a.size[side];
        f.down[f.n++] = out_of_tree(n, graph, (uint32_t) a.at[side]);
    }
    return f;
}

struct cg_fold cg_rail_fold(const struct cg_nodes *nodes, uint32_t node)
{
    struct cg_plan_request req = {.nranks = nodes->n};

    return cg_fold_of(&req, node);
}

static void add_down(struct cg_fan *f, uint32_t node, uint32_t weight)
{
    f->weight[f->n] = weight;
    f->down[f->n++] = node;
}

/* Children over bits below size that the position has (set), or has not; those nearest to it last, or first. */
static void add_bits(struct cg_fan *f, const struct cg_fold *fold, uint32_t size, int set)
{
    for (uint32_t k = 1; k < size; k *= 2) {
        uint32_t bit = set ? size / 2 / k : k, pos = (uint32_t) fold->pos;
        if (!(pos & bit) == !set) add_down(f, cg_fold_rank(fold, pos ^ bit), bit);
    }
}

/* A position covers the aligned block up to the lowest bit in which it differs from root's. Children in the order of
 * positions; if the root is the even one of a pair, the other begins with itself and goes round. */
static struct cg_fan binomial_fan(const struct cg_nodes *nodes, uint32_t node, uint32_t root)
{
    struct cg_fold fold = cg_rail_fold(nodes, node), top = cg_rail_fold(nodes, root);
    uint32_t away = (uint32_t) (fold.pos ^ top.pos), size = away ? low_bit(away) : fold.power;
    int beside_root = top.idle && 0 == away;
    struct cg_fan f = {.up = -1};

    if (fold.idle) {
        if (node != root) f.up = (int) node + 1;
        if (node == root) add_down(&f, node + 1, nodes->n - 1);
        return f;
    }
    if (node != root) f.up = (int) (away ? cg_fold_rank(&fold, (uint32_t) fold.pos ^ size) : root);
    if (!beside_root) {
        add_bits(&f, &fold, size, 1);
        if (fold.folded) add_down(&f, node - 1, 1);
        f.before = f.n;
    }
    add_bits(&f, &fold, size, 0);
    if (beside_root) add_bits(&f, &fold, size, 1);
    return f;
}

struct cg_fan cg_rail_fan(const struct cg_nodes *nodes, enum cg_graph graph, uint32_t node, uint32_t root)
{
    return CG_GRAPH_BINOMIAL == graph ? binomial_fan(nodes, node, root) : cg_tree_fan(nodes->n, graph, node, root);
}
