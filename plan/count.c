/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of a plan, in closed form: an operation of many gigabytes has many iterations. */
#include "plan/build.h"

#include "kernels/interp.h"

/* Iterations in which this chunk of the range is not empty. */
static uint64_t occurrences(const struct cg_range *r, uint32_t nchunks, uint32_t chunk)
{
    uint64_t chunks = r->end > r->begin ? cg_ceil_div(r->end - r->begin, r->chunk) : 0;

    return chunks > chunk ? (chunks - chunk - 1) / nchunks + 1 : 0;
}

/* Iterations in which channel chan has a slice of a block. */
static uint64_t slices(const struct cg_plan *plan, uint32_t chan, uint32_t block)
{
    uint64_t all = cg_ceil_div(cg_plan_block(plan, block).len, plan->range[chan].chunk);

    return all > chan ? (all - chan - 1) / plan->nchan + 1 : 0;
}

/* Iterations in which channel chan has something of what a step names. */
static uint64_t times_of(const struct cg_plan *plan, uint32_t chan, uint32_t name)
{
    const struct cg_walk *w = &plan->walk[name];
    uint64_t times = 0;
    uint32_t block;

    if (!plan->nblocks) return occurrences(&plan->range[chan], plan->nchunks, name);
    if (!plan->nwalks) return slices(plan, chan, name);
    if (plan->block_len) return slices(plan, chan, 0) * (w->to - w->from);
    for (uint32_t rep = w->from; rep < w->to; rep++) {
        cg_walk_at(w, rep, &block);
        times += slices(plan, chan, block);
    }
    return times;
}

uint32_t cg_plan_elems(const struct cg_plan *plan, const struct cg_step *s, uint32_t chan, uint32_t iter,
                       uint64_t *first)
{
    const struct cg_range *r = &plan->range[chan];
    struct cg_cut cut = cg_plan_cut(plan);

    if (!plan->nblocks) return cg_chunk_elems(r, plan->nchunks, iter, s->chunk, first);
    return cg_cut_elems(&cut, r, s->chunk, chan, iter, first);
}

void cg_plan_count(const struct cg_plan *plan, uint32_t chan, uint32_t l, uint64_t *sends, uint64_t *recvs)
{
    *sends = *recvs = 0;
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        const struct cg_step *s = &plan->step[i];
        uint64_t times = times_of(plan, chan, s->chunk);
        struct cg_span in = cg_step_in(s, plan->nall), out = cg_step_out(s, plan->nall);
        if (l >= out.from && l < out.to) *sends += times;
        if (cg_step_frees(s) && l >= in.from && l < in.to) *recvs += times;
    }
}
