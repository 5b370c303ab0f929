/* SPDX-License-Identifier: BSD-3-Clause
 * The reduction of COPY: streams through local GPU memory, waits for nothing. */
#include "kernels/cuda/fast_copy.h"
#include "kernels/cuda/fast_packs.cuh"

#define CG_COPY_THREADS 512

__global__ void __launch_bounds__(CG_COPY_THREADS, 2)
    cg_copy_reduction_kernel(const __grid_constant__ struct cg_copy_reduction a)
{
    const struct cg_lanes lanes = cg_lanes_of(CG_CMD_TYPE(a.misc), CG_CMD_REDOP(a.misc));
    const uint32_t stride = gridDim.x * blockDim.x, packs = (a.bytes + 15) / 16;
    uint64_t sum[2 * CG_COPY_UNROLL], x[2 * CG_COPY_UNROLL];

    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += CG_COPY_UNROLL * stride) {
        cg_copy_load<CG_COPY_UNROLL>(sum, a.in[0], cg_copy_whole(a.in[0], a.bytes), a.bytes, i, stride);
        for (uint32_t s = 1; s < a.n; s++) {
            cg_copy_load<CG_COPY_UNROLL>(x, a.in[s], cg_copy_whole(a.in[s], a.bytes), a.bytes, i, stride);
            cg_lanes_reduce(lanes, sum, x);
        }
        cg_copy_store<CG_COPY_UNROLL>(sum, a.out, cg_copy_whole(a.out, a.bytes), a.bytes, i, stride);
    }
}

__global__ void __launch_bounds__(CG_COPY_THREADS, 2)
    cg_copy_reduction_narrow(const __grid_constant__ struct cg_copy_reduction a)
{
    cg_copy_sum_narrow(a.in, a.n, &a.out, 1, a.bytes, a.misc);
}

static const void *kernel_for(int narrow)
{
    return narrow ? (const void *) cg_copy_reduction_narrow : (const void *) cg_copy_reduction_kernel;
}

int cg_fx_copy_load(int narrow)
{
    cudaFuncAttributes attributes;

    return (int) cudaFuncGetAttributes(&attributes, kernel_for(narrow));
}

int cg_fx_copy_reduce(const struct cg_copy_reduction *reduction, int blocks, void *stream)
{
    void *args[] = {(void *) reduction};
    const uint32_t packs = (reduction->bytes + 15) / 16, needed = (packs + CG_COPY_THREADS - 1) / CG_COPY_THREADS;

    const void *kernel = kernel_for(cg_type_narrow((int) CG_CMD_TYPE(reduction->misc)));

    if ((uint32_t) blocks > needed) blocks = needed ? (int) needed : 1;
    return (int) cudaLaunchKernel(kernel, dim3(blocks), dim3(CG_COPY_THREADS), args, 0, (cudaStream_t) stream);
}
