/* SPDX-License-Identifier: BSD-3-Clause
 * What the plans for several nodes share. A message is cut into as many parts as there are rails; part p belongs to
 * rank p of each node, its owner there, and crosses between nodes among the owners of p only. So every GPU of a node
 * uses a rail of its own. Private to plan/ and its tests. */
#ifndef CG_PLAN_RAIL_H
#define CG_PLAN_RAIL_H

#include "plan/build.h"
#include "plan/nodes.h"

/* Where a rank is. */
struct cg_rail {
    const struct cg_nodes *nodes;
    uint32_t node, local, here; /* here: ranks of the node */
    uint32_t rails;             /* ranks local < rails own a part */
    int owner;
};
struct cg_rail cg_rail_of(const struct cg_plan_request *req);

/* Is this a communicator for which plans over nodes are made? Not of up to 8 ranks with a node each, or where all are
 * to be reduced in rank order. */
int cg_rail_applies(const struct cg_plan_request *req);

/* Ranks as a grid of n nodes of g, for plans whose blocks are found by arithmetic: the nodes, where they are regular
 * and there are several; else every rank is a node of its own, in the order of ranks. */
struct cg_grid {
    uint32_t n, g, k, l;      /* this rank is l of node k */
    uint32_t between, within; /* as in struct cg_nodes */
};
struct cg_grid cg_grid_of(const struct cg_plan_request *req);
static inline uint32_t cg_grid_rank(const struct cg_grid *t, uint32_t k, uint32_t l)
{
    return k % t->n * t->between + l * t->within;
}

/* Is this a communicator for which plans over a grid are made? Of several nodes, or too many ranks for plans that list
 * the blocks of all. */
int cg_grid_applies(const struct cg_plan_request *req);

/* Links to the other ranks of the node: those of ALL steps from the first of them on. */
void cg_grid_links(const struct cg_grid *t, struct cg_plan *plan);
/* Walks in reps [from, to): over the blocks of rank l of nodes k, k + 1, ... (up), or k, k - 1, ...; or staying at a
 * block. k may be any number that is right modulo n, but not negative. */
uint16_t cg_grid_walk(struct cg_plan *plan, const struct cg_grid *t, uint32_t l, uint32_t k, int up, uint32_t from,
                      uint32_t to);
uint16_t cg_grid_stay(struct cg_plan *plan, uint32_t block, uint32_t from, uint32_t to);

/* A node's neighbours in a graph of nodes: up leads towards the root, down away from it. */
#define CG_FAN 16
struct cg_fan {
    int up;              /* -1 at the root */
    uint32_t n, before;  /* down, in the order in which their sums are combined: before of them go before the node's */
    uint32_t down[CG_FAN];
    uint32_t weight[CG_FAN]; /* nodes behind each, about */
};

/* TREE and TREE2: binary trees in the order of nodes, between neighbouring powers of two; who is inside one is a leaf
 * of the other. At most 3 neighbours, the same for every root. BINOMIAL: over the links of recursive doubling. */
enum cg_graph { CG_GRAPH_TREE, CG_GRAPH_TREE2, CG_GRAPH_BINOMIAL };
#define CG_OWN_ROOT UINT32_MAX /* of a tree: the root that makes it flat */
/* A tree alone, of n nodes: weights are exact, and the nodes behind those down, with this one, are a row that goes
 * round. */
struct cg_fan cg_tree_fan(uint32_t n, enum cg_graph graph, uint32_t node, uint32_t root);
struct cg_fan cg_rail_fan(const struct cg_nodes *nodes, enum cg_graph graph, uint32_t node, uint32_t root);

/* Fold of nodes, as cg_fold_of of ranks. */
struct cg_fold cg_rail_fold(const struct cg_nodes *nodes, uint32_t node);

/* Has a rank links for its node and for doubling between nodes? */
int cg_rail_doubling_fits(const struct cg_plan_request *req);

/* Link to a rank, appended unless it is there. The order of links is that of these calls. */
uint8_t cg_rail_link(struct cg_plan *plan, uint32_t peer);
/* Links to the other ranks of this node, or to its owners if this rank is none; an owner's are those of ALL steps. */
void cg_rail_node_links(const struct cg_plan_request *req, const struct cg_rail *r, struct cg_plan *plan);

#endif
