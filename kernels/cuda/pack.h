/* SPDX-License-Identifier: BSD-3-Clause
 * What the packing kernel is launched with. */
#ifndef CG_KERNELS_CUDA_PACK_H
#define CG_KERNELS_CUDA_PACK_H

#include "kernels/flat.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CG_PACK_PIECES 32 /* of one launch: kernels take 4 KiB of arguments */
#define CG_PACK_THREADS 256
#define CG_PACK_DEEP 4    /* units of a thread in flight */

struct cg_pack_piece {
    struct cg_flat_node top;
    const struct cg_flat_node *nodes; /* in GPU memory; NULL where top has no children */
    const struct cg_flat_block *blocks;
    char *at, *packed;
    uint64_t units;
    uint32_t unit, unused; /* bytes */
};

struct cg_pack_args {
    struct cg_pack_piece piece[CG_PACK_PIECES];
    int back;
};
CG_STATIC_ASSERT(sizeof(struct cg_pack_args) <= 4096, "kernel arguments");

/* Results are cudaError_t. The first n pieces, width blocks for each. */
int cg_pack_load(void);
int cg_pack_launch(const struct cg_pack_args *args, uint32_t n, uint32_t width, void *stream);

#ifdef __cplusplus
}
#endif
#endif
