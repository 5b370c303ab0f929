/* SPDX-License-Identifier: BSD-3-Clause
 * Floating-point formats of 8 and 16 bits, as GPUs have them, and their conversion from and to float.
 *
 * Header only; C99, C++ and CUDA, host and device. Same bits everywhere: integer arithmetic, whatever the rounding and
 * flushing that the program has set, apart from the additions and multiplications of normal numbers that are marked.
 *
 *   COLL_GPU_HALF      IEEE binary16 (CUDA: __half)
 *   COLL_GPU_BFLOAT16  the upper half of a float (CUDA: __nv_bfloat16)
 *   COLL_GPU_FP8_E4M3  4 bits of exponent, 3 of mantissa, no infinity (CUDA: __nv_fp8_e4m3)
 *   COLL_GPU_FP8_E5M2  5 bits of exponent, 2 of mantissa (CUDA: __nv_fp8_e5m2)
 *
 * Rounding is to nearest, ties to even. What is too large becomes infinity, in E4M3 NaN (not the largest number, so
 * that overflow shows). There is one NaN: all bits set but the sign. */
#ifndef COLL_GPU_FLOATS_H
#define COLL_GPU_FLOATS_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define COLL_GPU_INLINE static __host__ __device__ __forceinline__
#else
#define COLL_GPU_INLINE static inline
#endif

enum coll_gpu_format {
    COLL_GPU_HALF,
    COLL_GPU_BFLOAT16,
    COLL_GPU_FP8_E4M3,
    COLL_GPU_FP8_E5M2,
    COLL_GPU_FORMATS /* how many there are */
};

/* Bytes of a number of this format. */
COLL_GPU_INLINE int coll_gpu_format_bytes(enum coll_gpu_format format)
{
    return format == COLL_GPU_HALF || format == COLL_GPU_BFLOAT16 ? 2 : 1;
}

COLL_GPU_INLINE float coll_gpu_float_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

COLL_GPU_INLINE uint32_t coll_gpu_bits_of_float(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* width: of the number; mantissa: bits of it that are stored; largest: bits of the largest number without sign. */
COLL_GPU_INLINE float coll_gpu_widen(uint32_t bits, int width, int mantissa, int bias, uint32_t largest, int has_inf)
{
    uint32_t a = bits & ((1u << (width - 1)) - 1), sign = (bits >> (width - 1) & 1) << 31, wide;

    if (a > largest) {
        if (!has_inf || a > largest + 1) return coll_gpu_float_of_bits(0x7fc00000);
        wide = 0x7f800000;
    } else if (bias == 127) {
        wide = a << (23 - mantissa);
    } else if (a >> mantissa) {
        wide = (a << (23 - mantissa)) + ((uint32_t) (127 - bias) << 23);
    } else { /* a small integer times the unit of the subnormals: normal in float, exact */
        float unit = coll_gpu_float_of_bits((uint32_t) (128 - bias - mantissa) << 23);
        wide = coll_gpu_bits_of_float((float) (int) a * unit);
    }
    return coll_gpu_float_of_bits(wide | sign);
}

COLL_GPU_INLINE uint32_t coll_gpu_narrow(float x, int width, int mantissa, int bias, uint32_t largest, int has_inf)
{
    uint32_t bits = coll_gpu_bits_of_float(x), a = bits & 0x7fffffff, sign = (bits >> 31) << (width - 1);
    uint32_t nan = (1u << (width - 1)) - 1, narrow;

    if (a > 0x7f800000) return nan;
    if (bias != 127 && a < (uint32_t) (128 - bias) << 23) {
        /* subnormal: this addition rounds to the unit, whose number is then in the low bits */
        uint32_t unit = (uint32_t) (151 - bias - mantissa) << 23;
        float sum = coll_gpu_float_of_bits(a) + coll_gpu_float_of_bits(unit);
        narrow = coll_gpu_bits_of_float(sum) - unit;
    } else {
        uint32_t odd = a >> (23 - mantissa) & 1, shift = 23 - (uint32_t) mantissa;
        narrow = (a - ((uint32_t) (127 - bias) << 23) + ((1u << (shift - 1)) - 1) + odd) >> shift;
    }
    if (narrow <= largest) return narrow | sign;
    return has_inf ? (largest + 1) | sign : nan;
}

/* The number with these bits; the upper ones of 8-bit formats are ignored. */
COLL_GPU_INLINE float coll_gpu_to_float(enum coll_gpu_format format, uint16_t bits)
{
    switch (format) {
    case COLL_GPU_HALF: return coll_gpu_widen(bits, 16, 10, 15, 0x7bff, 1);
    case COLL_GPU_BFLOAT16: return coll_gpu_widen(bits, 16, 7, 127, 0x7f7f, 1);
    case COLL_GPU_FP8_E4M3: return coll_gpu_widen(bits, 8, 3, 7, 0x7e, 0);
    default: return coll_gpu_widen(bits, 8, 2, 15, 0x7b, 1);
    }
}

/* The bits of the number nearest to x. */
COLL_GPU_INLINE uint16_t coll_gpu_from_float(enum coll_gpu_format format, float x)
{
    switch (format) {
    case COLL_GPU_HALF: return (uint16_t) coll_gpu_narrow(x, 16, 10, 15, 0x7bff, 1);
    case COLL_GPU_BFLOAT16: return (uint16_t) coll_gpu_narrow(x, 16, 7, 127, 0x7f7f, 1);
    case COLL_GPU_FP8_E4M3: return (uint16_t) coll_gpu_narrow(x, 8, 3, 7, 0x7e, 0);
    default: return (uint16_t) coll_gpu_narrow(x, 8, 2, 15, 0x7b, 1);
    }
}

#endif
