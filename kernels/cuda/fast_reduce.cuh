/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of 8-byte words that hold 1 to 8 elements. Integers of any width are lanes of a word: high has the top bit
 * of each lane, so that one piece of code serves every width and signedness. The operation is decided once per call,
 * outside the loop over words. Compiles for the host too, where a test compares it with the reference. */
#ifndef CG_KERNELS_CUDA_FAST_REDUCE_CUH
#define CG_KERNELS_CUDA_FAST_REDUCE_CUH

#include "kernels/arith.h"
#include "kernels/step.h"

#ifdef __CUDA_ARCH__
#define CG_UNROLL _Pragma("unroll")
#else
#define CG_UNROLL
#endif

#ifdef __CUDACC__
#define CG_MEMBER __host__ __device__ __forceinline__
#else
#define CG_MEMBER inline
#endif

struct cg_lanes {
    uint32_t code, shift; /* width - 1 */
    uint64_t high;
    uint64_t flip; /* high for signed types: makes their order unsigned */
};

enum cg_lanes_code {
    CG_LANES_SUM, CG_LANES_MIN, CG_LANES_MAX, CG_LANES_BAND, CG_LANES_BOR, CG_LANES_BXOR, CG_LANES_LAND, CG_LANES_LOR,
    CG_LANES_LXOR, CG_LANES_PROD, /* + log2 of the width in bytes */
    CG_LANES_F32 = 16, CG_LANES_F64 = 20 /* + 0 SUM, 1 PROD, 2 MIN, 3 MAX */
};

#define CG_LANES_ROW(op) ((uint64_t) CG_LANES_##op << (4 * CG_REDOP_##op))
CG_HD struct cg_lanes cg_lanes_of(uint32_t type, uint32_t redop)
{
    const uint64_t codes = CG_LANES_ROW(SUM) | CG_LANES_ROW(PROD) | CG_LANES_ROW(MIN) | CG_LANES_ROW(MAX) |
                           CG_LANES_ROW(BAND) | CG_LANES_ROW(BOR) | CG_LANES_ROW(BXOR) | CG_LANES_ROW(LAND) |
                           CG_LANES_ROW(LOR) | CG_LANES_ROW(LXOR); /* a table in a register */
    uint32_t log = type < CG_TYPE_F32 ? type >> 1 : type - CG_TYPE_F32 + 2;
    struct cg_lanes l;

    l.shift = (8u << log) - 1;
    l.high = log == 0 ? 0x8080808080808080 : log == 1 ? 0x8000800080008000 : log == 2 ? 0x8000000080000000 : 1ull << 63;
    l.flip = type < CG_TYPE_F32 && !(type & 1) ? l.high : 0;
    l.code = (uint32_t) (codes >> (4 * redop)) & 15;
    if (type >= CG_TYPE_F32) l.code = (type == CG_TYPE_F32 ? CG_LANES_F32 : CG_LANES_F64) + redop;
    else if (l.code == CG_LANES_PROD) l.code += log;
    return l;
}
CG_STATIC_ASSERT(CG_TYPE_I8 == 0 && CG_TYPE_U64 == 7 && CG_TYPE_F32 == 8 && CG_TYPE_F64 == 9 &&
                     CG_REDOP_SUM == 0 && CG_REDOP_MAX == 3 && CG_REDOP_LXOR == 9,
                 "cg_lanes_of follows types.def");

/* All bits of the lanes in which a < b. */
CG_HD uint64_t cg_lanes_less(const struct cg_lanes &l, uint64_t a, uint64_t b)
{
    uint64_t d, less;

    a ^= l.flip;
    b ^= l.flip;
    d = (a | l.high) - (b & ~l.high);
    less = ((~a & b) | (~(a ^ b) & ~d)) & l.high;
    return (less - (less >> l.shift)) | less;
}

/* 1 in the lanes that are not 0, at bit shift of the lane. */
CG_HD uint64_t cg_lanes_true(const struct cg_lanes &l, uint64_t a)
{
    return (((a & ~l.high) + ~l.high) | a) & l.high;
}

template <typename T> union cg_word {
    uint64_t word;
    T e[8 / sizeof(T)];
};

template <typename T, typename F> CG_HD uint64_t cg_each_lane(uint64_t x, uint64_t y, F f)
{
    union cg_word<T> a, b;

    a.word = x;
    b.word = y;
    CG_UNROLL
    for (int i = 0; i < (int) (8 / sizeof(T)); i++) a.e[i] = f(a.e[i], b.e[i]);
    return a.word;
}

template <int N, typename F> CG_HD void cg_each_word(uint64_t (&a)[N], const uint64_t (&b)[N], F f)
{
    CG_UNROLL
    for (int i = 0; i < N; i++) a[i] = f(a[i], b[i]);
}

template <typename T, int N, typename F> CG_HD void cg_each(uint64_t (&a)[N], const uint64_t (&b)[N], F f)
{
    cg_each_word(a, b, [=](uint64_t x, uint64_t y) { return cg_each_lane<T>(x, y, f); });
}

template <typename T, int N> CG_HD void cg_reduce_float(uint32_t code, uint64_t (&a)[N], const uint64_t (&b)[N])
{
    switch (code) {
    case 0: cg_each<T>(a, b, [](T x, T y) { return cg_one_nan(x + y); }); break;
    case 1: cg_each<T>(a, b, [](T x, T y) { return cg_one_nan(x * y); }); break;
    case 2: cg_each<T>(a, b, [](T x, T y) { return x < y || x != x ? x : y; }); break;
    default: cg_each<T>(a, b, [](T x, T y) { return x > y || x != x ? x : y; }); break;
    }
}

template <int N> CG_HD void cg_reduce_int(const struct cg_lanes &l, uint64_t (&a)[N], const uint64_t (&b)[N])
{
    switch (l.code) {
    case CG_LANES_SUM:
        cg_each_word(a, b, [=](uint64_t x, uint64_t y) {
            return ((x & ~l.high) + (y & ~l.high)) ^ ((x ^ y) & l.high);
        });
        break;
    case CG_LANES_MIN:
        cg_each_word(a, b, [=](uint64_t x, uint64_t y) { return y ^ ((x ^ y) & cg_lanes_less(l, x, y)); });
        break;
    case CG_LANES_MAX:
        cg_each_word(a, b, [=](uint64_t x, uint64_t y) { return x ^ ((x ^ y) & cg_lanes_less(l, x, y)); });
        break;
    case CG_LANES_BAND: cg_each_word(a, b, [](uint64_t x, uint64_t y) { return x & y; }); break;
    case CG_LANES_BOR: cg_each_word(a, b, [](uint64_t x, uint64_t y) { return x | y; }); break;
    case CG_LANES_BXOR: cg_each_word(a, b, [](uint64_t x, uint64_t y) { return x ^ y; }); break;
    case CG_LANES_LAND:
        cg_each_word(a, b, [=](uint64_t x, uint64_t y) {
            return (cg_lanes_true(l, x) & cg_lanes_true(l, y)) >> l.shift;
        });
        break;
    case CG_LANES_LOR:
        cg_each_word(a, b, [=](uint64_t x, uint64_t y) { return cg_lanes_true(l, x | y) >> l.shift; });
        break;
    case CG_LANES_LXOR:
        cg_each_word(a, b, [=](uint64_t x, uint64_t y) {
            return (cg_lanes_true(l, x) ^ cg_lanes_true(l, y)) >> l.shift;
        });
        break;
    case CG_LANES_PROD: cg_each<uint8_t>(a, b, [](uint8_t x, uint8_t y) { return (uint8_t) (x * y); }); break;
    case CG_LANES_PROD + 1:
        cg_each<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return (uint16_t) (1u * x * y); });
        break;
    case CG_LANES_PROD + 2: cg_each<uint32_t>(a, b, [](uint32_t x, uint32_t y) { return x * y; }); break;
    default: cg_each<uint64_t>(a, b, [](uint64_t x, uint64_t y) { return x * y; }); break;
    }
}

/* a = a op b, a the left operand. */
template <int N> CG_HD void cg_lanes_reduce(const struct cg_lanes &l, uint64_t (&a)[N], const uint64_t (&b)[N])
{
    if (l.code == CG_LANES_F32) cg_each<float>(a, b, [](float x, float y) { return cg_one_nan(x + y); });
    else if (l.code >= CG_LANES_F64) cg_reduce_float<double>(l.code - CG_LANES_F64, a, b);
    else if (l.code >= CG_LANES_F32) cg_reduce_float<float>(l.code - CG_LANES_F32, a, b);
    else cg_reduce_int(l, a, b);
}

/* Operands of N words of a thread, given from the left to the right. */
template <int N> struct cg_sum_lanes {
    struct cg_lanes lanes;
    uint64_t acc[N];

    CG_MEMBER cg_sum_lanes(uint32_t type, uint32_t redop) : lanes(cg_lanes_of(type, redop)) {}
    CG_MEMBER void first(const uint64_t (&x)[N])
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) acc[k] = x[k];
    }
    CG_MEMBER void add(const uint64_t (&x)[N]) { cg_lanes_reduce(lanes, acc, x); }
    CG_MEMBER void end(uint64_t (&x)[N]) const
    {
        CG_UNROLL
        for (int k = 0; k < N; k++) x[k] = acc[k];
    }
};

#endif
