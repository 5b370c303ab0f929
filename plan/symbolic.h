/* SPDX-License-Identifier: BSD-3-Clause
 * Expressions of ranks' operands, each stored once, so that equal expressions have equal numbers. Private to plan/. */
#ifndef CG_PLAN_SYMBOLIC_H
#define CG_PLAN_SYMBOLIC_H

#include <stdint.h>

#define CG_EXPR_NONE 0u

struct cg_exprs; /* grows as needed */

/* place: a second order of ranks, which is as good as their numbers'; NULL: none. */
struct cg_exprs *cg_exprs_new(uint32_t nranks, const uint32_t *place);
void cg_exprs_free(struct cg_exprs *e);
/* The operand of one rank. */
uint32_t cg_expr_leaf(uint32_t rank);
/* left op right; CG_EXPR_NONE if an operand of the two is missing, a rank is in both, or memory is out. */
uint32_t cg_expr_join(struct cg_exprs *e, uint32_t left, uint32_t right);
/* Does an expression contain the ranks lo to hi - 1, each once, in the order of ranks (or places) or one that goes
 * round? */
int cg_expr_is(const struct cg_exprs *e, uint32_t expr, uint32_t lo, uint32_t hi);

#endif
