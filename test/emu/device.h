/* SPDX-License-Identifier: BSD-3-Clause
 * CUDA's language for a host compiler, as far as the fast executor's kernels use it: included before a .cu file. A
 * block is an operating system thread, its threads are fibers that run until they wait (device.cc). Memory orders are
 * those of the host, at least as strong. */
#ifndef CG_TEST_EMU_DEVICE_H
#define CG_TEST_EMU_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local
#define __align__(n) __attribute__((aligned(n)))
#define __isGlobal(p) ((p) != nullptr)
#define __builtin_assume(x) ((void) (x))

struct emu_index {
    unsigned x;
};
extern thread_local emu_index threadIdx, blockIdx, blockDim, gridDim;

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline float __uint_as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

/* Let other fibers run. */
void emu_yield(void);
/* Wait for all threads of the barrier (0: the block); what all of them said, by and and or. */
struct emu_votes {
    uint64_t all, any;
};
emu_votes emu_barrier(unsigned id, unsigned threads, uint64_t vote);
/* Wait for the warp; lane's value. */
emu_votes emu_warp(uint64_t vote);
uint64_t emu_shuffle(uint64_t value, unsigned lane);
char *emu_dynamic_shared(void);
uint64_t emu_now_ns(void);
static inline long long clock64(void) { return (long long) emu_now_ns(); } /* 1 GHz */

static inline void __syncthreads(void) { emu_barrier(0, 0, 0); }
static inline int __syncthreads_and(int vote) { return emu_barrier(0, 0, vote != 0).all != 0; }
static inline int __syncthreads_or(int vote) { return emu_barrier(0, 0, (uint64_t) (int64_t) vote).any != 0; }
static inline void __syncwarp(void) { emu_warp(0); }
static inline int __all_sync(unsigned, int vote) { return emu_warp(vote != 0).all != 0; }
static inline int __any_sync(unsigned, int vote) { return emu_warp(vote != 0).any != 0; }
template <typename T> static inline T __shfl_sync(unsigned, T value, unsigned lane)
{
    return (T) emu_shuffle((uint64_t) value, lane);
}
static inline unsigned atomicAdd(unsigned *p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
static inline unsigned atomicOr(unsigned *p, unsigned v) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); }

/* ---- kernels/cuda/words.cuh ---- */

#define CG_KERNELS_CUDA_WORDS_CUH
#include "core/port.h"

static inline uint64_t emu_load(const void *p) { return __atomic_load_n((const uint64_t *) p, __ATOMIC_ACQUIRE); }
static inline void emu_store(void *p, uint64_t v) { __atomic_store_n((uint64_t *) p, v, __ATOMIC_RELEASE); }

/* A line of LL128 is stored and loaded whole: the lane with the flag stores last, as lanes run in order, and is made to
 * load first. */
static inline ulonglong2 emu_pair(const void *p)
{
    ulonglong2 v;

    emu_yield();
    if ((threadIdx.x & 7) != 7) emu_yield();
    v.x = emu_load(p);
    v.y = emu_load((const char *) p + 8);
    return v;
}

static inline uint4 emu_quad(const void *p)
{
    uint64_t low, high;

    emu_yield();
    low = emu_load(p);
    high = emu_load((const char *) p + 8);
    return {(uint32_t) low, (uint32_t) (low >> 32), (uint32_t) high, (uint32_t) (high >> 32)};
}

static inline void emu_pair_store(void *p, uint64_t x, uint64_t y)
{
    emu_store(p, x);
    emu_store((char *) p + 8, y);
}

static inline void emu_quad_store(void *p, uint4 v)
{
    emu_pair_store(p, (uint64_t) v.y << 32 | v.x, (uint64_t) v.w << 32 | v.z);
}

static inline uint64_t cg_now_ns(void) { return emu_now_ns(); }
static inline ulonglong2 cg_pair_relaxed(const void *p) { return emu_pair(p); }
static inline uint4 cg_quad_acquire(const void *p) { return emu_quad(p); }
static inline uint4 cg_quad_relaxed(const void *p) { return emu_quad(p); }
static inline uint4 cg_gpu_quad_acquire(const void *p) { return emu_quad(p); }
static inline void cg_quad_store(void *p, uint4 v) { emu_quad_store(p, v); }
static inline void cg_gpu_quad_store(void *p, uint4 v) { emu_quad_store(p, v); }
static inline void cg_pair_store(void *p, uint64_t x, uint64_t y) { emu_pair_store(p, x, y); }
static inline void cg_store32_relaxed(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline void cg_fence_gpu(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void cg_fence_sys(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void cg_named_barrier(unsigned id, unsigned threads) { emu_barrier(id, threads, 0); }
#define CG_DYNAMIC_SHARED(name) char *name = emu_dynamic_shared()

#endif
