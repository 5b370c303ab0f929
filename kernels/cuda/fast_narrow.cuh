/* SPDX-License-Identifier: BSD-3-Clause
 * Sums of words that hold four numbers of half or bfloat16: in float from the first operand to the last, rounded once.
 * Compiles for the host too. */
#ifndef CG_KERNELS_CUDA_FAST_NARROW_CUH
#define CG_KERNELS_CUDA_FAST_NARROW_CUH

#include "kernels/cuda/fast_reduce.cuh"

/* The GPU's conversions of half are those of coll_gpu_floats.h: to nearest, to infinity, one NaN (0x7fff). */
CG_HD float cg_half_widen(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    float x;

    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((uint16_t) bits));
    return x;
#else
    return cg_widen_F16(bits);
#endif
}

CG_HD uint32_t cg_half_narrow(float x)
{
#ifdef __CUDA_ARCH__
    uint16_t bits;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    return cg_narrow_F16(x);
#endif
}

/* Four numbers as two words of floats, and back. */
CG_HD void cg_word_widen(bool half, uint64_t (&wide)[2], uint64_t word)
{
    CG_UNROLL
    for (int k = 0; k < 2; k++) {
        union cg_word<float> w;
        CG_UNROLL
        for (int i = 0; i < 2; i++) {
            const uint32_t bits = (uint32_t) (word >> (32 * k + 16 * i)) & 0xffff;
            w.e[i] = half ? cg_half_widen(bits) : cg_widen_BF16(bits);
        }
        wide[k] = w.word;
    }
}

CG_HD uint64_t cg_word_narrow(bool half, const uint64_t (&wide)[2])
{
    uint64_t word = 0;

    CG_UNROLL
    for (int k = 0; k < 2; k++) {
        union cg_word<float> w;
        w.word = wide[k];
        CG_UNROLL
        for (int i = 0; i < 2; i++) {
            word |= (uint64_t) (half ? cg_half_narrow(w.e[i]) : cg_narrow_BF16(w.e[i])) << (32 * k + 16 * i);
        }
    }
    return word;
}

/* Operands of N words of a thread, given from the left to the right. */
template <int N> struct cg_sum_narrow {
    bool half;
    uint32_t redop;
    uint64_t acc[N][2];

    CG_MEMBER cg_sum_narrow(uint32_t type, uint32_t op) : half(type == CG_TYPE_F16), redop(op) {}
    CG_MEMBER void first(const uint64_t (&x)[N])
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) cg_word_widen(half, acc[k], x[k]);
    }
    CG_MEMBER void add(const uint64_t (&x)[N])
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) {
            uint64_t v[2];
            cg_word_widen(half, v, x[k]);
            cg_reduce_float<float>(redop, acc[k], v);
        }
    }
    CG_MEMBER void end(uint64_t (&x)[N]) const
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) x[k] = cg_word_narrow(half, acc[k]);
    }
};

#endif
