/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/spec.h"

#include "plan/build.h"

/* reduce_scatter: block i of everybody's src. */
static struct cg_block scatter_block(const struct cg_plan_request *req, uint32_t i)
{
    struct cg_block b = {0, req->count};

    if (!req->src_len) return (struct cg_block){i * req->count, req->count};
    for (uint32_t k = 0; k < i; k++)
        b.offset += req->src_len[k];
    b.len = req->src_len[i];
    return b;
}

/* Blocks of all ranks, block i from rank i's src at offset 0. */
static uint32_t gathered(const struct cg_plan_request *req, struct cg_piece *piece)
{
    for (uint32_t i = 0; i < req->nranks; i++) {
        struct cg_block b = cg_dst_block(req, i);
        piece[i] = (struct cg_piece){b.offset, 0, b.len, i, i + 1};
    }
    return req->nranks;
}

static uint32_t exchanged(const struct cg_plan_request *reqs, uint32_t rank, struct cg_piece *piece)
{
    for (uint32_t i = 0; i < reqs->nranks; i++) {
        struct cg_block to = cg_dst_block(&reqs[rank], i), by = cg_src_block(&reqs[i], rank);
        piece[i] = (struct cg_piece){to.offset, by.offset, to.len, i, i + 1};
    }
    return reqs->nranks;
}

uint32_t cg_spec(const struct cg_plan_request *reqs, uint32_t rank, struct cg_piece *piece)
{
    const struct cg_plan_request *req = &reqs[rank];
    uint32_t n = req->nranks, root = req->root;
    struct cg_block b;

    switch (req->coll) {
    case CG_COLL_ALLREDUCE:
        *piece = (struct cg_piece){0, 0, req->count, 0, n};
        return 1;
    case CG_COLL_BCAST:
        *piece = (struct cg_piece){0, 0, req->count, root, root + 1};
        return rank != root;
    case CG_COLL_REDUCE:
        *piece = (struct cg_piece){0, 0, req->count, 0, n};
        return rank == root;
    case CG_COLL_SCAN:
        *piece = (struct cg_piece){0, 0, req->count, 0, rank + 1};
        return 1;
    case CG_COLL_EXSCAN:
        *piece = (struct cg_piece){0, 0, req->count, 0, rank};
        return rank > 0;
    case CG_COLL_REDUCE_SCATTER:
    case CG_COLL_REDUCE_SCATTER_BLOCK:
        b = scatter_block(req, rank);
        *piece = (struct cg_piece){0, b.offset, b.len, 0, n};
        return 1;
    case CG_COLL_SCATTER:
    case CG_COLL_SCATTERV:
        b = cg_src_block(&reqs[root], rank);
        *piece = (struct cg_piece){0, b.offset, b.len, root, root + 1};
        return 1;
    case CG_COLL_GATHER:
    case CG_COLL_GATHERV:
        return rank == root ? gathered(req, piece) : 0;
    case CG_COLL_ALLGATHER:
    case CG_COLL_ALLGATHERV:
        return gathered(req, piece);
    default:
        return exchanged(reqs, rank, piece);
    }
}

static uint64_t end_of(struct cg_block (*block)(const struct cg_plan_request *, uint32_t),
                       const struct cg_plan_request *req)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < req->nranks; i++) {
        struct cg_block b = block(req, i);
        if (b.offset + b.len > end) end = b.offset + b.len;
    }
    return end;
}

uint64_t cg_spec_src(const struct cg_plan_request *reqs, uint32_t rank)
{
    const struct cg_plan_request *req = &reqs[rank];

    switch (req->coll) {
    case CG_COLL_BCAST:
        return req->count;
    case CG_COLL_SCATTER:
    case CG_COLL_SCATTERV:
        return rank == req->root ? end_of(cg_src_block, req) : 0;
    case CG_COLL_ALLTOALL:
    case CG_COLL_ALLTOALLV:
        return end_of(cg_src_block, req);
    case CG_COLL_REDUCE_SCATTER:
    case CG_COLL_REDUCE_SCATTER_BLOCK:
        return end_of(scatter_block, req);
    case CG_COLL_GATHERV:
        return rank == req->root ? req->dst_len[rank] : req->count;
    case CG_COLL_ALLGATHERV:
        return req->dst_len[rank];
    default:
        return req->count;
    }
}

uint64_t cg_spec_dst(const struct cg_plan_request *reqs, uint32_t rank)
{
    const struct cg_plan_request *req = &reqs[rank];

    switch (req->coll) {
    case CG_COLL_REDUCE:
        return rank == req->root ? req->count : 0;
    case CG_COLL_GATHER:
    case CG_COLL_GATHERV:
        return rank == req->root ? end_of(cg_dst_block, req) : 0;
    case CG_COLL_ALLGATHER:
    case CG_COLL_ALLGATHERV:
    case CG_COLL_ALLTOALL:
    case CG_COLL_ALLTOALLV:
        return end_of(cg_dst_block, req);
    case CG_COLL_SCATTERV:
        return cg_src_block(&reqs[req->root], rank).len;
    case CG_COLL_REDUCE_SCATTER:
        return req->src_len[rank];
    default:
        return req->count;
    }
}

static int same_blocks(const struct cg_plan_request *req)
{
    for (uint32_t i = 0; i < req->nranks; i++) {
        struct cg_block s = cg_src_block(req, i), d = cg_dst_block(req, i);
        if (s.offset != d.offset || s.len != d.len) return 0;
    }
    return 1;
}

enum cg_in_place cg_spec_in_place(const struct cg_plan_request *reqs, uint32_t rank, int64_t *shift)
{
    const struct cg_plan_request *req = &reqs[rank];
    int root = rank == req->root;

    *shift = 0;
    switch (req->coll) {
    case CG_COLL_BCAST:
        return CG_PLACE_ALWAYS;
    case CG_COLL_REDUCE:
        return root ? CG_PLACE_MAY : CG_PLACE_NEVER;
    case CG_COLL_ALLTOALLV:
        return same_blocks(req) ? CG_PLACE_MAY : CG_PLACE_NEVER;
    case CG_COLL_SCATTER:
    case CG_COLL_SCATTERV:
        if (root) *shift = -(int64_t) cg_src_block(req, rank).offset;
        return root ? CG_PLACE_MAY : CG_PLACE_NEVER;
    case CG_COLL_GATHER:
    case CG_COLL_GATHERV:
        if (!root) return CG_PLACE_NEVER;
        *shift = (int64_t) cg_dst_block(req, rank).offset;
        return CG_PLACE_MAY;
    case CG_COLL_ALLGATHER:
    case CG_COLL_ALLGATHERV:
        *shift = (int64_t) cg_dst_block(req, rank).offset;
        return CG_PLACE_MAY;
    default:
        return CG_PLACE_MAY;
    }
}

static const uint64_t *row(const uint64_t *matrix, uint32_t n, uint32_t rank)
{
    return matrix ? matrix + (size_t) n * rank : NULL;
}

void cg_spec_requests(const struct cg_plan_request *req, struct cg_plan_request *reqs)
{
    uint32_t n = req->nranks;

    for (uint32_t rank = 0; rank < n; rank++) {
        struct cg_plan_request *own = &reqs[rank];
        *own = *req;
        own->rank = rank;
        if (CG_COLL_ALLTOALLV == req->coll) {
            own->src_len = row(req->src_len, n, rank);
            own->src_disp = row(req->src_disp, n, rank);
            own->dst_len = row(req->dst_len, n, rank);
            own->dst_disp = row(req->dst_disp, n, rank);
        } else if ((CG_COLL_GATHERV == req->coll || CG_COLL_SCATTERV == req->coll) && rank != req->root) {
            own->count = CG_COLL_GATHERV == req->coll ? req->dst_len[rank] : req->src_len[rank];
            own->src_len = own->src_disp = own->dst_len = own->dst_disp = NULL;
        }
    }
}
