/* SPDX-License-Identifier: BSD-3-Clause
 * COPY as the host drives it; fast_copy.h says how it works. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fast_copy.h"

#define SLOTS 2
#define SLOT_MIN (128u << 10)

enum { DESCRIBE, OPEN, AGREE, MOVE };

static uint32_t peers(const struct cg_fast_window *w) { return w->view.nranks - 1; }

static uint32_t rank_at(const struct cg_fast_window *w, uint32_t i)
{
    return (w->view.rank + 1 + i) % w->view.nranks;
}

static uint32_t index_of(const struct cg_fast_window *w, uint32_t rank)
{
    return (rank + w->view.nranks - w->view.rank - 1) % w->view.nranks;
}

/* ---- set-up ---- */

void cg_fast_window_meet(struct cg_fast_window *w, uint32_t peer, const void *in, void *out)
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

/* On first use, for as long as the window is. */
static int make(struct cg_fast_window *w)
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

/* ---- the deal ---- */

static void describe(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    struct cg_share_card card;
    uint64_t able = make(r->window) == CG_OK;

    if (cg_share_describe(&fast->share, fast->device, (const void *) r->cmd.dst, r->bytes, &card) != CG_OK) able = 0;
    if (card.bytes % CG_SHARE_PAGE) able = 0; /* slower than TWO_SHOT, which does not open it */
    c->deals++;
    for (uint32_t i = 0; i < peers(r->window); i++) {
        volatile struct cg_fast_meet *out = c->peer[i].out;
        memcpy((void *) &out->card, &card, sizeof card);
        out->able = able;
        out->direct = r->cmd.src != r->cmd.dst && peers(r->window) == 1;
        cg_store_release((uint64_t *) &out->deal, c->deals);
    }
    c->direct = r->cmd.src != r->cmd.dst && peers(r->window) == 1;
}

static int all_described(const struct cg_fast_run *r)
{
    const struct cg_fast_copy *c = r->window->copy;

    for (uint32_t i = 0; i < peers(r->window); i++) {
        if (cg_load_acquire((const uint64_t *) &c->peer[i].in->deal) < c->deals) return 0;
    }
    return 1;
}

/* Chunks and slots, from facts equal on all ranks. False: there is no room for slots worth it. */
static int divide(struct cg_fast_run *r)
{
    const struct cg_fast_layout *l = &r->window->view.l;
    struct cg_fast_copy *c = r->window->copy;
    uint64_t n = r->window->view.nranks, room = (l->bytes - l->raw) / (n - 1) / SLOTS & ~511ull;

    c->segment = ((r->bytes + n - 1) / n + 511) & ~511ull;
    c->chunk = cg_min_u64((c->segment / 2 + 511) & ~511ull, CG_COPY_CHUNK_MAX);
    c->slots = SLOTS;
    c->reduce_next = 0;
    if (c->direct) return 1;
    c->chunk = cg_min_u64(c->chunk, room);
    return room >= SLOT_MIN;
}

static int open_all(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    int ok = c->made;

    for (uint32_t i = 0; i < peers(r->window); i++) {
        const struct cg_fast_meet *in = (const struct cg_fast_meet *) c->peer[i].in;
        ok &= in->able != 0;
        c->direct &= in->direct != 0;
    }
    ok &= c->peer[0].out->able != 0;
    for (uint32_t i = 0; i < peers(r->window) && ok; i++) {
        const struct cg_fast_meet *in = (const struct cg_fast_meet *) c->peer[i].in;
        ok = cg_share_open(&fast->share, &in->card, &c->peer[i].dst, &c->peer[i].open) == CG_OK;
    }
    return divide(r) && ok;
}

static void tell_verdict(struct cg_fast_run *r, int ok)
{
    struct cg_fast_copy *c = r->window->copy;

    for (uint32_t i = 0; i < peers(r->window); i++) {
        c->peer[i].raw_next = 0;
        cg_store_release((uint64_t *) &c->peer[i].out->verdict, 2 * c->deals + (uint64_t) ok);
    }
}

/* CG_AGAIN, CG_OK, CG_ERR_UNSUPPORTED. Reads all verdicts: a card may be written again once all have read it. */
static int agree(const struct cg_fast_run *r)
{
    const struct cg_fast_copy *c = r->window->copy;
    uint64_t ok = c->peer[0].out->verdict & 1;

    for (uint32_t i = 0; i < peers(r->window); i++) {
        uint64_t verdict = cg_load_acquire((const uint64_t *) &c->peer[i].in->verdict);
        if (verdict / 2 < c->deals) return CG_AGAIN;
        ok &= verdict;
    }
    return ok ? CG_OK : CG_ERR_UNSUPPORTED;
}

/* ---- moving ---- */

static uint64_t segment_bytes(const struct cg_fast_run *r, uint32_t rank)
{
    uint64_t from = cg_min_u64(rank * r->window->copy->segment, r->bytes);

    return cg_min_u64(from + r->window->copy->segment, r->bytes) - from;
}

static uint64_t chunks(const struct cg_fast_run *r, uint32_t rank)
{
    return (segment_bytes(r, rank) + r->window->copy->chunk - 1) / r->window->copy->chunk;
}

/* Chunk k of rank's segment: where it begins in the message, and its bytes. */
static uint64_t chunk_at(const struct cg_fast_run *r, uint32_t rank, uint64_t k, uint64_t *bytes)
{
    const struct cg_fast_copy *c = r->window->copy;

    *bytes = cg_min_u64(c->chunk, segment_bytes(r, rank) - k * c->chunk);
    return rank * c->segment + k * c->chunk;
}

/* Where source's part of chunk k waits at its owner. dst: the owner's. */
static char *raw_place(const struct cg_fast_run *r, uint32_t source, uint32_t owner, uint64_t k, char *dst)
{
    const struct cg_fast_view *v = &r->window->view;
    const struct cg_fast_copy *c = r->window->copy;

    if (c->direct) return dst + owner * c->segment + k * c->chunk;
    return v->base[owner] + v->l.raw + (cg_fast_part(source, owner) * c->slots + k % c->slots) * c->chunk;
}

static int full(unsigned head, unsigned tail) { return tail - head == CG_COPY_QUEUE; }

static int push(struct cg_copy_peer *p, void *to, const void *from, uint64_t bytes, int result)
{
    unsigned e = p->tail % CG_COPY_QUEUE;

    if (!cg_cuda_ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, p->stream))) return CG_ERR_GPU;
    if (!cg_cuda_ok(cudaEventRecord(p->event[e], p->stream))) return CG_ERR_GPU;
    p->result[e] = (unsigned char) result;
    p->tail++;
    return CG_OK;
}

static int push_raw(struct cg_fast_run *r, uint32_t i)
{
    struct cg_fast_copy *c = r->window->copy;
    struct cg_copy_peer *p = &c->peer[i];
    uint32_t owner = rank_at(r->window, i);
    uint64_t last = chunks(r, owner), bytes, at;
    int rc = CG_OK;

    while (rc == CG_OK && p->raw_next < last && !full(p->head, p->tail)) {
        uint64_t reduced = cg_load_acquire((const uint64_t *) &p->in->reduced) - p->reduced_in;
        if (!c->direct && p->raw_next >= reduced + c->slots) break;
        at = chunk_at(r, owner, p->raw_next, &bytes);
        rc = push(p, raw_place(r, r->window->view.rank, owner, p->raw_next, p->dst), (const char *) r->cmd.src + at,
                  bytes, 0);
        p->raw_next++;
    }
    return rc;
}

/* Has chunk k come from everybody, and is there room for its results? */
static int may_reduce(const struct cg_fast_run *r, uint64_t k)
{
    const struct cg_fast_copy *c = r->window->copy;

    if (k >= chunks(r, r->window->view.rank) || full(c->head, c->tail)) return 0;
    for (uint32_t i = 0; i < peers(r->window); i++) {
        const struct cg_copy_peer *p = &c->peer[i];
        if (cg_load_acquire((const uint64_t *) &p->in->raw) - p->raw_in <= k || full(p->head, p->tail)) return 0;
    }
    return 1;
}

static int launch_reduction(struct cg_fast *fast, struct cg_fast_run *r, uint64_t at, uint64_t bytes)
{
    struct cg_fast_copy *c = r->window->copy;
    uint32_t n = r->window->view.nranks, me = r->window->view.rank;
    struct cg_copy_reduction a = {.out = (char *) r->cmd.dst + at, .bytes = (uint32_t) bytes, .n = n,
                                  .misc = r->cmd.misc};

    for (uint32_t s = 0; s < n; s++) {
        a.in[s] = s == me ? (const char *) r->cmd.src + at
                          : raw_place(r, s, me, c->reduce_next, (char *) r->cmd.dst);
    }
    if (!cg_cuda_ok(cg_fx_copy_reduce(&a, fast->sms * 2, c->stream))) return CG_ERR_GPU;
    return cg_cuda_ok(cudaEventRecord(c->event[c->tail % CG_COPY_QUEUE], c->stream)) ? CG_OK : CG_ERR_GPU;
}

static int reduce(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    uint64_t bytes, at;
    int rc = CG_OK;

    while (rc == CG_OK && may_reduce(r, c->reduce_next)) {
        at = chunk_at(r, r->window->view.rank, c->reduce_next, &bytes);
        rc = launch_reduction(fast, r, at, bytes);
        for (uint32_t i = 0; i < peers(r->window) && rc == CG_OK; i++) {
            struct cg_copy_peer *p = &c->peer[i];
            if (!cg_cuda_ok(cudaStreamWaitEvent(p->stream, c->event[c->tail % CG_COPY_QUEUE], 0))) rc = CG_ERR_GPU;
            if (rc == CG_OK) rc = push(p, p->dst + at, (const char *) r->cmd.dst + at, bytes, 1);
        }
        c->tail++;
        c->reduce_next++;
    }
    return rc;
}

/* CG_OK: the event has passed. */
static int passed(cudaEvent_t event)
{
    cudaError_t rc = cudaEventQuery(event);

    if (rc == cudaErrorNotReady) {
        (void) cudaGetLastError();
        return CG_AGAIN;
    }
    return cg_cuda_ok(rc) ? CG_OK : CG_ERR_GPU;
}

/* What has arrived at the peer is counted there. */
static int count_pushes(struct cg_copy_peer *p)
{
    int rc = CG_OK;

    while (p->head != p->tail && (rc = passed(p->event[p->head % CG_COPY_QUEUE])) == CG_OK) {
        volatile uint64_t *count = p->result[p->head % CG_COPY_QUEUE] ? &p->out->result : &p->out->raw;
        cg_store_release((uint64_t *) count, *count + 1);
        p->head++;
    }
    return rc;
}

static int count_reductions(struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    int rc = CG_OK;

    while (c->head != c->tail && (rc = passed(c->event[c->head % CG_COPY_QUEUE])) == CG_OK) {
        for (uint32_t i = 0; i < peers(r->window); i++) {
            volatile uint64_t *count = &c->peer[i].out->reduced;
            cg_store_release((uint64_t *) count, *count + 1);
        }
        c->head++;
    }
    return rc;
}

/* All of mine pushed and reduced, all results here. */
static int moved(const struct cg_fast_run *r)
{
    const struct cg_fast_copy *c = r->window->copy;

    if (c->head != c->tail || c->reduce_next < chunks(r, r->window->view.rank)) return 0;
    for (uint32_t i = 0; i < peers(r->window); i++) {
        const struct cg_copy_peer *p = &c->peer[i];
        uint64_t last = chunks(r, rank_at(r->window, i));
        if (p->head != p->tail || p->raw_next < last) return 0;
        if (cg_load_acquire((const uint64_t *) &p->in->result) - p->result_in < last) return 0;
    }
    return 1;
}

static int move(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    int rc = CG_OK;

    for (uint32_t i = 0; i < peers(r->window) && rc >= 0; i++) {
        rc = count_pushes(&c->peer[i]);
        if (rc >= 0) rc = push_raw(r, i);
    }
    if (rc >= 0) rc = reduce(fast, r);
    if (rc >= 0) rc = count_reductions(r);
    if (rc < 0) return rc;
    return moved(r) ? CG_OK : CG_AGAIN;
}

int cg_copy_step(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    int rc = CG_OK;

    if (c->step == DESCRIBE) {
        describe(fast, r);
        c->step = OPEN;
    }
    if (c->step == OPEN) {
        if (!all_described(r)) return CG_AGAIN;
        tell_verdict(r, open_all(fast, r));
        c->step = AGREE;
    }
    if (c->step == AGREE) {
        rc = agree(r);
        if (rc != CG_OK) return rc;
        c->step = MOVE;
    }
    return move(fast, r);
}

void cg_copy_begin(struct cg_fast_run *r) { r->window->copy->step = DESCRIBE; }

/* Done, or no deal: the counts go on from here. */
void cg_copy_end(struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    int moving = c->step == MOVE;

    for (uint32_t i = 0; i < peers(r->window); i++) {
        struct cg_copy_peer *p = &c->peer[i];
        cg_share_drop(p->open);
        p->open = NULL;
        if (!moving) continue;
        p->raw_in += chunks(r, r->window->view.rank);
        p->reduced_in += chunks(r, rank_at(r->window, i));
        p->result_in += chunks(r, rank_at(r->window, i));
    }
}
