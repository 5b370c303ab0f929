/* SPDX-License-Identifier: BSD-3-Clause
 * LEAD (lead.h) with CUDA. */
#ifndef CG_KERNELS_CUDA_FAST_LEAD_H
#define CG_KERNELS_CUDA_FAST_LEAD_H

#include "kernels/cuda/fast_host.h"
#include "kernels/cuda/lead.h"

struct cg_fast_lead {
    struct cg_lead lead;
    unsigned char uuid[CG_FAST_RANKS][16]; /* of each rank's GPU */
    int mps[CG_FAST_RANKS];
    uint32_t polls;
};

/* out[r] = in[0] op in[1] op ... for all r < n, in this order. Each thread's words are read before they are written, so
 * out[r] may be in[r]. The last block writes number to ctl->led. */
struct cg_lead_args {
    struct cg_fast_ctl *ctl;
    struct cg_fast_state *state;
    const char *in[CG_FAST_RANKS];
    char *out[CG_FAST_RANKS];
    uint64_t number, misc;
    uint32_t bytes, n;
};
#define CG_LEAD_CHUNK_MAX (256u << 20) /* of one launch */
#define CG_LEAD_THREADS 512            /* at most; a pack of 16 bytes each */

#ifdef __cplusplus
extern "C" {
#endif

/* In fast_lead_kernel.cu: the function as the current context knows it (CUfunction). narrow: that of half and
 * bfloat16. Returns cudaError_t. */
int cg_fx_lead_load(void **function, int narrow);

/* In fast_lead.c. As cg_fast_window_meet. */
void cg_fx_lead_meet(struct cg_fast_window *window, uint32_t peer, const void *in, void *out);
/* What the peer's card says of its GPU. */
void cg_fx_lead_meets(struct cg_fast_window *window, uint32_t peer, const struct cg_fast_card *card);
/* All are known: who leads, if LEAD is to be used. With context. */
void cg_fx_lead_choose(struct cg_fast_window *window);

#ifdef __cplusplus
}
#endif

#endif
