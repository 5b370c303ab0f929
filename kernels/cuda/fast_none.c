/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor where there is no CUDA: none. */
#include "core/status.h"
#include "kernels/cuda/fast.h"

#include <stdio.h>
#include <string.h>

int cg_fast_open(int device, const struct cg_params *params, struct cg_fast **fast, char *why, size_t len)
{
    (void) device;
    (void) params;
    *fast = NULL;
    snprintf(why, len, "built without CUDA");
    return CG_ERR_UNSUPPORTED;
}

void cg_fast_close(struct cg_fast *fast) { (void) fast; }

int cg_fast_window_alloc(struct cg_fast *fast, uint32_t nranks, uint32_t rank, int big, struct cg_fast_window **window,
                         struct cg_fast_card *card)
{
    (void) fast;
    (void) nranks;
    (void) rank;
    (void) big;
    (void) card;
    *window = NULL;
    return CG_ERR_UNSUPPORTED;
}

int cg_fast_window_import(struct cg_fast_window *window, uint32_t peer, const struct cg_fast_card *card,
                          int *shared_gpu)
{
    (void) window;
    (void) peer;
    (void) card;
    (void) shared_gpu;
    return CG_ERR_UNSUPPORTED;
}

void cg_fast_window_free(struct cg_fast_window *window) { (void) window; }

uint64_t cg_fast_window_max(const struct cg_fast_window *window, int coll, int protocol)
{
    (void) window;
    (void) coll;
    (void) protocol;
    return 0;
}

int cg_fast_post(struct cg_fast *fast, struct cg_fast_window *window, const struct cg_fast_op *op, int *id)
{
    (void) fast;
    (void) window;
    (void) op;
    (void) id;
    return CG_ERR_UNSUPPORTED;
}

int cg_fast_test(struct cg_fast *fast, int id)
{
    (void) fast;
    (void) id;
    return CG_ERR_UNSUPPORTED;
}

int cg_fast_progress(struct cg_fast *fast)
{
    (void) fast;
    return 0;
}

void cg_fast_cancel(struct cg_fast *fast, int id)
{
    (void) fast;
    (void) id;
}

int cg_fast_busy(const struct cg_fast *fast)
{
    (void) fast;
    return 0;
}

int cg_fast_window_must_clean(const struct cg_fast_window *window)
{
    (void) window;
    return 0;
}

int cg_fast_window_clean(struct cg_fast_window *window)
{
    (void) window;
    return CG_ERR_UNSUPPORTED;
}

void cg_fast_get_counters(const struct cg_fast *fast, struct cg_fast_counters *c)
{
    (void) fast;
    memset(c, 0, sizeof(*c));
}

int cg_fast_window_took(const struct cg_fast_window *window)
{
    (void) window;
    return 0;
}

void cg_fast_window_meet(struct cg_fast_window *window, uint32_t peer, const void *in, void *out)
{
    (void) window;
    (void) peer;
    (void) in;
    (void) out;
}

void cg_fast_expect_post(const struct cg_fast *fast) { (void) fast; }
