/* SPDX-License-Identifier: BSD-3-Clause
 * Every row of the table of algorithms, with parameters under which it is chosen for whatever size. */
#ifndef CG_TEST_CHOICES_H
#define CG_TEST_CHOICES_H

#include "plan/build.h"

#include <string.h>

static const struct choice {
    const char *name;
    int coll, exchange_max, doubling_max;
    uint32_t from, to; /* ranks */
} choices[] = {
    {"copy", CG_COLL_ALLREDUCE, 0, 0, 1, 1},
    {"exchange", CG_COLL_ALLREDUCE, 1 << 20, 0, 2, 8},
    {"owners", CG_COLL_ALLREDUCE, 0, 0, 2, 8},
    {"doubling", CG_COLL_ALLREDUCE, 0, 1 << 30, 2, 64},
    {"ring", CG_COLL_ALLREDUCE, 0, 0, 2, 64},
    {"nothing", CG_COLL_BCAST, 0, 0, 1, 1},
    {"direct", CG_COLL_BCAST, 1 << 20, 0, 2, 8},
    {"tree", CG_COLL_BCAST, 0, 1 << 30, 9, 64},
    {"chain", CG_COLL_BCAST, 0, 0, 2, 64},
    {"copy", CG_COLL_REDUCE, 0, 0, 1, 1},
    {"direct", CG_COLL_REDUCE, 1 << 20, 0, 2, 8},
    {"chain", CG_COLL_REDUCE, 0, 0, 2, 64},
    {"copy", CG_COLL_SCAN, 0, 0, 1, 1},
    {"direct", CG_COLL_SCAN, 1 << 20, 0, 2, 8},
    {"chain", CG_COLL_SCAN, 0, 0, 2, 64},
    {"nothing", CG_COLL_EXSCAN, 0, 0, 1, 1},
    {"direct", CG_COLL_EXSCAN, 1 << 20, 0, 2, 8},
    {"chain", CG_COLL_EXSCAN, 0, 0, 2, 64},
    {"copy", CG_COLL_ALLGATHER, 0, 0, 1, 1},
    {"direct", CG_COLL_ALLGATHER, 1 << 20, 0, 2, 8},
    {"ring", CG_COLL_ALLGATHER, 0, 0, 2, 24},
    {"copy", CG_COLL_ALLGATHERV, 0, 0, 1, 1},
    {"direct", CG_COLL_ALLGATHERV, 1 << 20, 0, 2, 8},
    {"ring", CG_COLL_ALLGATHERV, 0, 0, 2, 24},
    {"copy", CG_COLL_GATHER, 0, 0, 1, 1},
    {"linear", CG_COLL_GATHER, 1, 0, 2, 8},
    {"arms", CG_COLL_GATHER, 0, 0, 2, 24},
    {"copy", CG_COLL_SCATTER, 0, 0, 1, 1},
    {"linear", CG_COLL_SCATTER, 1, 0, 2, 8},
    {"arms", CG_COLL_SCATTER, 0, 0, 2, 24},
    {"copy", CG_COLL_GATHERV, 0, 0, 1, 1},
    {"linear", CG_COLL_GATHERV, 0, 0, 2, 17},
    {"copy", CG_COLL_SCATTERV, 0, 0, 1, 1},
    {"linear", CG_COLL_SCATTERV, 0, 0, 2, 17},
    {"copy", CG_COLL_ALLTOALL, 0, 0, 1, 1},
    {"pairwise", CG_COLL_ALLTOALL, 0, 0, 2, 17},
    {"copy", CG_COLL_ALLTOALLV, 0, 0, 1, 1},
    {"pairwise", CG_COLL_ALLTOALLV, 0, 0, 2, 17},
    {"copy", CG_COLL_REDUCE_SCATTER, 0, 0, 1, 1},
    {"direct", CG_COLL_REDUCE_SCATTER, 1 << 20, 0, 2, 8},
    {"ring", CG_COLL_REDUCE_SCATTER, 0, 0, 2, 24},
    {"copy", CG_COLL_REDUCE_SCATTER_BLOCK, 0, 0, 1, 1},
    {"direct", CG_COLL_REDUCE_SCATTER_BLOCK, 1 << 20, 0, 2, 8},
    {"ring", CG_COLL_REDUCE_SCATTER_BLOCK, 0, 0, 2, 24},
};
#define NCHOICES (sizeof(choices) / sizeof(*choices))

/* Rows for several nodes, with parameters under which they are chosen for whatever size they apply to:
 * test/unit/nodes.c. */
static const struct rail_choice {
    const char *name;
    int coll, doubling_max, rail_ring_nodes;
} rail_choices[] = {
    {"rail_doubling", CG_COLL_ALLREDUCE, 1 << 30, 0},
    {"rail_ring", CG_COLL_ALLREDUCE, 0, 64},
    {"rails", CG_COLL_ALLREDUCE, 0, 0},
    {"rail_binomial", CG_COLL_BCAST, 1 << 30, 0},
    {"rails", CG_COLL_BCAST, 0, 0},
    {"rail_binomial", CG_COLL_REDUCE, 1 << 30, 0},
    {"rails", CG_COLL_REDUCE, 0, 0},
    {"rail_ring", CG_COLL_ALLGATHER, 0, 0},
    {"rail_ring", CG_COLL_REDUCE_SCATTER_BLOCK, 0, 0},
    {"rail_tree", CG_COLL_SCAN, 1 << 30, 0},
    {"rail_tree", CG_COLL_EXSCAN, 1 << 30, 0},
    {"rail_tree", CG_COLL_GATHER, 0, 0},
    {"rail_tree", CG_COLL_SCATTER, 0, 0},
};
#define NRAIL_CHOICES (sizeof(rail_choices) / sizeof(*rail_choices))

static inline struct cg_params params_of(const struct choice *c, int slots)
{
    struct cg_params p;

    cg_params_default(&p);
    p.exchange_max = c->exchange_max;
    p.doubling_max = c->doubling_max;
    p.rank_order = 0 == strcmp(c->name, "owners");
    p.slots = slots;
    return p;
}

#endif
