/* SPDX-License-Identifier: BSD-3-Clause
 * Which collectives the fast executor carries, and how their data flows (CG_CMD_FROM_ROOT and its like). */
#ifndef CG_KERNELS_CUDA_FAST_FLOW_H
#define CG_KERNELS_CUDA_FAST_FLOW_H

#include "kernels/cuda/fast_ctl.h"

static inline uint64_t cg_fast_flow_of(int coll)
{
    switch (coll) {
    case CG_COLL_ALLREDUCE: return CG_CMD_REDUCES;
    case CG_COLL_BCAST: return CG_CMD_FROM_ROOT;
    case CG_COLL_REDUCE: return CG_CMD_TO_ROOT | CG_CMD_REDUCES;
    case CG_COLL_ALLGATHER: return CG_CMD_IN_BLOCKS;
    case CG_COLL_GATHER: return CG_CMD_TO_ROOT | CG_CMD_IN_BLOCKS;
    case CG_COLL_SCATTER: return CG_CMD_FROM_ROOT | CG_CMD_OUT_BLOCKS;
    case CG_COLL_ALLTOALL: return CG_CMD_OUT_BLOCKS | CG_CMD_IN_BLOCKS;
    case CG_COLL_REDUCE_SCATTER_BLOCK: return CG_CMD_OUT_BLOCKS | CG_CMD_REDUCES;
    default: return 0;
    }
}

/* Flags of a collective's command; 0: not carried. */
static inline uint64_t cg_fast_flow(int coll, uint32_t root)
{
    const uint64_t flow = cg_fast_flow_of(coll);

    return flow ? flow | (uint64_t) root << 57 : 0;
}

#endif
