/* SPDX-License-Identifier: BSD-3-Clause
 * A move, and loads of what others write. */
#ifndef CG_KERNELS_CUDA_ACCESS_CUH
#define CG_KERNELS_CUDA_ACCESS_CUH

#include "kernels/cuda/ctl.h"

#define CG_NONE 0xffffffffu

/* Of bytes bytes, or, if narrow is a type, of n elements of it. */
struct cg_move {
    const char *src[CG_MAX_LINKS + 1];
    char *dst[CG_MAX_LINKS + 1];
    uint32_t nsrc, ndst, bytes, kind;
    uint32_t data;               /* see cg_type_data: of dst[user_dst] */
    uint32_t user_src, user_dst; /* which of them is the user's, or CG_NONE; the others are slots */
    uint32_t narrow;             /* computed in float: the type of the user's elements, else CG_NONE */
    uint32_t redop, n, wide;     /* wide: slots hold floats */
};

#ifdef __CUDACC__
/* Never through the read-only cache; peers write what is read here while the kernel runs. */
static __device__ __forceinline__ uint4 cg_ld16(const char *p)
{
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ uint32_t cg_ld4(const char *p)
{
    uint32_t v;
    asm volatile("ld.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ uint32_t cg_ld1(const char *p)
{
    uint32_t v;
    asm volatile("ld.global.u8 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

#else /* test/emu */

static inline uint4 cg_ld16(const char *p) { return *(const uint4 *) p; }
static inline uint32_t cg_ld4(const char *p) { return *(const uint32_t *) p; }
static inline uint32_t cg_ld1(const char *p) { return *(const unsigned char *) p; }

#endif

#endif
