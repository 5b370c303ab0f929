/* SPDX-License-Identifier: BSD-3-Clause
 * A group's way to the fast executor. Windows are exported and opened through the notes of the shm links, without
 * messages and without waiting; until every rank is ready, operations take the general path. Which path an operation
 * takes follows from what all ranks announced for it, so it is the same everywhere. */
#include "engine/internal.h"
#include "plan/choose.h"

#include <stdlib.h>
#include <string.h>

/* Written by a rank for one neighbour, in two parts. stamp, written last: twice the tenancy of the link that it belongs
 * to, plus 1 when the card is there too. */
struct fast_note {
    uint64_t stamp, big;
    struct cg_fast_card card;
};
#define MEET (CG_NOTE_BYTES - CG_FAST_MEET_BYTES) /* where the fast executor's own words lie in a note */
CG_STATIC_ASSERT(sizeof(struct fast_note) <= MEET, "a note fits");

static uint64_t stamp_of(const struct cg_link_end *end, int with_card)
{
    return 2 * (end->tenants + 1) + (uint64_t) with_card;
}

static int able(const struct cg_group *g)
{
    if (!g->params.fast || g->size < 2 || g->size > CG_FAST_RANKS || g->nneighbors != (int) g->size - 1) return 0;
    for (int i = 0; i < g->nneighbors; i++) {
        if (CG_MEDIUM_SHM != g->link[i]->medium) return 0;
    }
    return 1;
}

static void give_up(struct cg_group *g, const char *why)
{
    g->fast.state = CG_FAST_FAILED;
    if (g->fast.big) g->proc->fast_big = 0;
    g->fast.big = 0;
    CG_LOG(1, "rank %u of %s: no direct path between GPUs: %s; host memory is used between them", g->rank, g->label,
           why);
}

static void offer(struct cg_group *g, int device)
{
    g->fast.device = device;
    g->fast.big = !g->proc->fast_big;
    g->proc->fast_big = 1;
    for (int i = 0; i < g->nneighbors; i++) {
        struct fast_note *note = g->link[i]->note_out;
        note->big = (uint64_t) g->fast.big;
        cg_store_release(&note->stamp, stamp_of(g->link[i], 0));
    }
    g->fast.state = CG_FAST_OFFERED;
}

/* A big window if it is free on every rank. CG_AGAIN: not all have said so yet. */
static int agree_on_size(struct cg_group *g)
{
    int big = g->fast.big;

    for (int i = 0; i < g->nneighbors; i++) {
        const struct fast_note *note = g->link[i]->note_in;
        if (cg_load_acquire(&note->stamp) < stamp_of(g->link[i], 0)) return CG_AGAIN;
        big &= (int) note->big;
    }
    if (g->fast.big && !big) g->proc->fast_big = 0;
    g->fast.big = big;
    return CG_OK;
}

static int open_exec(struct cg_proc *proc, int device, char *why, size_t len)
{
    int rc;

    if (proc->fast[device]) return CG_OK;
    rc = cg_fast_open(device, &proc->params, &proc->fast[device], why, len);
    if (CG_OK != rc) proc->fast[device] = NULL;
    return rc;
}

static void export(struct cg_group *g)
{
    struct cg_fast_card card;
    char why[256] = "";

    if (CG_OK != agree_on_size(g)) return;
    cg_fast_reap(g->proc, 0);
    if (CG_OK != open_exec(g->proc, g->fast.device, why, sizeof(why))) {
        give_up(g, why);
        return;
    }
    g->fast.exec = g->proc->fast[g->fast.device];
    if (CG_OK != cg_fast_window_alloc(g->fast.exec, g->size, g->rank, g->fast.big, &g->fast.window, &card)) {
        g->fast.window = NULL;
        give_up(g, "no GPU memory for a window");
        return;
    }
    for (int i = 0; i < g->nneighbors; i++) {
        struct fast_note *note = g->link[i]->note_out;
        note->card = card;
        cg_fast_window_meet(g->fast.window, g->neighbor[i], (const char *) g->link[i]->note_in + MEET,
                            (char *) g->link[i]->note_out + MEET);
        cg_store_release(&note->stamp, stamp_of(g->link[i], 1));
    }
    g->fast.state = CG_FAST_EXPORTED;
}

static void import(struct cg_group *g)
{
    int shared = 0, wide;

    for (int i = 0; i < g->nneighbors; i++) {
        const struct fast_note *note = g->link[i]->note_in;
        if ((g->fast.imported >> i) & 1) continue;
        if (cg_load_acquire(&note->stamp) != stamp_of(g->link[i], 1)) return;
        if (CG_OK != cg_fast_window_import(g->fast.window, g->neighbor[i], &note->card, &shared)) {
            give_up(g, "a neighbour's memory cannot be opened (no peer access, or another container)");
            return;
        }
        g->fast.imported |= 1ull << i;
    }
    g->fast.state = CG_FAST_READY;
    g->fast.shared = shared;
    wide = 0 != cg_fast_window_max(g->fast.window, CG_COLL_ALLREDUCE, CG_FAST_LL128);
    g->fast.kind = wide ? CG_EXEC_FAST : CG_EXEC_FAST_LL;
    CG_LOG(2, "rank %u of %s: GPUs reach each other directly%s", g->rank, g->label, shared ? ", some are shared" : "");
}

/* The sum of complex numbers is that of their parts. What is only moved is bytes. */
static int type_of(const struct cg_call *call)
{
    if (!cg_call_reduces(call->coll)) return CG_TYPE_U8;
    if (CG_REDOP_SUM != call->redop) return call->type;
    return CG_TYPE_C32 == call->type ? CG_TYPE_F32 : CG_TYPE_C64 == call->type ? CG_TYPE_F64 : call->type;
}

static int redop_of(const struct cg_call *call) { return cg_call_reduces(call->coll) ? call->redop : CG_REDOP_SUM; }

/* By what the window carries, alike on all ranks: they have announced the same kind. blocking is the same on all ranks,
 * too, as MPI's blocking and nonblocking collectives do not match. */
static const struct cg_row *choose(const struct cg_req *req)
{
    struct cg_group *g = req->group;
    uint64_t bytes = req->fast_bytes;
    unsigned usable = 0;

    if (g->fast.row && bytes == g->fast.row_bytes && req->fast_coll == g->fast.row_coll &&
        req->call.blocking == g->fast.row_blocking) {
        return g->fast.row;
    }
    for (int p = 0; p < CG_FAST_PROTOCOLS; p++) {
        uint64_t max = cg_fast_window_max(g->fast.window, req->fast_coll, p);
        usable |= (unsigned) (max && bytes <= max) << p;
    }
    if (!req->call.blocking) usable &= ~(1u << CG_FAST_COPY); /* the host drives it */
    g->fast.row = cg_choose_fast(g->table, req->fast_coll, g->size, bytes, usable);
    g->fast.row_bytes = bytes;
    g->fast.row_coll = req->fast_coll;
    g->fast.row_blocking = req->call.blocking;
    return g->fast.row;
}

/* Blocks for the row. Where ranks share a GPU, there is only that much of it. */
static int blocks_for(const struct cg_group *g, const struct cg_row *row, uint64_t bytes)
{
    int blocks = cg_choose_blocks(row, bytes);

    return g->fast.shared && blocks > CG_FAST_SHARED_BLOCKS ? CG_FAST_SHARED_BLOCKS : blocks;
}

void cg_fast_prepare(struct cg_req *req)
{
    struct cg_group *g = req->group;

    req->fast = 0;
    if (CG_EXEC_SM != req->executor || CG_FAST_FAILED == g->fast.state || !able(g) ||
        !cg_fast_knows(type_of(&req->call), redop_of(&req->call)))
        return;
    if (CG_FAST_OFF == g->fast.state && g->opno >= (uint32_t) g->params.fast_after) offer(g, req->dmem.device);
    if (CG_FAST_OFFERED == g->fast.state) export(g);
    if (CG_FAST_EXPORTED == g->fast.state) import(g);
    if (CG_FAST_READY != g->fast.state || g->fast.device != req->dmem.device) return;
    req->row = cg_fast_shape(req) ? choose(req) : NULL;
    if (NULL == req->row || CG_GENERAL == req->row->protocol) return;
    if (cg_fast_window_must_clean(g->fast.window)) { /* alike on all ranks: this one goes another way */
        if (CG_OK != cg_fast_window_clean(g->fast.window)) give_up(g, "a window cannot be cleaned");
        return;
    }
    req->fast = 1;
}

void cg_fast_expect(const struct cg_group *g)
{
    if (CG_FAST_READY != g->fast.state) return;
    cg_fast_expect_post(g->fast.exec);
    for (int i = 0; i < g->nneighbors; i++) {
        const struct cg_link_end *end = g->link[i];
        __builtin_prefetch(&end->announce_out[(end->op_base + g->opno + 1) % CG_ANNOUNCE], 1);
    }
}

/* CG_OK: all have announced the same fast path as I; CG_ERR_UNSUPPORTED: one another; CG_AGAIN: one has announced
 * nothing yet. */
static int agreed(const struct cg_req *req)
{
    const struct cg_group *g = req->group;
    int rc = CG_OK;

    for (int i = 0; i < g->nneighbors; i++) {
        const struct cg_link_end *end = g->link[i];
        uint64_t op = end->op_base + req->opno;
        const struct cg_announce *a = &end->announce_in[op % CG_ANNOUNCE];
        if (cg_load_acquire(&a->op) != op) {
            rc = CG_AGAIN;
        } else if (g->fast.kind != a->executor) {
            return CG_ERR_UNSUPPORTED;
        }
    }
    return rc;
}

static void add_checks(const struct cg_req *req, struct cg_fast_op *op)
{
    const struct cg_group *g = req->group;

    op->kind_want = (uint64_t) g->fast.kind;
    for (int i = 0; i < g->nneighbors; i++) {
        const struct cg_link_end *end = g->link[i];
        op->posted[i] = &end->mine->posted;
        op->want[i] = end->op_base + req->opno;
        op->kind[i] = (const uint64_t *) &end->announce_in[op->want[i] % CG_ANNOUNCE].executor;
    }
    op->ncheck = g->nneighbors;
}

static int expect_soon(struct cg_group *g, uint64_t now)
{
    uint64_t gap = now > g->fast.ended_at ? now - g->fast.ended_at : 0;

    return cg_soon(&g->fast.soon, gap, (uint64_t) g->proc->params.linger_us);
}

int cg_fast_dispatch(struct cg_req *req)
{
    struct cg_group *g = req->group;
    struct cg_fast_op op = {0};
    int rc = agreed(req);

    /* LEAD's leaders would look at what is not there yet. */
    if (CG_AGAIN == rc && CG_FAST_LEAD == req->row->protocol) return rc;
    if (CG_ERR_UNSUPPORTED == rc || (CG_AGAIN == rc && req->call.blocking)) return rc;
    if (CG_AGAIN == rc) add_checks(req, &op);
    op.src = req->src;
    op.dst = req->dst;
    op.type = type_of(&req->call);
    op.coll = req->fast_coll;
    op.root = req->call.root;
    op.redop = redop_of(&req->call);
    op.esize = cg_type_size(op.type);
    op.count = req->fast_bytes / (uint64_t) op.esize;
    op.protocol = req->row->protocol;
    op.blocks = blocks_for(g, req->row, req->fast_bytes);
    op.now_us = req->call.blocking ? req->posted_at : cg_now_us();
    op.expect_soon = expect_soon(g, op.now_us);
    rc = cg_fast_post(g->fast.exec, g->fast.window, &op, &req->fast_id);
    if (CG_OK != rc) return rc;
    req->executor = CG_EXEC_FAST;
    g->proc->counters.native_fast++;
    return CG_OK;
}

int cg_fast_finish(struct cg_req *req)
{
    int rc = cg_fast_test(req->group->fast.exec, req->fast_id);

    if (CG_AGAIN == rc) return CG_AGAIN;
    req->fast_id = -1;
    req->group->fast.ended_at = cg_now_us();
    req->plan = cg_protocol_name(cg_fast_window_took(req->group->fast.window));
    return rc;
}

void cg_fast_bury(struct cg_group *group)
{
    struct cg_fast_grave *grave;

    if (NULL == group->fast.window) {
        if (group->fast.big) group->proc->fast_big = 0;
        return;
    }
    grave = calloc(1, sizeof(*grave));
    if (NULL == grave) return; /* the window stays until close */
    grave->window = group->fast.window;
    for (int i = 0; i < group->nneighbors; i++) {
        grave->line[i] = group->link[i]->mine;
        grave->closed[i] = group->link[i]->tenants + 1;
    }
    grave->n = group->nneighbors;
    grave->big = group->fast.big;
    grave->next = group->proc->graves;
    group->proc->graves = grave;
    group->fast.window = NULL;
}

static int buried_for_good(const struct cg_fast_grave *grave)
{
    for (int i = 0; i < grave->n; i++) {
        if (cg_load_acquire(&grave->line[i]->closed) < grave->closed[i]) return 0;
    }
    return 1;
}

void cg_fast_reap(struct cg_proc *proc, int all)
{
    struct cg_fast_grave **p = &proc->graves;

    while (*p) {
        struct cg_fast_grave *grave = *p;
        if (!all && !buried_for_good(grave)) {
            p = &grave->next;
            continue;
        }
        cg_fast_window_free(grave->window);
        if (grave->big) proc->fast_big = 0;
        *p = grave->next;
        free(grave);
    }
}
