/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel of MPI_Reduce_local. It waits for nothing; the movers are those of the general executor, so that the bits
 * are the same. */
#include <cuda_runtime_api.h>

#include "kernels/cuda/local.h"
#include "kernels/cuda/move.cuh"

static __device__ void describe(struct cg_move *m, const struct cg_local_args &a, uint64_t at)
{
    const int narrow = cg_type_narrow(a.type);
    const uint32_t esize = narrow && a.type >= CG_TYPE_E4M3 ? 1 : 2; /* of narrow types */

    m->src[0] = a.in + at;
    m->src[1] = m->dst[0] = a.inout + at;
    m->nsrc = 2;
    m->ndst = 1;
    m->bytes = (uint32_t) cg_min_u64(CG_LOCAL_SLICE, a.bytes - at);
    m->kind = cg_reduce_kind(a.type, a.redop);
    m->data = cg_type_data(a.type);
    m->user_src = CG_NONE;
    m->user_dst = 0;
    m->narrow = narrow ? a.type : CG_NONE;
    m->redop = a.redop;
    m->n = m->bytes / esize;
    m->wide = 0;
}

static __global__ void __launch_bounds__(CG_LOCAL_THREADS)
cg_local_kernel(const __grid_constant__ struct cg_local_args args)
{
    __shared__ struct cg_move move;

    for (uint64_t at = (uint64_t) blockIdx.x * CG_LOCAL_SLICE; at < args.bytes;
         at += (uint64_t) gridDim.x * CG_LOCAL_SLICE) {
        __syncthreads(); /* the slice before is done with */
        if (threadIdx.x == 0) describe(&move, args, at);
        __syncthreads();
        cg_move_run(&move, cg_no_gate());
    }
}

extern "C" int cg_local_load(void)
{
    struct cudaFuncAttributes attr;

    return cudaFuncGetAttributes(&attr, cg_local_kernel);
}

extern "C" int cg_local_launch(const struct cg_local_args *args, uint32_t blocks, void *stream)
{
    void *list[] = {(void *) args};

    return cudaLaunchKernel((const void *) cg_local_kernel, dim3((int) blocks), dim3(CG_LOCAL_THREADS), list, 0,
                            (cudaStream_t) stream);
}
