/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fast_copy.h"
#include "kernels/cuda/fast_lead.h"

#define ASK_CUDA_POLLS 65536

/* ---- what lead.c asks for ---- */

static int describe(void *ctx, const void *p, uint64_t bytes, struct cg_share_card *card)
{
    struct cg_fast *fast = ((struct cg_fast_window *) ctx)->fast;
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(fast->device, &scope);

    if (rc != CG_OK) return rc;
    rc = cg_share_describe(&fast->share, fast->device, p, bytes, card);
    cg_gpu_leave(&scope);
    return rc;
}

static int open_card(void *ctx, const struct cg_share_card *card, char **p, struct cg_share_import **user)
{
    struct cg_fast *fast = ((struct cg_fast_window *) ctx)->fast;
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(fast->device, &scope);

    if (rc != CG_OK) return rc;
    rc = cg_share_open(&fast->share, card, p, user);
    cg_gpu_leave(&scope);
    return rc;
}

static void drop(void *ctx, struct cg_share_import *user)
{
    (void) ctx;
    cg_share_drop(user);
}

static int launch_chunk(struct cg_fast *fast, const struct cg_lead_work *work, uint64_t at, uint64_t bytes)
{
    struct cg_lead_args a = {.ctl = fast->ctl, .state = fast->state, .number = ++fast->led, .misc = work->misc,
                             .bytes = (uint32_t) bytes, .n = work->nranks};
    uint64_t packs = (bytes + 15) / 16, blocks = (packs + CG_LEAD_THREADS - 1) / CG_LEAD_THREADS;
    int threads = packs <= 32 ? 32 : packs <= 128 ? 128 : CG_LEAD_THREADS;
    void *function;

    for (uint32_t r = 0; r < work->nranks; r++) {
        a.in[r] = work->in[r] + at;
        a.out[r] = work->out[r] + at;
    }
    fast->counters.launches++;
    blocks = cg_min_u64(blocks, 2 * (uint64_t) fast->sms);
    function = fast->lead_kernel[cg_type_narrow((int) CG_CMD_TYPE(work->misc))];
    return cg_gpu_launch(function, (int) blocks, threads, 0, fast->lead, &a) == 0 ? CG_OK : CG_ERR_GPU;
}

static int launch(void *ctx, const struct cg_lead_work *work, uint64_t *number)
{
    struct cg_fast_window *w = ctx;
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(w->fast->device, &scope);

    if (rc != CG_OK) return rc;
    for (uint64_t at = 0; at < work->bytes && rc == CG_OK; at += CG_LEAD_CHUNK_MAX)
        rc = launch_chunk(w->fast, work, at, cg_min_u64(CG_LEAD_CHUNK_MAX, work->bytes - at));
    cg_gpu_leave(&scope);
    *number = w->fast->led;
    w->lead->polls = 0;
    return rc;
}

/* A kernel that died leaves no word. */
static int ask_cuda(struct cg_fast *fast, uint64_t number)
{
    struct cg_gpu_scope scope;
    cudaError_t rc;

    if (cg_gpu_enter(fast->device, &scope) != CG_OK) return CG_ERR_GPU;
    rc = cudaStreamQuery(fast->lead);
    if (rc != cudaSuccess) (void) cudaGetLastError();
    cg_gpu_leave(&scope);
    if (rc == cudaErrorNotReady) return CG_AGAIN;
    if (rc == cudaSuccess && cg_load_acquire(&fast->ctl->led) >= number) return CG_OK;
    return rc == cudaSuccess ? CG_ERR_INTERNAL : CG_ERR_GPU;
}

static int ended(void *ctx, uint64_t number)
{
    struct cg_fast_window *w = ctx;

    if (cg_load_acquire(&w->fast->ctl->led) >= number) return CG_OK;
    return ++w->lead->polls % ASK_CUDA_POLLS ? CG_AGAIN : ask_cuda(w->fast, number);
}

static const struct cg_lead_ops ops = {describe, open_card, drop, launch, ended};

/* ---- set-up ---- */

void cg_fx_lead_meet(struct cg_fast_window *w, uint32_t peer, const void *in, void *out)
{
    if (!w->lead) w->lead = calloc(1, sizeof *w->lead);
    if (!w->lead) return;
    memset(out, 0, sizeof(struct cg_lead_meet));
    w->lead->lead.ops = &ops;
    w->lead->lead.ctx = w;
    w->lead->lead.nranks = w->view.nranks;
    w->lead->lead.rank = w->view.rank;
    w->lead->lead.in[peer] = in;
    w->lead->lead.out[peer] = out;
}

void cg_fx_lead_meets(struct cg_fast_window *w, uint32_t peer, const struct cg_fast_card *card)
{
    if (!w->lead) return;
    memcpy(w->lead->uuid[peer], card->uuid, sizeof card->uuid);
    w->lead->mps[peer] = card->mps != 0;
}

void cg_fx_lead_choose(struct cg_fast_window *w)
{
    struct cudaDeviceProp prop;

    if (!w->lead) return;
    for (uint32_t r = 0; r < w->view.nranks; r++) {
        if (r != w->view.rank && !w->lead->lead.in[r]) return;
    }
    if (!cg_cuda_ok(cudaGetDeviceProperties(&prop, w->fast->device))) return;
    memcpy(w->lead->uuid[w->view.rank], &prop.uuid, sizeof w->lead->uuid[0]);
    w->lead->mps[w->view.rank] = cg_gpu_mps();
    w->lead->lead.leaders = cg_lead_choose((const unsigned char(*)[16]) w->lead->uuid, w->lead->mps, w->view.nranks);
}

void cg_fast_window_meet(struct cg_fast_window *w, uint32_t peer, const void *in, void *out)
{
    cg_copy_meet(w, peer, in, out);
    cg_fx_lead_meet(w, peer, (const char *) in + CG_COPY_MEET_BYTES, (char *) out + CG_COPY_MEET_BYTES);
}
