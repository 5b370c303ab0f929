/* SPDX-License-Identifier: BSD-3-Clause
 * The polling warp: the only one that reads host words. It takes posted operations, relays the words that they wait for
 * into GPU memory, and decides when the launch leaves. */
#ifndef CG_KERNELS_CUDA_POLL_CUH
#define CG_KERNELS_CUDA_POLL_CUH

#include "kernels/cuda/work.cuh"

struct cg_relay {
    const char *from; /* a line in host memory */
    char *to;         /* its watch */
};

struct cg_poller {
    struct cg_relay relay[CG_POSTS * CG_MAX_LINKS];
    uint32_t count;
};

/* Registers, equal in all lanes unless said otherwise. */
struct cg_poll_state {
    uint32_t lane, live; /* live: slots taken and not finished */
    uint64_t taken, cancels, entry;
    uint64_t n;        /* of slot lane */
    uint64_t progress; /* of worker lane */
    uint64_t start_ns, moved_ns, beat;
    bool closed;
};

static __device__ void cg_add_relays(struct cg_poller *p, const struct cg_launch *L, uint32_t slot, uint32_t lane)
{
    struct cg_post *post = &L->state->post[slot];
    struct cg_watch *watch = (struct cg_watch *) ((char *) post + cg_post_watch_offset(&post->op));
    uint32_t at = p->count, n = post->op.nlinks;

    if (lane < n) {
        p->relay[at + lane].from = (const char *) watch[lane].line;
        p->relay[at + lane].to = (char *) watch[lane].chan;
    }
    __syncwarp();
    if (lane == 0) p->count = at + n;
    __syncwarp();
}

/* Slots whose operation was taken and is not finished. */
static __device__ uint32_t cg_live_slots(const struct cg_launch *L, uint32_t lane)
{
    uint64_t n = cg_entry_n(cg_gpu_load(&L->state->live[lane]));

    return __ballot_sync(CG_ALL, n != 0 && cg_gpu_load(&L->state->finished[lane]) != n);
}

static __device__ void cg_set_relays(struct cg_poller *p, const struct cg_launch *L, const struct cg_poll_state *s)
{
    if (s->lane == 0) p->count = 0;
    __syncwarp();
    for (uint32_t rest = s->live; rest; rest &= rest - 1) cg_add_relays(p, L, __ffs(rest) - 1, s->lane);
}

static __device__ bool cg_may_take(const struct cg_launch *L, const struct cg_poll_state *s)
{
    return cg_entry_n(s->entry) == s->taken + 1 && cg_entry_nchan(s->entry) <= L->workers &&
           cg_entry_warps(s->entry) * 32 <= blockDim.x && !s->closed;
}

/* Copy the operation that s->entry names into GPU memory and show it to the workers. */
static __device__ void cg_take(struct cg_poller *p, const struct cg_launch *L, struct cg_poll_state *s)
{
    uint32_t slot = cg_entry_slot(s->entry), units = cg_entry_units(s->entry), lane = s->lane;
    const char *from = (const char *) &L->ctl->post[slot];
    uint4 *to = (uint4 *) &L->state->post[slot];

    __syncwarp(); /* behind the acquire of the entry */
    for (uint32_t u = lane; u < units; u += 4 * 32) {
        uint4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (u + k * 32 < units) v[k] = cg_ld16(from + (u + k * 32) * 16);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (u + k * 32 < units) to[u + k * 32] = v[k];
        }
    }
    __syncwarp();
    s->taken++;
    s->live |= 1u << slot;
    if (lane == slot) s->n = s->taken;
    if (lane == 0) {
        cg_gpu_store32(&L->state->left[slot], cg_entry_nchan(s->entry));
        cg_gpu_store(&L->state->live[slot], s->entry);
        cg_fence_gpu();
        cg_gpu_store(&L->state->taken, s->taken);
    }
    cg_add_relays(p, L, slot, lane);
}

/* Where a lane looks in the first round of loads: the next entry, cancels, and the lines of seven links. */
static __device__ const void *cg_poll_address(const struct cg_poller *p, const struct cg_launch *L, uint64_t next,
                                              uint32_t r, uint32_t part)
{
    if (r > 0) return r <= p->count ? p->relay[r - 1].from + 16 * part : NULL;
    if (part == 0) return &L->ctl->entry[next & (CG_POSTS - 2)]; /* a pair with the next one in it */
    return part == 1 ? &L->ctl->cancels : NULL;
}

/* One look at all host words; changes of lines are relayed. Four lanes a line. */
static __device__ void cg_poll_round(const struct cg_poller *p, const struct cg_launch *L, struct cg_poll_state *s,
                                     uint64_t *cancels)
{
    const int N = 4; /* loads in flight a lane */
    uint32_t part = s->lane & 3;
    bool few = p->count < 8;

    for (uint32_t base = 0; base <= p->count; base += 8 * N) {
        ulonglong2 v[N], old[N];
        bool moved = false;
#pragma unroll
        for (int k = 0; k < N; k++) {
            uint32_t r = base + k * 8 + (s->lane >> 2);
            const void *at = cg_poll_address(p, L, s->taken + 1, r, part);
            v[k] = old[k] = make_ulonglong2(0, 0);
            if (!at) continue;
            v[k] = few ? cg_pair_acquire(at) : cg_pair_relaxed(at);
            old[k] = r ? cg_gpu_pair_relaxed(p->relay[r - 1].to + 16 * part) : v[k];
            moved |= v[k].x != old[k].x || v[k].y != old[k].y;
        }
        if (base == 0) {
            s->entry = __shfl_sync(CG_ALL, ((s->taken + 1) & 1) ? v[0].y : v[0].x, 0);
            *cancels = __shfl_sync(CG_ALL, v[0].x, 1);
        }
        if (!few) cg_fence_sys();
        else if (moved) cg_fence_gpu();
#pragma unroll
        for (int k = 0; k < N; k++) {
            uint32_t r = base + k * 8 + (s->lane >> 2);
            if (v[k].x != old[k].x || v[k].y != old[k].y) cg_gpu_pair_store(p->relay[r - 1].to + 16 * part, v[k]);
        }
    }
}

static __device__ void cg_relay_cancels(const struct cg_launch *L, struct cg_poll_state *s, uint64_t cancels)
{
    s->cancels = cancels;
    cg_gpu_max(&L->state->cancel[s->lane], cg_load_acquire(&L->ctl->cancel[s->lane]));
    cg_fence_gpu();
    __syncwarp();
    if (s->lane == 0) {
        cg_gpu_store(&L->state->cancels, cancels);
        cg_fence_gpu();
        cg_gpu_add(&L->state->orders, 1);
    }
}

/* What the workers have done since the last look: progress of worker lane, number that slot lane finished last. */
static __device__ void cg_look_at_workers(struct cg_poller *p, const struct cg_launch *L, struct cg_poll_state *s,
                                          uint64_t progress, uint64_t finished, uint64_t now)
{
    uint32_t live = __ballot_sync(CG_ALL, ((s->live >> s->lane) & 1) && finished != s->n);

    if (__any_sync(CG_ALL, progress != s->progress || (progress & 1))) s->moved_ns = now;
    s->progress = progress;
    if (live != s->live) {
        s->live = live;
        cg_set_relays(p, L, s);
    }
}

/* Nothing to do here: leave, unless something was posted that may be taken. The hand-shake of ctl.h. */
static __device__ bool cg_may_leave(const struct cg_launch *L, struct cg_poll_state *s)
{
    uint64_t next = s->taken + 1, e = 0;

    if (s->lane == 0) {
        cg_store_relaxed(&L->ctl->state, L->id << 2 | CG_LAUNCH_LEAVING);
        cg_fence_sc();
        e = cg_load_acquire(&L->ctl->entry[next & (CG_POSTS - 1)]);
    }
    s->entry = __shfl_sync(CG_ALL, e, 0);
    if (!cg_may_take(L, s)) return true;
    if (s->lane == 0) cg_store_relaxed(&L->ctl->state, L->id << 2 | CG_LAUNCH_RUNNING);
    return false;
}

static __device__ void cg_poll_init(struct cg_poller *p, const struct cg_launch *L, struct cg_poll_state *s)
{
    s->lane = threadIdx.x;
    s->start_ns = s->moved_ns = __shfl_sync(CG_ALL, cg_now_ns(), 0);
    s->beat = cg_gpu_load(&L->state->beat);
    s->taken = cg_gpu_load(&L->state->taken);
    s->cancels = cg_gpu_load(&L->state->cancels);
    s->progress = s->lane < L->workers ? cg_gpu_load(&L->state->progress[s->lane]) : 0;
    s->n = cg_entry_n(cg_gpu_load(&L->state->live[s->lane]));
    s->live = cg_live_slots(L, s->lane);
    s->closed = false;
    s->entry = L->entry;
    cg_set_relays(p, L, s);
}

/* Warp 0 of block 0. */
static __device__ void cg_poll(struct cg_poller *p, const struct cg_launch *L)
{
    struct cg_poll_state s;
    uint64_t cancels, now, progress, finished;
    bool leave = false;

    cg_poll_init(p, L, &s);
    if (cg_may_take(L, &s)) cg_take(p, L, &s);
    while (!leave) {
        /* in flight beside the round's loads */
        progress = s.lane < L->workers ? cg_gpu_load(&L->state->progress[s.lane]) : 0;
        finished = cg_gpu_load(&L->state->finished[s.lane]);
        cg_poll_round(p, L, &s, &cancels);
        if (cancels != s.cancels) cg_relay_cancels(L, &s, cancels);
        now = __shfl_sync(CG_ALL, cg_now_ns(), 0);
        s.closed = now - s.start_ns > L->age_ns;
        cg_look_at_workers(p, L, &s, progress, finished, now);
        if (s.lane == 0) cg_gpu_store(&L->state->beat, ++s.beat);
        if (cg_may_take(L, &s)) {
            cg_take(p, L, &s);
            s.moved_ns = now;
        } else {
            leave = (s.live == 0 || (int64_t) (now - s.moved_ns) > (int64_t) L->spin_ns) && cg_may_leave(L, &s);
        }
    }
    __syncwarp();
    if (s.lane == 0) {
        cg_fence_gpu(); /* behind the last relay */
        cg_gpu_store(&L->state->leave, L->id);
        cg_fence_gpu();
        cg_gpu_add(&L->state->orders, 1);
    }
    __syncwarp();
}

#endif
