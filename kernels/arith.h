/* SPDX-License-Identifier: BSD-3-Clause
 * Arithmetic that types.def uses and that must give the same bits on every executor. */
#ifndef CG_KERNELS_ARITH_H
#define CG_KERNELS_ARITH_H

#include "core/port.h"

/* Product modulo the width of the unsigned type U; 16-bit factors would overflow int. */
#define CG_WRAP_MUL(U, a, b) ((U) (1u * (U) (a) * (U) (b)))

/* x, any NaN replaced by the quiet one without sign and payload: which NaN an addition yields differs between CPUs and
 * GPUs. Integers are never changed. */
#ifdef __cplusplus
template <typename T> static __host__ __device__ __forceinline__ T cg_one_nan(T x) { return x; }

template <> __host__ __device__ __forceinline__ float cg_one_nan<float>(float x)
{
    return x != x ? __builtin_nanf("") : x;
}

template <> __host__ __device__ __forceinline__ double cg_one_nan<double>(double x)
{
    return x != x ? __builtin_nan("") : x;
}
#define CG_ONE_NAN(T, x) cg_one_nan<T>((T) (x))
#else
static inline float cg_nan(void) { return __builtin_nanf(""); }
#define CG_ONE_NAN(T, x)                      \
    ({                                        \
        const T x_ = (x);                     \
        x_ != x_ ? (T) cg_nan() : x_;         \
    })
#endif

#endif
