/* SPDX-License-Identifier: BSD-3-Clause
 * Plans: from facts that are equal on all ranks to one step program per rank. Pure functions, no state, no I/O;
 * any thread. An algorithm is one file and one row of the table in plan/table.c. */
#ifndef CG_PLAN_PLAN_H
#define CG_PLAN_PLAN_H

#include "core/params.h"
#include "kernels/step.h"

struct cg_nodes;

#ifdef __cplusplus
extern "C" {
#endif

struct cg_table;
struct cg_row;

struct cg_plan_request {
    int coll;        /* enum cg_coll */
    uint32_t nranks; /* of the communicator, >= 1 */
    uint32_t rank;
    uint32_t root;   /* collectives that have one */
    uint64_t count;  /* elements: of the whole buffer, or of one block (allgather, gather, scatter, alltoall,
                      * reduce_scatter_block); > 0, except where it is 0 for this rank alone (gatherv, scatterv) */
    /* nranks entries each, in elements; NULL where the collective has none or where they are insignificant here:
     *   allgatherv: dst_len, dst_disp    gatherv: the same, root only    scatterv: src_len, src_disp, root only
     *   alltoallv: all four              reduce_scatter: src_len (the blocks lie one after another) */
    const uint64_t *src_len, *src_disp, *dst_len, *dst_disp;
    int esize;       /* bytes of an element, a power of two from 1 to 16 */
    int wide;        /* bytes of a partial sum, if they must be more than esize where it crosses a link; else 0 */
    const struct cg_params *params; /* agreed ones */
    /* For the choice (plan/choose.h): the table, NULL for the built-in one; bits of enum cg_at and cg_via, 0 where not
     * known; the number of channels, 0: by size. */
    const struct cg_table *table;
    int at, via;
    uint32_t channels;
    const struct cg_nodes *nodes;   /* who is on which node, or NULL: all on one (plan/nodes.h) */
};

struct cg_plan {
    const char *name;                 /* of the algorithm, static */
    const struct cg_row *row;         /* that chose it; NULL: no row did */
    int esize;                        /* bytes of an element in a message: the request's esize or wide */
    uint32_t nchan, nchunks, nsteps, nlinks, self_pos, nall; /* the last two as in struct cg_op */
    uint32_t peer[CG_MAX_LINKS];      /* communicator ranks; links of the steps index this */
    struct cg_range range[CG_MAX_CHAN];
    struct cg_step step[CG_MAX_STEPS];
    uint32_t nblocks;
    struct cg_block block[CG_MAX_BLOCKS]; /* not listed if block_len, as in struct cg_op */
    uint64_t block_len;
    uint32_t reps, nwalks;
    struct cg_walk walk[CG_MAX_WALKS];
};

/* Where an algorithm has partial sums: in the receive buffer, in messages, or nowhere, because each element is reduced
 * in one step or not at all. With two ranks there are none. */
enum cg_sums { CG_SUMS_DST, CG_SUMS_LINK, CG_SUMS_NONE };

struct cg_algorithm {
    const char *name, *text; /* text says when it can be used */
    int coll;
    /* Can it serve this request? From nranks, nodes, bytes and agreed parameters only. */
    int (*applies)(const struct cg_plan_request *req);
    /* Fill plan (zeroed, name set). CG_OK or CG_ERR_LIMIT. */
    int (*build)(const struct cg_plan_request *req, struct cg_plan *plan);
    enum cg_sums sums;
};

/* All of them, ended by one without name; those of a collective in order of preference. Which of those that apply is
 * used says the table of plan/choose.h; with wide partial sums none that keeps them in the receive buffer, unless there
 * is no other. */
extern const struct cg_algorithm cg_algorithms[];

/* Choose and build. CG_OK, CG_ERR_UNSUPPORTED (none applies) or CG_ERR_LIMIT. */
int cg_plan_build(const struct cg_plan_request *req, struct cg_plan *plan);

/* All ranks with which rank exchanges messages in any plan of any size of the collectives whose reach is at most reach
 * (CG_COLL_TABLE), ascending; at most max. Returns their number, or CG_ERR_LIMIT. Symmetric: a is b's neighbour if and
 * only if b is a's. nodes: as in a request. */
int cg_plan_neighbors(uint32_t nranks, uint32_t rank, const struct cg_params *params, const struct cg_nodes *nodes,
                      int reach, uint32_t *peers, int max);
/* Is there a plan for this collective among so many ranks, of whatever size? The same on all ranks. */
int cg_plan_exists(int coll, uint32_t nranks);

/* A program in which the neighbours, all of them, send each other one byte, for its header. Up to CG_MEET_RANKS ranks
 * of one node have no more neighbours than a program has links (reach 1), or are so few that all are neighbours. Where
 * there are more (several nodes), it is those of the smallest allreduce. CG_OK or CG_ERR_LIMIT. peers: in any order;
 * who: a request without call. */
#define CG_MEET_RANKS 4096
int cg_plan_meet(const struct cg_plan_request *who, const uint32_t *peers, uint32_t n, struct cg_plan *plan);

/* Does an algorithm serve a request? One made for a single node does not where there are others for several, so that
 * no links are made for it, unless ranks are so few that all have links. */
int cg_plan_usable(const struct cg_algorithm *a, const struct cg_plan_request *req);

/* Messages that channel chan sends and receives on link l in one run of the plan. */
void cg_plan_count(const struct cg_plan *plan, uint32_t chan, uint32_t l, uint64_t *sends, uint64_t *recvs);

/* Fill descriptor fields, ranges, steps and blocks of op from the plan (links' pointers and bases are left alone; set
 * op->nlinks first is not needed, it is set here). op has CG_OP_BYTES. */
void cg_plan_to_op(const struct cg_plan *plan, struct cg_op *op);

/* Checker: builds the plan for every rank and proves bounds; that every message sent on a link is received by the other
 * side in the same channel, order and size; that every rank's dst gets, element by element, what the collective says,
 * reductions in the order of ranks or one that goes round, and nothing else is touched, in place or not; and that it
 * ends (runs the programs with slots lanes, symbolically). CG_OK, or an error with a text in why. For tests and bench,
 * not the fast path. Arrays: alltoallv's have a row of nranks for each rank; gatherv's and scatterv's are root's. */
int cg_plan_check(const struct cg_plan_request *req, char *why, size_t len);
/* The same for requests of all ranks. */
int cg_plan_check_all(const struct cg_plan_request *reqs, char *why, size_t len);

#ifdef __cplusplus
}
#endif
#endif
