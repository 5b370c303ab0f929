/* SPDX-License-Identifier: BSD-3-Clause
 * Arithmetic that types.def uses and that must give the same bits on every executor. */
#ifndef CG_KERNELS_ARITH_H
#define CG_KERNELS_ARITH_H

#include "core/port.h"
#include "include/coll_gpu_floats.h"

/* Product modulo the width of the unsigned type U; 16-bit factors would overflow int. */
#define CG_WRAP_MUL(U, a, b) ((U) (1u * (U) (a) * (U) (b)))

/* Classes of types.def. */
#define CG_CLASS_INT 0
#define CG_CLASS_FLT 1
#define CG_CLASS_CPX 2
#define CG_CLASS_LOC 3
#define CG_CLASS_NAR 4

/* Floating point of 8 or 16 bits: its name here and in the public header. Sums of several are computed in float and
 * rounded once; where partial sums cross a link they are floats. */
#define CG_NARROW_TABLE(X) \
    X(F16, HALF)           \
    X(BF16, BFLOAT16)      \
    X(E4M3, FP8_E4M3)      \
    X(E5M2, FP8_E5M2)
#define CG_NARROW_FUNCTIONS(name, format)                                                          \
    CG_HD float cg_widen_##name(uint32_t bits)                                                     \
    {                                                                                              \
        return coll_gpu_to_float(COLL_GPU_##format, (uint16_t) bits);                              \
    }                                                                                              \
    CG_HD uint16_t cg_narrow_##name(float x) { return coll_gpu_from_float(COLL_GPU_##format, x); }
CG_NARROW_TABLE(CG_NARROW_FUNCTIONS)

/* C's and Fortran's complex numbers. */
typedef struct {
    float re, im;
} cg_c32;
typedef struct {
    double re, im;
} cg_c64;

/* What MINLOC and MAXLOC work on, as C lays it out. gap: belongs to the user, is read by chance and never written. */
typedef struct {
    float v;
    int32_t i;
} cg_loc_f32;
typedef struct {
    double v;
    int32_t i, gap;
} cg_loc_f64;
typedef struct {
    int16_t v, gap;
    int32_t i;
} cg_loc_i16;
typedef struct {
    int32_t v, i;
} cg_loc_i32;
typedef struct {
    int64_t v;
    int32_t i, gap;
} cg_loc_i64;
typedef struct {
    float v, i;
} cg_loc_2f32;
typedef struct {
    double v, i;
} cg_loc_2f64;

#define CG_NAN(x) ((x) != (x))
/* Does a come before b? The lower index where the values are equal or both NaN. order: < or >. */
#define CG_LOC_FIRST(order, a, b)                                     \
    ((a).v order (b).v || (CG_NAN((a).v) && !CG_NAN((b).v)) ||        \
     (((a).v == (b).v || (CG_NAN((a).v) && CG_NAN((b).v))) && (a).i < (b).i))

/* x, any NaN replaced by the quiet one without sign and payload: which NaN an addition yields differs between CPUs and
 * GPUs. Nor may a product be fused with what follows: GPU and CPU code is compiled without contraction. */
#ifdef __cplusplus
static __host__ __device__ __forceinline__ float cg_one_nan(float x) { return x != x ? __builtin_nanf("") : x; }
static __host__ __device__ __forceinline__ double cg_one_nan(double x) { return x != x ? __builtin_nan("") : x; }
#define CG_ONE_NAN(x) cg_one_nan(x)
#define CG_PAIR(T, x, y) (T{x, y})
#else
static inline float cg_nan(void) { return __builtin_nanf(""); }
#define CG_ONE_NAN(x)                                 \
    ({                                                \
        const __typeof__(x) x_ = (x);                 \
        x_ != x_ ? (__typeof__(x)) cg_nan() : x_;     \
    })
#define CG_PAIR(T, x, y) ((T) {x, y})
#endif

#endif
