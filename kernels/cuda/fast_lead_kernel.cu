/* SPDX-License-Identifier: BSD-3-Clause
 * LEAD's kernel: reduces buffers of several ranks into all of them, waits for nothing. */
#include "kernels/cuda/fast_lead.h"
#include "kernels/cuda/fast_packs.cuh"

/* What this block wrote is visible to all before the last block, which has seen the count, tells the host. */
static __device__ __forceinline__ void cg_lead_end_block(const struct cg_lead_args &a)
{
    __syncthreads();
    if (threadIdx.x != 0) return;
    cg_fence_sys();
    if (gridDim.x > 1 && atomicAdd(&a.state->led, 1u) + 1 < gridDim.x) return;
    a.state->led = 0;
    cg_fence_sys();
    cg_store_relaxed(&a.ctl->led, a.number);
}

__global__ void __launch_bounds__(CG_LEAD_THREADS, 2) cg_lead_kernel(const __grid_constant__ struct cg_lead_args a)
{
    const struct cg_lanes lanes = cg_lanes_of(CG_CMD_TYPE(a.misc), CG_CMD_REDOP(a.misc));
    const uint32_t stride = gridDim.x * blockDim.x, packs = (a.bytes + 15) / 16;
    uint64_t sum[2 * CG_COPY_UNROLL], x[2 * CG_COPY_UNROLL];

    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += CG_COPY_UNROLL * stride) {
        cg_copy_load<CG_COPY_UNROLL>(sum, a.in[0], cg_copy_whole(a.in[0], a.bytes), a.bytes, i, stride);
        for (uint32_t r = 1; r < a.n; r++) {
            cg_copy_load<CG_COPY_UNROLL>(x, a.in[r], cg_copy_whole(a.in[r], a.bytes), a.bytes, i, stride);
            cg_lanes_reduce(lanes, sum, x);
        }
        for (uint32_t r = 0; r < a.n; r++)
            cg_copy_store<CG_COPY_UNROLL>(sum, a.out[r], cg_copy_whole(a.out[r], a.bytes), a.bytes, i, stride);
    }
    cg_lead_end_block(a);
}

__global__ void __launch_bounds__(CG_LEAD_THREADS, 2) cg_lead_narrow(const __grid_constant__ struct cg_lead_args a)
{
    cg_copy_sum_narrow(a.in, a.n, a.out, a.n, a.bytes, a.misc);
    cg_lead_end_block(a);
}

int cg_fx_lead_load(void **function, int narrow)
{
    const void *kernel = narrow ? (const void *) cg_lead_narrow : (const void *) cg_lead_kernel;
    cudaFuncAttributes attributes;
    cudaError_t rc = cudaFuncGetAttributes(&attributes, kernel); /* loads it */

    if (rc == cudaSuccess) rc = cudaGetFuncBySymbol((cudaFunction_t *) function, kernel);
    return (int) rc;
}
