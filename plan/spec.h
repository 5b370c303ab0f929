/* SPDX-License-Identifier: BSD-3-Clause
 * What each collective has to yield, element by element: what the checker and the tests compare with. For plan/ and
 * tests. */
#ifndef CG_PLAN_SPEC_H
#define CG_PLAN_SPEC_H

#include "plan/plan.h"

/* Elements [dst, dst + len) of dst become elements [src, src + len) of rank lo's src, reduced with those of the ranks
 * behind it up to hi - 1. */
struct cg_piece {
    uint64_t dst, src, len;
    uint32_t lo, hi;
};

/* The pieces of a rank's result, at most nranks; their number. What is in no piece is not touched. reqs: all ranks'. */
uint32_t cg_spec(const struct cg_plan_request *reqs, uint32_t rank, struct cg_piece *piece);

/* Elements that a rank's buffers span; 0 where they are insignificant. */
uint64_t cg_spec_src(const struct cg_plan_request *reqs, uint32_t rank);
uint64_t cg_spec_dst(const struct cg_plan_request *reqs, uint32_t rank);

enum cg_in_place { CG_PLACE_NEVER, CG_PLACE_MAY, CG_PLACE_ALWAYS };
/* May this rank call in place, and then src = dst + *shift elements. */
enum cg_in_place cg_spec_in_place(const struct cg_plan_request *reqs, uint32_t rank, int64_t *shift);

/* Requests of all ranks from one: rank and what is significant there. Arrays: alltoallv's have a row of nranks for each
 * rank; gatherv's and scatterv's are root's. */
void cg_spec_requests(const struct cg_plan_request *req, struct cg_plan_request *reqs);

#endif
