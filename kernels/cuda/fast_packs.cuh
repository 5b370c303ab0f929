/* SPDX-License-Identifier: BSD-3-Clause
 * User buffers read and written in packs of 16 bytes, several of a thread at a time. */
#ifndef CG_KERNELS_CUDA_FAST_PACKS_CUH
#define CG_KERNELS_CUDA_FAST_PACKS_CUH

#include "kernels/cuda/fast_mem.cuh"

#define CG_COPY_UNROLL 4

/* The thread's packs of 16 bytes of one operand, stride packs apart. */
static __device__ __forceinline__ void cg_copy_load(uint64_t (&v)[2 * CG_COPY_UNROLL], const char *from, bool whole,
                                                    uint32_t bytes, uint32_t pack, uint32_t stride)
{
    if (whole) {
#pragma unroll
        for (int u = 0; u < CG_COPY_UNROLL; u++) {
            const uint32_t i = pack + u * stride;
            ulonglong2 x = make_ulonglong2(0, 0);
            if (i < bytes / 16) x = *cg_global((const ulonglong2 *) from + i);
            v[2 * u] = x.x;
            v[2 * u + 1] = x.y;
        }
        return;
    }
    cg_load_words(v, from, bytes, [&](int k) {
        const uint32_t i = pack + (k >> 1) * stride;
        return i <= bytes / 16 ? i * 2 + (k & 1) : CG_NO_WORD;
    });
}

static __device__ __forceinline__ void cg_copy_store(const uint64_t (&v)[2 * CG_COPY_UNROLL], char *to, bool whole,
                                                     uint32_t bytes, uint32_t pack, uint32_t stride)
{
    if (whole) {
#pragma unroll
        for (int u = 0; u < CG_COPY_UNROLL; u++) {
            const uint32_t i = pack + u * stride;
            if (i < bytes / 16) *cg_global((ulonglong2 *) to + i) = make_ulonglong2(v[2 * u], v[2 * u + 1]);
        }
        return;
    }
    cg_store_words(v, to, bytes, [&](int k) {
        const uint32_t i = pack + (k >> 1) * stride;
        return i <= bytes / 16 ? i * 2 + (k & 1) : CG_NO_WORD;
    });
}

#endif
