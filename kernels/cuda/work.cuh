/* SPDX-License-Identifier: BSD-3-Clause
 * A worker block: runs one channel of every operation. Warp 0 decides, the block moves the data. */
#ifndef CG_KERNELS_CUDA_WORK_CUH
#define CG_KERNELS_CUDA_WORK_CUH

#include "kernels/cuda/move.cuh"
#include "kernels/cuda/words.cuh"

#define CG_ALL 0xffffffffu
#define CG_CACHED 2
#define CG_STREAK 8 /* steps between looks at the news */
#define CG_SILENCE_NS 20000000u /* a worker that does not see its poller alive for so long leaves */

struct cg_worker {
    uint4 cache[CG_CACHED][sizeof(struct cg_post) / 16]; /* descriptors used last */
    uint64_t cached[CG_CACHED];
    uint64_t taken, orders; /* seen so far */
    /* operations not finished in this channel, in posting order */
    uint32_t count, first, current, oldest, leaving, run, bad;
    uint64_t n[CG_POSTS], chain[CG_POSTS], entry[CG_POSTS];
    struct cg_pos pos[CG_POSTS]; /* by slot */
    struct cg_move move;
    struct cg_act act;
    const struct cg_op *op; /* of current */
    alignas(16) struct cg_slot_hdr hdr[CG_MAX_LINKS];
    struct cg_fault fault;
    uint64_t progress, beat, heard_ns;
};

static __device__ __forceinline__ uint32_t cg_slot_at(const struct cg_worker *w, uint32_t i)
{
    return cg_entry_slot(w->entry[i]);
}

/* The functions below are called by all lanes of warp 0. */

static __device__ __forceinline__ void cg_count_progress(struct cg_worker *w, const struct cg_launch *L, uint32_t chan,
                                                         uint32_t by)
{
    w->progress += by;
    cg_gpu_store(&L->state->progress[chan], w->progress);
}

static __device__ void cg_remove(struct cg_worker *w, uint32_t i, uint32_t lane)
{
    bool moves = lane >= i && lane + 1 < w->count;
    uint64_t n = moves ? w->n[lane + 1] : 0, chain = moves ? w->chain[lane + 1] : 0, e = moves ? w->entry[lane + 1] : 0;

    __syncwarp();
    if (moves) w->n[lane] = n, w->chain[lane] = chain, w->entry[lane] = e;
    if (lane == 0) {
        w->count--;
        if (w->first > i) w->first--;
    }
    __syncwarp();
}

/* The channel is through with entry i, in whatever way. The last channel tells the host. What the block wrote is behind
 * the fence of its last cg_publish (or of cg_fail). finished carries a number, so nothing orders it. */
static __device__ void cg_finish(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t i,
                                 uint32_t lane)
{
    if (lane == 0) {
        uint32_t slot = cg_slot_at(w, i), several = cg_entry_nchan(w->entry[i]) > 1;
        struct cg_saved *saved = &L->state->saved[slot][chan];

        saved->n = w->n[i];
        saved->pos.done = 1;
        if (!several || atomicSub(&L->state->left[slot], 1u) == 1) {
            if (several) cg_fence_sys(); /* behind the other channels */
            cg_store_relaxed(&L->ctl->done[slot], w->n[i]);
            cg_gpu_store(&L->state->finished[slot], w->n[i]);
        }
        cg_count_progress(w, L, chan, 2);
    }
    cg_remove(w, i, lane);
}

/* Whoever is first reports; the other channels drop the operation when they see its number in cancel. */
static __device__ void cg_fail(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t i, uint32_t lane)
{
    if (lane == 0) {
        uint32_t slot = cg_slot_at(w, i);

        if (cg_gpu_max(&L->state->faulted[slot], w->n[i]) < w->n[i]) {
            L->ctl->fault[slot] = w->fault;
            cg_gpu_max(&L->state->cancel[slot], w->n[i]);
            cg_fence_sys();
            cg_gpu_add(&L->state->orders, 1);
        }
    }
    cg_finish(w, L, chan, i, lane);
}

static __device__ void cg_load_pos(struct cg_pos *pos, const struct cg_saved *saved, bool kept)
{
    const uint64_t *from = (const uint64_t *) &saved->pos;
    uint64_t *to = (uint64_t *) pos;

    for (uint32_t i = 0; i < sizeof *pos / 8; i++) to[i] = kept ? from[i] : 0;
}

/* What a lane reads of slot lane when there is news, all loads in flight at once. */
struct cg_glance {
    uint64_t entry, cancel, chain, saved_n, leave;
    bool saved_done;
};

static __device__ struct cg_glance cg_look(const struct cg_launch *L, uint32_t chan, uint32_t lane)
{
    const struct cg_saved *saved = &L->state->saved[lane][chan];
    struct cg_glance g;
    uint64_t pos;

    g.entry = cg_gpu_load(&L->state->live[lane]);
    g.cancel = cg_gpu_load(&L->state->cancel[lane]);
    g.chain = cg_gpu_load(&L->state->post[lane].chain);
    g.saved_n = cg_gpu_load(&saved->n);
    pos = cg_gpu_load((const uint64_t *) &saved->pos);
    g.leave = cg_gpu_load(&L->state->leave);
    g.saved_done = pos >> 48 != 0;
    return g;
}
CG_STATIC_ASSERT(offsetof(struct cg_pos, done) == 6, "done is in the upper bits of the first word");

/* New operations: those between what was seen and taken that have this channel and are not finished in it. */
static __device__ void cg_merge(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t lane,
                                const struct cg_glance *g, uint64_t taken)
{
    uint64_t n = cg_entry_n(g->entry);
    bool kept = g->saved_n == n;
    bool mine = cg_entry_nchan(g->entry) > chan && n > w->taken && n <= taken && !(kept && g->saved_done);
    uint32_t mask = __ballot_sync(CG_ALL, mine), at = w->count;

    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        at += __shfl_sync(CG_ALL, n, __ffs(rest) - 1) < n;
    }
    if (mine) {
        w->n[at] = n;
        w->entry[at] = g->entry;
        w->chain[at] = g->chain;
        cg_load_pos(&w->pos[lane], &L->state->saved[lane][chan], kept);
    }
    __syncwarp();
    if (lane == 0) {
        w->count += __popc(mask);
        w->taken = taken;
    }
    __syncwarp();
}

static __device__ void cg_drop_cancelled(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t lane,
                                         const struct cg_glance *g)
{
    bool here = lane < w->count;
    uint64_t cancel = __shfl_sync(CG_ALL, g->cancel, here ? cg_slot_at(w, lane) : 0);
    uint32_t mask = __ballot_sync(CG_ALL, here && cancel == w->n[lane]);

    for (int i = 31; mask && i >= 0; i--) {
        if ((mask >> i) & 1) cg_finish(w, L, chan, i, lane);
    }
}

static __device__ void cg_listen(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t lane)
{
    ulonglong2 news = cg_gpu_pair_acquire(&L->state->taken);

    news.x = __shfl_sync(CG_ALL, news.x, 0);
    news.y = __shfl_sync(CG_ALL, news.y, 0);
    if (news.x == w->taken && news.y == w->orders) return;
    struct cg_glance g = cg_look(L, chan, lane);
    __syncwarp();
    if (lane == 0) {
        w->orders = news.y;
        w->leaving = g.leave == L->id;
    }
    if (news.x != w->taken) cg_merge(w, L, chan, lane, &g, news.x);
    cg_drop_cancelled(w, L, chan, lane, &g);
    __syncwarp();
}

/* Operations of one communicator run in order in each channel. */
static __device__ bool cg_may_run(const struct cg_worker *w, uint32_t i, uint32_t lane)
{
    return !__any_sync(CG_ALL, lane < i && w->chain[lane] == w->chain[i]);
}

static __device__ const struct cg_op *cg_descriptor(struct cg_worker *w, const struct cg_launch *L, uint32_t i,
                                                    uint32_t lane)
{
    const uint4 *from = (const uint4 *) &L->state->post[cg_slot_at(w, i)];
    uint32_t units = cg_entry_units(w->entry[i]), c = w->oldest;

    for (uint32_t k = 0; k < CG_CACHED; k++) {
        if (w->cached[k] != w->n[i]) continue;
        return &((struct cg_post *) w->cache[k])->op;
    }
    __syncwarp();
    for (uint32_t u = lane; u < units; u += 32) w->cache[c][u] = from[u];
    if (lane == 0) {
        w->cached[c] = w->n[i];
        w->oldest = (c + 1) % CG_CACHED;
    }
    __syncwarp();
    return &((struct cg_post *) w->cache[c])->op;
}

/* Headers of all slots that the step reads, in one round of loads, then each lane checks one. */
static __device__ bool cg_headers_match(struct cg_worker *w, const struct cg_op *op, uint32_t chan,
                                        const struct cg_pos *pos, uint32_t lane)
{
    const uint32_t parts = 3; /* of 16 bytes: the rest is padding */
    const struct cg_step *s = &w->act.step;
    struct cg_span in = cg_step_in(s, op->nall);
    uint32_t l0 = in.from, nl = in.to - in.from, bad;
    uint64_t seq;

    for (uint32_t k = lane; k < nl * parts; k += 32) {
        const char *h = (const char *) cg_in_slot(op, pos, chan, l0 + k / parts);
        ((uint4 *) &w->hdr[k / parts])[k % parts] = cg_ld16(h + 16 * (k % parts));
    }
    __syncwarp();
    seq = lane < nl ? cg_op_links(op)[l0 + lane].recv_base[chan] + pos->rcvd[l0 + lane] : 0;
    bad = __ballot_sync(CG_ALL, lane < nl && cg_check_slot(op, &w->hdr[lane], seq, w->act.bytes, l0 + lane, &w->fault));
    if (!bad) return true;
    __syncwarp(); /* several lanes may have written the fault: the first one's stays */
    if (lane == __ffs(bad) - 1) cg_check_slot(op, &w->hdr[lane], seq, w->act.bytes, l0 + lane, &w->fault);
    __syncwarp();
    return false;
}

static __device__ __forceinline__ const struct cg_post *cg_post_of(const struct cg_op *op)
{
    return (const struct cg_post *) ((const char *) op - offsetof(struct cg_post, op));
}

/* How elements lie in the sources and destinations: lane 0. A narrow type is computed in float where something is
 * reduced, and converted between the user's buffers and slots that hold floats. */
static __device__ void cg_plan_format(struct cg_move *m, const struct cg_op *op, const struct cg_act *a,
                                      const struct cg_post *post)
{
    bool to_user = a->dst && m->ndst && m->dst[0] == a->dst && !(a->step.flags & CG_F_INTO_SLOT), converts;

    m->user_src = !a->operand ? CG_NONE
                  : cg_step_all_in(a->step.opcode) ? op->self_pos - a->step.rlink
                                                   : m->src[0] != a->operand;
    m->user_dst = to_user ? 0 : CG_NONE;
    m->wide = cg_op_wide(op);
    converts = m->wide && (m->user_src == CG_NONE ? to_user : m->ndst > to_user);
    m->narrow = cg_type_narrow(op->type) && (m->nsrc > 1 || converts) ? op->type : CG_NONE;
    m->bytes = m->ndst == 0 ? 0 : a->in || m->ndst > to_user ? a->bytes : a->n * op->usize;
    m->n = m->ndst == 0 ? 0 : a->n;
    m->redop = op->redop;
    m->kind = post->kind;
    m->data = post->data;
}

/* Sources and destinations of the step. */
static __device__ void cg_plan_move(struct cg_worker *w, const struct cg_op *op, uint32_t chan,
                                    const struct cg_pos *pos, uint32_t lane)
{
    const struct cg_act *a = &w->act;
    struct cg_move *m = &w->move;
    uint32_t first = a->step.rlink, n = op->nall - first, l = first + lane; /* of an ALL step */

    if (cg_step_all_in(a->step.opcode)) {
        if (lane < n) m->src[lane + (l >= op->self_pos)] = cg_slot_payload(cg_in_slot(op, pos, chan, l));
        if (lane == 0) m->src[op->self_pos - first] = a->operand, m->nsrc = n + 1;
    } else if (lane == 0) {
        const char *slot = a->in ? cg_slot_payload(a->in) : NULL;
        bool slot_first = slot && (!a->operand || (a->step.flags & CG_F_SLOT_FIRST));

        m->src[0] = slot_first ? slot : a->operand;
        m->src[1] = slot_first ? a->operand : slot;
        m->nsrc = 1 + (slot && a->operand);
    }
    if (cg_step_all_out(a->step.opcode)) {
        if (lane < n) m->dst[lane] = cg_slot_payload(cg_out_slot(op, pos, chan, l));
        if (lane == 0) m->ndst = n;
    } else if (lane == 0) {
        m->ndst = 0;
        if (a->dst && !(m->nsrc == 1 && a->dst == m->src[0])) m->dst[m->ndst++] = a->dst;
        if (a->out) m->dst[m->ndst++] = cg_slot_payload(a->out);
    }
    if (lane == 0) cg_plan_format(m, op, a, cg_post_of(op));
    __syncwarp();
}

/* Try entry i: CG_RUN_STEP with the move planned, CG_AGAIN, or CG_DONE if the entry is gone. */
static __device__ int cg_try(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t i, uint32_t lane)
{
    const struct cg_op *op = cg_descriptor(w, L, i, lane);
    struct cg_pos *pos = &w->pos[cg_slot_at(w, i)];
    int rc = CG_AGAIN;

    if (lane == 0) rc = cg_decide(op, chan, pos, &w->act);
    rc = __shfl_sync(CG_ALL, rc, 0);
    __syncwarp();
    if (rc == CG_DONE) cg_finish(w, L, chan, i, lane);
    if (rc != CG_RUN_STEP) return rc;
    cg_plan_move(w, op, chan, pos, lane);
    if (lane == 0) {
        w->current = i;
        w->op = op;
        cg_count_progress(w, L, chan, 1); /* odd: moving */
    }
    return CG_RUN_STEP;
}

/* One sweep over all operations, starting behind the one that ran last. */
static __device__ bool cg_sweep(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t lane)
{
    for (uint32_t k = 0; k < w->count; k++) {
        uint32_t i = (w->first + k) % w->count;
        int rc = cg_may_run(w, i, lane) ? cg_try(w, L, chan, i, lane) : CG_AGAIN;

        if (rc == CG_RUN_STEP) return true;
        if (rc == CG_DONE) k = CG_ALL; /* the list has changed: from the start */
    }
    return false;
}

static __device__ bool cg_poller_silent(struct cg_worker *w, const struct cg_launch *L)
{
    uint64_t beat = cg_gpu_load(&L->state->beat), now = cg_now_ns();

    if (beat != w->beat) {
        w->beat = beat;
        w->heard_ns = now;
    }
    return now - w->heard_ns > CG_SILENCE_NS;
}

/* Until there is a step to run (true) or the worker has to leave. News is looked at when nothing runs, and now and then
 * so that no operation keeps the others from starting. */
static __device__ bool cg_choose(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t lane,
                                 uint32_t steps)
{
    uint32_t idle = 0;

    __syncwarp(); /* behind what lane 0 did after the move */
    if (w->bad) {
        __syncwarp();
        cg_fail(w, L, chan, w->current, lane);
        if (lane == 0) w->bad = 0;
        __syncwarp();
    }
    if (steps % CG_STREAK && cg_sweep(w, L, chan, lane)) return true;
    for (;;) {
        cg_listen(w, L, chan, lane);
        if (cg_sweep(w, L, chan, lane)) return true;
        if (w->leaving) return false;
        if (++idle % 32 == 0 && __shfl_sync(CG_ALL, lane == 0 && cg_poller_silent(w, L), 0)) return false;
        __syncwarp();
    }
}

static __device__ void cg_save(struct cg_worker *w, const struct cg_launch *L, uint32_t chan, uint32_t lane)
{
    if (lane >= w->count) return;
    struct cg_saved *saved = &L->state->saved[cg_slot_at(w, lane)][chan];
    const uint64_t *from = (const uint64_t *) &w->pos[cg_slot_at(w, lane)];
    uint64_t *to = (uint64_t *) &saved->pos;

    saved->n = w->n[lane];
    for (uint32_t i = 0; i < sizeof saved->pos / 8; i++) to[i] = from[i];
}

static __device__ void cg_work_init(struct cg_worker *w, const struct cg_launch *L, uint32_t chan)
{
    w->taken = w->progress = w->beat = 0;
    w->orders = ~0ull; /* look at them first */
    w->count = w->first = w->oldest = w->leaving = w->bad = 0;
    for (uint32_t k = 0; k < CG_CACHED; k++) w->cached[k] = 0;
    w->progress = cg_gpu_load(&L->state->progress[chan]) & ~1ull;
    w->heard_ns = cg_now_ns();
}

/* Between the first loads and the first store of a move: the slots must be the messages that the step expects. */
struct cg_gate {
    struct cg_worker *w;
    uint32_t chan;

    __device__ __forceinline__ bool operator()() const
    {
        if (!cg_step_recvs(w->act.step.opcode)) return true;
        if (threadIdx.x < 32) {
            bool good = cg_headers_match(w, w->op, chan, &w->pos[cg_slot_at(w, w->current)], threadIdx.x);
            if (threadIdx.x == 0) w->bad = !good;
        }
        __syncthreads();
        return !w->bad;
    }
};

/* The whole block. */
static __device__ __forceinline__ void cg_work(struct cg_worker *w, const struct cg_launch *L, uint32_t chan)
{
    uint32_t lane = threadIdx.x, steps = 0;

    if (threadIdx.x == 0) cg_work_init(w, L, chan);
    __syncthreads();
    for (;;) {
        if (threadIdx.x < 32) {
            bool run = cg_choose(w, L, chan, lane, steps++);
            if (lane == 0) w->run = run;
        }
        __syncthreads();
        if (!w->run) break;
        bool moved = cg_move_run(&w->move, cg_gate{w, chan});
        __syncthreads();
        if (threadIdx.x == 0) {
            if (moved) cg_publish(w->op, chan, &w->pos[cg_slot_at(w, w->current)], &w->act);
            cg_count_progress(w, L, chan, 1);
            w->first = w->current + 1;
        }
    }
    if (threadIdx.x < 32) cg_save(w, L, chan, lane);
}

#endif
