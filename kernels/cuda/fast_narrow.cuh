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

/* x = x op y, of four. */
CG_HD void cg_float_each(uint32_t redop, float *x, const float (&y)[4])
{
    switch (redop) {
    case CG_REDOP_SUM: CG_UNROLL for (int i = 0; i < 4; i++) x[i] = cg_one_nan(x[i] + y[i]); break;
    case CG_REDOP_PROD: CG_UNROLL for (int i = 0; i < 4; i++) x[i] = cg_one_nan(x[i] * y[i]); break;
    case CG_REDOP_MIN: CG_UNROLL for (int i = 0; i < 4; i++) x[i] = x[i] < y[i] || x[i] != x[i] ? x[i] : y[i]; break;
    default: CG_UNROLL for (int i = 0; i < 4; i++) x[i] = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i]; break;
    }
}

CG_HD void cg_word_widen(bool half, float *v, uint64_t word)
{
    CG_UNROLL
    for (int i = 0; i < 4; i++) {
        const uint32_t bits = (uint32_t) (word >> (16 * i)) & 0xffff;
        v[i] = half ? cg_half_widen(bits) : cg_widen_BF16(bits);
    }
}

CG_HD uint64_t cg_word_narrow(bool half, const float *v)
{
    uint64_t word = 0;

    CG_UNROLL
    for (int i = 0; i < 4; i++) word |= (uint64_t) (half ? cg_half_narrow(v[i]) : cg_narrow_BF16(v[i])) << (16 * i);
    return word;
}

/* Operands of N words of a thread, given from the left to the right. */
template <int N> struct cg_sum_narrow {
    bool half;
    uint32_t redop;
    float acc[N * 4];

    CG_MEMBER cg_sum_narrow(uint32_t type, uint32_t op) : half(type == CG_TYPE_F16), redop(op) {}
    CG_MEMBER void first(const uint64_t (&x)[N])
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) cg_word_widen(half, acc + 4 * k, x[k]);
    }
    CG_MEMBER void add(const uint64_t (&x)[N])
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) {
            float v[4];
            cg_word_widen(half, v, x[k]);
            cg_float_each(redop, acc + 4 * k, v);
        }
    }
    CG_MEMBER void end(uint64_t (&x)[N]) const
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) x[k] = cg_word_narrow(half, acc + 4 * k);
    }
};

#endif
