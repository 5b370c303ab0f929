/* SPDX-License-Identifier: BSD-3-Clause
 * COPY: set-up and tear-down of what a window needs for it. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fast_copy.h"

static uint32_t peers(const struct cg_fast_window *w) { return w->view.nranks - 1; }

static uint32_t index_of(const struct cg_fast_window *w, uint32_t rank)
{
    return (rank + w->view.nranks - w->view.rank - 1) % w->view.nranks;
}

void cg_copy_meet(struct cg_fast_window *w, uint32_t peer, const void *in, void *out)
{
    if (!w->copy) w->copy = calloc(1, sizeof *w->copy);
    if (!w->copy) return;
    memset(out, 0, sizeof(struct cg_fast_meet));
    w->copy->peer[index_of(w, peer)].in = in;
    w->copy->peer[index_of(w, peer)].out = out;
}

int cg_copy_ready(const struct cg_fast_window *w)
{
    if (!w->copy) return 0;
    for (uint32_t i = 0; i < peers(w); i++) {
        if (!w->copy->peer[i].in) return 0;
    }
    return 1;
}

static int make_events(cudaEvent_t *event)
{
    for (int k = 0; k < CG_COPY_QUEUE; k++) {
        if (!cg_cuda_ok(cudaEventCreateWithFlags(&event[k], cudaEventDisableTiming))) return CG_ERR_GPU;
    }
    return CG_OK;
}

int cg_copy_make(struct cg_fast_window *w)
{
    struct cg_fast_copy *c = w->copy;
    int rc = CG_OK;

    if (c->made) return CG_OK;
    for (uint32_t i = 0; i < peers(w) && rc == CG_OK; i++) {
        if (!cg_cuda_ok(cudaStreamCreateWithFlags(&c->peer[i].stream, cudaStreamNonBlocking))) rc = CG_ERR_GPU;
        if (rc == CG_OK) rc = make_events(c->peer[i].event);
    }
    if (rc == CG_OK && !cg_cuda_ok(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking))) rc = CG_ERR_GPU;
    if (rc == CG_OK) rc = make_events(c->event);
    c->made = rc == CG_OK;
    return rc;
}

static void destroy(cudaStream_t stream, cudaEvent_t *event)
{
    if (stream) (void) cg_cuda_ok(cudaStreamDestroy(stream));
    for (int k = 0; k < CG_COPY_QUEUE; k++) {
        if (event[k]) (void) cg_cuda_ok(cudaEventDestroy(event[k]));
    }
}

void cg_copy_free(struct cg_fast_window *w)
{
    struct cg_gpu_scope scope;

    if (!w->copy) return;
    if (cg_gpu_enter(w->fast->device, &scope) == CG_OK) {
        for (uint32_t i = 0; i < peers(w); i++) destroy(w->copy->peer[i].stream, w->copy->peer[i].event);
        destroy(w->copy->stream, w->copy->event);
        cg_gpu_leave(&scope);
    }
    free(w->copy);
    w->copy = NULL;
}
