/* SPDX-License-Identifier: BSD-3-Clause
 * User buffers read and written in packs of 16 bytes, several of a thread at a time, and summed. */
#ifndef CG_KERNELS_CUDA_FAST_PACKS_CUH
#define CG_KERNELS_CUDA_FAST_PACKS_CUH

#include "kernels/cuda/fast_mem.cuh"
#include "kernels/cuda/fast_narrow.cuh"

#define CG_COPY_UNROLL 4

/* The thread's packs of 16 bytes of one operand, stride packs apart. */
template <int U>
static __device__ __forceinline__ void cg_copy_load(uint64_t (&v)[2 * U], const char *from, bool whole,
                                                    uint32_t bytes, uint32_t pack, uint32_t stride)
{
    if (whole) {
#pragma unroll
        for (int u = 0; u < U; u++) {
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

template <int U>
static __device__ __forceinline__ void cg_copy_store(const uint64_t (&v)[2 * U], char *to, bool whole,
                                                     uint32_t bytes, uint32_t pack, uint32_t stride)
{
    if (whole) {
#pragma unroll
        for (int u = 0; u < U; u++) {
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

static __device__ __forceinline__ bool cg_copy_whole(const char *p, uint32_t bytes)
{
    return cg_grain((uint64_t) p | bytes) == 16;
}

/* The sum of n operands of half or bfloat16, from the left to the right, into outs places. */
static __device__ __forceinline__ void cg_copy_sum_narrow(const char *const *in, uint32_t n, char *const *out,
                                                          uint32_t outs, uint32_t bytes, uint64_t misc)
{
    const uint32_t stride = gridDim.x * blockDim.x, packs = (bytes + 15) / 16;
    struct cg_sum_narrow<2> sum(CG_CMD_TYPE(misc), CG_CMD_REDOP(misc));
    uint64_t x[2];

    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += stride) {
        cg_copy_load<1>(x, in[0], cg_copy_whole(in[0], bytes), bytes, i, stride);
        sum.first(x);
        for (uint32_t r = 1; r < n; r++) {
            cg_copy_load<1>(x, in[r], cg_copy_whole(in[r], bytes), bytes, i, stride);
            sum.add(x);
        }
        sum.end(x);
        for (uint32_t r = 0; r < outs; r++) {
            cg_copy_store<1>(x, out[r], cg_copy_whole(out[r], bytes), bytes, i, stride);
        }
    }
}

#endif
