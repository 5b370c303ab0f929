/* SPDX-License-Identifier: BSD-3-Clause
 * Which ranks share a node, as the plans for several nodes see it. Pure; immutable once made; any thread. */
#ifndef CG_PLAN_NODES_H
#define CG_PLAN_NODES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Most ranks of a node: each has a link to each other. A host with more is cut into nodes as equal as that allows. */
#define CG_NODE_RANKS 8

struct cg_nodes {
    uint32_t nranks, nhosts, n; /* n: nodes, in the order of their lowest ranks; those of a host in a row */
    uint32_t rails, most;       /* fewest and most ranks of a node */
    int contiguous;             /* the ranks of a node are consecutive numbers */
    int regular;                /* nodes are equal, and rank l of node k is number k * between + l * within */
    uint32_t between, within;
    uint32_t *node;             /* [rank] */
    uint32_t *local;            /* [rank]: its number in its node */
    uint32_t *first;            /* [n + 1]: the node's first entry in member */
    uint32_t *member;           /* [nranks]: ranks by node, ascending in each */
    uint32_t *place;            /* [rank]: its entry in member */
};

/* hosts: a number for each rank, equal for ranks on one host. NULL if memory is out. */
struct cg_nodes *cg_nodes_new(uint32_t nranks, const uint64_t *hosts);
void cg_nodes_free(struct cg_nodes *nodes);

static inline uint32_t cg_node_ranks(const struct cg_nodes *nodes, uint32_t node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

static inline uint32_t cg_node_rank(const struct cg_nodes *nodes, uint32_t node, uint32_t local)
{
    return nodes->member[nodes->first[node] + local];
}

#ifdef __cplusplus
}
#endif
#endif
