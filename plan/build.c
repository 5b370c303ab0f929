/* SPDX-License-Identifier: BSD-3-Clause
 * What the builders share: ranges, neighbours, steps. */
#include "plan/build.h"

#include "core/status.h"

#define UNIT_BYTES 16 /* the widest access of an executor */

static uint64_t round_up(uint64_t n, uint64_t unit) { return cg_ceil_div(n, unit) * unit; }

/* Elements whose bytes are a multiple of UNIT_BYTES. */
static uint32_t unit_elems(int esize) { return UNIT_BYTES % esize ? UNIT_BYTES : UNIT_BYTES / (uint32_t) esize; }

uint32_t cg_build_channels(const struct cg_plan_request *req)
{
    uint64_t worth = cg_plan_bytes(req) / (uint64_t) req->params->channel_bytes;

    return (uint32_t) cg_min_u64((uint64_t) req->params->channels, worth ? worth : 1);
}

static int cut_range(const struct cg_plan_request *req, const struct cg_plan *plan, struct cg_range *r)
{
    uint64_t total = r->end - r->begin, unit = unit_elems(req->esize);
    uint64_t slot = (uint64_t) (req->params->slot_bytes / req->esize);
    uint64_t iters = cg_ceil_div(total, plan->nchunks * (slot - slot % unit));

    if (0 == total) return CG_OK;
    r->chunk = (uint32_t) round_up(cg_ceil_div(total, plan->nchunks * iters), unit);
    iters = cg_ceil_div(total, (uint64_t) plan->nchunks * r->chunk);
    r->iters = (uint32_t) iters;
    return iters * plan->nsteps > UINT32_MAX ? CG_ERR_LIMIT : CG_OK;
}

int cg_build_ranges(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t nchan, uint32_t nchunks)
{
    uint64_t per = round_up(cg_ceil_div(req->count, nchan), unit_elems(req->esize));
    int rc = CG_OK;

    plan->nchan = nchan;
    plan->nchunks = nchunks;
    for (uint32_t c = 0; c < nchan && CG_OK == rc; c++) {
        plan->range[c].begin = cg_min_u64(c * per, req->count);
        plan->range[c].end = cg_min_u64((c + 1) * per, req->count);
        rc = cut_range(req, plan, &plan->range[c]);
    }
    return rc;
}

int cg_build_peer(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t peer)
{
    uint32_t at = 0;

    while (at < plan->nlinks && plan->peer[at] < peer)
        at++;
    if (at < plan->nlinks && plan->peer[at] == peer) return CG_OK;
    if (plan->nlinks == CG_MAX_LINKS) return CG_ERR_LIMIT;
    for (uint32_t i = plan->nlinks++; i > at; i--)
        plan->peer[i] = plan->peer[i - 1];
    plan->peer[at] = peer;
    plan->self_pos += peer < req->rank;
    return CG_OK;
}

uint8_t cg_build_link(const struct cg_plan *plan, uint32_t peer)
{
    uint8_t l = 0;

    while (plan->peer[l] != peer)
        l++;
    return l;
}

int cg_build_step(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                  uint32_t chunk)
{
    if (plan->nsteps == CG_MAX_STEPS) return CG_ERR_LIMIT;
    plan->step[plan->nsteps++] = (struct cg_step){.opcode = (uint8_t) opcode,
                                                  .flags = (uint8_t) flags,
                                                  .rlink = rlink,
                                                  .slink = slink,
                                                  .chunk = (uint16_t) chunk};
    return CG_OK;
}
