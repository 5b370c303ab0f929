/* SPDX-License-Identifier: BSD-3-Clause
 * TWO_SHOT: reduce-scatter and all-gather in one stream of chunks. Three roles in every block, each a walk over the
 * groups of the block's rings:
 *   sender    own chunks to their owners' raw rings
 *   reducer   owned chunk of every rank, in rank order, to dst and to the result rings of all others
 *   receiver  results from the result rings to dst
 * A tail counts the slots that were filled, a head those that may be filled again; each lies with who polls it. Each
 * role waits for all that an item needs before it touches dst or a slot, and knows where it stands, so that a parked
 * operation goes on where it was: nothing is sent twice, no input is read after its place was written. */
#ifndef CG_KERNELS_CUDA_FAST_TWO_SHOT_CUH
#define CG_KERNELS_CUDA_FAST_TWO_SHOT_CUH

#include "kernels/cuda/fast_mem.cuh"
#include "kernels/cuda/fast_narrow.cuh"

#define CG_TS_CHUNK 16384
enum cg_ts_role { CG_TS_SEND, CG_TS_REDUCE, CG_TS_RECEIVE, CG_TS_ROLES };

struct cg_ts_shared {
    struct cg_fast_big a;
    struct cg_lanes lanes;
    volatile uint64_t progress; /* when a role last finished an item */
    volatile uint32_t go[CG_TS_ROLES];
    uint32_t parked;
    uint64_t loaded[2][8]; /* mbarriers of the stages of bulk copies */
};

/* Where a role stands: group row * rings + ring, and the distance of the peer. */
struct cg_ts_walk {
    uint64_t row;
    uint32_t ring, d;
};

static __device__ __forceinline__ uint64_t cg_ts_group(const struct cg_fast_big &a, const struct cg_ts_walk &at)
{
    return at.row * a.view.l.rings + at.ring;
}

static __device__ __forceinline__ bool cg_ts_valid(const struct cg_fast_big &a, const struct cg_ts_walk &at)
{
    return cg_ts_group(a, at) < a.end;
}

static __device__ __forceinline__ void cg_ts_next_group(const struct cg_fast_big &a, struct cg_ts_walk &at)
{
    at.ring += gridDim.x;
    if (at.ring < a.view.l.rings) return;
    at.ring = blockIdx.x;
    at.row++;
}

static __device__ __forceinline__ void cg_ts_next(const struct cg_fast_big &a, struct cg_ts_walk &at)
{
    if (++at.d < a.view.nranks) return;
    at.d = 1;
    cg_ts_next_group(a, at);
}

static __device__ __forceinline__ struct cg_fast_position *cg_ts_position(const struct cg_fast_big &a)
{
    return (struct cg_fast_position *) (a.view.base[a.view.rank] + a.view.l.positions) + blockIdx.x;
}

static __device__ __forceinline__ struct cg_ts_walk cg_ts_start(const struct cg_fast_big &a, int role)
{
    uint64_t saved = a.misc & CG_CMD_RESUME ? cg_ts_position(a)->at[role] : 0;
    struct cg_ts_walk at = {saved >> 16, (uint32_t) (saved >> 4) & 0xfff, (uint32_t) saved & 15};

    if (a.misc & CG_CMD_RESUME) return at;
    at.row = a.first / a.view.l.rings;
    at.ring = blockIdx.x;
    at.d = 1;
    while (cg_ts_group(a, at) < a.first) cg_ts_next_group(a, at);
    return at;
}

static __device__ __forceinline__ void cg_ts_save(struct cg_ts_shared &s, int role, const struct cg_ts_walk &at)
{
    cg_ts_position(s.a)->at[role] = at.row << 16 | at.ring << 4 | at.d;
    if (cg_ts_valid(s.a, at)) atomicOr(&s.parked, 1u);
}

static __device__ __forceinline__ uint32_t cg_ts_peer(const struct cg_fast_big &a, const struct cg_ts_walk &at)
{
    uint32_t p = a.view.rank + at.d;
    return p < a.view.nranks ? p : p - a.view.nranks;
}

/* Bytes of the chunk of this group that owner owns, and where it begins. */
static __device__ __forceinline__ uint32_t cg_ts_chunk(const struct cg_fast_big &a, const struct cg_ts_walk &at,
                                                       uint32_t owner, uint64_t *offset)
{
    uint64_t c = (cg_ts_group(a, at) - a.first) * a.view.nranks + owner;

    *offset = c * a.chunk;
    return *offset >= a.bytes ? 0 : (uint32_t) cg_min_u64(a.chunk, a.bytes - *offset);
}

/* A slot of this walk's ring, filled by source, in receiver's window. */
static __device__ __forceinline__ char *cg_ts_slot(const struct cg_fast_big &a, const struct cg_ts_walk &at,
                                                   uint64_t area, uint32_t source, uint32_t receiver)
{
    const struct cg_fast_layout *l = &a.view.l;
    uint64_t ring = (uint64_t) cg_fast_part(source, receiver) * l->rings + at.ring;

    return a.view.base[receiver] + area + (ring * l->slots + (at.row & (l->slots - 1))) * l->chunk;
}

/* A word in holder's window that the peer other writes. */
static __device__ __forceinline__ uint64_t *cg_ts_word(const struct cg_fast_big &a, const struct cg_ts_walk &at,
                                                       int kind, uint32_t other, uint32_t holder)
{
    const struct cg_fast_layout *l = &a.view.l;
    uint64_t i = ((uint64_t) kind * (a.view.nranks - 1) + cg_fast_part(other, holder)) * l->rings + at.ring;

    return (uint64_t *) (a.view.base[holder] + l->words + i * CG_FAST_WORD);
}

static __device__ __forceinline__ bool cg_ts_filled(const struct cg_fast_big &a, const struct cg_ts_walk &at, int kind,
                                                    uint32_t source)
{
    return cg_load_acquire(cg_ts_word(a, at, kind, source, a.view.rank)) > at.row;
}

static __device__ __forceinline__ bool cg_ts_room(const struct cg_fast_big &a, const struct cg_ts_walk &at, int kind,
                                                  uint32_t receiver)
{
    return cg_load_acquire(cg_ts_word(a, at, kind, receiver, a.view.rank)) + a.view.l.slots > at.row;
}

/* One thread: until ready(), unless no role of the block has got on for the window's spin time. */
template <typename R> static __device__ __forceinline__ bool cg_ts_wait(struct cg_ts_shared &s, R ready)
{
    uint64_t since = 0;

    for (uint32_t polls = 1; !ready(); polls++) {
        if (polls & 7) continue;
        uint64_t now = cg_now_ns(), last = s.progress;
        if (since == 0) since = now;
        if (last < since) last = since;
        if (now > last && now - last > s.a.view.spin_ns) return false;
    }
    return true;
}

/* The group of a role's threads meets; all are told what its first thread found. */
static __device__ __forceinline__ void cg_ts_meet(int role, uint32_t threads)
{
    cg_named_barrier((uint32_t) (1 + role), threads);
}

template <typename R>
static __device__ __forceinline__ bool cg_ts_go(struct cg_ts_shared &s, int role, uint32_t t, uint32_t threads, R ready)
{
    if (t == 0) s.go[role] = cg_ts_wait(s, ready);
    cg_ts_meet(role, threads);
    return s.go[role];
}

/* ---- plain stores: any alignment, any GPU ---- */

template <int U>
static __device__ __forceinline__ void cg_ts_load_user(uint64_t (&v)[2 * U], const char *from, bool whole,
                                                       uint32_t len, uint32_t pack, uint32_t packs)
{
    if (whole) {
#pragma unroll
        for (int u = 0; u < U; u++) {
            uint32_t at = (pack + u * packs) * 16;
            ulonglong2 x = make_ulonglong2(0, 0);
            if (at < len) x = *(const ulonglong2 *) (from + at);
            v[2 * u] = x.x;
            v[2 * u + 1] = x.y;
        }
        return;
    }
    cg_load_words(v, from, len, [&](int k) { return (pack + (k >> 1) * packs) * 2 + (k & 1); });
}

template <int U>
static __device__ __forceinline__ void cg_ts_store_user(const uint64_t (&v)[2 * U], char *to, bool whole,
                                                        uint32_t len, uint32_t pack, uint32_t packs)
{
    if (whole) {
#pragma unroll
        for (int u = 0; u < U; u++) {
            uint32_t at = (pack + u * packs) * 16;
            if (at < len) *(ulonglong2 *) (to + at) = make_ulonglong2(v[2 * u], v[2 * u + 1]);
        }
        return;
    }
    cg_store_words(v, to, len, [&](int k) { return (pack + (k >> 1) * packs) * 2 + (k & 1); });
}

template <int U>
static __device__ __forceinline__ void cg_ts_load_slot(uint64_t (&v)[2 * U], const char *from, uint32_t len,
                                                       uint32_t pack, uint32_t packs)
{
#pragma unroll
    for (int u = 0; u < U; u++) {
        uint32_t at = (pack + u * packs) * 16;
        ulonglong2 x = make_ulonglong2(0, 0);
        if (at < len) x = cg_pair_relaxed(from + at);
        v[2 * u] = x.x;
        v[2 * u + 1] = x.y;
    }
}

template <int U>
static __device__ __forceinline__ void cg_ts_store_slot(const uint64_t (&v)[2 * U], char *to, uint32_t len,
                                                        uint32_t pack, uint32_t packs)
{
#pragma unroll
    for (int u = 0; u < U; u++) {
        uint32_t at = (pack + u * packs) * 16;
        if (at < len) cg_pair_store(to + at, v[2 * u], v[2 * u + 1]);
    }
}

/* Only whole packs of 16 bytes? */
static __device__ __forceinline__ bool cg_ts_whole_in(const struct cg_fast_big &a)
{
    return cg_grain(a.src | a.bytes) == 16;
}

static __device__ __forceinline__ bool cg_ts_whole_out(const struct cg_fast_big &a)
{
    return cg_grain(a.dst | a.bytes) == 16;
}

static __device__ __forceinline__ void cg_ts_send(struct cg_ts_shared &s, uint32_t t)
{
    const struct cg_fast_big &a = s.a;
    const uint32_t me = a.view.rank;
    const bool whole = cg_ts_whole_in(a);
    struct cg_ts_walk at = cg_ts_start(a, CG_TS_SEND);
    uint64_t v[8], offset;

    for (; cg_ts_valid(a, at); cg_ts_next(a, at)) {
        uint32_t p = cg_ts_peer(a, at), len = cg_ts_chunk(a, at, p, &offset);
        char *slot = cg_ts_slot(a, at, a.view.l.raw, me, p);
        auto room = [&] { return cg_ts_room(a, at, CG_FAST_RAW_HEAD, p); };
        if (!cg_ts_go(s, CG_TS_SEND, t, CG_TS_SENDERS, room)) break;
        for (uint32_t i = t; i * 16 < len; i += 4 * CG_TS_SENDERS) {
            cg_ts_load_user<4>(v, (const char *) a.src + offset, whole, len, i, CG_TS_SENDERS);
            cg_ts_store_slot<4>(v, slot, len, i, CG_TS_SENDERS);
        }
        cg_ts_meet(CG_TS_SEND, CG_TS_SENDERS);
        if (t == 0) {
            cg_store_release(cg_ts_word(a, at, CG_FAST_RAW_TAIL, me, p), at.row + 1);
            s.progress = cg_now_ns();
        }
    }
    if (t == 0) cg_ts_save(s, CG_TS_SEND, at);
}

/* The thread's packs, from pack on, of what rank r adds to the owned chunk. */
template <int U>
static __device__ __forceinline__ void cg_ts_operand(const struct cg_fast_big &a, const struct cg_ts_walk &at,
                                                     uint64_t (&v)[2 * U], uint32_t r, uint64_t offset, uint32_t len,
                                                     uint32_t pack)
{
    if (r == a.view.rank) {
        cg_ts_load_user<U>(v, (const char *) a.src + offset, cg_ts_whole_in(a), len, pack, CG_TS_REDUCERS);
    } else {
        cg_ts_load_slot<U>(v, cg_ts_slot(a, at, a.view.l.raw, r, a.view.rank), len, pack, CG_TS_REDUCERS);
    }
}

/* Their sum, to all others and to dst. */
template <int U>
static __device__ __forceinline__ void cg_ts_result(const struct cg_fast_big &a, const struct cg_ts_walk &at,
                                                    const uint64_t (&sum)[2 * U], uint64_t offset, uint32_t len,
                                                    uint32_t pack)
{
    for (uint32_t d = 1, p = a.view.rank; d < a.view.nranks; d++) {
        p = p + 1 == a.view.nranks ? 0 : p + 1;
        cg_ts_store_slot<U>(sum, cg_ts_slot(a, at, a.view.l.res, a.view.rank, p), len, pack, CG_TS_REDUCERS);
    }
    cg_ts_store_user<U>(sum, (char *) a.dst + offset, cg_ts_whole_out(a), len, pack, CG_TS_REDUCERS);
}

/* The owned chunk of a group, which four packs a thread hold. */
struct cg_ts_lanes {
    static __device__ __forceinline__ void chunk(const struct cg_ts_shared &s, const struct cg_ts_walk &at,
                                                 uint64_t offset, uint32_t len, uint32_t t)
    {
        const struct cg_fast_big &a = s.a;
        uint64_t sum[8], x[8], next[8];

        cg_ts_operand<4>(a, at, sum, 0, offset, len, t);
        cg_ts_operand<4>(a, at, next, 1, offset, len, t);
        for (uint32_t r = 1; r < a.view.nranks; r++) { /* the next operand is on its way meanwhile */
#pragma unroll
            for (int k = 0; k < 8; k++) x[k] = next[k];
            if (r + 1 < a.view.nranks) cg_ts_operand<4>(a, at, next, r + 1, offset, len, t);
            cg_lanes_reduce(s.lanes, sum, x);
        }
        cg_ts_result<4>(a, at, sum, offset, len, t);
    }
};

/* Of half and bfloat16: pack by pack, as floats take more registers. */
struct cg_ts_narrow {
    static __device__ __forceinline__ void chunk(const struct cg_ts_shared &s, const struct cg_ts_walk &at,
                                                 uint64_t offset, uint32_t len, uint32_t t)
    {
        const struct cg_fast_big &a = s.a;
        struct cg_sum_narrow<2> sum(CG_CMD_TYPE(a.misc), CG_CMD_REDOP(a.misc));
        uint64_t x[2];

#pragma unroll 1
        for (uint32_t pack = t; pack * 16 < len; pack += CG_TS_REDUCERS) {
            cg_ts_operand<1>(a, at, x, 0, offset, len, pack);
            sum.first(x);
            for (uint32_t r = 1; r < a.view.nranks; r++) {
                CG_ROLLED(r);
                cg_ts_operand<1>(a, at, x, r, offset, len, pack);
                sum.add(x);
            }
            sum.end(x);
            cg_ts_result<1>(a, at, x, offset, len, pack);
        }
    }
};

static __device__ __forceinline__ bool cg_ts_may_reduce(const struct cg_fast_big &a, const struct cg_ts_walk &at)
{
    bool ready = true;

    for (uint32_t p = 0; p < a.view.nranks && ready; p++) {
        if (p == a.view.rank) continue;
        ready = cg_ts_filled(a, at, CG_FAST_RAW_TAIL, p) && cg_ts_room(a, at, CG_FAST_RES_HEAD, p);
    }
    return ready;
}

/* F: how chunks are summed. */
template <typename F> static __device__ __forceinline__ void cg_ts_reduce(struct cg_ts_shared &s, uint32_t t)
{
    const struct cg_fast_big &a = s.a;
    const uint32_t me = a.view.rank, n = a.view.nranks;
    struct cg_ts_walk at = cg_ts_start(a, CG_TS_REDUCE);
    uint64_t offset;

    for (; cg_ts_valid(a, at); cg_ts_next_group(a, at)) {
        uint32_t len = cg_ts_chunk(a, at, me, &offset);
        if (!cg_ts_go(s, CG_TS_REDUCE, t, CG_TS_REDUCERS, [&] { return cg_ts_may_reduce(a, at); })) break;
        F::chunk(s, at, offset, len, t);
        cg_ts_meet(CG_TS_REDUCE, CG_TS_REDUCERS);
        if (t == 0) {
            cg_fence_sys();
            for (uint32_t p = 0; p < n; p++) {
                if (p == me) continue;
                cg_store_relaxed(cg_ts_word(a, at, CG_FAST_RES_TAIL, me, p), at.row + 1);
                cg_store_relaxed(cg_ts_word(a, at, CG_FAST_RAW_HEAD, me, p), at.row + 1);
            }
            s.progress = cg_now_ns();
        }
    }
    if (t == 0) cg_ts_save(s, CG_TS_REDUCE, at);
}

static __device__ __forceinline__ void cg_ts_receive(struct cg_ts_shared &s, uint32_t t)
{
    const struct cg_fast_big &a = s.a;
    const uint32_t me = a.view.rank;
    const bool whole = cg_ts_whole_out(a);
    struct cg_ts_walk at = cg_ts_start(a, CG_TS_RECEIVE);
    uint64_t v[8], offset;

    for (; cg_ts_valid(a, at); cg_ts_next(a, at)) {
        uint32_t p = cg_ts_peer(a, at), len = cg_ts_chunk(a, at, p, &offset);
        char *slot = cg_ts_slot(a, at, a.view.l.res, p, me);
        auto filled = [&] { return cg_ts_filled(a, at, CG_FAST_RES_TAIL, p); };
        if (!cg_ts_go(s, CG_TS_RECEIVE, t, CG_TS_RECEIVERS, filled)) break;
        for (uint32_t i = t; i * 16 < len; i += 4 * CG_TS_RECEIVERS) {
            cg_ts_load_slot<4>(v, slot, len, i, CG_TS_RECEIVERS);
            cg_ts_store_user<4>(v, (char *) a.dst + offset, whole, len, i, CG_TS_RECEIVERS);
        }
        cg_ts_meet(CG_TS_RECEIVE, CG_TS_RECEIVERS);
        if (t == 0) {
            cg_store_release(cg_ts_word(a, at, CG_FAST_RES_HEAD, me, p), at.row + 1);
            s.progress = cg_now_ns();
        }
    }
    if (t == 0) cg_ts_save(s, CG_TS_RECEIVE, at);
}

#endif
