/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions on packs of 16 bytes. Pairs of type and operation that do the same to the bits share code: sums, products
 * and logical operations of integers by width, bitwise ones as 64-bit words. cg_reduce_kind names the one that stands
 * for all. */
#ifndef CG_KERNELS_CUDA_REDUCE_CUH
#define CG_KERNELS_CUDA_REDUCE_CUH

#include "kernels/arith.h"
#include "kernels/cuda/ctl.h"

#define CG_REDOP(name, cls, expr)                                                     \
    struct cg_do_##name {                                                             \
        template <typename T, typename U> static __device__ __forceinline__ T on(T a, T b) { return expr; } \
    };
#include "kernels/types.def"
#undef CG_REDOP

template <typename OP, typename T, typename U> static __device__ __forceinline__ uint4 cg_reduce_pack(uint4 x, uint4 y)
{
    union pack {
        uint4 v;
        T e[16 / sizeof(T)];
    } a, b;

    a.v = x;
    b.v = y;
#pragma unroll
    for (int i = 0; i < (int) (16 / sizeof(T)); i++) a.e[i] = OP::template on<T, U>(a.e[i], b.e[i]);
    return a.v;
}

template <typename OP, typename T, typename U, int N>
static __device__ __forceinline__ void cg_reduce_all(uint4 (&x)[N], const uint4 (&y)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++) x[i] = cg_reduce_pack<OP, T, U>(x[i], y[i]);
}

/* x = x op y. Every kind that cg_reduce_kind yields has its case. */
template <int N> static __device__ __forceinline__ void cg_reduce(uint32_t kind, uint4 (&x)[N], const uint4 (&y)[N])
{
#define ONE(op, type, T, U)                                                    \
    case CG_REDOP_##op * CG_TYPE_COUNT + CG_TYPE_##type:                       \
        cg_reduce_all<cg_do_##op, T, U, N>(x, y);                              \
        break;
#define UNSIGNED(op)                                                           \
    ONE(op, U8, uint8_t, uint8_t)                                              \
    ONE(op, U16, uint16_t, uint16_t)                                           \
    ONE(op, U32, uint32_t, uint32_t)                                           \
    ONE(op, U64, uint64_t, uint64_t)
#define SIGNED(op)                                                             \
    ONE(op, I8, int8_t, uint8_t)                                               \
    ONE(op, I16, int16_t, uint16_t)                                            \
    ONE(op, I32, int32_t, uint32_t)                                            \
    ONE(op, I64, int64_t, uint64_t)
#define FLOATS(op)                                                             \
    ONE(op, F32, float, float)                                                 \
    ONE(op, F64, double, double)
    switch (kind) {
        UNSIGNED(SUM) FLOATS(SUM)
        UNSIGNED(PROD) FLOATS(PROD)
        UNSIGNED(MIN) SIGNED(MIN) FLOATS(MIN)
        UNSIGNED(MAX) SIGNED(MAX) FLOATS(MAX)
        UNSIGNED(LAND) UNSIGNED(LOR) UNSIGNED(LXOR)
        ONE(BAND, U64, uint64_t, uint64_t)
        ONE(BOR, U64, uint64_t, uint64_t)
        ONE(BXOR, U64, uint64_t, uint64_t)
    }
#undef ONE
#undef UNSIGNED
#undef SIGNED
#undef FLOATS
}

#endif
