/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/engine/fake_gpu.h"

#include "core/status.h"
#include "kernels/cuda/fast.h"
#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define SLOTS 32
#define BLOCKS 256

int fake_no_gpu, fake_no_peer, fake_overruns, fake_fast_done, fake_gpu_done, fake_copies;
unsigned fake_seed = 1;

static struct block {
    char *at;
    size_t bytes;
    int device;
} blocks[BLOCKS];

void *fake_alloc(int device, size_t bytes)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at) continue;
        blocks[i] = (struct block){malloc(bytes), bytes, device};
        return blocks[i].at;
    }
    return NULL;
}

int fake_free(void *p)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != p) continue;
        free(p);
        blocks[i].at = NULL;
        return 1;
    }
    return 0;
}

int cg_gpu_present(void) { return 1; }
int cg_gpu_built(void) { return 1; }

void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    *mem = (struct cg_mem){.kind = CG_MEM_HOST, .device = -1};
    for (int i = 0; i < BLOCKS; i++) {
        const char *at = blocks[i].at;
        if (!at || (const char *) p < at || (const char *) p >= at + blocks[i].bytes) continue;
        *mem = (struct cg_mem){CG_MEM_DEVICE, blocks[i].device, (uint64_t) i};
    }
}

int cg_gpu_enter(int device, struct cg_gpu_scope *scope)
{
    (void) device;
    scope->active = 1;
    return CG_OK;
}

void cg_gpu_leave(struct cg_gpu_scope *scope) { scope->active = 0; }

int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes)
{
    (void) device;
    memcpy(dst, src, bytes);
    fake_copies++;
    return CG_OK;
}

/* ---- general executor ---- */

struct cg_gpu {
    struct slot {
        int used, after;
        uint64_t after_id;
        int status;
        struct cg_fault fault;
        struct cg_pos pos[CG_MAX_CHAN];
        _Alignas(16) char op[CG_OP_BYTES];
    } slot[SLOTS];
    int busy;
    uint64_t ids;
};

int cg_gpu_open(int device, const struct cg_params *params, struct cg_gpu **gpu, char *why, size_t len)
{
    (void) device;
    (void) params;
    snprintf(why, len, "pretended");
    if (fake_no_gpu) return CG_ERR_GPU;
    *gpu = calloc(1, sizeof(**gpu));
    return CG_OK;
}

void cg_gpu_close(struct cg_gpu *gpu) { free(gpu); }

int cg_gpu_register(struct cg_gpu *gpu, void *addr, size_t bytes)
{
    (void) gpu;
    return addr && bytes ? CG_OK : CG_ERR_GPU;
}

void cg_gpu_unregister(struct cg_gpu *gpu, void *addr)
{
    (void) gpu;
    (void) addr;
}

static struct cg_op *op_of(struct slot *s) { return (struct cg_op *) s->op; }

int cg_gpu_post(struct cg_gpu *gpu, const struct cg_op *op, int after, int *slot)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &gpu->slot[i];
        if (s->used) continue;
        memset(s, 0, sizeof(*s));
        memcpy(s->op, op, op->size);
        s->used = 1;
        s->status = CG_AGAIN;
        s->after = after;
        s->after_id = op->prev_id;
        gpu->busy++;
        *slot = i;
        return CG_OK;
    }
    return CG_AGAIN;
}

/* May channel c run, given the one that goes before? */
static int eligible(struct cg_gpu *gpu, const struct slot *s, uint32_t c)
{
    struct slot *before = s->after >= 0 ? &gpu->slot[s->after] : NULL;

    if (NULL == before || !before->used || op_of(before)->id != s->after_id) return 1;
    return c < op_of(before)->nchan && before->pos[c].done;
}

int cg_gpu_progress(struct cg_gpu *gpu)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &gpu->slot[i];
        uint32_t done = 0;
        if (!s->used || CG_AGAIN != s->status) continue;
        for (uint32_t c = 0; c < op_of(s)->nchan; c++) {
            if (rand_r(&fake_seed) % 3 && eligible(gpu, s, c)) {
                int rc = cg_host_step(op_of(s), c, &s->pos[c], &s->fault);
                if (rc < 0) s->status = rc;
            }
            done += s->pos[c].done;
        }
        if (CG_AGAIN == s->status && done == op_of(s)->nchan) {
            s->status = CG_OK;
            fake_gpu_done++;
        }
    }
    return 0;
}

int cg_gpu_test(struct cg_gpu *gpu, int slot, struct cg_fault *fault)
{
    if (gpu->slot[slot].status < 0) *fault = gpu->slot[slot].fault;
    return gpu->slot[slot].status;
}

void cg_gpu_release(struct cg_gpu *gpu, int slot)
{
    gpu->slot[slot].used = 0;
    gpu->busy--;
}

int cg_gpu_busy(const struct cg_gpu *gpu) { return gpu->busy; }

struct cg_gpu_copy {
    void *dst;
    const void *src;
    size_t bytes;
    int wait;
};

int cg_gpu_copy_start(struct cg_gpu *gpu, void *dst, const void *src, size_t bytes, struct cg_gpu_copy **copy)
{
    (void) gpu;
    *copy = malloc(sizeof(**copy));
    **copy = (struct cg_gpu_copy){dst, src, bytes, rand_r(&fake_seed) % 5};
    return CG_OK;
}

int cg_gpu_copy_test(struct cg_gpu *gpu, struct cg_gpu_copy *copy)
{
    (void) gpu;
    if (copy->wait-- > 0) return CG_AGAIN;
    memcpy(copy->dst, copy->src, copy->bytes);
    free(copy);
    fake_copies++;
    return CG_OK;
}

void *cg_gpu_host_alloc(struct cg_gpu *gpu, size_t bytes)
{
    (void) gpu;
    return malloc(bytes);
}

void cg_gpu_host_free(struct cg_gpu *gpu, void *p)
{
    (void) gpu;
    free(p);
}

void cg_gpu_get_counters(const struct cg_gpu *gpu, struct cg_gpu_counters *c)
{
    (void) gpu;
    memset(c, 0, sizeof(*c));
}

void cg_gpu_bus_id(const struct cg_gpu *gpu, char *id)
{
    (void) gpu;
    id[0] = 0;
}

/* ---- fast executor ---- */

struct box {
    uint64_t seq, read; /* numbers of the operation whose data it holds, and of the last that was read */
    char *data;
};

struct cg_fast_window {
    struct cg_fast *fast;
    uint32_t n, rank;
    uint64_t seq;
    struct box in[2][CG_FAST_RANKS];
    struct cg_fast_window *peer[CG_FAST_RANKS];
    struct cg_fast_op op;
    int running, sent;
};

struct cg_fast {
    struct cg_fast_window *window[SLOTS];
    int busy;
};

int cg_fast_open(int device, const struct cg_params *params, struct cg_fast **fast, char *why, size_t len)
{
    (void) device;
    (void) params;
    (void) why;
    (void) len;
    *fast = calloc(1, sizeof(**fast));
    return CG_OK;
}

void cg_fast_close(struct cg_fast *fast) { free(fast); }

int cg_fast_window_alloc(struct cg_fast *fast, uint32_t nranks, uint32_t rank, int big, struct cg_fast_window **window,
                         struct cg_fast_card *card)
{
    (void) big;
    *window = calloc(1, sizeof(**window));
    (*window)->fast = fast;
    (*window)->n = nranks;
    (*window)->rank = rank;
    memset(card, 0, sizeof(*card));
    card->address = (uint64_t) (uintptr_t) *window;
    return CG_OK;
}

int cg_fast_window_import(struct cg_fast_window *window, uint32_t peer, const struct cg_fast_card *card, int *shared)
{
    *shared = 0;
    if (fake_no_peer) return CG_ERR_GPU;
    window->peer[peer] = (struct cg_fast_window *) (uintptr_t) card->address;
    return CG_OK;
}

void cg_fast_window_free(struct cg_fast_window *window)
{
    for (int i = 0; i < 2 * CG_FAST_RANKS; i++) free(window->in[i % 2][i / 2].data);
    free(window);
}

uint64_t cg_fast_window_max(const struct cg_fast_window *window, int protocol)
{
    return window && protocol >= 0 ? UINT64_MAX : 0;
}

int cg_fast_post(struct cg_fast *fast, struct cg_fast_window *window, const struct cg_fast_op *op, int *id)
{
    if (window->running) abort(); /* the caller promised one at a time */
    for (int i = 0; i < SLOTS; i++) {
        if (fast->window[i]) continue;
        fast->window[i] = window;
        fast->busy++;
        window->op = *op;
        window->running = 1;
        window->sent = 0;
        *id = i;
        return CG_OK;
    }
    return CG_AGAIN;
}

static int checks(const struct cg_fast_op *op)
{
    for (int i = 0; i < op->ncheck; i++) {
        if (cg_load_acquire(op->posted[i]) < op->want[i]) return CG_AGAIN;
        if ((cg_load_acquire(op->kind[i]) & 0xff) != op->kind_want) return CG_ERR_UNSUPPORTED;
    }
    return CG_OK;
}

static void send_all(struct cg_fast_window *w, uint64_t bytes)
{
    w->seq++;
    for (uint32_t p = 0; p < w->n; p++) {
        if (p == w->rank) continue;
        struct box *box = &w->peer[p]->in[w->seq & 1][w->rank];
        fake_overruns += box->seq != box->read;
        free(box->data);
        box->data = malloc(bytes);
        memcpy(box->data, w->op.src, bytes);
        box->seq = w->seq;
    }
    w->sent = 1;
}

static void reduce_all(struct cg_fast_window *w, uint64_t bytes)
{
    char *sum = malloc(bytes);

    for (uint32_t p = 0; p < w->n; p++) {
        struct box *box = &w->in[w->seq & 1][p];
        const void *x = p == w->rank ? w->op.src : box->data;
        if (0 == p) memcpy(sum, x, bytes);
        else cg_reduce_host(w->op.type, w->op.redop)(sum, sum, x, w->op.count);
        box->read = box->seq;
    }
    memcpy(w->op.dst, sum, bytes);
    free(sum);
}

static int finish(struct cg_fast *fast, int id, int rc)
{
    fast->window[id]->running = 0;
    fast->window[id] = NULL;
    fast->busy--;
    return rc;
}

int cg_fast_test(struct cg_fast *fast, int id)
{
    struct cg_fast_window *w = fast->window[id];
    uint64_t bytes = w->op.count * (uint64_t) w->op.esize;

    if (!w->sent) {
        int rc = checks(&w->op);
        if (CG_AGAIN == rc) return CG_AGAIN;
        if (CG_OK != rc) return finish(fast, id, rc);
        send_all(w, bytes);
    }
    for (uint32_t p = 0; p < w->n; p++) {
        if (p != w->rank && w->in[w->seq & 1][p].seq != w->seq) return CG_AGAIN;
    }
    reduce_all(w, bytes);
    fake_fast_done++;
    return finish(fast, id, CG_OK);
}

int cg_fast_progress(struct cg_fast *fast)
{
    (void) fast;
    return 0;
}

void cg_fast_cancel(struct cg_fast *fast, int id) { finish(fast, id, CG_OK); }
int cg_fast_busy(const struct cg_fast *fast) { return fast->busy; }
int cg_fast_window_must_clean(const struct cg_fast_window *window) { return 40 == window->seq % 50; }

int cg_fast_window_clean(struct cg_fast_window *window)
{
    window->seq += 9; /* as the wrap would */
    for (int i = 0; i < 2 * CG_FAST_RANKS; i++) window->in[i % 2][i / 2].seq = window->in[i % 2][i / 2].read = 0;
    return CG_OK;
}

void cg_fast_get_counters(const struct cg_fast *fast, struct cg_fast_counters *c)
{
    (void) fast;
    memset(c, 0, sizeof(*c));
}
