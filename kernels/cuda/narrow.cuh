/* SPDX-License-Identifier: BSD-3-Clause
 * The mover of floating point of 8 and 16 bits where something is computed or converted: eight elements a thread, in
 * float from the first source to the last, rounded once. Slots with partial sums hold floats. */
#ifndef CG_KERNELS_CUDA_NARROW_CUH
#define CG_KERNELS_CUDA_NARROW_CUH

#include "kernels/cuda/access.cuh"
#include "kernels/cuda/reduce.cuh"

static __device__ __forceinline__ void cg_widen8(uint32_t type, float (&v)[8], const uint32_t (&bits)[8])
{
    switch (type) {
#define CG_WIDEN(name, format)                                          \
    case CG_TYPE_##name:                                                \
        _Pragma("unroll") for (int i = 0; i < 8; i++) v[i] = cg_widen_##name(bits[i]); \
        break;
        CG_NARROW_TABLE(CG_WIDEN)
#undef CG_WIDEN
    }
}

static __device__ __forceinline__ void cg_narrow8(uint32_t type, uint32_t (&bits)[8], const float (&v)[8])
{
    switch (type) {
#define CG_NARROW(name, format)                                         \
    case CG_TYPE_##name:                                                \
        _Pragma("unroll") for (int i = 0; i < 8; i++) bits[i] = cg_narrow_##name(v[i]); \
        break;
        CG_NARROW_TABLE(CG_NARROW)
#undef CG_NARROW
    }
}

/* x = x op y */
static __device__ __forceinline__ void cg_float8(uint32_t redop, float (&x)[8], const float (&y)[8])
{
    switch (redop) {
#define CG_CLASS CG_CLASS_NAR
#define CG_REDOP(name, expr)                                            \
    case CG_REDOP_##name:                                               \
        _Pragma("unroll") for (int i = 0; i < 8; i++) x[i] = cg_flt::cg_do_##name::on<float, float>(x[i], y[i]); \
        break;
#include "kernels/types.def"
#undef CG_REDOP
#undef CG_CLASS
    }
}

/* Of eight elements at p, left are there. */
static __device__ __forceinline__ void cg_load8(uint32_t (&b)[8], const char *p, uint32_t esize, uint32_t left)
{
    if (left >= 8 && esize == 2 && ((size_t) p & 15) == 0) {
        uint4 v = cg_ld16(p);
        b[0] = v.x & 0xffff, b[1] = v.x >> 16, b[2] = v.y & 0xffff, b[3] = v.y >> 16;
        b[4] = v.z & 0xffff, b[5] = v.z >> 16, b[6] = v.w & 0xffff, b[7] = v.w >> 16;
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        b[i] = i < left ? cg_ld1(p + i * esize) : 0;
        if (i < left && esize == 2) b[i] |= cg_ld1(p + i * 2 + 1) << 8;
    }
}

static __device__ __forceinline__ void cg_store8(const uint32_t (&b)[8], char *p, uint32_t esize, uint32_t left)
{
    if (left >= 8 && esize == 2 && ((size_t) p & 15) == 0) {
        *(uint4 *) p = make_uint4(b[0] | b[1] << 16, b[2] | b[3] << 16, b[4] | b[5] << 16, b[6] | b[7] << 16);
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) {
        if (i < left) p[i * esize] = (char) b[i];
        if (i < left && esize == 2) p[i * 2 + 1] = (char) (b[i] >> 8);
    }
}

/* Slots are aligned, and as long as a multiple of 16 bytes. */
static __device__ __forceinline__ void cg_load8_wide(float (&v)[8], const char *p, uint32_t left)
{
    uint4 low = cg_ld16(p), high = left > 4 ? cg_ld16(p + 16) : make_uint4(0, 0, 0, 0);

    v[0] = __uint_as_float(low.x), v[1] = __uint_as_float(low.y);
    v[2] = __uint_as_float(low.z), v[3] = __uint_as_float(low.w);
    v[4] = __uint_as_float(high.x), v[5] = __uint_as_float(high.y);
    v[6] = __uint_as_float(high.z), v[7] = __uint_as_float(high.w);
}

static __device__ __forceinline__ void cg_store8_wide(const float (&v)[8], char *p, uint32_t left)
{
    ((float4 *) p)[0] = make_float4(v[0], v[1], v[2], v[3]);
    if (left > 4) ((float4 *) p)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

/* The whole block. gate: as for cg_move_packs. */
template <class GATE> static __device__ __forceinline__ bool cg_move_float(const struct cg_move *m, const GATE &gate)
{
    const uint32_t esize = m->narrow < CG_TYPE_E4M3 ? 2 : 1;
    float x[8], y[8];
    uint32_t bits[8];

    if (!gate()) return false;
#pragma unroll 1
    for (uint32_t at = 8 * threadIdx.x; at < m->n; at += 8 * blockDim.x) {
        uint32_t left = m->n - at;
#pragma unroll 1
        for (uint32_t k = 0; k < m->nsrc; k++) {
            if (m->wide && k != m->user_src) {
                cg_load8_wide(y, m->src[k] + (size_t) at * 4, left);
            } else {
                cg_load8(bits, m->src[k] + (size_t) at * esize, esize, left);
                cg_widen8(m->narrow, y, bits);
            }
            if (k > 0) cg_float8(m->redop, x, y);
#pragma unroll
            for (int i = 0; i < 8; i++) x[i] = k > 0 ? x[i] : y[i];
        }
        cg_narrow8(m->narrow, bits, x);
#pragma unroll 1
        for (uint32_t k = 0; k < m->ndst; k++) {
            if (m->wide && k != m->user_dst) cg_store8_wide(x, m->dst[k] + (size_t) at * 4, left);
            else cg_store8(bits, m->dst[k] + (size_t) at * esize, esize, left);
        }
    }
    return true;
}

#endif
