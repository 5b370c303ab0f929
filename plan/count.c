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

/* Iterations in which channel chan has a slice of this block. */
static uint64_t slices(const struct cg_plan *plan, uint32_t chan, uint32_t block)
{
    uint64_t all = cg_ceil_div(plan->block[block].len, plan->range[chan].chunk);

    return all > chan ? (all - chan - 1) / plan->nchan + 1 : 0;
}

void cg_plan_count(const struct cg_plan *plan, uint32_t chan, uint32_t l, uint64_t *sends, uint64_t *recvs)
{
    *sends = *recvs = 0;
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        const struct cg_step *s = &plan->step[i];
        uint64_t times = plan->nblocks ? slices(plan, chan, s->chunk)
                                       : occurrences(&plan->range[chan], plan->nchunks, s->chunk);
        struct cg_span in = cg_step_in(s, plan->nall), out = cg_step_out(s, plan->nall);
        if (l >= out.from && l < out.to) *sends += times;
        if (cg_step_frees(s) && l >= in.from && l < in.to) *recvs += times;
    }
}
