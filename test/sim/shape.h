/* SPDX-License-Identifier: BSD-3-Clause
 * Calls of any collective: equal blocks, or counts and displacements of all sorts. */
#ifndef CG_TEST_SHAPE_H
#define CG_TEST_SHAPE_H

#include "plan/plan.h"
#include "plan/spec.h"

/* xorshift: equal seeds give equal runs everywhere. */
uint64_t rng_next(uint64_t *state);
uint32_t rng_below(uint64_t *state, uint32_t bound);

struct shape {
    struct cg_plan_request *reqs; /* nranks */
    uint64_t *arrays;
};

/* Requests of all ranks for req's collective, ranks, root, element size and parameters. Blocks have at most most
 * elements. They are equal (req's count, 0: any) where the collective wants that; otherwise some are empty, and they
 * lie in any order, with gaps where displacements allow that. symmetric: alltoallv that may be called in place. fatal
 * if memory is out. */
void shape_make(struct shape *s, const struct cg_plan_request *req, uint64_t most, int symmetric, uint64_t *rng);
void shape_free(struct shape *s);

/* Prints what went wrong and ends the program. */
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* What fatal prints in addition, such as the seed. */
extern char fatal_context[256];

#endif
