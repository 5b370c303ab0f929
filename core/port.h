/* SPDX-License-Identifier: BSD-3-Clause
 * The only place where host and device code differ: function qualifiers and the named memory orders.
 * Every access to a word that another thread, GPU or process reads goes through one of these names.
 *
 *   cg_load_acquire   the peer's writes before its release are visible afterwards (system scope)
 *   cg_load_polled    acquire of a word that the polling warp relays through GPU memory (GPU scope there)
 *   cg_store_release  my writes before it are visible to whoever acquires it (system scope)
 *   cg_publish_fence, cg_store_published   the same for several stores at once
 *   cg_load_relaxed, cg_store_relaxed   the word alone, never torn
 *   cg_fence_sc       store/load barrier of the launch handshake (docs/architecture.md)
 *
 * 8-byte words are naturally aligned. The header compiles as C11, C++17 and CUDA. */
#ifndef CG_CORE_PORT_H
#define CG_CORE_PORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define CG_HD static __host__ __device__ __forceinline__
#else
#define CG_HD static inline
#endif

#ifdef __cplusplus
#define CG_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define CG_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

CG_HD uint64_t cg_load_acquire(const uint64_t *p)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.acquire.sys.global.u64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
#else
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
#endif
}

CG_HD uint64_t cg_load_polled(const uint64_t *p)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.acquire.gpu.global.u64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
#else
    return cg_load_acquire(p);
#endif
}

CG_HD uint64_t cg_load_relaxed(const uint64_t *p)
{
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
#else
    return __atomic_load_n(p, __ATOMIC_RELAXED);
#endif
}

CG_HD void cg_store_release(uint64_t *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.release.sys.global.u64 [%0],%1;" ::"l"(p), "l"(v) : "memory");
#else
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
#endif
}

CG_HD void cg_store_relaxed(uint64_t *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.sys.global.u64 [%0],%1;" ::"l"(p), "l"(v) : "memory");
#else
    __atomic_store_n(p, v, __ATOMIC_RELAXED);
#endif
}

/* Several releases at the price of one: cg_publish_fence, then cg_store_published for each. A GPU pays for the fence,
 * a CPU for nothing. */
CG_HD void cg_publish_fence(void)
{
#ifdef __CUDA_ARCH__
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

CG_HD void cg_store_published(uint64_t *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
    cg_store_relaxed(p, v);
#else
    cg_store_release(p, v);
#endif
}

CG_HD void cg_fence_sc(void)
{
#ifdef __CUDA_ARCH__
    asm volatile("fence.sc.sys;" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

CG_HD uint64_t cg_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

#endif
