/* SPDX-License-Identifier: BSD-3-Clause
 * What follows from the arguments of a call. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

struct row {
    unsigned char reduces, known, reach;
};
#define CG_COLL_ROW(name, text, reduces, known, reach) [CG_COLL_##name] = {reduces, known, reach},
static const struct row rows[CG_COLL_COUNT] = {CG_COLL_TABLE(CG_COLL_ROW)};
#undef CG_COLL_ROW

/* A number that came in a message may be any; what it means is compared, not trusted. */
static const struct row *row(int coll)
{
    static const struct row down = {.known = 1, .reach = 1};

    return coll > CG_COLL_NONE && coll < CG_COLL_COUNT ? &rows[coll] : &down;
}

int cg_call_reach(int coll) { return row(coll)->reach; }
int cg_call_reduces(int coll) { return row(coll)->reduces; }
int cg_call_known(int coll) { return row(coll)->known; }

/* May a buffer be missing on this rank? Where only some ranks send or receive, or nothing. */
static int missing_allowed(const struct cg_call *call)
{
    switch (call->coll) {
    case CG_COLL_ALLREDUCE:
    case CG_COLL_BCAST:
    case CG_COLL_ALLGATHER:
    case CG_COLL_ALLTOALL:
    case CG_COLL_REDUCE_SCATTER_BLOCK:
    case CG_COLL_SCAN:
        return 0;
    }
    return 1;
}

int cg_call_check(const struct cg_group *group, const struct cg_call *call)
{
    if (CG_COLL_DOWN == call->coll) return cg_group_serves(group, CG_COLL_DOWN) ? CG_OK : CG_ERR_UNSUPPORTED;
    if (call->coll <= CG_COLL_NONE || call->coll >= CG_COLL_COUNT || call->type < 0 || call->type >= CG_TYPE_COUNT ||
        call->root >= group->size || (NULL == call->src && NULL == call->dst)) {
        return CG_ERR_ARG;
    }
    if ((NULL == call->src || NULL == call->dst) && !missing_allowed(call)) return CG_ERR_ARG;
    if (0 == call->count && NULL == call->src_len && NULL == call->dst_len && rows[call->coll].known) return CG_ERR_ARG;
    if (rows[call->coll].reduces && NULL == cg_reduce_host(call->type, call->redop)) return CG_ERR_UNSUPPORTED;
    return cg_group_serves(group, call->coll) ? CG_OK : CG_ERR_UNSUPPORTED;
}

static const uint64_t *keep(uint64_t **at, const uint64_t *array, uint32_t n)
{
    const uint64_t *kept = *at;

    if (NULL == array) return NULL;
    memcpy(*at, array, n * sizeof(*array));
    *at += n;
    return kept;
}

int cg_call_copy(struct cg_req *req, const struct cg_call *call)
{
    uint32_t n = req->group->size;
    uint64_t *at;

    req->call = *call;
    if (NULL == call->src_len && NULL == call->src_disp && NULL == call->dst_len && NULL == call->dst_disp)
        return CG_OK;
    req->arrays = at = malloc(4 * (size_t) n * sizeof(*at));
    if (NULL == at) return CG_ERR_NOMEM;
    req->call.src_len = keep(&at, call->src_len, n);
    req->call.src_disp = keep(&at, call->src_disp, n);
    req->call.dst_len = keep(&at, call->dst_len, n);
    req->call.dst_disp = keep(&at, call->dst_disp, n);
    return CG_OK;
}

/* Up to the end of the last block; without displacements the blocks lie one after another. */
static uint64_t extent(const uint64_t *len, const uint64_t *disp, uint32_t n)
{
    uint64_t end = 0, sum = 0;

    for (uint32_t r = 0; r < n; r++) {
        uint64_t to = disp ? disp[r] + len[r] : sum + len[r];
        if (len[r] && to > end) end = to;
        sum += len[r];
    }
    return end;
}

void cg_call_spans(const struct cg_group *group, const struct cg_call *call, uint64_t *src, uint64_t *dst)
{
    uint64_t esize = (uint64_t) cg_type_size(call->type), n = group->size, all = call->count * n;
    uint64_t s = call->count, d = call->count;

    switch (call->coll) {
    case CG_COLL_ALLGATHER:
    case CG_COLL_GATHER:
        d = all;
        break;
    case CG_COLL_SCATTER:
    case CG_COLL_REDUCE_SCATTER_BLOCK:
        s = all;
        break;
    case CG_COLL_ALLTOALL:
        s = d = all;
        break;
    case CG_COLL_ALLGATHERV:
        s = call->dst_len[group->rank];
        break;
    case CG_COLL_REDUCE_SCATTER:
        d = call->src_len[group->rank];
        break;
    }
    if (call->src_len) s = extent(call->src_len, call->src_disp, group->size);
    if (call->dst_len) d = extent(call->dst_len, call->dst_disp, group->size);
    *src = call->src ? s * esize : 0;
    *dst = call->dst ? d * esize : 0;
}
