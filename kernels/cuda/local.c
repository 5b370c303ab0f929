/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Reduce_local on the GPU, on the stream of the copies. */
#include "core/log.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/local.h"
#include "kernels/host/host.h"

#define BLOCKS_EACH 4 /* of a processor: enough loads in flight */

int cg_gpu_reduce_start(struct cg_gpu *gpu, int type, int redop, const void *in, void *inout, uint64_t count,
                        struct cg_gpu_copy **handle)
{
    struct cg_local_args args = {.in = in, .inout = inout, .bytes = count * (uint64_t) cg_type_size(type),
                                 .type = (uint32_t) type, .redop = (uint32_t) redop};
    uint64_t slices = (args.bytes + CG_LOCAL_SLICE - 1) / CG_LOCAL_SLICE;
    uint32_t blocks = (uint32_t) cg_min_u64(slices, (uint64_t) gpu->processors * BLOCKS_EACH);
    struct cg_gpu_scope scope;
    int rc = gpu->broken ? gpu->broken : cg_gpu_enter(gpu->device, &scope);

    *handle = NULL;
    if (rc != CG_OK) return rc;
    if (blocks == 0 || cg_cuda_ok(cg_local_launch(&args, blocks, gpu->copy_stream))) *handle = cg_copy_mark(gpu);
    cg_gpu_leave(&scope);
    return *handle ? CG_OK : CG_ERR_GPU;
}
