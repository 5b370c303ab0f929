/* SPDX-License-Identifier: BSD-3-Clause
 * The packing kernel. Packed bytes are cut into units that lie together on both sides; each thread finds its own units
 * in memory (kernels/flat.h), and neighbouring threads take neighbouring units. It waits for nothing and uses no local
 * memory. */
#include <cuda_runtime.h>

#include "kernels/cuda/pack.h"

template <class T> static __device__ __forceinline__ void move(const struct cg_pack_piece *p, int back)
{
    const uint64_t step = (uint64_t) gridDim.x * CG_PACK_THREADS;

    for (uint64_t i = (uint64_t) blockIdx.x * CG_PACK_THREADS + threadIdx.x; i < p->units; i += CG_PACK_DEEP * step) {
        T *to[CG_PACK_DEEP], unit[CG_PACK_DEEP];
#pragma unroll
        for (int k = 0; k < CG_PACK_DEEP; k++) {
            uint64_t u = i + k * step, left;
            if (u >= p->units) continue;
            T *user = (T *) (p->at + cg_flat_find(&p->top, p->nodes, p->blocks, u * sizeof(T), &left));
            T *packed = (T *) p->packed + u;
            unit[k] = back ? *packed : *user;
            to[k] = back ? user : packed;
        }
#pragma unroll
        for (int k = 0; k < CG_PACK_DEEP; k++) {
            if (i + k * step < p->units) *to[k] = unit[k];
        }
    }
}

static __global__ void __launch_bounds__(CG_PACK_THREADS)
cg_pack_kernel(const __grid_constant__ struct cg_pack_args args)
{
    __shared__ struct cg_pack_piece piece;
    const uint64_t *from = (const uint64_t *) &args.piece[blockIdx.y];

    for (uint32_t i = threadIdx.x; i < sizeof piece / 8; i += CG_PACK_THREADS) ((uint64_t *) &piece)[i] = from[i];
    __syncthreads();
    switch (piece.unit) {
    case 16: move<uint4>(&piece, args.back); break;
    case 8: move<uint2>(&piece, args.back); break;
    case 4: move<uint32_t>(&piece, args.back); break;
    case 2: move<uint16_t>(&piece, args.back); break;
    default: move<uint8_t>(&piece, args.back);
    }
}

extern "C" int cg_pack_load(void)
{
    struct cudaFuncAttributes attr;

    return cudaFuncGetAttributes(&attr, cg_pack_kernel);
}

extern "C" int cg_pack_launch(const struct cg_pack_args *args, uint32_t n, uint32_t width, void *stream)
{
    void *list[] = {(void *) args};

    return cudaLaunchKernel((const void *) cg_pack_kernel, dim3(width, n), dim3(CG_PACK_THREADS), list, 0,
                            (cudaStream_t) stream);
}
