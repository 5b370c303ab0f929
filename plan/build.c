/* SPDX-License-Identifier: BSD-3-Clause
 * What the builders share: ranges, blocks, neighbours, steps. */
#include "plan/build.h"

#include "core/status.h"

#define UNIT_BYTES 16 /* the widest access of an executor */
#define PIECES 4      /* of a slot or of a channel's part, where chunks are cut finer */

struct cg_plan_request cg_build_carried(const struct cg_algorithm *a, const struct cg_plan_request *req)
{
    struct cg_plan_request own = *req;

    if (req->wide && req->nranks > 2 && CG_SUMS_NONE != a->sums) own.esize = req->wide;
    return own;
}

static uint64_t round_up(uint64_t n, uint64_t unit) { return cg_ceil_div(n, unit) * unit; }

/* Elements whose bytes are a multiple of UNIT_BYTES. */
static uint32_t unit_elems(int esize) { return UNIT_BYTES % esize ? UNIT_BYTES : UNIT_BYTES / (uint32_t) esize; }

static uint32_t channels_for(const struct cg_plan_request *req, uint64_t bytes)
{
    uint64_t worth = bytes / (uint64_t) req->params->channel_bytes;

    if (req->channels) worth = req->channels;
    return (uint32_t) cg_min_u64((uint64_t) req->params->channels, worth ? worth : 1);
}

uint32_t cg_build_channels(const struct cg_plan_request *req) { return channels_for(req, cg_plan_bytes(req)); }

/* Elements of a slot; fine: or of a quarter of total, if that is less, but not of less than a quarter of a slot. */
static uint64_t largest_chunk(const struct cg_plan_request *req, uint64_t total, int fine)
{
    uint64_t unit = unit_elems(req->esize), slot = (uint64_t) (req->params->slot_bytes / req->esize);
    uint64_t piece = round_up(cg_ceil_div(total, PIECES), unit), least = slot / PIECES - slot / PIECES % unit;

    slot -= slot % unit;
    return fine ? cg_min_u64(slot, piece > least ? piece : least) : slot;
}

static int cut_range(const struct cg_plan_request *req, const struct cg_plan *plan, struct cg_range *r, int fine)
{
    uint64_t total = r->end - r->begin;
    uint64_t iters = cg_ceil_div(total, plan->nchunks * largest_chunk(req, total, fine));

    if (0 == total) return CG_OK;
    r->chunk = (uint32_t) round_up(cg_ceil_div(total, plan->nchunks * iters), unit_elems(req->esize));
    iters = cg_ceil_div(total, (uint64_t) plan->nchunks * r->chunk);
    r->iters = (uint32_t) iters;
    return iters * plan->nsteps > UINT32_MAX ? CG_ERR_LIMIT : CG_OK;
}

static int cut_ranges(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t nchan, uint32_t nchunks,
                      int fine)
{
    uint64_t per = round_up(cg_ceil_div(req->count, nchan), unit_elems(req->esize));
    int rc = CG_OK;

    plan->nchan = nchan;
    plan->nchunks = nchunks;
    for (uint32_t c = 0; c < nchan && CG_OK == rc; c++) {
        plan->range[c].begin = cg_min_u64(c * per, req->count);
        plan->range[c].end = cg_min_u64((c + 1) * per, req->count);
        rc = cut_range(req, plan, &plan->range[c], fine);
    }
    return rc;
}

int cg_build_ranges(const struct cg_plan_request *req, struct cg_plan *plan, uint32_t nchan, uint32_t nchunks)
{
    return cut_ranges(req, plan, nchan, nchunks, 0);
}

int cg_build_chain_ranges(const struct cg_plan_request *req, struct cg_plan *plan)
{
    return cut_ranges(req, plan, cg_build_channels(req), 1, 1);
}

uint16_t cg_build_block(struct cg_plan *plan, struct cg_block block)
{
    plan->block[plan->nblocks] = block;
    return (uint16_t) plan->nblocks++;
}

void cg_build_equal(struct cg_plan *plan, uint32_t n, uint64_t len, uint32_t reps)
{
    plan->nblocks = n;
    plan->block_len = len;
    plan->reps = reps;
}

uint16_t cg_build_walk(struct cg_plan *plan, struct cg_walk walk)
{
    if (plan->nwalks == CG_MAX_WALKS) {
        plan->nsteps = CG_MAX_STEPS + 1; /* refused by cg_plan_build */
        return 0;
    }
    plan->walk[plan->nwalks] = walk;
    return (uint16_t) plan->nwalks++;
}

/* nchan is the number of channels over which all ranks spread slices; a rank whose blocks have fewer slices than that
 * needs only so many, and still has each slice where its neighbours have it: in the first iteration. */
static int set_slices(struct cg_plan *plan, uint32_t nchan, uint64_t chunk, uint32_t times)
{
    uint64_t slices = cg_ceil_div(plan->block_len, chunk), iters;

    for (uint32_t i = 0; i < cg_plan_listed(plan); i++) {
        uint64_t mine = cg_ceil_div(plan->block[i].len, chunk);
        if (mine > slices) slices = mine;
    }
    iters = cg_ceil_div(slices, nchan) * cg_plan_reps(plan);
    plan->nchunks = 1;
    plan->nchan = (uint32_t) cg_min_u64(nchan, slices ? slices : 1);
    for (uint32_t c = 0; c < plan->nchan; c++)
        plan->range[c] = (struct cg_range){.chunk = (uint32_t) chunk, .iters = (uint32_t) iters};
    return iters * (plan->reps ? 2 : times) > UINT32_MAX ? CG_ERR_LIMIT : CG_OK; /* a ring's ends may be one link */
}

int cg_build_slices(const struct cg_plan_request *req, struct cg_plan *plan, uint64_t longest, uint32_t times, int how)
{
    uint32_t nchan = how & CG_SLICES_ONE_CHANNEL ? 1 : channels_for(req, longest * times * (uint64_t) req->esize);
    uint64_t per = cg_ceil_div(longest, nchan), iters = cg_ceil_div(per, largest_chunk(req, per, how & CG_SLICES_FINE));
    uint64_t chunk = round_up(cg_ceil_div(longest, nchan * (iters ? iters : 1)), unit_elems(req->esize));

    return set_slices(plan, nchan, chunk ? chunk : unit_elems(req->esize), times);
}

int cg_build_fixed_slices(const struct cg_plan_request *req, struct cg_plan *plan)
{
    return set_slices(plan, (uint32_t) req->params->channels, largest_chunk(req, 0, 0), 1);
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

struct cg_fold cg_fold_of(const struct cg_plan_request *req, uint32_t rank)
{
    struct cg_fold f = {.power = 1};

    while (f.power <= req->nranks / 2)
        f.power *= 2;
    f.rem = req->nranks - f.power;
    f.folded = rank < 2 * f.rem;
    f.idle = f.folded && 0 == rank % 2;
    f.pos = f.folded ? rank / 2 : rank - f.rem;
    return f;
}

uint32_t cg_fold_rank(const struct cg_fold *f, uint32_t pos) { return pos < f->rem ? 2 * pos + 1 : pos + f->rem; }

int cg_build_from(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                  uint32_t chunk, uint32_t from)
{
    if (plan->nsteps >= CG_MAX_STEPS) {
        plan->nsteps = CG_MAX_STEPS + 1; /* cg_plan_build refuses it, whether or not the builder looks */
        return CG_ERR_LIMIT;
    }
    plan->step[plan->nsteps++] = (struct cg_step){.opcode = (uint8_t) opcode,
                                                  .flags = (uint8_t) flags,
                                                  .rlink = rlink,
                                                  .slink = slink,
                                                  .chunk = (uint16_t) chunk,
                                                  .from = (uint16_t) from};
    return CG_OK;
}

int cg_build_step(struct cg_plan *plan, enum cg_opcode opcode, unsigned flags, uint8_t rlink, uint8_t slink,
                  uint32_t chunk)
{
    return cg_build_from(plan, opcode, flags, rlink, slink, chunk, chunk);
}
