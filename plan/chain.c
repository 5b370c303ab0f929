/* SPDX-License-Identifier: BSD-3-Clause
 * Chains along the ring: from a first rank over each next one to the last. Broadcast goes down from root; reduction
 * ends at root; scan and exscan go from rank 0 to rank n - 1. What comes in is the left operand, so that the order of
 * operands is that of the chain. */
#include "plan/build.h"

#include "core/status.h"

struct task {
    enum cg_opcode opcode;
    unsigned flags;
};

/* Up to two steps of the first rank, of those between, and of the last. */
struct line {
    int n[3];
    struct task task[3][2];
};

static const struct line bcast = {{1, 1, 1}, {{{CG_STEP_SEND, 0}}, {{CG_STEP_RECV_SEND, 0}}, {{CG_STEP_RECV, 0}}}};
static const struct line reduce = {
    {1, 1, 1}, {{{CG_STEP_SEND, 0}}, {{CG_STEP_RECV_REDUCE_SEND, 0}}, {{CG_STEP_RECV_REDUCE, 0}}}};
static const struct line scan = {
    {2, 1, 1},
    {{{CG_STEP_SEND, 0}, {CG_STEP_COPY, 0}}, {{CG_STEP_RECV_REDUCE_COPY_SEND, 0}}, {{CG_STEP_RECV_REDUCE, 0}}}};
/* The operand has been read when the slot that was kept is written to dst, which may be the same buffer. */
static const struct line exscan = {
    {1, 2, 1},
    {{{CG_STEP_SEND, 0}}, {{CG_STEP_RECV_REDUCE_SEND, CG_F_KEEP}, {CG_STEP_RECV, 0}}, {{CG_STEP_RECV, 0}}}};

static const struct line *line_of(const struct cg_plan_request *req, uint32_t *start)
{
    *start = CG_COLL_BCAST == req->coll ? req->root : CG_COLL_REDUCE == req->coll ? req->root + 1 : 0;
    *start %= req->nranks;
    return CG_COLL_BCAST == req->coll    ? &bcast
           : CG_COLL_REDUCE == req->coll ? &reduce
           : CG_COLL_SCAN == req->coll   ? &scan
                                         : &exscan;
}

int cg_chain_applies(const struct cg_plan_request *req) { return req->nranks >= 2; }

int cg_chain_build(const struct cg_plan_request *req, struct cg_plan *plan)
{
    uint32_t n = req->nranks, r = req->rank, prev = (r + n - 1) % n, next = (r + 1) % n, start;
    const struct line *line = line_of(req, &start);
    int last = next == start, place = r == start ? 0 : last ? 2 : 1;

    if (place > 0) cg_build_peer(req, plan, prev);
    if (!last) cg_build_peer(req, plan, next);
    for (int i = 0; i < line->n[place]; i++) {
        const struct task *t = &line->task[place][i];
        cg_build_step(plan, t->opcode, t->flags | CG_F_SLOT_FIRST, place > 0 ? cg_build_link(plan, prev) : CG_LINK_NONE,
                      last ? CG_LINK_NONE : cg_build_link(plan, next), 0);
    }
    return cg_build_chain_ranges(req, plan);
}
