/* SPDX-License-Identifier: BSD-3-Clause
 * The movers. Every step is one loop: fold the sources in their order, write the result to each destination. All
 * sources of a pack of 16 bytes are read by the thread that then writes it, so dst may be a source. Slots are aligned
 * to 16 bytes; user buffers may have any alignment. A user's gaps are not written. */
#ifndef CG_KERNELS_CUDA_MOVE_CUH
#define CG_KERNELS_CUDA_MOVE_CUH

#include "kernels/cuda/narrow.cuh"

static __device__ __forceinline__ uint32_t cg_ld_bytes(const char *p, uint32_t bytes)
{
    uint32_t v = 0;
    if (bytes >= 4 && ((size_t) p & 3) == 0) return cg_ld4(p);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        if (i < bytes) v |= cg_ld1(p + i) << (8 * i);
    }
    return v;
}

/* data: which of the four bytes are. */
static __device__ __forceinline__ void cg_st_bytes(char *p, uint32_t v, uint32_t bytes, uint32_t data)
{
    if (bytes >= 4 && (data & 15) == 15 && ((size_t) p & 3) == 0) {
        *(uint32_t *) p = v;
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        if (i < bytes && ((data >> i) & 1)) p[i] = (char) (v >> (8 * i));
    }
}

static __device__ __forceinline__ uint32_t cg_part(uint32_t bytes, uint32_t at) { return bytes > at ? bytes - at : 0; }

/* W: bytes at a time from pointers that are not aligned to 16; with 1 a pack may be cut short. */
template <int W> static __device__ __forceinline__ uint4 cg_ld_pack(const char *p, uint32_t bytes)
{
    if (W == 16) return cg_ld16(p);
    if (W == 4) return make_uint4(cg_ld4(p), cg_ld4(p + 4), cg_ld4(p + 8), cg_ld4(p + 12));
    return make_uint4(cg_ld_bytes(p, bytes), cg_ld_bytes(p + 4, cg_part(bytes, 4)),
                      cg_ld_bytes(p + 8, cg_part(bytes, 8)), cg_ld_bytes(p + 12, cg_part(bytes, 12)));
}

template <int W> static __device__ __forceinline__ void cg_st_pack(char *p, uint4 v, uint32_t bytes, uint32_t data)
{
    if (W == 16) {
        *(uint4 *) p = v;
    } else if (W == 4) {
        uint32_t *w = (uint32_t *) p;
        w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
    } else {
        cg_st_bytes(p, v.x, bytes, data);
        cg_st_bytes(p + 4, v.y, cg_part(bytes, 4), data >> 4);
        cg_st_bytes(p + 8, v.z, cg_part(bytes, 8), data >> 8);
        cg_st_bytes(p + 12, v.w, cg_part(bytes, 12), data >> 12);
    }
}

/* N packs a thread, blockDim.x apart, all loads in flight at once. at, end: in packs. */
template <int N, int W>
static __device__ __forceinline__ void cg_load(uint4 (&x)[N], const char *p, uint32_t at, uint32_t end, uint32_t bytes)
{
    bool whole = W == 16 || (W == 4 && ((size_t) p & 15) == 0);
#pragma unroll
    for (int i = 0; i < N; i++) {
        uint32_t k = at + i * blockDim.x;
        if (k >= end) continue;
        x[i] = whole ? cg_ld_pack<16>(p + (size_t) k * 16, 16) : cg_ld_pack<W>(p + (size_t) k * 16, bytes - k * 16);
    }
}

template <int N, int W>
static __device__ __forceinline__ void cg_store(const uint4 (&x)[N], char *p, uint32_t at, uint32_t end, uint32_t bytes,
                                                uint32_t data)
{
    bool whole = W == 16 || (W == 4 && ((size_t) p & 15) == 0);
#pragma unroll
    for (int i = 0; i < N; i++) {
        uint32_t k = at + i * blockDim.x;
        if (k >= end) continue;
        if (whole) cg_st_pack<16>(p + (size_t) k * 16, x[i], 16, CG_NO_GAPS);
        else cg_st_pack<W>(p + (size_t) k * 16, x[i], bytes - k * 16, data);
    }
}

struct cg_no_gate {
    __device__ __forceinline__ bool operator()() const { return true; }
};

/* gate is called once by every thread, after the first loads and before the first store; false: nothing is stored. */
template <int N, int W, class GATE>
static __device__ __forceinline__ bool cg_move_packs(const struct cg_move *m, uint32_t from, uint32_t end,
                                                     const GATE &gate)
{
    uint32_t at = from + threadIdx.x;
    uint4 x[N] = {}, y[N] = {}, next[N] = {};

    cg_load<N, W>(x, m->src[0], at, end, m->bytes);
    if (m->nsrc > 1) cg_load<N, W>(y, m->src[1], at, end, m->bytes);
    if (!gate()) return false;
    while (at < end) {
        for (uint32_t k = 2; k <= m->nsrc; k++) {
            if (k < m->nsrc) cg_load<N, W>(next, m->src[k], at, end, m->bytes);
            cg_reduce<N>(m->kind, x, y);
#pragma unroll
            for (int i = 0; i < N; i++) y[i] = next[i];
        }
        for (uint32_t k = 0; k < m->ndst; k++) {
            cg_store<N, W>(x, m->dst[k], at, end, m->bytes, W == 1 && k == m->user_dst ? m->data : CG_NO_GAPS);
        }
        at += N * blockDim.x;
        cg_load<N, W>(x, m->src[0], at, end, m->bytes);
        if (m->nsrc > 1) cg_load<N, W>(y, m->src[1], at, end, m->bytes);
    }
    return true;
}

/* The whole block. */
template <class GATE> static __device__ __forceinline__ bool cg_move_run(const struct cg_move *m, const GATE &gate)
{
    uint32_t packs = m->bytes / 16, all = (m->bytes + 15) / 16;
    size_t low = 0;
    bool ok;

    if (m->narrow != CG_NONE) return cg_move_float(m, gate);
    for (uint32_t k = 0; k < m->nsrc; k++) low |= (size_t) m->src[k];
    for (uint32_t k = 0; k < m->ndst; k++) low |= (size_t) m->dst[k];
    if ((low & 3) || (m->data != CG_NO_GAPS && m->user_dst != CG_NONE)) return cg_move_packs<1, 1>(m, 0, all, gate);
    ok = (low & 15) || cg_kind_large(m->kind) ? cg_move_packs<2, 4>(m, 0, packs, gate)
                                              : cg_move_packs<4, 16>(m, 0, packs, gate);
    if (ok && packs < all) cg_move_packs<1, 1>(m, packs, all, cg_no_gate());
    return ok;
}

#endif
