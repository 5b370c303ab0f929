/* SPDX-License-Identifier: BSD-3-Clause
 * Posting to the fast executor: what an operation looks like to the GPU. */
#include "kernels/cuda/fast_copy.h"
#include "kernels/cuda/fast_lead.h"

#define LL128_BLOCK_BYTES (CG_FAST_THREADS * 15)

static int at_most(int a, int b) { return a < b ? a : b; }

/* Blocks and threads. Lines belong to places, not to blocks: peers may choose differently. Without a wish one warp for
 * each group of LL128's lines, one block for each ring. */
void cg_fx_shape(const struct cg_fast *fast, struct cg_fast_run *r)
{
    const struct cg_fast_layout *l = &r->window->view.l;
    uint64_t work = r->big ? r->end - r->first : (r->bytes + LL128_BLOCK_BYTES - 1) / LL128_BLOCK_BYTES;
    int blocks = r->want_blocks > 0 ? r->want_blocks : (int) cg_min_u64(work, CG_FAST_BLOCKS);

    blocks = at_most(blocks, at_most(fast->max_blocks, fast->sms));
    if (r->window->shared && r->want_blocks <= 0) blocks = at_most(blocks, CG_FAST_SHARED_BLOCKS);
    if (r->big) blocks = at_most(blocks, (int) l->rings);
    r->blocks = at_most(blocks, CG_FAST_BLOCKS);
    r->threads = CG_FAST_THREADS;
    if (!r->big && r->blocks == 1 && r->bytes <= 1024) r->threads = r->bytes <= 256 ? 32 : 128;
}

/* An item takes a role about as long whatever its size: large chunks, but some for at least half of the rings. From
 * facts equal on all ranks. */
void cg_fx_split(struct cg_fast_run *r)
{
    const struct cg_fast_layout *l = &r->window->view.l;
    uint64_t nranks = r->window->view.nranks, row = nranks * l->rings;

    r->chunk = l->chunk;
    while (r->chunk > 2048 && 2 * r->bytes < row * r->chunk) r->chunk /= 2;
    r->first = r->window->group;
    r->end = r->window->group += (r->bytes + nranks * r->chunk - 1) / (nranks * r->chunk);
}

static void add_checks(struct cg_fast *fast, const struct cg_fast_op *op, struct cg_fast_run *r)
{
    struct cg_fast_check *c = &fast->ctl->check[r - fast->run];

    if (op->ncheck == 0) return;
    c->n = (uint64_t) op->ncheck;
    c->kind_want = op->kind_want;
    for (int i = 0; i < op->ncheck; i++) {
        c->posted[i] = op->posted[i];
        c->want[i] = op->want[i];
        c->kind[i] = op->kind[i];
    }
    r->cmd.misc |= CG_CMD_CHECK;
}

static int check_op(const struct cg_fast_window *w, const struct cg_fast_op *op)
{
    if (!w->usable || (op->protocol >= CG_FAST_COPY && op->ncheck) || op->root >= w->view.nranks) return CG_ERR_ARG;
    if (!cg_fast_knows(op->type, op->redop)) return CG_ERR_UNSUPPORTED;
    return op->count > cg_fast_window_max(w, op->coll, op->protocol) / (uint64_t) op->esize ? CG_ERR_LIMIT : CG_OK;
}

static struct cg_fast_run *free_run(struct cg_fast *fast)
{
    for (int i = 0; i < CG_FAST_OPS; i++) {
        if (fast->run[i].state == CG_FAST_FREE) return &fast->run[i];
    }
    return NULL;
}

int cg_fx_kernel(int coll, int protocol, int type)
{
    const int narrow = cg_type_narrow(type);

    if (protocol == CG_FAST_TWO_SHOT) return narrow ? CG_FX_BIG_NARROW : CG_FX_BIG;
    if (narrow) return CG_FX_NARROW;
    if (coll != CG_COLL_ALLREDUCE) return CG_FX_MOVE;
    return protocol == CG_FAST_LL ? CG_FX_LL : CG_FX_BOTH;
}

static void fill(struct cg_fast *fast, struct cg_fast_run *r, struct cg_fast_window *w, const struct cg_fast_op *op)
{
    const int small = op->protocol < CG_FAST_TWO_SHOT;

    r->window = w;
    r->cancelled = 0;
    r->since_ns = r->due_ns = 0;
    r->now_ns = op->now_us * 1000;
    r->bytes = op->count * (uint64_t) op->esize;
    r->big = op->protocol == CG_FAST_TWO_SHOT;
    r->protocol = op->protocol;
    r->coll = op->coll;
    if (r->big) cg_fx_split(r);
    r->want_blocks = op->blocks;
    cg_fx_shape(fast, r);
    r->cmd.src = (uint64_t) op->src;
    r->cmd.dst = (uint64_t) op->dst;
    r->cmd.count = small ? (uint32_t) op->count : 0;
    r->cmd.seq = small ? ++w->seq : 0;
    r->cmd.misc = CG_CMD(w->index, op->type, op->redop, r->blocks, r - fast->run, __builtin_ctz((unsigned) op->esize));
    r->cmd.misc |= cg_fast_flow(op->coll, op->root);
    r->kernel = r->needs = cg_fx_kernel(op->coll, op->protocol, op->type);
    if (op->protocol == CG_FAST_LL128) r->cmd.misc |= CG_CMD_LL128;
    if (op->expect_soon && fast->lingers && small) r->cmd.misc |= CG_CMD_LINGER;
    add_checks(fast, op, r);
}

int cg_fast_post(struct cg_fast *fast, struct cg_fast_window *w, const struct cg_fast_op *op, int *id)
{
    struct cg_fast_run *r = free_run(fast);
    int rc = check_op(w, op);

    if (rc != CG_OK) return rc;
    if (!r) return CG_AGAIN;
    if (cg_type_narrow(op->type) && (rc = cg_fx_load_narrow(fast)) != CG_OK) return rc;
    *id = (int) (r - fast->run);
    fast->busy++;
    if (op->count == 0) {
        r->window = w;
        r->cancelled = 0;
        r->state = CG_FAST_ENDED;
        r->status = CG_OK;
        return CG_OK;
    }
    fill(fast, r, w, op);
    r->state = CG_FAST_QUEUED;
    if (op->protocol >= CG_FAST_COPY) {
        if (op->protocol == CG_FAST_COPY) cg_copy_begin(r);
        else cg_lead_begin(&w->lead->lead, op->src, op->dst, r->bytes, r->cmd.misc);
        r->state = CG_FAST_COPYING;
        fast->copying++;
    }
    r->turn = ++fast->turns;
    cg_fx_advance(fast);
    return CG_OK;
}
