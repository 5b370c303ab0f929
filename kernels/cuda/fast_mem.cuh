/* SPDX-License-Identifier: BSD-3-Clause
 * Memory accesses of the fast executor: lines between GPUs, and user buffers of any alignment. */
#ifndef CG_KERNELS_CUDA_FAST_MEM_CUH
#define CG_KERNELS_CUDA_FAST_MEM_CUH

#include "kernels/cuda/fast_ctl.h"
#include "kernels/cuda/words.cuh"

/* ---- user buffers ----
 * word(k) is the index of the k-th 8-byte word, CG_NO_WORD for none; those behind the end are passed over. Plain loads:
 * whoever calls has acquired. No byte outside the buffer is touched. */

#define CG_NO_WORD (1u << 28)

/* Code that a small call does not run goes behind the code that it does: fetching instructions costs it most. */
#define CG_RARE(cond) __builtin_expect(!!(cond), 0)
#define CG_USUAL(cond) __builtin_expect(!!(cond), 1)

/* Keeps a loop from being unrolled, which pragmas do not when a loop inside has vanished: code that a launch runs once
 * is fetched from far away. */
#define CG_ROLLED(i) asm volatile("" : "+r"(i))

/* Generic pointers that are known to be of GPU or registered memory. */
template <typename T> static __device__ __forceinline__ T *cg_global(T *p)
{
    __builtin_assume(__isGlobal(p));
    return p;
}

/* Largest power of two up to 16 that divides x. */
static __device__ __forceinline__ uint32_t cg_grain(uint64_t x)
{
    x |= 16;
    return (uint32_t) (x & (~x + 1));
}

static __device__ __forceinline__ uint64_t cg_load_bytes(const char *from, uint32_t bytes)
{
    uint64_t v = 0;

#pragma unroll 1
    for (uint32_t i = 0; i < bytes && i < 8; i++) v |= (uint64_t) *cg_global((const uint8_t *) (from + i)) << (8 * i);
    return v;
}

static __device__ __forceinline__ void cg_store_bytes(uint64_t v, char *to, uint32_t bytes)
{
#pragma unroll 1
    for (uint32_t i = 0; i < bytes && i < 8; i++) *cg_global(to + i) = (char) (v >> (8 * i));
}

/* A word that is not aligned is put together from the two around it, byte by byte where those reach behind the end. */
template <int N, typename W>
static __device__ __forceinline__ void cg_load_odd_words(uint64_t (&v)[N], const char *base, uint32_t bytes, W word)
{
    const uint32_t off = (uint32_t) (uint64_t) base & 7, need = off ? 16 : 8;

#pragma unroll
    for (int k = 0; k < N; k++) {
        const uint32_t at = word(k) * 8;
        const uint64_t *from = (const uint64_t *) (base - off + at);
        v[k] = at + need <= bytes ? *cg_global(from) : 0;
    }
    if (off) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint32_t at = word(k) * 8;
            const uint64_t *from = (const uint64_t *) (base - off + at);
            uint64_t high = at + need <= bytes ? *cg_global(from + 1) : 0;
            v[k] = v[k] >> (8 * off) | high << (64 - 8 * off);
        }
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        const uint32_t at = word(k) * 8;
        if (at < bytes && at + need > bytes) v[k] = cg_load_bytes(base + at, bytes - at);
    }
}

template <int N, typename W>
static __device__ __forceinline__ void cg_load_words(uint64_t (&v)[N], const char *base, uint32_t bytes, W word)
{
    if (CG_RARE(((uint64_t) base | bytes) % 8)) {
        cg_load_odd_words(v, base, bytes, word);
        return;
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        const uint32_t at = word(k) * 8;
        v[k] = at < bytes ? *cg_global((const uint64_t *) (base + at)) : 0;
    }
}

template <typename P, int N, typename W>
static __device__ __forceinline__ void cg_store_pieces(const uint64_t (&v)[N], char *base, uint32_t bytes, W word)
{
#pragma unroll
    for (int k = 0; k < N; k++) {
        const uint32_t at = word(k) * 8;
        if (at + 8 > bytes) continue;
#pragma unroll
        for (uint32_t i = 0; i < 8; i += sizeof(P)) *cg_global((P *) (base + at + i)) = (P) (v[k] >> (8 * i));
    }
}

template <int N, typename W>
static __device__ __forceinline__ void cg_store_odd_words(const uint64_t (&v)[N], char *base, uint32_t bytes, W word)
{
    const uint32_t grain = cg_grain((uint64_t) base);

    if (grain >= 8) cg_store_pieces<uint64_t>(v, base, bytes, word);
    else if (grain == 4) cg_store_pieces<uint32_t>(v, base, bytes, word);
    else if (grain == 2) cg_store_pieces<uint16_t>(v, base, bytes, word);
    else cg_store_pieces<uint8_t>(v, base, bytes, word);
#pragma unroll
    for (int k = 0; k < N; k++) {
        const uint32_t at = word(k) * 8;
        if (at < bytes && at + 8 > bytes) cg_store_bytes(v[k], base + at, bytes - at);
    }
}

template <int N, typename W>
static __device__ __forceinline__ void cg_store_words(const uint64_t (&v)[N], char *base, uint32_t bytes, W word)
{
    if (CG_RARE(((uint64_t) base | bytes) % 8)) {
        cg_store_odd_words(v, base, bytes, word);
        return;
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        const uint32_t at = word(k) * 8;
        if (at < bytes) *cg_global((uint64_t *) (base + at)) = v[k];
    }
}

/* ---- waiting ---- */

/* Time since the first look, read every few polls only. */
struct cg_patience {
    uint64_t since;
    uint32_t polls;
};

static __device__ __forceinline__ bool cg_patience_over(struct cg_patience &p, uint64_t ns)
{
    uint64_t now;

    if (CG_USUAL(++p.polls & 7)) return false;
    now = cg_now_ns();
    if (p.since == 0) p.since = now;
    return now - p.since > ns;
}

#endif
