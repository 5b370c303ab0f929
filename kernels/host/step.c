/* SPDX-License-Identifier: BSD-3-Clause
 * The host executor: decide, check, move, publish. */
#include "kernels/host/host.h"
#include "kernels/host/stream.h"

#include <string.h>

/* Steps with two outputs work block by block: the second pass finds the block in the first-level cache. */
#define BLOCK 512 /* elements */

#define STREAM_MIN 4096 /* bytes of a message: shorter ones are read while they are in a cache */

/* Bytes into a slot. stream: past the cache. */
static void put(int stream, char *slot, const char *from, size_t bytes)
{
    if (stream) cg_stream_copy(slot, from, bytes);
    else memcpy(slot, from, bytes);
}

/* Elements of the user's buffer into a slot. */
static void to_slot(const struct cg_op *op, int stream, char *slot, const char *src, size_t n)
{
    if (cg_op_wide(op)) cg_widen_host(op->type, (float *) slot, src, n);
    else put(stream, slot, src, n * op->esize);
}

/* Elements without their gaps. */
static void copy_data(const struct cg_op *op, char *dst, const char *src, size_t n)
{
    if (cg_type_data(op->type) == CG_NO_GAPS) {
        memcpy(dst, src, n * op->usize);
    } else if (op->type == CG_TYPE_LOC_I16) {
        for (size_t at = 0; at < 8 * n; at += 8) {
            memcpy(dst + at, src + at, 2);
            memcpy(dst + at + 4, src + at + 4, 4);
        }
    } else {
        for (size_t at = 0; at < 16 * n; at += 16) memcpy(dst + at, src + at, 12);
    }
}

/* Elements of a slot into the user's buffer, or into a slot (CG_F_INTO_SLOT). */
static void from_slot(const struct cg_op *op, const struct cg_act *act, char *dst, const char *slot, size_t n)
{
    if (!cg_op_wide(op)) copy_data(op, dst, slot, n);
    else if (act->step.flags & CG_F_INTO_SLOT) memcpy(dst, slot, n * op->esize);
    else cg_narrow_host(op->type, dst, (const float *) slot, n);
}

static void recv_send(const struct cg_op *op, const struct cg_act *act, int stream, char *out)
{
    const char *slot = cg_slot_payload(act->in);

    for (size_t at = 0; at < act->n; at += BLOCK) {
        size_t part = cg_min_u64(BLOCK, act->n - at);
        from_slot(op, act, act->dst + at * op->usize, slot + at * op->esize, part);
        put(stream, out + at * op->esize, slot + at * op->esize, part * op->esize);
    }
}

/* Slot op operand in the order that the step says; to dst, or to out, or both. */
static void reduce_same(const struct cg_op *op, const struct cg_act *act, int stream, char *dst, char *out)
{
    cg_reduce_fn reduce = cg_reduce_host(op->type, op->redop);
    const char *slot = cg_slot_payload(act->in), *operand = act->operand;
    int slot_first = act->step.flags & CG_F_SLOT_FIRST;
    const char *a = slot_first ? slot : operand, *b = slot_first ? operand : slot;
    size_t block = out && (dst || stream) ? BLOCK * op->esize : act->bytes;
    char sum[BLOCK * 16] __attribute__((aligned(64)));

    for (size_t at = 0; at < act->bytes; at += block) {
        size_t part = cg_min_u64(block, act->bytes - at);
        char *to = dst ? dst + at : stream ? sum : out + at;
        reduce(to, a + at, b + at, part / op->esize);
        if (out && to != out + at) put(stream, out + at, to, part);
    }
}

static void reduce_wide(const struct cg_op *op, const struct cg_act *act, int stream, char *dst, char *out)
{
    cg_reduce_fn reduce = cg_reduce_host(CG_TYPE_F32, op->redop);
    int slot_first = act->step.flags & CG_F_SLOT_FIRST;
    float operand[BLOCK];

    for (size_t at = 0; at < act->n; at += BLOCK) {
        size_t part = cg_min_u64(BLOCK, act->n - at);
        const char *slot = cg_slot_payload(act->in) + at * op->esize;
        cg_widen_host(op->type, operand, act->operand + at * op->usize, part);
        reduce(operand, slot_first ? slot : (char *) operand, slot_first ? (char *) operand : slot, part);
        if (dst) {
            size_t size = act->step.flags & CG_F_INTO_SLOT ? op->esize : op->usize;
            from_slot(op, act, dst + at * size, (char *) operand, part);
        }
        if (out) put(stream, out + at * op->esize, (char *) operand, part * op->esize);
    }
}

static void reduce_two(const struct cg_op *op, const struct cg_act *act, int stream, char *dst, char *out)
{
    (cg_op_wide(op) ? reduce_wide : reduce_same)(op, act, stream, dst, out);
}

static int streams(const struct cg_act *act, uint32_t near, uint32_t link)
{
    return act->bytes >= STREAM_MIN && (near >> link & 1);
}

static void send_all(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act,
                     uint32_t near)
{
    for (uint32_t l = act->step.rlink; l < op->nall; l++) {
        to_slot(op, streams(act, near, l), cg_slot_payload(cg_out_slot(op, pos, chan, l)), act->operand, act->n);
    }
}

/* Slots that hold floats: x[own] is the user's. To the user's dst or to out. */
static void fold_wide(const struct cg_op *op, const struct cg_act *act, const char **x, uint32_t n, uint32_t own,
                      char *out)
{
    float operand[BLOCK], sum[BLOCK];
    const char *at_x[CG_MAX_LINKS + 1];

    for (size_t at = 0; at < act->n; at += BLOCK) {
        size_t part = cg_min_u64(BLOCK, act->n - at);
        cg_widen_host(op->type, operand, act->operand + at * op->usize, part);
        for (uint32_t i = 0; i < n; i++) at_x[i] = i == own ? (char *) operand : x[i] + at * op->esize;
        cg_fold_host(CG_TYPE_F32, op->redop, out ? out + at * op->esize : (char *) sum, at_x, (int) n, part);
        if (!out) cg_narrow_host(op->type, act->dst + at * op->usize, sum, part);
    }
}

static void fold_same(const struct cg_op *op, const struct cg_act *act, const char **x, uint32_t n, int stream,
                      char *out)
{
    char sum[BLOCK * 16] __attribute__((aligned(64)));

    if (!stream) {
        cg_fold_host(op->type, op->redop, out ? out : act->dst, x, (int) n, act->n);
        return;
    }
    for (size_t at = 0; at < act->n; at += BLOCK) {
        size_t part = cg_min_u64(BLOCK, act->n - at);
        cg_fold_host(op->type, op->redop, sum, x, (int) n, part);
        put(1, out + at * op->esize, sum, part * op->esize);
        for (uint32_t i = 0; i < n; i++) x[i] += part * op->esize;
    }
}

/* ((x0 op x1) op x2) ... in the order of links. To out, a slot, or, if that is NULL, to dst. */
static void reduce_all(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act,
                       int stream, char *out)
{
    const char *x[CG_MAX_LINKS + 1];
    uint32_t first = act->step.rlink, n = op->nall - first + 1, own = op->self_pos - first;

    for (uint32_t l = first; l < op->nall; l++) {
        x[l - first + (l >= op->self_pos)] = cg_slot_payload(cg_in_slot(op, pos, chan, l));
    }
    x[own] = act->operand;
    if (cg_op_wide(op)) fold_wide(op, act, x, n, own, out);
    else fold_same(op, act, x, n, stream && out, out);
}

static void move(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act,
                 uint32_t near)
{
    char *out = act->out ? cg_slot_payload(act->out) : NULL;
    int stream = out && streams(act, near, act->step.slink);

    switch (act->step.opcode) {
    case CG_STEP_COPY:
        if (act->dst != act->operand) copy_data(op, act->dst, act->operand, act->n);
        break;
    case CG_STEP_SEND:
        to_slot(op, stream, out, act->operand, act->n);
        break;
    case CG_STEP_RECV:
        from_slot(op, act, act->dst, cg_slot_payload(act->in), act->n);
        break;
    case CG_STEP_FORWARD:
        put(stream, out, cg_slot_payload(act->in), act->bytes);
        break;
    case CG_STEP_RECV_SEND:
        recv_send(op, act, stream, out);
        break;
    case CG_STEP_RECV_REDUCE:
        reduce_two(op, act, 0, act->dst, NULL);
        break;
    case CG_STEP_RECV_REDUCE_SEND:
        reduce_two(op, act, stream, NULL, out);
        break;
    case CG_STEP_RECV_REDUCE_COPY_SEND:
        reduce_two(op, act, stream, act->dst, out);
        break;
    case CG_STEP_SEND_ALL:
        send_all(op, chan, pos, act, near);
        break;
    case CG_STEP_REDUCE_ALL:
        reduce_all(op, chan, pos, act, 0, NULL);
        break;
    case CG_STEP_REDUCE_ALL_SEND:
        reduce_all(op, chan, pos, act, stream, out);
        break;
    }
}

int cg_host_step(const struct cg_op *op, uint32_t chan, struct cg_pos *pos, uint32_t near, struct cg_fault *fault)
{
    struct cg_act act;
    int rc = cg_decide(op, chan, pos, &act);

    if (rc != CG_RUN_STEP) return rc;
    rc = cg_check(op, chan, pos, &act, fault);
    if (rc != CG_OK) return rc;
    move(op, chan, pos, &act, near);
    if (near && act.bytes >= STREAM_MIN) cg_stream_end();
    cg_publish(op, chan, pos, &act);
    return CG_RUN_STEP;
}

int cg_host_sweep(const struct cg_op *op, struct cg_pos *pos, uint32_t near, int budget, int *ran,
                  struct cg_fault *fault)
{
    int moved = 1, unfinished = op->nchan;

    while (moved && unfinished > 0) {
        moved = unfinished = 0;
        for (uint32_t chan = 0; chan < op->nchan; chan++) {
            if (pos[chan].done) continue;
            if (budget <= 0) return CG_AGAIN;
            int rc = cg_host_step(op, chan, &pos[chan], near, fault);
            if (rc < 0) return rc;
            if (rc == CG_DONE) continue;
            unfinished++;
            if (rc != CG_RUN_STEP) continue;
            moved = 1;
            budget--;
            ++*ran;
        }
    }
    return unfinished > 0 ? CG_AGAIN : CG_DONE;
}
