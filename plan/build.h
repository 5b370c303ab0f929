/* SPDX-License-Identifier: BSD-3-Clause
 * What the builders share. Private to plan/ and its tests. */
#ifndef CG_PLAN_BUILD_H
#define CG_PLAN_BUILD_H

#include "kernels/interp.h"
#include "plan/plan.h"

static inline uint64_t cg_ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static inline uint64_t cg_plan_bytes(const struct cg_plan_request *req) { return req->count * (uint64_t) req->esize; }

/* Fewest ranks from which links between all of them are not worth their memory. */
#define CG_DIRECT_RANKS 8

/* May an allreduce be reduced in another order than that of ranks? Not where the fast executor can serve it, too. */
static inline int cg_any_order(const struct cg_plan_request *req)
{
    return !req->params->rank_order || req->nranks > CG_DIRECT_RANKS;
}

/* Largest message that exchange and its like, doubling and its like can be used for. Where neither parameter is set
 * there is no limit, and the table decides; where one is, the other is as below and plan/table.c's order decides. */
static inline uint64_t cg_limit(int mine, int other, uint64_t usual)
{
    return mine >= 0 ? (uint64_t) mine : other >= 0 ? usual : UINT64_MAX;
}
static inline uint64_t cg_exchange_max(const struct cg_params *p)
{
    return cg_limit(p->exchange_max, p->doubling_max, 8192);
}
static inline uint64_t cg_doubling_max(const struct cg_params *p)
{
    return cg_limit(p->doubling_max, p->exchange_max, 32768);
}

/* Blocks of src and dst: those of the request's arrays where it has them, else equal ones one after another. */
static inline struct cg_block cg_src_block(const struct cg_plan_request *req, uint32_t i)
{
    if (req->src_len) return (struct cg_block){req->src_disp[i], req->src_len[i]};
    return (struct cg_block){i * req->count, req->count};
}

static inline struct cg_block cg_dst_block(const struct cg_plan_request *req, uint32_t i)
{
    if (req->dst_len) return (struct cg_block){req->dst_disp[i], req->dst_len[i]};
    return (struct cg_block){i * req->count, req->count};
}

/* Blocks that a plan lists, and one of them; the cut of its program (kernels/interp.h). */
static inline uint32_t cg_plan_listed(const struct cg_plan *plan) { return plan->block_len ? 0 : plan->nblocks; }
static inline struct cg_block cg_plan_block(const struct cg_plan *plan, uint32_t i)
{
    return plan->block_len ? (struct cg_block){i * plan->block_len, plan->block_len} : plan->block[i];
}
static inline struct cg_cut cg_plan_cut(const struct cg_plan *plan)
{
    return (struct cg_cut){plan->block, plan->walk, plan->block_len, plan->reps, plan->nchan};
}
/* How often the steps are run for each slice. */
static inline uint32_t cg_plan_reps(const struct cg_plan *plan) { return plan->reps ? plan->reps : 1; }
/* Elements of a step in an iteration, and where they begin in dst. */
uint32_t cg_plan_elems(const struct cg_plan *plan, const struct cg_step *s, uint32_t chan, uint32_t iter,
                       uint64_t *first);

/* Most ranks of a program with a block for each of them and one more; every rank linked to every other. */
#define CG_BLOCKED_RANKS 128
#define CG_LINKED_RANKS (CG_MAX_LINKS + 1)
CG_STATIC_ASSERT(CG_BLOCKED_RANKS + 1 <= CG_MAX_BLOCKS, "blocks suffice");

/* The request as the algorithm carries it: with its partial sums crossing links, elements are wide. */
struct cg_plan_request cg_build_carried(const struct cg_algorithm *a, const struct cg_plan_request *req);

/* How many channels a message of this size is worth. */
uint32_t cg_build_channels(const struct cg_plan_request *req);

/* Set nchan, nchunks and the ranges: channels and chunks start at multiples of 16 bytes, chunks fit a slot and are as
 * equal as that allows. Call when all steps are there. CG_OK, or CG_ERR_LIMIT if counters would overflow. */
int cg_build_ranges(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t nchan, uint32_t nchunks);

/* The same for a program in which a rank waits for what another makes of the same chunk: cut finer, so that several
 * chunks are under way. */
int cg_build_chain_ranges(const struct cg_plan_request *req, struct cg_plan *plan);

/* Append a block; its number. */
uint16_t cg_build_block(struct cg_plan *plan, struct cg_block block);

/* The program has n equal blocks of len elements and is repeated reps times for each slice of them. */
void cg_build_equal(struct cg_plan *plan, uint32_t n, uint64_t len, uint32_t reps);
/* Append a walk; its number. */
uint16_t cg_build_walk(struct cg_plan *plan, struct cg_walk walk);

enum cg_slicing { CG_SLICES_FINE = 1 /* as for chains */, CG_SLICES_ONE_CHANNEL = 2 };
/* Set nchan and the ranges of a blocked program, all blocks of which are there. longest: elements of the longest block
 * of all ranks; times: blocks that cross a link; how: enum cg_slicing. CG_OK or CG_ERR_LIMIT. */
int cg_build_slices(const struct cg_plan_request *req, struct cg_plan *plan, uint64_t longest, uint32_t times,
                    int how);
/* The same where no rank knows all blocks: slices depend on parameters alone. */
int cg_build_fixed_slices(const struct cg_plan_request *req, struct cg_plan *plan);

/* Append a neighbour unless it is there; keeps peers ascending, so call for all before cg_build_link. */
int cg_build_peer(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t peer);
/* Index of the link to peer, which has been added. */
uint8_t cg_build_link(const struct cg_plan *plan, uint32_t peer);

/* Of n = power + rem ranks, power the largest power of two, the first 2 * rem are pairs, in which the odd one stands
 * for both. pos: a rank's number among those that remain, or its pair's. */
struct cg_fold {
    uint32_t power, rem, pos;
    int folded, idle; /* in a pair; the even one of it */
};
struct cg_fold cg_fold_of(const struct cg_plan_request *req, uint32_t rank);
/* Who stands at a position. */
uint32_t cg_fold_rank(const struct cg_fold *f, uint32_t pos);

/* Append a step. CG_OK or CG_ERR_LIMIT. */
int cg_build_step(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                  uint32_t chunk);
/* A step of a blocked program that reads the operand from another block. */
int cg_build_from(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                  uint32_t chunk, uint32_t from);

/* The algorithms, one file each. */
int cg_copy_applies(const struct cg_plan_request *req);
int cg_copy_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_exchange_applies(const struct cg_plan_request *req);
int cg_exchange_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_owners_applies(const struct cg_plan_request *req);
int cg_owners_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_doubling_applies(const struct cg_plan_request *req);
int cg_doubling_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_ring_applies(const struct cg_plan_request *req);
int cg_ring_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_chain_applies(const struct cg_plan_request *req);
int cg_chain_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_nothing_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_allgather_applies(const struct cg_plan_request *req);
int cg_allgather_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_arms_applies(const struct cg_plan_request *req);
int cg_arms_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_linear_applies(const struct cg_plan_request *req);
int cg_linear_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_pairwise_applies(const struct cg_plan_request *req);
int cg_pairwise_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_direct_applies(const struct cg_plan_request *req);
int cg_direct_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_tree_applies(const struct cg_plan_request *req);
int cg_tree_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rail_doubling_applies(const struct cg_plan_request *req);
int cg_rail_doubling_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rail_ring_applies(const struct cg_plan_request *req);
int cg_rail_ring_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rail_binomial_applies(const struct cg_plan_request *req);
int cg_rail_binomial_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rails_rooted_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rails_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rail_blocks_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rail_tree_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_rail_scan_applies(const struct cg_plan_request *req);
int cg_rail_scan_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_scatter_ring_applies(const struct cg_plan_request *req);
int cg_scatter_ring_build(const struct cg_plan_request *req, struct cg_plan *plan);

/* The proof behind cg_plan_check, over requests and plans of all ranks. */
int cg_plan_prove(const struct cg_plan_request *reqs, const struct cg_plan *plans, char *why, size_t len);

#endif
