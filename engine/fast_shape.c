/* SPDX-License-Identifier: BSD-3-Clause
 * What a call is to the fast executor, which carries blocks of one length that lie one after another. A call with
 * lengths and displacements is one of these where its arrays say so. A rank knows its own arrays alone; but if all of
 * them announce the fast path, each by its own, then all have one length: what two ranks exchange is of both. */
#include "engine/internal.h"

static int regular(const uint64_t *len, const uint64_t *disp, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (len[i] != len[0] || (disp && disp[i] != i * len[0])) return 0;
    }
    return 1;
}

/* The elements of every block; 0: not regular, or empty. */
static uint64_t block_of(const struct cg_call *call, uint32_t n)
{
    uint64_t len = call->src_len ? call->src_len[0] : call->dst_len ? call->dst_len[0] : call->count;

    if (call->src_len && !regular(call->src_len, call->src_disp, n)) return 0;
    if (call->dst_len && !regular(call->dst_len, call->dst_disp, n)) return 0;
    return call->dst_len && call->dst_len[0] != len ? 0 : len;
}

static int regular_form(int coll)
{
    switch (coll) {
    case CG_COLL_ALLGATHERV: return CG_COLL_ALLGATHER;
    case CG_COLL_GATHERV: return CG_COLL_GATHER;
    case CG_COLL_SCATTERV: return CG_COLL_SCATTER;
    case CG_COLL_ALLTOALLV: return CG_COLL_ALLTOALL;
    case CG_COLL_REDUCE_SCATTER: return CG_COLL_REDUCE_SCATTER_BLOCK;
    default: return coll;
    }
}

int cg_fast_shape(struct cg_req *req)
{
    req->fast_coll = regular_form(req->call.coll);
    req->fast_bytes = block_of(&req->call, req->group->size) * (uint64_t) cg_type_size(req->call.type);
    return req->fast_bytes > 0;
}
