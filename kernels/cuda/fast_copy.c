/* SPDX-License-Identifier: BSD-3-Clause
 * COPY as the host drives it; fast_copy.h says how it works. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fast_copy_part.h"

#define SLOTS 2
#define SLOT_MIN (128u << 10)

enum { DESCRIBE, OPEN, AGREE, MOVE };

static uint32_t peers(const struct cg_fast_window *w) { return w->view.nranks - 1; }

static uint32_t rank_at(const struct cg_fast_window *w, uint32_t i)
{
    return (w->view.rank + 1 + i) % w->view.nranks;
}

/* ---- the deal ---- */

/* Can others push into dst? Allocations that are no whole pages are slower than TWO_SHOT, which does not open them. */
static int describe_dst(struct cg_fast *fast, const struct cg_fast_run *r, struct cg_share_card *card)
{
    const uint64_t span = cg_copy_span(r);

    memset(card, 0, sizeof *card);
    if (span == 0) return 1;
    return cg_share_describe(&fast->share, fast->device, (const void *) r->cmd.dst, span, card) == CG_OK &&
           card->bytes % CG_SHARE_PAGE == 0;
}

/* Blocks that are exchanged in place would be overwritten before they were sent. */
static int swaps(const struct cg_fast_run *r)
{
    const uint64_t both = CG_CMD_OUT_BLOCKS | CG_CMD_IN_BLOCKS;

    return (r->cmd.misc & both) == both && r->cmd.src == r->cmd.dst;
}

/* A result lies where a block for another rank was: that one goes first. */
static int overlaps(const struct cg_fast_run *r)
{
    return cg_copy_reduces(r) && (r->cmd.misc & CG_CMD_OUT_BLOCKS) && r->cmd.src == r->cmd.dst;
}

static void describe(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    struct cg_share_card card;
    const int open = describe_dst(fast, r, &card), slots = cg_copy_reduces(r) && !cg_copy_has_results(r);
    const uint64_t able = cg_copy_make(r->window) == CG_OK && (open || slots) && !swaps(r);

    c->direct = cg_copy_reduces(r) && open && peers(r->window) == 1 && (!card.bytes || r->cmd.src != r->cmd.dst);
    c->deals++;
    for (uint32_t i = 0; i < peers(r->window); i++) {
        volatile struct cg_fast_meet *out = c->peer[i].out;
        memcpy((void *) &out->card, &card, sizeof card);
        out->able = able;
        out->direct = (uint64_t) c->direct;
        cg_store_release((uint64_t *) &out->deal, c->deals);
    }
}

static int all_described(const struct cg_fast_run *r)
{
    const struct cg_fast_copy *c = r->window->copy;

    for (uint32_t i = 0; i < peers(r->window); i++) {
        if (cg_load_acquire((const uint64_t *) &c->peer[i].in->deal) < c->deals) return 0;
    }
    return 1;
}

/* Chunks and slots, from facts equal on all ranks. False: there is no room for slots worth it, or, in place, for all
 * that is pushed before anything is reduced. */
static int divide(struct cg_fast_run *r)
{
    const struct cg_fast_layout *l = &r->window->view.l;
    struct cg_fast_copy *c = r->window->copy;
    uint64_t n = r->window->view.nranks, room = (l->bytes - l->raw) / (n - 1) / SLOTS & ~511ull;

    c->reduce_next = 0;
    c->segment = c->chunk = r->bytes;
    if (!cg_copy_reduces(r)) return 1; /* all at once */
    if (cg_copy_has_results(r)) c->segment = ((r->bytes + n - 1) / n + 511) & ~511ull;
    c->chunk = cg_min_u64(((c->segment + 1) / 2 + 511) & ~511ull, CG_COPY_CHUNK_MAX);
    c->slots = SLOTS;
    if (c->direct) return 1;
    c->chunk = cg_min_u64(c->chunk, room);
    return room >= SLOT_MIN && (!overlaps(r) || r->bytes <= c->slots * c->chunk);
}

/* Do I push into the dst of the peer? */
static int pushes(const struct cg_fast_run *r, uint32_t i)
{
    if (cg_copy_has_results(r)) return 1;
    return (!cg_copy_reduces(r) || r->window->copy->direct) &&
           cg_copy_flows(r, r->window->view.rank, rank_at(r->window, i));
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
        if (!pushes(r, i)) continue;
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

static int slotted(const struct cg_fast_run *r) { return cg_copy_reduces(r) && !r->window->copy->direct; }

/* Where chunk k of source's part comes to at its owner. dst: the owner's. */
static char *raw_place(const struct cg_fast_run *r, uint32_t source, uint32_t owner, uint64_t k, char *dst)
{
    const struct cg_fast_view *v = &r->window->view;
    const struct cg_fast_copy *c = r->window->copy;

    if (!slotted(r)) return dst + cg_copy_dst_at(r, source, owner) + k * c->chunk;
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
    uint32_t owner = rank_at(r->window, i), me = r->window->view.rank;
    uint64_t last = cg_copy_chunks(r, me, owner);
    int rc = CG_OK;

    while (rc == CG_OK && p->raw_next < last && !full(p->head, p->tail)) {
        uint64_t reduced = cg_load_acquire((const uint64_t *) &p->in->reduced) - p->reduced_in;
        uint64_t at = cg_copy_src_at(r, owner) + p->raw_next * c->chunk;
        if (slotted(r) && p->raw_next >= reduced + c->slots) break;
        rc = push(p, raw_place(r, me, owner, p->raw_next, p->dst), (const char *) r->cmd.src + at,
                  cg_copy_bytes(r, me, owner, p->raw_next), 0);
        p->raw_next++;
    }
    return rc;
}

/* Has chunk k come from everybody, and is there room for its results? */
static int may_reduce(const struct cg_fast_run *r, uint64_t k)
{
    const struct cg_fast_copy *c = r->window->copy;
    const uint32_t me = r->window->view.rank;

    if (k >= cg_copy_owned(r, me) || full(c->head, c->tail)) return 0;
    for (uint32_t i = 0; i < peers(r->window); i++) {
        const struct cg_copy_peer *p = &c->peer[i];
        if (cg_load_acquire((const uint64_t *) &p->in->raw) - p->raw_in <= k || full(p->head, p->tail)) return 0;
        if (overlaps(r) && (p->head != p->tail || p->raw_next < cg_copy_chunks(r, me, rank_at(r->window, i)))) return 0;
    }
    return 1;
}

static int launch_reduction(struct cg_fast *fast, struct cg_fast_run *r, uint64_t at, uint64_t bytes)
{
    struct cg_fast_copy *c = r->window->copy;
    uint32_t n = r->window->view.nranks, me = r->window->view.rank;
    const char *own = (const char *) r->cmd.src + cg_copy_src_at(r, me) + c->reduce_next * c->chunk;
    struct cg_copy_reduction a = {.out = (char *) r->cmd.dst + at, .bytes = (uint32_t) bytes, .n = n,
                                  .misc = r->cmd.misc};

    for (uint32_t s = 0; s < n; s++) {
        a.in[s] = s == me ? own
                          : raw_place(r, s, me, c->reduce_next, (char *) r->cmd.dst);
    }
    if (!cg_cuda_ok(cg_fx_copy_reduce(&a, fast->sms * 2, c->stream))) return CG_ERR_GPU;
    return cg_cuda_ok(cudaEventRecord(c->event[c->tail % CG_COPY_QUEUE], c->stream)) ? CG_OK : CG_ERR_GPU;
}

static int reduce(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    const uint32_t me = r->window->view.rank, takers = cg_copy_has_results(r) ? peers(r->window) : 0;
    int rc = CG_OK;

    while (rc == CG_OK && may_reduce(r, c->reduce_next)) {
        uint64_t at = cg_copy_dst_at(r, me, me) + c->reduce_next * c->chunk;
        uint64_t bytes = cg_copy_bytes(r, me, me, c->reduce_next);
        rc = launch_reduction(fast, r, at, bytes);
        for (uint32_t i = 0; i < takers && rc == CG_OK; i++) {
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

/* Without a reduction: what the rank keeps. */
static int count_reductions(struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    const uint32_t readers = cg_copy_reduces(r) ? peers(r->window) : 0;
    int rc = CG_OK;

    while (c->head != c->tail && (rc = passed(c->event[c->head % CG_COPY_QUEUE])) == CG_OK) {
        for (uint32_t i = 0; i < readers; i++) {
            volatile uint64_t *count = &c->peer[i].out->reduced;
            cg_store_release((uint64_t *) count, *count + 1);
        }
        c->head++;
    }
    return rc;
}

/* Everything here that comes from the peer, and nothing of mine in its slots, which TWO_SHOT may use next. */
static int settled(const struct cg_fast_run *r, uint32_t i)
{
    const struct cg_copy_peer *p = &r->window->copy->peer[i];
    const uint32_t rank = rank_at(r->window, i), me = r->window->view.rank;

    if (cg_copy_has_results(r))
        return cg_load_acquire((const uint64_t *) &p->in->result) - p->result_in >= cg_copy_owned(r, rank);
    if (cg_copy_reduces(r))
        return cg_load_acquire((const uint64_t *) &p->in->reduced) - p->reduced_in >= cg_copy_owned(r, rank);
    return cg_load_acquire((const uint64_t *) &p->in->raw) - p->raw_in >= cg_copy_chunks(r, rank, me);
}

/* All of mine pushed and reduced. */
static int moved(const struct cg_fast_run *r)
{
    const struct cg_fast_copy *c = r->window->copy;
    const uint32_t me = r->window->view.rank;

    if (c->head != c->tail || c->reduce_next < cg_copy_owned(r, me)) return 0;
    for (uint32_t i = 0; i < peers(r->window); i++) {
        const struct cg_copy_peer *p = &c->peer[i];
        if (p->head != p->tail || p->raw_next < cg_copy_chunks(r, me, rank_at(r->window, i))) return 0;
        if (!settled(r, i)) return 0;
    }
    return 1;
}

/* What is only moved, and stays here. */
static int keep(struct cg_fast_run *r)
{
    struct cg_fast_copy *c = r->window->copy;
    const uint32_t me = r->window->view.rank;
    const char *from = (const char *) r->cmd.src + cg_copy_src_at(r, me);
    char *to = (char *) r->cmd.dst + cg_copy_dst_at(r, me, me);

    if (cg_copy_reduces(r) || !cg_copy_flows(r, me, me) || from == to) return CG_OK;
    if (!cg_cuda_ok(cudaMemcpyAsync(to, from, r->bytes, cudaMemcpyDefault, c->stream))) return CG_ERR_GPU;
    return cg_cuda_ok(cudaEventRecord(c->event[c->tail++ % CG_COPY_QUEUE], c->stream)) ? CG_OK : CG_ERR_GPU;
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
        rc = keep(r);
        if (rc != CG_OK) return rc;
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
        p->raw_in += cg_copy_chunks(r, rank_at(r->window, i), r->window->view.rank);
        p->reduced_in += cg_copy_owned(r, rank_at(r->window, i));
        if (cg_copy_has_results(r)) p->result_in += cg_copy_owned(r, rank_at(r->window, i));
    }
}
