/* SPDX-License-Identifier: BSD-3-Clause
 * TWO_SHOT's sender and receiver by bulk copies (sm_90 and later, addresses and lengths in units of 16 bytes): one
 * thread keeps several chunks under way between GPU memory, stages in shared memory, and GPU memory.
 *
 * wait_group says that a copy has been made, not that others see it: each tail is a system-scope release after it. */
#ifndef CG_KERNELS_CUDA_FAST_BULK_CUH
#define CG_KERNELS_CUDA_FAST_BULK_CUH

#include "kernels/cuda/fast_two_shot.cuh"

#define CG_TS_STAGES_OUT 6u
#define CG_TS_STAGES_IN 4u
#define CG_TS_STORES 3u /* under way before the oldest is waited for */
#define CG_TS_BULK_BYTES ((CG_TS_STAGES_OUT + CG_TS_STAGES_IN) * CG_TS_CHUNK)

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
static __device__ __forceinline__ uint32_t cg_bulk_shared(const void *p)
{
    return (uint32_t) __cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void cg_bulk_init(uint64_t *loaded)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(cg_bulk_shared(loaded)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void cg_bulk_load(uint64_t *loaded, void *stage, const void *from, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(cg_bulk_shared(loaded)), "r"(bytes)
                 : "memory");
    if (bytes == 0) return;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(
                     cg_bulk_shared(stage)),
                 "l"(from), "r"(bytes), "r"(cg_bulk_shared(loaded))
                 : "memory");
}

static __device__ __forceinline__ void cg_bulk_loaded(uint64_t *loaded, uint32_t phase)
{
    uint32_t done;

    do {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                     : "=r"(done)
                     : "r"(cg_bulk_shared(loaded)), "r"(phase)
                     : "memory");
    } while (!done);
}

/* A group of its own, also for no bytes. */
static __device__ __forceinline__ void cg_bulk_store(void *to, const void *stage, uint32_t bytes)
{
    if (bytes) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" ::"l"(to), "r"(cg_bulk_shared(stage)),
                     "r"(bytes)
                     : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

template <int N> static __device__ __forceinline__ void cg_bulk_stored(void)
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

template <int N> static __device__ __forceinline__ void cg_bulk_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/* What others have written, and was acquired, is there for bulk copies as well. */
static __device__ __forceinline__ void cg_bulk_fence(void) { asm volatile("fence.proxy.async;" ::: "memory"); }

/* Tails of the items from published up to upto. */
static __device__ __forceinline__ void cg_ts_publish(struct cg_ts_shared &s, struct cg_ts_walk &at, uint32_t *published,
                                                     uint32_t upto)
{
    const struct cg_fast_big &a = s.a;

    if (*published == upto) return;
    cg_fence_sys();
    for (; *published < upto; ++*published, cg_ts_next(a, at)) {
        cg_store_relaxed(cg_ts_word(a, at, CG_FAST_RAW_TAIL, a.view.rank, cg_ts_peer(a, at)), at.row + 1);
    }
    s.progress = cg_now_ns();
}

/* One thread. Items below published are known to their owners, those below sent are on their way, those below loaded
 * are in stages or on their way there. */
static __device__ __forceinline__ void cg_ts_bulk_send(struct cg_ts_shared &s, char *stages)
{
    const struct cg_fast_big &a = s.a;
    struct cg_ts_walk load = cg_ts_start(a, CG_TS_SEND), send = load, tell = load;
    uint32_t loaded = 0, sent = 0, published = 0;
    uint64_t offset;

    for (;;) {
        for (; loaded < published + CG_TS_STAGES_OUT && cg_ts_valid(a, load); loaded++, cg_ts_next(a, load)) {
            uint32_t i = loaded % CG_TS_STAGES_OUT, len = cg_ts_chunk(a, load, cg_ts_peer(a, load), &offset);
            cg_bulk_load(&s.loaded[0][i], stages + i * a.chunk, (const char *) a.src + offset, len);
        }
        if (sent == loaded) break;
        uint32_t i = sent % CG_TS_STAGES_OUT, p = cg_ts_peer(a, send), len = cg_ts_chunk(a, send, p, &offset);
        if (!cg_ts_room(a, send, CG_FAST_RAW_HEAD, p)) { /* tell what was sent, or the owner may never make room */
            cg_bulk_stored<0>();
            cg_ts_publish(s, tell, &published, sent);
            if (!cg_ts_wait(s, [&] { return cg_ts_room(a, send, CG_FAST_RAW_HEAD, p); })) break;
        }
        cg_bulk_loaded(&s.loaded[0][i], sent / CG_TS_STAGES_OUT & 1);
        cg_bulk_store(cg_ts_slot(a, send, a.view.l.raw, a.view.rank, p), stages + i * a.chunk, len);
        sent++;
        cg_ts_next(a, send);
        cg_bulk_stored<CG_TS_STORES>();
        if (sent > CG_TS_STORES) cg_ts_publish(s, tell, &published, sent - CG_TS_STORES);
    }
    cg_bulk_stored<0>();
    cg_ts_publish(s, tell, &published, sent);
    for (uint32_t i = sent; i < loaded; i++) { /* parked: the stages stay until their loads have ended */
        cg_bulk_loaded(&s.loaded[0][i % CG_TS_STAGES_OUT], i / CG_TS_STAGES_OUT & 1);
    }
    cg_ts_save(s, CG_TS_SEND, send);
}

/* One thread. Items below stored have left their slots. Waits only when nothing is under way. */
static __device__ __forceinline__ void cg_ts_bulk_receive(struct cg_ts_shared &s, char *stages)
{
    const struct cg_fast_big &a = s.a;
    struct cg_ts_walk load = cg_ts_start(a, CG_TS_RECEIVE), store = load;
    uint32_t loaded = 0, stored = 0, limit = CG_TS_STAGES_IN; /* loads may not pass it: stages are still being read */
    const uint32_t me = a.view.rank;
    uint64_t offset;
    bool late = false;

    while (!late) {
        for (; loaded < limit && cg_ts_valid(a, load); loaded++, cg_ts_next(a, load)) {
            uint32_t i = loaded % CG_TS_STAGES_IN, p = cg_ts_peer(a, load), len = cg_ts_chunk(a, load, p, &offset);
            auto filled = [&] { return cg_ts_filled(a, load, CG_FAST_RES_TAIL, p); };
            if (loaded > stored && !filled()) break;
            late = !cg_ts_wait(s, filled);
            if (late) break;
            cg_bulk_fence();
            cg_bulk_load(&s.loaded[1][i], stages + i * a.chunk, cg_ts_slot(a, load, a.view.l.res, p, me), len);
        }
        if (stored == loaded) break;
        uint32_t i = stored % CG_TS_STAGES_IN, p = cg_ts_peer(a, store), len = cg_ts_chunk(a, store, p, &offset);
        cg_bulk_loaded(&s.loaded[1][i], stored / CG_TS_STAGES_IN & 1);
        cg_store_relaxed(cg_ts_word(a, store, CG_FAST_RES_HEAD, me, p), store.row + 1);
        cg_bulk_store((char *) a.dst + offset, stages + i * a.chunk, len);
        stored++;
        cg_ts_next(a, store);
        cg_bulk_read<1>();
        limit = stored - 1 + CG_TS_STAGES_IN;
        s.progress = cg_now_ns();
    }
    cg_bulk_stored<0>();
    cg_fence_sys();
    cg_ts_save(s, CG_TS_RECEIVE, store);
}
#endif
#endif
