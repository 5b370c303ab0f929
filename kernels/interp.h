/* SPDX-License-Identifier: BSD-3-Clause
 * The interpreter's decisions, the same code on host and GPU: what comes next, may it run, what is published.
 * One thread calls these; how the bytes are moved between decide and publish is the executor's business. */
#ifndef CG_KERNELS_INTERP_H
#define CG_KERNELS_INTERP_H

#include "core/status.h"
#include "kernels/ring.h"

/* The executable meaning of CG_STEP_TABLE's columns. */
#define CG_STEP_BIT(name, recv, operand, write, send, text) \
    | ((recv) ? 1u << CG_STEP_##name : 0u)
CG_HD int cg_step_recvs(int opcode) { return ((0u CG_STEP_TABLE(CG_STEP_BIT)) >> opcode) & 1; }
#undef CG_STEP_BIT
#define CG_STEP_BIT(name, recv, operand, write, send, text) | ((send) ? 1u << CG_STEP_##name : 0u)
CG_HD int cg_step_sends(int opcode) { return ((0u CG_STEP_TABLE(CG_STEP_BIT)) >> opcode) & 1; }
#undef CG_STEP_BIT
#define CG_STEP_BIT(name, recv, operand, write, send, text) | ((operand) ? 1u << CG_STEP_##name : 0u)
CG_HD int cg_step_operand(int opcode) { return ((0u CG_STEP_TABLE(CG_STEP_BIT)) >> opcode) & 1; }
#undef CG_STEP_BIT
#define CG_STEP_BIT(name, recv, operand, write, send, text) | ((write) ? 1u << CG_STEP_##name : 0u)
CG_HD int cg_step_writes(int opcode) { return ((0u CG_STEP_TABLE(CG_STEP_BIT)) >> opcode) & 1; }
#undef CG_STEP_BIT
CG_HD int cg_step_frees(const struct cg_step *s) { return cg_step_recvs(s->opcode) && !(s->flags & CG_F_KEEP); }
CG_HD int cg_step_all_in(int opcode) { return opcode == CG_STEP_REDUCE_ALL || opcode == CG_STEP_REDUCE_ALL_SEND; }
CG_HD int cg_step_all_out(int opcode) { return opcode == CG_STEP_SEND_ALL; }

/* Links that a step receives from and sends to: first and behind the last. */
struct cg_span {
    uint32_t from, to;
};

CG_HD struct cg_span cg_step_in(const struct cg_step *s, uint32_t nall)
{
    struct cg_span span = {0, 0};

    if (!cg_step_recvs(s->opcode)) return span;
    span.from = s->rlink;
    span.to = cg_step_all_in(s->opcode) ? nall : s->rlink + 1u;
    return span;
}

CG_HD struct cg_span cg_step_out(const struct cg_step *s, uint32_t nall)
{
    int all = cg_step_all_out(s->opcode);
    struct cg_span span = {0, 0};

    if (!cg_step_sends(s->opcode)) return span;
    span.from = all ? s->rlink : s->slink;
    span.to = all ? nall : s->slink + 1u;
    return span;
}

#define CG_COLL_BIT(name, text, reduces, known, reach) | ((reduces) ? 1u << CG_COLL_##name : 0u)
CG_HD int cg_coll_reduces(int coll) { return ((0u CG_COLL_TABLE(CG_COLL_BIT)) >> coll) & 1; }
#undef CG_COLL_BIT

/* A step that may run now. */
struct cg_act {
    struct cg_step step;
    uint32_t n;      /* elements */
    uint32_t bytes;  /* n * esize: of the message */
    const char *operand; /* NULL if none */
    char *dst;           /* NULL if not written; with CG_F_INTO_SLOT the slot's payload */
    struct cg_slot_hdr *in, *out; /* NULL if none, or those of an ALL step: cg_step_in and cg_step_out */
};

CG_HD uint32_t cg_chunk_elems(const struct cg_range *r, uint32_t nchunks, uint32_t iter, uint32_t chunk,
                              uint64_t *first)
{
    uint64_t at = r->begin + ((uint64_t) iter * nchunks + chunk) * r->chunk;
    *first = at;
    return at >= r->end ? 0 : (uint32_t) cg_min_u64(r->chunk, r->end - at);
}

/* How a blocked program is cut. */
struct cg_cut {
    const struct cg_block *block;
    const struct cg_walk *walk;
    uint64_t block_len;
    uint32_t reps, nchan;
};

/* The block at which a walk is; 0 if it is nowhere. */
CG_HD int cg_walk_at(const struct cg_walk *w, uint32_t rep, uint32_t *block)
{
    uint32_t x = w->at + rep - w->from;

    *block = (w->base + (x >= w->wrap ? x - w->wrap : x) * w->stride) & 0xffff;
    return rep >= w->from && rep < w->to;
}

/* Elements of the channel's slice of what a step names (a block or a walk); *first: in the buffer. */
CG_HD uint32_t cg_cut_elems(const struct cg_cut *cut, const struct cg_range *r, uint32_t name, uint32_t chan,
                            uint32_t iter, uint64_t *first)
{
    uint64_t at, offset, len;

    if (cut->reps) {
        uint32_t slice = iter / cut->reps;
        if (!cg_walk_at(&cut->walk[name], iter - slice * cut->reps, &name)) return 0;
        iter = slice;
    }
    offset = cut->block_len ? name * cut->block_len : cut->block[name].offset;
    len = cut->block_len ? cut->block_len : cut->block[name].len;
    at = ((uint64_t) iter * cut->nchan + chan) * r->chunk;
    *first = offset + at;
    return at >= len ? 0 : (uint32_t) cg_min_u64(r->chunk, len - at);
}

CG_HD struct cg_cut cg_op_cut(const struct cg_op *op)
{
    struct cg_cut cut = {cg_op_blocks(op), cg_op_walks(op), op->block_len, op->reps, op->nchan};
    return cut;
}

/* *first: in dst. */
CG_HD uint32_t cg_step_elems(const struct cg_op *op, const struct cg_step *s, uint32_t chan, uint32_t iter,
                             uint64_t *first)
{
    const struct cg_range *r = &op->range[chan];
    struct cg_cut cut;

    if (!op->nblocks) return cg_chunk_elems(r, op->nchunks, iter, s->chunk, first);
    cut = cg_op_cut(op);
    return cg_cut_elems(&cut, r, s->chunk, chan, iter, first);
}

/* Where the operand begins, of a step whose chunk begins at to. */
CG_HD uint64_t cg_step_from(const struct cg_op *op, const struct cg_step *s, uint32_t chan, uint32_t iter, uint64_t to)
{
    struct cg_cut cut;

    if (!op->nblocks || s->from == s->chunk) return to;
    cut = cg_op_cut(op);
    cg_cut_elems(&cut, &op->range[chan], s->from, chan, iter, &to);
    return to;
}

CG_HD int cg_arrived(const struct cg_op *op, const struct cg_pos *pos, uint32_t chan, uint32_t l)
{
    const struct cg_link *link = &cg_op_links(op)[l];
    return cg_load_polled(&link->mine->chan[chan].tail) > link->recv_base[chan] + pos->rcvd[l];
}

CG_HD int cg_has_room(const struct cg_op *op, const struct cg_pos *pos, uint32_t chan, uint32_t l)
{
    const struct cg_link *link = &cg_op_links(op)[l];
    return cg_load_polled(&link->mine->chan[chan].head) + op->slots > link->send_base[chan] + pos->sent[l];
}

CG_HD struct cg_slot_hdr *cg_in_slot(const struct cg_op *op, const struct cg_pos *pos, uint32_t chan, uint32_t l)
{
    const struct cg_link *link = &cg_op_links(op)[l];
    return cg_slot(link->recv_slots, chan, link->recv_base[chan] + pos->rcvd[l], op->slot_bytes, op->slots);
}

CG_HD struct cg_slot_hdr *cg_out_slot(const struct cg_op *op, const struct cg_pos *pos, uint32_t chan, uint32_t l)
{
    const struct cg_link *link = &cg_op_links(op)[l];
    return cg_slot(link->send_slots, chan, link->send_base[chan] + pos->sent[l], op->slot_bytes, op->slots);
}

CG_HD int cg_step_ready(const struct cg_op *op, const struct cg_pos *pos, uint32_t chan, const struct cg_step *s)
{
    struct cg_span in = cg_step_in(s, op->nall), out = cg_step_out(s, op->nall);

    for (uint32_t l = in.from; l < in.to; l++) {
        if (!cg_arrived(op, pos, chan, l)) return 0;
    }
    for (uint32_t l = out.from; l < out.to; l++) {
        if (!cg_has_room(op, pos, chan, l)) return 0;
    }
    return 1;
}

CG_HD void cg_advance(const struct cg_op *op, struct cg_pos *pos)
{
    if (++pos->step == op->nsteps) {
        pos->step = 0;
        pos->iter++;
    }
}

/* The next step of a channel: CG_RUN_STEP with *act filled (run it, then cg_publish), CG_AGAIN if it may not run
 * yet, CG_DONE behind the last. No side effect on memory that others see. */
#define CG_RUN_STEP CG_OK
CG_HD int cg_decide(const struct cg_op *op, uint32_t chan, struct cg_pos *pos, struct cg_act *act)
{
    const struct cg_range *r = &op->range[chan];
    const struct cg_step *s;
    uint64_t to;
    uint32_t n;

    for (;; cg_advance(op, pos)) {
        if (pos->iter >= r->iters) {
            pos->done = 1;
            return CG_DONE;
        }
        s = &cg_op_steps(op)[pos->step];
        n = cg_step_elems(op, s, chan, pos->iter, &to);
        if (n > 0) break;
    }
    if (!cg_step_ready(op, pos, chan, s)) return CG_AGAIN;
    act->step = *s;
    act->n = n;
    act->bytes = n * op->esize;
    act->operand = !cg_step_operand(s->opcode) ? NULL
                   : ((s->flags & CG_F_DST_OPERAND) ? op->dst : op->src) +
                         cg_step_from(op, s, chan, pos->iter, to) * op->usize;
    act->dst = cg_step_writes(s->opcode) ? op->dst + to * op->usize : NULL;
    act->in = cg_step_recvs(s->opcode) && !cg_step_all_in(s->opcode) ? cg_in_slot(op, pos, chan, s->rlink) : NULL;
    act->out = cg_step_sends(s->opcode) && !cg_step_all_out(s->opcode) ? cg_out_slot(op, pos, chan, s->slink) : NULL;
    if (s->flags & CG_F_INTO_SLOT) act->dst = cg_slot_payload(act->in);
    return CG_RUN_STEP;
}

/* Is this slot the message that the step expects? Fills *fault and returns CG_ERR_MISMATCH if not. */
CG_HD int cg_check_slot(const struct cg_op *op, const struct cg_slot_hdr *h, uint64_t seq, uint32_t bytes,
                        uint32_t link, struct cg_fault *fault)
{
    if (h->seq == seq && h->bytes == bytes && h->opno == op->opno && h->stream == op->stream &&
        h->total_bytes == op->total_bytes && h->coll == op->coll && h->type == op->type && h->redop == op->redop) {
        return CG_OK;
    }
    fault->status = CG_ERR_MISMATCH;
    fault->link = link;
    fault->want_bytes = op->total_bytes;
    fault->got_bytes = h->total_bytes;
    fault->want_opno = op->opno;
    fault->got_opno = h->opno;
    fault->want_coll = op->coll;
    fault->want_type = op->type;
    fault->want_redop = op->redop;
    fault->got_coll = h->coll;
    fault->got_type = h->type;
    fault->got_redop = h->redop;
    return CG_ERR_MISMATCH;
}

/* Check every slot that the step reads. To be called before the first write. */
CG_HD int cg_check(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act,
                   struct cg_fault *fault)
{
    struct cg_span in = cg_step_in(&act->step, op->nall);

    for (uint32_t l = in.from; l < in.to; l++) {
        uint64_t seq = cg_op_links(op)[l].recv_base[chan] + pos->rcvd[l];
        int rc = cg_check_slot(op, cg_in_slot(op, pos, chan, l), seq, act->bytes, l, fault);
        if (rc != CG_OK) return rc;
    }
    return CG_OK;
}

CG_HD void cg_fill_header(const struct cg_op *op, struct cg_slot_hdr *h, uint64_t seq, uint32_t bytes, int in_gpu)
{
    h->seq = seq;
    h->total_bytes = op->total_bytes;
    h->opno = op->opno;
    h->stream = op->stream;
    h->bytes = bytes;
    h->coll = op->coll;
    h->type = op->type;
    h->redop = op->redop;
    h->in_gpu = (uint8_t) in_gpu;
}

CG_HD void cg_fill_headers(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, uint32_t l, uint32_t bytes)
{
    const struct cg_link *link = &cg_op_links(op)[l];
    uint64_t seq = link->send_base[chan] + pos->sent[l];

    cg_fill_header(op, cg_out_slot(op, pos, chan, l), seq, bytes, 0);
    if (!link->send_headers) return;
    cg_fill_header(op, cg_slot(link->send_headers, chan, seq, op->slot_bytes, op->slots), seq, bytes, 1);
}

/* After the data has moved: publish what was written, give back what was read, go on to the next step. The stores that
 * follow cg_publish_fence are releases. */
CG_HD void cg_publish(const struct cg_op *op, uint32_t chan, struct cg_pos *pos, const struct cg_act *act)
{
    const struct cg_step *s = &act->step;
    struct cg_span in = cg_step_in(s, op->nall), out = cg_step_out(s, op->nall);
    struct cg_link *link = cg_op_links(op);

    for (uint32_t l = out.from; l < out.to; l++) cg_fill_headers(op, chan, pos, l, act->bytes);
    cg_publish_fence();
    for (uint32_t l = out.from; l < out.to; l++) {
        cg_store_published(&link[l].peer->chan[chan].tail, link[l].send_base[chan] + ++pos->sent[l]);
    }
    for (uint32_t l = in.from; l < in.to && cg_step_frees(s); l++) {
        cg_store_published(&link[l].peer->chan[chan].head, link[l].recv_base[chan] + ++pos->rcvd[l]);
    }
    cg_advance(op, pos);
}

#endif
