/* SPDX-License-Identifier: BSD-3-Clause
 * The pretended fast executor. */
#include "test/engine/fake_gpu.h"
#include "test/engine/fake_lead.h"

#include "core/status.h"
#include "kernels/cuda/fast.h"
#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 32

int fake_fast_colls[CG_COLL_COUNT];

struct flow {
    int carried, from_root, to_root, out_blocks, in_blocks, reduces;
};

static struct flow flow_of(int coll)
{
    switch (coll) {
    case CG_COLL_ALLREDUCE: return (struct flow){1, 0, 0, 0, 0, 1};
    case CG_COLL_BCAST: return (struct flow){1, 1, 0, 0, 0, 0};
    case CG_COLL_REDUCE: return (struct flow){1, 0, 1, 0, 0, 1};
    case CG_COLL_ALLGATHER: return (struct flow){1, 0, 0, 0, 1, 0};
    case CG_COLL_GATHER: return (struct flow){1, 0, 1, 0, 1, 0};
    case CG_COLL_SCATTER: return (struct flow){1, 1, 0, 1, 0, 0};
    case CG_COLL_ALLTOALL: return (struct flow){1, 0, 0, 1, 1, 0};
    case CG_COLL_REDUCE_SCATTER_BLOCK: return (struct flow){1, 0, 0, 1, 0, 1};
    default: return (struct flow){0, 0, 0, 0, 0, 0};
    }
}

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
    struct fake_lead lead;
    int running, sent;
};

struct cg_fast {
    struct cg_fast_window *window[SLOTS];
    int busy, device;
};

int cg_fast_open(int device, const struct cg_params *params, struct cg_fast **fast, char *why, size_t len)
{
    (void) params;
    (void) why;
    (void) len;
    *fast = calloc(1, sizeof(**fast));
    (*fast)->device = device;
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
    (*window)->peer[rank] = *window;
    memset(card, 0, sizeof(*card));
    card->address = (uint64_t) (uintptr_t) *window;
    card->uuid[0] = (unsigned char) fast->device;
    fake_lead_init(&(*window)->lead, nranks, rank, fast->device);
    return CG_OK;
}

int cg_fast_window_import(struct cg_fast_window *window, uint32_t peer, const struct cg_fast_card *card, int *shared)
{
    *shared = 0;
    if (fake_no_peer) return CG_ERR_GPU;
    window->peer[peer] = (struct cg_fast_window *) (uintptr_t) card->address;
    fake_lead_import(&window->lead, peer, card);
    return CG_OK;
}

void cg_fast_window_meet(struct cg_fast_window *window, uint32_t peer, const void *in, void *out)
{
    memset(out, 0, CG_FAST_MEET_BYTES);
    fake_lead_meet(&window->lead, peer, (const char *) in + CG_COPY_MEET_BYTES, (char *) out + CG_COPY_MEET_BYTES);
}

int cg_fast_window_took(const struct cg_fast_window *window) { return window->op.protocol; }

void cg_fast_window_free(struct cg_fast_window *window)
{
    for (int i = 0; i < 2 * CG_FAST_RANKS; i++) free(window->in[i % 2][i / 2].data);
    free(window);
}

uint64_t cg_fast_window_max(const struct cg_fast_window *window, int coll, int protocol)
{
    int carried = flow_of(coll).carried;

    if (protocol < 0 || !window || !carried) return 0;
    if (CG_FAST_LEAD == protocol) return coll == CG_COLL_ALLREDUCE && window->lead.lead.leaders ? UINT64_MAX : 0;
    return coll == CG_COLL_ALLREDUCE ? UINT64_MAX : CG_FAST_TWO_SHOT == protocol ? 0 : 2000;
}

static void begin_lead(struct cg_fast_window *w)
{
    if (w->op.ncheck) abort(); /* the host must have seen the peers' announcements */
    w->lead.type = w->op.type;
    w->lead.redop = w->op.redop;
    cg_lead_begin(&w->lead.lead, w->op.src, w->op.dst, w->op.count * (uint64_t) w->op.esize, 0);
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
        if (CG_FAST_LEAD == op->protocol) begin_lead(window);
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

/* Does data go from one rank to the other? */
static int flows(const struct cg_fast_op *op, uint32_t from, uint32_t to)
{
    struct flow f = flow_of(op->coll);

    return (!f.from_root || from == op->root) && (!f.to_root || to == op->root);
}

/* What a rank sends to p, itself included: a copy. */
static char *parcel(const struct cg_fast_window *w, uint32_t p, uint64_t bytes)
{
    char *copy = malloc(bytes);

    if (flows(&w->op, w->rank, p))
        memcpy(copy, (const char *) w->op.src + (flow_of(w->op.coll).out_blocks ? p * bytes : 0), bytes);
    return copy;
}

/* A box is filled whether or not there is data in it. */
static void send_all(struct cg_fast_window *w, uint64_t bytes)
{
    w->seq++;
    for (uint32_t p = 0; p < w->n; p++) {
        struct box *box = &w->peer[p]->in[w->seq & 1][w->rank];
        fake_overruns += box->seq != box->read;
        free(box->data);
        box->data = parcel(w, p, bytes);
        box->seq = w->seq;
    }
    w->sent = 1;
}

static void take_all(struct cg_fast_window *w, uint64_t bytes)
{
    struct flow f = flow_of(w->op.coll);
    const char *x[CG_FAST_RANKS];

    for (uint32_t p = 0; p < w->n; p++) {
        struct box *box = &w->in[w->seq & 1][p];
        box->read = box->seq;
        x[p] = box->data;
        if (!flows(&w->op, p, w->rank)) continue;
        if (!f.reduces) memcpy((char *) w->op.dst + (f.in_blocks ? p * bytes : 0), box->data, bytes);
    }
    if (f.reduces && flows(&w->op, w->rank ^ 1, w->rank))
        cg_fold_host(w->op.type, w->op.redop, w->op.dst, x, (int) w->n, w->op.count);
}

static int finish(struct cg_fast *fast, int id, int rc)
{
    fast->window[id]->running = 0;
    fast->window[id] = NULL;
    fast->busy--;
    return rc;
}

/* Ended, or refused: then the boxes are next. */
static int test_lead(struct cg_fast *fast, int id)
{
    struct cg_fast_window *w = fast->window[id];
    int rc = cg_lead_step(&w->lead.lead);

    if (CG_AGAIN == rc) return CG_AGAIN;
    cg_lead_end(&w->lead.lead);
    if (CG_ERR_UNSUPPORTED == rc) {
        w->op.protocol = CG_FAST_TWO_SHOT;
        return CG_AGAIN;
    }
    fake_fast_done += CG_OK == rc;
    return finish(fast, id, rc);
}

int cg_fast_test(struct cg_fast *fast, int id)
{
    struct cg_fast_window *w = fast->window[id];
    uint64_t bytes = w->op.count * (uint64_t) w->op.esize;

    if (CG_FAST_LEAD == w->op.protocol) return test_lead(fast, id);
    if (!w->sent) {
        int rc = checks(&w->op);
        if (CG_AGAIN == rc) return CG_AGAIN;
        if (CG_OK != rc) return finish(fast, id, rc);
        send_all(w, bytes);
    }
    for (uint32_t p = 0; p < w->n; p++) {
        if (p != w->rank && w->in[w->seq & 1][p].seq != w->seq) return CG_AGAIN;
    }
    take_all(w, bytes);
    fake_fast_done++;
    fake_fast_colls[w->op.coll]++;
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

void cg_fast_expect_post(const struct cg_fast *fast) { (void) fast; }
