/* SPDX-License-Identifier: BSD-3-Clause
 * Memory orders of the GPU engine beyond core/port.h: words in GPU memory that blocks of one launch share (gpu scope),
 * and pairs of words. */
#ifndef CG_KERNELS_CUDA_WORDS_CUH
#define CG_KERNELS_CUDA_WORDS_CUH

#include "core/port.h"

static __device__ __forceinline__ uint64_t cg_now_ns(void)
{
    uint64_t t;
    asm volatile("mov.u64 %0,%globaltimer;" : "=l"(t));
    return t;
}

static __device__ __forceinline__ uint64_t cg_gpu_load(const uint64_t *p)
{
    uint64_t v;
    asm volatile("ld.relaxed.gpu.global.u64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ uint32_t cg_gpu_load32(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ void cg_gpu_store(uint64_t *p, uint64_t v)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0],%1;" ::"l"(p), "l"(v) : "memory");
}

static __device__ __forceinline__ void cg_gpu_store32(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
}

/* Two words in one access; each is a word of its own in the memory model. */
#define CG_LOAD_PAIR(name, order)                                                                        \
    static __device__ __forceinline__ ulonglong2 name(const void *p)                                    \
    {                                                                                                    \
        ulonglong2 v;                                                                                    \
        asm volatile("ld." order ".global.v2.u64 {%0,%1},[%2];" : "=l"(v.x), "=l"(v.y) : "l"(p) : "memory"); \
        return v;                                                                                        \
    }
CG_LOAD_PAIR(cg_pair_acquire, "acquire.sys")
CG_LOAD_PAIR(cg_pair_relaxed, "relaxed.sys")
CG_LOAD_PAIR(cg_gpu_pair_acquire, "acquire.gpu")
CG_LOAD_PAIR(cg_gpu_pair_relaxed, "relaxed.gpu")
#undef CG_LOAD_PAIR

static __device__ __forceinline__ void cg_gpu_pair_store(void *p, ulonglong2 v)
{
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0],{%1,%2};" ::"l"(p), "l"(v.x), "l"(v.y) : "memory");
}

/* Four words of 32 bits; each half of 8 bytes is a word of its own in the memory model. */
#define CG_LOAD_QUAD(name, order)                                                  \
    static __device__ __forceinline__ uint4 name(const void *p)                    \
    {                                                                              \
        uint4 v;                                                                   \
        asm volatile("ld." order ".global.v4.u32 {%0,%1,%2,%3},[%4];"              \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                  \
                     : "l"(p)                                                      \
                     : "memory");                                                  \
        return v;                                                                  \
    }
CG_LOAD_QUAD(cg_quad_acquire, "acquire.sys")
CG_LOAD_QUAD(cg_quad_relaxed, "relaxed.sys")
CG_LOAD_QUAD(cg_gpu_quad_acquire, "acquire.gpu")
#undef CG_LOAD_QUAD

static __device__ __forceinline__ void cg_quad_store(void *p, uint4 v)
{
    asm volatile("st.relaxed.sys.global.v4.u32 [%0],{%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

static __device__ __forceinline__ void cg_gpu_quad_store(void *p, uint4 v)
{
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0],{%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

static __device__ __forceinline__ void cg_pair_store(void *p, uint64_t x, uint64_t y)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0],{%1,%2};" ::"l"(p), "l"(x), "l"(y) : "memory");
}

static __device__ __forceinline__ void cg_store32_relaxed(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
}

/* Acquire and release in one, for relaxed accesses before and after. */
static __device__ __forceinline__ void cg_fence_gpu(void) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
static __device__ __forceinline__ void cg_fence_sys(void) { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

static __device__ __forceinline__ uint64_t cg_gpu_add(uint64_t *p, uint64_t v)
{
    return atomicAdd((unsigned long long *) p, (unsigned long long) v);
}

static __device__ __forceinline__ uint64_t cg_gpu_max(uint64_t *p, uint64_t v)
{
    return atomicMax((unsigned long long *) p, (unsigned long long) v);
}

static __device__ __forceinline__ uint64_t cg_gpu_min(uint64_t *p, uint64_t v)
{
    return atomicMin((unsigned long long *) p, (unsigned long long) v);
}

/* Threads of one block, a part of it that uses this barrier (1 to 15). */
static __device__ __forceinline__ void cg_named_barrier(uint32_t id, uint32_t threads)
{
    asm volatile("bar.sync %0,%1;" ::"r"(id), "r"(threads) : "memory");
}

#define CG_DYNAMIC_SHARED(name) extern __shared__ __align__(128) char name[]

#endif
