/* SPDX-License-Identifier: BSD-3-Clause
 * What the kernel of MPI_Reduce_local is launched with: inout[i] = in[i] op inout[i]. */
#ifndef CG_KERNELS_CUDA_LOCAL_H
#define CG_KERNELS_CUDA_LOCAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CG_LOCAL_THREADS 256
#define CG_LOCAL_SLICE (64u << 10) /* bytes of a block at a time: whole elements, whole packs */

struct cg_local_args {
    const char *in;
    char *inout;
    uint64_t bytes;
    uint32_t type, redop;
};

/* Results are cudaError_t. */
int cg_local_load(void);
int cg_local_launch(const struct cg_local_args *args, uint32_t blocks, void *stream);

#ifdef __cplusplus
}
#endif
#endif
