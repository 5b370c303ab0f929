/* SPDX-License-Identifier: BSD-3-Clause
 * The checker's two halves: bounds of every plan (check.c), the programs of all ranks together (prove.c). Private to
 * plan/. */
#ifndef CG_PLAN_PROOF_H
#define CG_PLAN_PROOF_H

#include "plan/build.h"
#include "plan/spec.h"
#include "plan/symbolic.h"

/* Elements from src element first on, reduced over the ranks of the expression. */
struct cg_value {
    uint32_t expr;
    uint64_t first;
};

struct cg_msg {
    uint32_t n;
    struct cg_value value;
};

struct cg_lane { /* what one rank has been sent on one link */
    uint64_t head, tail;
};

/* A chunk, block or walk's block of dst in this iteration: n is 0 until it has been written. */
struct cg_cell {
    uint32_t n;
    uint64_t at; /* element of dst */
    struct cg_value value;
};

struct cg_proof {
    const struct cg_plan_request *reqs;
    const struct cg_plan *plans;
    const struct cg_params *params;
    uint32_t nranks, cells, chan;       /* cells: of a rank, at most */
    uint32_t iter;                      /* with walks: the slice */
    uint64_t weight;                    /* iterations that this one stands for */
    struct cg_exprs *exprs;
    uint8_t *back;           /* [rank][link]: the link's number at its peer */
    struct cg_lane *lane;    /* [rank][link] */
    struct cg_msg *msg;      /* [rank][link][slot] */
    struct cg_cell *cell;    /* [rank][chunk or block] */
    uint32_t *at, *npieces;  /* [rank]: step, counted on over reps; pieces of the result */
    uint8_t *seen;           /* [rank][piece]: with walks, a slice of it has been written; else NULL */
    size_t pieces;           /* of a rank, at most */
    struct cg_piece **piece; /* [rank] */
    uint64_t *sent, *rcvd;   /* [rank][link], weighted by how often the iteration occurs */
    uint64_t *covered;       /* [rank]: elements of dst that have their result */
    char *why;
    size_t len;
};

/* Says why, once. CG_ERR_INTERNAL. */
int cg_proof_fail(const struct cg_proof *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline size_t cg_proof_link(uint32_t rank, uint32_t l) { return (size_t) rank * CG_MAX_LINKS + l; }

/* What a plan's steps can name: walks, blocks or chunks. */
static inline uint32_t cg_plan_cells(const struct cg_plan *plan)
{
    return plan->nwalks ? plan->nwalks : plan->nblocks ? plan->nblocks : plan->nchunks;
}

int cg_proof_bounds(struct cg_proof *p);
int cg_proof_run(struct cg_proof *p); /* relies on the bounds */

#endif
