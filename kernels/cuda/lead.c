/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/lead.h"

#include <string.h>

#define SEGMENT_MIN 16384 /* below it a second leader only costs a launch */

/* ---- leaders ---- */

static uint32_t first_on_gpu(const unsigned char uuid[][16], uint32_t rank)
{
    uint32_t first = 0;

    while (memcmp(uuid[first], uuid[rank], 16)) first++;
    return first;
}

uint32_t cg_lead_choose(const unsigned char uuid[][16], const int *mps, uint32_t nranks)
{
    uint32_t leaders = 0;
    int shared = 0;

    for (uint32_t r = 0; r < nranks; r++) {
        uint32_t first = first_on_gpu(uuid, r);
        leaders |= 1u << first;
        shared |= first != r && !(mps[first] && mps[r]);
    }
    return shared ? leaders : 0;
}

static int leads(const struct cg_lead *l, uint32_t rank) { return (int) (l->leaders >> rank) & 1; }

/* The segment of the k-th leader, k = 0, 1, ...; where it begins. Multiples of 512 bytes keep alignment. */
static uint64_t segment(const struct cg_lead *l, uint64_t *begin)
{
    uint64_t n = (uint64_t) __builtin_popcount(l->leaders), each = ((l->bytes + n - 1) / n + 511) & ~511ull;
    uint64_t k = (uint64_t) __builtin_popcount(l->leaders & ((1u << l->rank) - 1));

    if (each < SEGMENT_MIN) each = SEGMENT_MIN;
    *begin = cg_min_u64(k * each, l->bytes);
    return cg_min_u64(each, l->bytes - *begin);
}

/* ---- deal and verdict ---- */

static int describe(struct cg_lead *l)
{
    struct cg_share_card src, dst;
    int in_place = l->src == l->dst, rc = CG_OK;

    memset(&src, 0, sizeof src);
    if (!in_place) rc = l->ops->describe(l->ctx, l->src, l->bytes, &src);
    if (rc == CG_OK) rc = l->ops->describe(l->ctx, l->dst, l->bytes, &dst);
    l->deals++;
    for (uint32_t r = 0; r < l->nranks; r++) {
        struct cg_lead_meet *out = l->out[r];
        if (!out || !leads(l, r)) continue;
        if (rc == CG_OK) {
            out->src = src;
            out->dst = dst;
        }
        out->able = rc == CG_OK;
        out->in_place = (uint64_t) in_place;
        cg_store_release(&out->deal, l->deals);
    }
    l->able = rc == CG_OK;
    return CG_OK;
}

static int all_described(const struct cg_lead *l)
{
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->in[r] && cg_load_acquire(&l->in[r]->deal) < l->deals) return 0;
    }
    return 1;
}

static int open_rank(struct cg_lead *l, uint32_t r, struct cg_lead_work *work)
{
    const struct cg_lead_meet *in = l->in[r];
    char *src;
    int rc;

    if (!in) {
        work->in[r] = l->src;
        work->out[r] = l->dst;
        return l->able ? CG_OK : CG_ERR_UNSUPPORTED;
    }
    if (!in->able) return CG_ERR_UNSUPPORTED;
    rc = l->ops->open(l->ctx, &in->dst, &work->out[r], &l->user[2 * r]);
    work->in[r] = work->out[r];
    if (rc != CG_OK || in->in_place) return rc;
    rc = l->ops->open(l->ctx, &in->src, &src, &l->user[2 * r + 1]);
    work->in[r] = src;
    return rc;
}

static void tell_verdict(struct cg_lead *l, int ok)
{
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->out[r]) cg_store_release(&l->out[r]->verdict, 2 * l->deals + (uint64_t) ok);
    }
}

/* A leader that refuses need not hear the others: who still reads its cards has not yet begun what comes instead, and
 * nobody gets past that alone. */
static int open_all(struct cg_lead *l)
{
    int rc = CG_OK;

    if (!leads(l, l->rank)) return CG_OK;
    if (!all_described(l)) return CG_AGAIN;
    for (uint32_t r = 0; r < l->nranks && rc == CG_OK; r++) rc = open_rank(l, r, &l->work);
    tell_verdict(l, rc == CG_OK);
    return rc == CG_OK ? CG_OK : CG_ERR_UNSUPPORTED;
}

/* What the other leaders say. */
static int agree(struct cg_lead *l)
{
    uint64_t ok = 1;

    for (uint32_t r = 0; r < l->nranks; r++) {
        if (!l->in[r] || !leads(l, r)) continue;
        uint64_t verdict = cg_load_acquire(&l->in[r]->verdict);
        if (verdict / 2 < l->deals) return CG_AGAIN;
        ok &= verdict;
    }
    return ok ? CG_OK : CG_ERR_UNSUPPORTED;
}

/* ---- work ---- */

static int launch(struct cg_lead *l)
{
    uint64_t begin, bytes = segment(l, &begin);

    l->number = 0;
    if (!leads(l, l->rank) || bytes == 0) return CG_OK;
    l->work.bytes = bytes;
    l->work.nranks = l->nranks;
    l->work.misc = l->misc;
    for (uint32_t r = 0; r < l->nranks; r++) {
        l->work.in[r] += begin;
        l->work.out[r] += begin;
    }
    return l->ops->launch(l->ctx, &l->work, &l->number);
}

static int finish(struct cg_lead *l)
{
    int rc = l->number ? l->ops->ended(l->ctx, l->number) : CG_OK;

    if (rc != CG_OK || !leads(l, l->rank)) return rc;
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->out[r]) cg_store_release(&l->out[r]->done, l->deals);
    }
    return CG_OK;
}

static int await(struct cg_lead *l)
{
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->in[r] && leads(l, r) && cg_load_acquire(&l->in[r]->done) < l->deals) return CG_AGAIN;
    }
    return CG_OK;
}

/* ---- operations ---- */

static int (*const steps[])(struct cg_lead *l) = {describe, open_all, agree, launch, finish, await};

void cg_lead_begin(struct cg_lead *l, const void *src, void *dst, uint64_t bytes, uint64_t misc)
{
    l->step = 0;
    l->src = src;
    l->dst = dst;
    l->bytes = bytes;
    l->misc = misc;
}

int cg_lead_step(struct cg_lead *l)
{
    int rc = CG_OK;

    while (rc == CG_OK && l->step < (int) (sizeof steps / sizeof *steps)) {
        rc = steps[l->step](l);
        if (rc == CG_OK) l->step++;
    }
    return rc;
}

void cg_lead_end(struct cg_lead *l)
{
    for (uint32_t i = 0; i < 2 * l->nranks; i++) {
        if (l->user[i]) l->ops->drop(l->ctx, l->user[i]);
        l->user[i] = NULL;
    }
}
