/* SPDX-License-Identifier: BSD-3-Clause
 * What the builders share. Private to plan/ and its tests. */
#ifndef CG_PLAN_BUILD_H
#define CG_PLAN_BUILD_H

#include "plan/plan.h"

static inline uint64_t cg_ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static inline uint64_t cg_plan_bytes(const struct cg_plan_request *req) { return req->count * (uint64_t) req->esize; }

/* How many channels a message of this size is worth. */
uint32_t cg_build_channels(const struct cg_plan_request *req);

/* Set nchan, nchunks and the ranges: channels and chunks start at multiples of 16 bytes, chunks fit a slot and are as
 * equal as that allows. Call when all steps are there. CG_OK, or CG_ERR_LIMIT if counters would overflow. */
int cg_build_ranges(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t nchan, uint32_t nchunks);

/* Append a neighbour unless it is there; keeps peers ascending, so call for all before cg_build_link. */
int cg_build_peer(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t peer);
/* Index of the link to peer, which has been added. */
uint8_t cg_build_link(const struct cg_plan *plan, uint32_t peer);

/* Append a step. CG_OK or CG_ERR_LIMIT. */
int cg_build_step(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                  uint32_t chunk);

/* The algorithms, one file each. */
int cg_copy_applies(const struct cg_plan_request *req);
int cg_copy_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_exchange_applies(const struct cg_plan_request *req);
int cg_exchange_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_doubling_applies(const struct cg_plan_request *req);
int cg_doubling_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_ring_applies(const struct cg_plan_request *req);
int cg_ring_build(const struct cg_plan_request *req, struct cg_plan *plan);
int cg_chain_applies(const struct cg_plan_request *req);
int cg_chain_build(const struct cg_plan_request *req, struct cg_plan *plan);

/* The proof behind cg_plan_check, over the plans of all ranks (req->nranks of them). */
int cg_plan_prove(const struct cg_plan_request *req, const struct cg_plan *plans, char *why, size_t len);

#endif
