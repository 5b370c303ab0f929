/* SPDX-License-Identifier: BSD-3-Clause
 * The host executor: decide, check, move, publish. */
#include "kernels/host/host.h"

#include <string.h>

/* Steps with two outputs work block by block: the second pass finds the block in the first-level cache. */
#define BLOCK_BYTES 4096

/* To the user's buffer: the data, not the gaps. Elements start at multiples of their size. */
static void to_user(const struct cg_op *op, char *dst, const char *src, size_t bytes)
{
    uint32_t data = cg_type_data(op->type);

    if (data == CG_NO_GAPS) {
        memcpy(dst, src, bytes);
    } else if (op->type == CG_TYPE_LOC_I16) {
        for (size_t at = 0; at < bytes; at += 8) {
            memcpy(dst + at, src + at, 2);
            memcpy(dst + at + 4, src + at + 4, 4);
        }
    } else {
        for (size_t at = 0; at < bytes; at += 16) memcpy(dst + at, src + at, 12);
    }
}

static void copy_two(const struct cg_op *op, char *dst, char *out, const char *src, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += BLOCK_BYTES) {
        size_t part = cg_min_u64(BLOCK_BYTES, bytes - at);
        to_user(op, dst + at, src + at, part);
        memcpy(out + at, src + at, part);
    }
}

/* dst = slot op operand in the order that the step says, and a copy to out if there is one. */
static void reduce_two(const struct cg_op *op, const struct cg_act *act, char *dst, char *out)
{
    cg_reduce_fn reduce = cg_reduce_host(op->type, op->redop);
    const char *slot = cg_slot_payload(act->in), *operand = act->operand;
    int slot_first = act->step.flags & CG_F_SLOT_FIRST;
    const char *a = slot_first ? slot : operand, *b = slot_first ? operand : slot;
    uint32_t block = out ? BLOCK_BYTES : act->bytes;

    for (size_t at = 0; at < act->bytes; at += block) {
        size_t part = cg_min_u64(block, act->bytes - at);
        reduce(dst + at, a + at, b + at, part / op->esize);
        if (out) memcpy(out + at, dst + at, part);
    }
}

static void send_all(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act)
{
    for (uint32_t l = act->step.rlink; l < op->nall; l++) {
        memcpy(cg_slot_payload(cg_out_slot(op, pos, chan, l)), act->operand, act->bytes);
    }
}

/* ((x0 op x1) op x2) ... in the order of links. dst may be the operand, so partial results stay in a block of their own
 * and dst is written with the last one. */
static void reduce_all(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act,
                       char *dst)
{
    cg_reduce_fn reduce = cg_reduce_host(op->type, op->redop);
    const char *x[CG_MAX_LINKS + 1];
    uint32_t first = act->step.rlink, n = op->nall - first;
    char partial[BLOCK_BYTES] __attribute__((aligned(64)));

    for (uint32_t l = first; l < op->nall; l++) {
        x[l - first + (l >= op->self_pos)] = cg_slot_payload(cg_in_slot(op, pos, chan, l));
    }
    x[op->self_pos - first] = act->operand;
    for (size_t at = 0; at < act->bytes; at += BLOCK_BYTES) {
        size_t part = cg_min_u64(BLOCK_BYTES, act->bytes - at);
        const char *left = x[0] + at;
        for (uint32_t i = 1; i <= n; i++) {
            char *to = i == n ? dst + at : partial;
            reduce(to, left, x[i] + at, part / op->esize);
            left = to;
        }
    }
}

static void move(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos, const struct cg_act *act)
{
    char *out = act->out ? cg_slot_payload(act->out) : NULL;

    switch (act->step.opcode) {
    case CG_STEP_COPY:
        if (act->dst != act->operand) to_user(op, act->dst, act->operand, act->bytes);
        break;
    case CG_STEP_SEND:
        memcpy(out, act->operand, act->bytes);
        break;
    case CG_STEP_RECV:
        to_user(op, act->dst, cg_slot_payload(act->in), act->bytes);
        break;
    case CG_STEP_FORWARD:
        memcpy(out, cg_slot_payload(act->in), act->bytes);
        break;
    case CG_STEP_RECV_SEND:
        copy_two(op, act->dst, out, cg_slot_payload(act->in), act->bytes);
        break;
    case CG_STEP_RECV_REDUCE:
        reduce_two(op, act, act->dst, NULL);
        break;
    case CG_STEP_RECV_REDUCE_SEND:
        reduce_two(op, act, out, NULL);
        break;
    case CG_STEP_RECV_REDUCE_COPY_SEND:
        reduce_two(op, act, act->dst, out);
        break;
    case CG_STEP_SEND_ALL:
        send_all(op, chan, pos, act);
        break;
    case CG_STEP_REDUCE_ALL:
        reduce_all(op, chan, pos, act, act->dst);
        break;
    case CG_STEP_REDUCE_ALL_SEND:
        reduce_all(op, chan, pos, act, out);
        break;
    }
}

int cg_host_step(const struct cg_op *op, uint32_t chan, struct cg_pos *pos, struct cg_fault *fault)
{
    struct cg_act act;
    int rc = cg_decide(op, chan, pos, &act);

    if (rc != CG_RUN_STEP) return rc;
    rc = cg_check(op, chan, pos, &act, fault);
    if (rc != CG_OK) return rc;
    move(op, chan, pos, &act);
    cg_publish(op, chan, pos, &act);
    return CG_RUN_STEP;
}

int cg_host_sweep(const struct cg_op *op, struct cg_pos *pos, int budget, int *ran, struct cg_fault *fault)
{
    int moved = 1, unfinished = op->nchan;

    while (moved && unfinished > 0) {
        moved = unfinished = 0;
        for (uint32_t chan = 0; chan < op->nchan; chan++) {
            if (pos[chan].done) continue;
            if (budget <= 0) return CG_AGAIN;
            int rc = cg_host_step(op, chan, &pos[chan], fault);
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
