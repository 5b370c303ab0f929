/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CG_TEST_ENGINE_FAKE_LEAD_H
#define CG_TEST_ENGINE_FAKE_LEAD_H

#include "kernels/cuda/lead.h"

/* Pretended ranks on one GPU use LEAD; this rank's buffers cannot be described, this leader can open none; mappings in
 * use; bit per rank that launched something. */
extern int fake_lead, fake_unshared, fake_unopened, fake_users, fake_leads;

struct fake_lead {
    struct cg_lead lead;
    struct cg_lead_work work;
    unsigned char uuid[CG_FAST_RANKS][16];
    int imported, type, redop, wait;
    uint64_t launches;
};

void fake_lead_init(struct fake_lead *f, uint32_t nranks, uint32_t rank, int device);
void fake_lead_meet(struct fake_lead *f, uint32_t peer, const void *in, void *out);
void fake_lead_import(struct fake_lead *f, uint32_t peer, const struct cg_fast_card *card);

#endif
