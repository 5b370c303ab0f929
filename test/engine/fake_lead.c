/* SPDX-License-Identifier: BSD-3-Clause
 * LEAD over pretended GPUs: the real deal between ranks; a kernel that runs some looks later. */
#include "test/engine/fake_lead.h"

#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"
#include "test/engine/fake_gpu.h"

#include <stdlib.h>
#include <string.h>

int fake_lead, fake_unshared = -1, fake_unopened = -1, fake_users, fake_leads;

static int describe(void *ctx, const void *p, uint64_t bytes, struct cg_share_card *card)
{
    const struct fake_lead *f = ctx;
    struct cg_mem mem;

    (void) bytes;
    memset(card, 0, sizeof(*card));
    cg_gpu_classify(p, &mem);
    if (CG_MEM_DEVICE != mem.kind || (int) f->lead.rank == fake_unshared) return CG_ERR_UNSUPPORTED;
    card->address = (uint64_t) (uintptr_t) p;
    return CG_OK;
}

static int open_card(void *ctx, const struct cg_share_card *card, char **p, struct cg_share_import **user)
{
    const struct fake_lead *f = ctx;

    if ((int) f->lead.rank == fake_unopened) return CG_ERR_GPU;
    *p = (char *) (uintptr_t) card->address;
    *user = (struct cg_share_import *) *p;
    fake_users++;
    return CG_OK;
}

static void drop(void *ctx, struct cg_share_import *user)
{
    (void) ctx;
    (void) user;
    fake_users--;
}

static int launch(void *ctx, const struct cg_lead_work *work, uint64_t *number)
{
    struct fake_lead *f = ctx;

    f->work = *work;
    f->wait = rand_r(&fake_seed) % 4;
    *number = ++f->launches;
    fake_leads |= 1 << f->lead.rank;
    return CG_OK;
}

static int ended(void *ctx, uint64_t number)
{
    struct fake_lead *f = ctx;
    const struct cg_lead_work *w = &f->work;
    char *sum;

    if (number != f->launches) abort();
    if (f->wait-- > 0) return CG_AGAIN;
    sum = malloc(w->bytes);
    memcpy(sum, w->in[0], w->bytes);
    for (uint32_t r = 1; r < w->nranks; r++)
        cg_reduce_host(f->type, f->redop)(sum, sum, w->in[r], w->bytes / (uint64_t) cg_type_size(f->type));
    for (uint32_t r = 0; r < w->nranks; r++) memcpy(w->out[r], sum, w->bytes);
    free(sum);
    return CG_OK;
}

static const struct cg_lead_ops ops = {describe, open_card, drop, launch, ended};

void fake_lead_init(struct fake_lead *f, uint32_t nranks, uint32_t rank, int device)
{
    f->lead.ops = &ops;
    f->lead.ctx = f;
    f->lead.nranks = nranks;
    f->lead.rank = rank;
    f->uuid[rank][0] = (unsigned char) device;
}

void fake_lead_meet(struct fake_lead *f, uint32_t peer, const void *in, void *out)
{
    f->lead.in[peer] = in;
    f->lead.out[peer] = out;
}

void fake_lead_import(struct fake_lead *f, uint32_t peer, const struct cg_fast_card *card)
{
    static const int mps[CG_FAST_RANKS];

    memcpy(f->uuid[peer], card->uuid, sizeof(card->uuid));
    f->imported++;
    if (fake_lead && f->imported == (int) f->lead.nranks - 1)
        f->lead.leaders = cg_lead_choose((const unsigned char(*)[16]) f->uuid, mps, f->lead.nranks);
}
