/* SPDX-License-Identifier: BSD-3-Clause
 * The checker's first half: numbers, ranges, blocks, links, steps, and buffers in place, of each rank. */
#include "plan/proof.h"

#include "core/status.h"

#include "kernels/interp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cg_proof_fail(const struct cg_proof *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, p->len, fmt, ap);
    va_end(ap);
    return CG_ERR_INTERNAL;
}

static int check_numbers(struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank], *first = &p->plans[0];

    if (plan->nsteps > CG_MAX_STEPS || plan->nlinks > CG_MAX_LINKS || cg_plan_listed(plan) > CG_MAX_BLOCKS ||
        plan->nwalks > CG_MAX_WALKS || !plan->nwalks != !plan->reps || (plan->nwalks && !plan->nblocks) ||
        0 == plan->nchan || plan->nchan > CG_MAX_CHAN || plan->nchan > (uint32_t) p->params->channels ||
        0 == plan->nchunks || plan->nchunks > UINT16_MAX) {
        return cg_proof_fail(p, "rank %u: a number of the plan is out of bounds", rank);
    }
    if (strcmp(plan->name, first->name) || !plan->nblocks != !first->nblocks) {
        return cg_proof_fail(p, "rank %u has another plan than rank 0", rank);
    }
    return CG_OK;
}

static int check_links(struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint32_t lower = 0;
    int twice = 0;

    for (uint32_t l = 0; l < plan->nlinks; l++) {
        uint32_t peer = plan->peer[l], back = 0;
        for (uint32_t k = 0; k < l; k++)
            twice |= plan->peer[k] == peer;
        if (peer >= p->nranks || peer == rank || twice) {
            return cg_proof_fail(p, "rank %u: link %u leads to rank %u", rank, l, peer);
        }
        while (back < p->plans[peer].nlinks && p->plans[peer].peer[back] != rank)
            back++;
        if (back == p->plans[peer].nlinks) return cg_proof_fail(p, "rank %u has a link to %u, not back", rank, peer);
        p->back[cg_proof_link(rank, l)] = (uint8_t) back;
        lower += peer < rank;
    }
    if (plan->nall <= plan->nlinks && (p->reqs->nodes || plan->nwalks || plan->self_pos == lower)) return CG_OK;
    return cg_proof_fail(p, "rank %u: %u links in ALL steps, self_pos %u", rank, plan->nall, plan->self_pos);
}

static int check_chunk(const struct cg_proof *p, uint32_t rank, const struct cg_range *r)
{
    uint64_t bytes = (uint64_t) r->chunk * (uint64_t) p->plans[rank].esize;

    if (p->plans[rank].nlinks > 0 && (bytes > (uint64_t) p->params->slot_bytes || bytes % 16)) {
        return cg_proof_fail(p, "rank %u: chunks of %llu bytes", rank, (unsigned long long) bytes);
    }
    return CG_OK;
}

static int check_ranges(const struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint64_t next = 0;
    int rc = CG_OK;

    if (plan->nchan != p->plans[0].nchan || plan->nchunks != p->plans[0].nchunks ||
        memcmp(plan->range, p->plans[0].range, sizeof(plan->range))) {
        return cg_proof_fail(p, "rank %u has other ranges than rank 0", rank);
    }
    for (uint32_t c = 0; c < plan->nchan && CG_OK == rc; c++) {
        const struct cg_range *r = &plan->range[c];
        if (r->begin != next || r->end < r->begin || (r->end > r->begin && 0 == r->chunk)) {
            return cg_proof_fail(p, "rank %u: channel %u begins at a gap or is not cut", rank, c);
        }
        if (r->iters != (r->chunk ? cg_ceil_div(r->end - r->begin, (uint64_t) plan->nchunks * r->chunk) : 0)) {
            return cg_proof_fail(p, "rank %u: channel %u has %u iterations", rank, c, r->iters);
        }
        next = r->end;
        rc = check_chunk(p, rank, r);
    }
    if (CG_OK == rc && next != (plan->nsteps ? p->reqs[rank].count : 0)) {
        return cg_proof_fail(p, "rank %u: ranges end at %llu", rank, (unsigned long long) next);
    }
    return rc;
}

/* Slices lie in the same channel and iteration at both ends of a link: chunks are equal, and a rank with fewer channels
 * than others has at most one iteration. */
static int check_slices(const struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint64_t chunk = p->plans[0].range[0].chunk, most = chunk ? cg_ceil_div(plan->block_len, chunk) : 0;
    uint32_t nchan = 0, reps = cg_plan_reps(plan);
    int rc = CG_OK;

    for (uint32_t i = 0; i < p->nranks; i++)
        nchan = p->plans[i].nchan > nchan ? p->plans[i].nchan : nchan;
    for (uint32_t i = 0; i < cg_plan_listed(plan) && chunk; i++) {
        uint64_t slices = cg_ceil_div(plan->block[i].len, chunk);
        most = slices > most ? slices : most;
    }
    if (0 == chunk || (plan->nchan < nchan && most > plan->nchan)) {
        return cg_proof_fail(p, "rank %u: channel %u is not cut as that of others", rank, plan->nchan);
    }
    for (uint32_t c = 0; c < plan->nchan && CG_OK == rc; c++) {
        const struct cg_range *r = &plan->range[c];
        if (r->chunk != chunk || r->iters % reps || r->iters / reps < cg_ceil_div(most, plan->nchan)) {
            return cg_proof_fail(p, "rank %u: slices of channel %u", rank, c);
        }
        rc = check_chunk(p, rank, r);
    }
    return rc;
}

static int check_cut(struct cg_proof *p, uint32_t rank)
{
    return p->plans[rank].nblocks ? check_slices(p, rank) : check_ranges(p, rank);
}

static int writes_dst(const struct cg_step *s) { return cg_step_writes(s->opcode) && !(s->flags & CG_F_INTO_SLOT); }
static int reads_src(const struct cg_step *s) { return cg_step_operand(s->opcode) && !(s->flags & CG_F_DST_OPERAND); }

/* A step of a blocked program in one of reps: are the blocks there, equally long, and within src? */
static int check_blocks(const struct cg_proof *p, uint32_t rank, const struct cg_step *s, uint32_t rep)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint32_t chunk = s->chunk, from = s->from;

    if (plan->nwalks && !cg_walk_at(&plan->walk[s->chunk], rep, &chunk)) return 1;
    if (chunk >= plan->nblocks) return 0;
    if (!cg_step_operand(s->opcode)) return 1;
    if (plan->nwalks && (s->from >= plan->nwalks || !cg_walk_at(&plan->walk[s->from], rep, &from))) return 0;
    if (from >= plan->nblocks) return 0;
    struct cg_block b = cg_plan_block(plan, from);
    return b.len == cg_plan_block(plan, chunk).len &&
           (!reads_src(s) || b.offset + b.len <= cg_spec_src(p->reqs, rank));
}

static int check_step(const struct cg_proof *p, uint32_t rank, const struct cg_step *s)
{
    const struct cg_plan *plan = &p->plans[rank];
    struct cg_span in = cg_step_in(s, plan->nall), out = cg_step_out(s, plan->nall);
    int recvs = cg_step_recvs(s->opcode), all = cg_step_all_in(s->opcode), right = 1;

    if (s->opcode >= CG_STEP_COUNT || s->chunk >= cg_plan_cells(plan) || in.to > plan->nlinks ||
        out.to > plan->nlinks || (recvs && in.from >= in.to) || (cg_step_sends(s->opcode) && out.from >= out.to) ||
        (all && (plan->self_pos < in.from || plan->self_pos > in.to))) {
        return 0;
    }
    if ((s->flags & CG_F_KEEP) && (!recvs || all)) return 0;
    if ((s->flags & CG_F_INTO_SLOT) && (!(s->flags & CG_F_KEEP) || !cg_step_writes(s->opcode))) return 0;
    if (!plan->nblocks) return !reads_src(s) || cg_spec_src(p->reqs, rank) == p->reqs[rank].count;
    if (plan->nwalks && plan->walk[s->chunk].to > plan->reps) return 0;
    for (uint32_t rep = 0; rep < cg_plan_reps(plan) && right; rep++)
        right = check_blocks(p, rank, s, rep);
    return right;
}

/* Blocks of dst are apart, so that each is written by the steps that name it alone. (Those of walks: prove.c.) */
static int blocks_meet(const struct cg_plan *plan, uint32_t a, uint32_t b)
{
    const struct cg_block *x = &plan->block[a], *y = &plan->block[b];

    return a != b && x->len > 0 && y->len > 0 && x->offset < y->offset + y->len && y->offset < x->offset + x->len;
}

static int check_steps(struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];

    for (uint32_t i = 0; i < plan->nsteps; i++) {
        if (!check_step(p, rank, &plan->step[i])) return cg_proof_fail(p, "rank %u: step %u is out of bounds", rank, i);
        for (uint32_t k = 0; k < i && plan->nblocks && !plan->nwalks; k++) {
            if (writes_dst(&plan->step[i]) && writes_dst(&plan->step[k]) &&
                blocks_meet(plan, plan->step[i].chunk, plan->step[k].chunk)) {
                return cg_proof_fail(p, "rank %u: steps %u and %u write overlapping blocks", rank, k, i);
            }
        }
    }
    return CG_OK;
}

/* One run of a step, in a rep; order: of all runs for a slice. */
struct turn {
    const struct cg_step *step;
    uint32_t rep, order;
};

static struct cg_block block_in(const struct cg_plan *plan, uint32_t name, uint32_t rep)
{
    uint32_t block = name;

    if (plan->nwalks && !cg_walk_at(&plan->walk[name], rep, &block)) return (struct cg_block){0, 0};
    return cg_plan_block(plan, block);
}

/* In place, with src = dst + shift: may w write without touching what i has still to read, in this or any other channel
 * and slice? Slices of blocks that begin at the same element coincide, and a step may write its own operand. Other
 * blocks that overlap need one channel, in which a position of the one that begins later is reached earlier. */
static int write_is_safe(const struct cg_plan *plan, const struct turn *w, const struct turn *i, int64_t shift)
{
    if (!plan->nblocks) return w->step->chunk != i->step->chunk || i->order <= w->order;
    struct cg_block written = block_in(plan, w->step->chunk, w->rep), read = block_in(plan, i->step->from, i->rep);
    int64_t to = (int64_t) written.offset, from = (int64_t) read.offset + shift;
    if (to >= from + (int64_t) read.len || from >= to + (int64_t) written.len) return 1;
    if (to == from) return i->order <= w->order;
    return 1 == plan->nchan && from > to &&
           (i->order < w->order || (i->order == w->order && from - to >= (int64_t) plan->range[0].chunk));
}

/* The runs of steps that write dst, or read src. */
static uint32_t turns_of(const struct cg_plan *plan, int (*which)(const struct cg_step *), struct turn *turn)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->nsteps; i++) {
        const struct cg_step *s = &plan->step[i];
        const struct cg_walk all = {.to = (uint16_t) cg_plan_reps(plan)};
        const struct cg_walk *w = plan->nwalks ? &plan->walk[s->chunk] : &all;
        for (uint32_t rep = w->from; rep < w->to && which(s); rep++)
            turn[n++] = (struct turn){s, rep, rep * plan->nsteps + i};
    }
    return n;
}

static int check_in_place(struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    size_t most = (size_t) plan->nsteps * cg_plan_reps(plan);
    uint32_t nwrites, nreads;
    int64_t shift;
    int rc = CG_OK;

    if (CG_PLACE_NEVER == cg_spec_in_place(p->reqs, rank, &shift)) return CG_OK;
    struct turn *writes = malloc((2 * most + 1) * sizeof(*writes)), *reads = writes + most;
    if (!writes) return CG_ERR_NOMEM;
    nwrites = turns_of(plan, writes_dst, writes);
    nreads = turns_of(plan, reads_src, reads);
    for (uint32_t w = 0; w < nwrites; w++) {
        for (uint32_t i = 0; i < nreads && CG_OK == rc; i++) {
            if (write_is_safe(plan, &writes[w], &reads[i], shift)) continue;
            rc = cg_proof_fail(p, "rank %u: in place, step %u overwrites the operand of step %u", rank,
                               writes[w].order % plan->nsteps, reads[i].order % plan->nsteps);
        }
    }
    free(writes);
    return rc;
}

int cg_proof_bounds(struct cg_proof *p)
{
    /* each may rely on those before it, of all ranks */
    static int (*const checks[])(struct cg_proof *, uint32_t) = {check_numbers, check_links, check_cut, check_steps,
                                                                 check_in_place};
    int rc = CG_OK;

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        for (uint32_t rank = 0; rank < p->nranks && CG_OK == rc; rank++)
            rc = checks[i](p, rank);
    }
    return rc;
}

int cg_plan_check_all(const struct cg_plan_request *reqs, char *why, size_t len)
{
    uint32_t n = reqs->nranks;
    struct cg_plan *plans = calloc(n, sizeof(*plans));
    int rc = plans ? CG_OK : CG_ERR_NOMEM;

    for (uint32_t rank = 0; rank < n && CG_OK == rc; rank++) {
        rc = cg_plan_build(&reqs[rank], &plans[rank]);
        if (rc != CG_OK) snprintf(why, len, "rank %u: no plan: %s", rank, cg_status_text(rc));
    }
    if (CG_OK == rc) rc = cg_plan_prove(reqs, plans, why, len);
    free(plans);
    return rc;
}

int cg_plan_check(const struct cg_plan_request *req, char *why, size_t len)
{
    struct cg_plan_request *reqs = calloc(req->nranks, sizeof(*reqs));
    int rc = CG_ERR_NOMEM;

    if (reqs) {
        cg_spec_requests(req, reqs);
        rc = cg_plan_check_all(reqs, why, len);
    }
    free(reqs);
    return rc;
}
