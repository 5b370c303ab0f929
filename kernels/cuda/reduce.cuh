/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions on packs of 16 bytes. Pairs of type and operation that do the same to the bits share code: sums, products
 * and logical operations of integers by width, bitwise ones as 64-bit words. cg_reduce_kind names the one that stands
 * for all. */
#ifndef CG_KERNELS_CUDA_REDUCE_CUH
#define CG_KERNELS_CUDA_REDUCE_CUH

#include "kernels/arith.h"
#include "kernels/cuda/ctl.h"

#define CG_REDOP(name, expr)                                                          \
    struct cg_do_##name {                                                             \
        template <typename T, typename U> static __device__ __forceinline__ T on(T a, T b) { return expr; } \
    };
namespace cg_int {
#define CG_CLASS CG_CLASS_INT
#include "kernels/types.def"
#undef CG_CLASS
}
namespace cg_flt {
#define CG_CLASS CG_CLASS_FLT
#include "kernels/types.def"
#undef CG_CLASS
}
namespace cg_cpx {
#define CG_CLASS CG_CLASS_CPX
#include "kernels/types.def"
#undef CG_CLASS
}
namespace cg_loc {
#define CG_CLASS CG_CLASS_LOC
#include "kernels/types.def"
#undef CG_CLASS
}
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

/* More than two packs at once would take registers that are not there. */
static __device__ __forceinline__ bool cg_kind_large(uint32_t kind) { return kind % CG_TYPE_COUNT >= CG_TYPE_C32; }

/* x = x op y. Every kind that cg_reduce_kind yields has its case, large ones where N is at most 2. */
template <int N> static __device__ __forceinline__ void cg_reduce(uint32_t kind, uint4 (&x)[N], const uint4 (&y)[N])
{
#define ONE(cls, op, type, T, U)                                               \
    case CG_REDOP_##op * CG_TYPE_COUNT + CG_TYPE_##type:                       \
        if (N <= 2 || CG_TYPE_##type < CG_TYPE_C32) cg_reduce_all<cls::cg_do_##op, T, U, N>(x, y); \
        break;
#define UNSIGNED(op)                                                           \
    ONE(cg_int, op, U8, uint8_t, uint8_t)                                              \
    ONE(cg_int, op, U16, uint16_t, uint16_t)                                           \
    ONE(cg_int, op, U32, uint32_t, uint32_t)                                           \
    ONE(cg_int, op, U64, uint64_t, uint64_t)
#define SIGNED(op)                                                             \
    ONE(cg_int, op, I8, int8_t, uint8_t)                                               \
    ONE(cg_int, op, I16, int16_t, uint16_t)                                            \
    ONE(cg_int, op, I32, int32_t, uint32_t)                                            \
    ONE(cg_int, op, I64, int64_t, uint64_t)
#define FLOATS(op)                                                             \
    ONE(cg_flt, op, F32, float, float)                                                 \
    ONE(cg_flt, op, F64, double, double)
#define LOCS(op)                                                               \
    ONE(cg_loc, op, LOC_F32, cg_loc_f32, cg_loc_f32)                           \
    ONE(cg_loc, op, LOC_F64, cg_loc_f64, cg_loc_f64)                           \
    ONE(cg_loc, op, LOC_I16, cg_loc_i16, cg_loc_i16)                           \
    ONE(cg_loc, op, LOC_I32, cg_loc_i32, cg_loc_i32)                           \
    ONE(cg_loc, op, LOC_I64, cg_loc_i64, cg_loc_i64)                           \
    ONE(cg_loc, op, LOC_2F32, cg_loc_2f32, cg_loc_2f32)                        \
    ONE(cg_loc, op, LOC_2F64, cg_loc_2f64, cg_loc_2f64)
    switch (kind) {
        UNSIGNED(SUM) FLOATS(SUM)
        UNSIGNED(PROD) FLOATS(PROD)
        UNSIGNED(MIN) SIGNED(MIN) FLOATS(MIN)
        UNSIGNED(MAX) SIGNED(MAX) FLOATS(MAX)
        UNSIGNED(LAND) UNSIGNED(LOR) UNSIGNED(LXOR)
        ONE(cg_int, BAND, U64, uint64_t, uint64_t)
        ONE(cg_int, BOR, U64, uint64_t, uint64_t)
        ONE(cg_int, BXOR, U64, uint64_t, uint64_t)
        ONE(cg_cpx, PROD, C32, cg_c32, cg_c32)
        ONE(cg_cpx, PROD, C64, cg_c64, cg_c64)
        LOCS(MINLOC) LOCS(MAXLOC)
    }
#undef ONE
#undef UNSIGNED
#undef SIGNED
#undef FLOATS
#undef LOCS
}

#endif
