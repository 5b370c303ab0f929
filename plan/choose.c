/* SPDX-License-Identifier: BSD-3-Clause
 * Looking up the table. */
#include "plan/choose.h"

#include "kernels/cuda/fast.h"
#include "plan/build.h"

#include <string.h>

#define MAX UINT64_MAX
static const struct cg_row builtin[] = {
#include "plan/builtin.h" /* made from plan/table.txt */
};
#undef MAX
const struct cg_table cg_table_builtin = {builtin, sizeof(builtin) / sizeof(*builtin)};

static const char *const protocols[] = {
#define CG_PROTOCOL(name, text) [CG_FAST_##name] = text,
#include "kernels/protocols.def"
#undef CG_PROTOCOL
};

const char *cg_protocol_name(int protocol)
{
    if (CG_GENERAL == protocol) return "general";
    return protocol >= 0 && protocol < CG_FAST_PROTOCOLS ? protocols[protocol] : "?";
}

/* A fact of 0 is not known and matches whatever the row says. */
static int matches(const struct cg_row *row, int coll, int at, int via, uint32_t nranks, uint64_t bytes)
{
    return row->coll == coll && bytes >= row->bytes[0] && bytes <= row->bytes[1] && nranks >= row->ranks[0] &&
           nranks <= row->ranks[1] && (!at || (row->at & at)) && (!via || (row->via & via));
}

/* Which array holds lengths that every rank has: allgatherv's and reduce_scatter's. */
static const uint64_t *lengths_of(const struct cg_plan_request *req)
{
    switch (req->coll) {
    case CG_COLL_ALLGATHERV: return req->dst_len;
    case CG_COLL_REDUCE_SCATTER: return req->src_len;
    default: return NULL;
    }
}

uint64_t cg_choose_bytes(const struct cg_plan_request *req)
{
    const uint64_t *len = lengths_of(req);
    uint64_t longest = len ? 0 : req->count;

    if (CG_COLL_GATHERV == req->coll || CG_COLL_SCATTERV == req->coll || CG_COLL_ALLTOALLV == req->coll) return 0;
    for (uint32_t i = 0; len && i < req->nranks; i++) longest = len[i] > longest ? len[i] : longest;
    return longest * (uint64_t) req->esize;
}

/* Can it serve the request, with partial sums nowhere that is worse than sums (enum cg_sums)? */
static int serves(const struct cg_algorithm *a, const struct cg_plan_request *req, enum cg_sums sums)
{
    struct cg_plan_request own = cg_build_carried(a, req);

    return a->coll == req->coll && a->sums >= sums && cg_plan_usable(a, &own);
}

static const struct cg_algorithm *algorithm_of(const struct cg_row *row, const struct cg_plan_request *req,
                                               enum cg_sums sums)
{
    for (const struct cg_algorithm *a = cg_algorithms; row->plan && a->name; a++) {
        if (a->coll == row->coll && 0 == strcmp(a->name, row->plan)) {
            return serves(a, req, sums) ? a : NULL;
        }
    }
    return NULL;
}

static const struct cg_algorithm *choose(const struct cg_plan_request *req, enum cg_sums sums,
                                         const struct cg_row **row)
{
    const struct cg_table *t = req->table ? req->table : &cg_table_builtin;
    int by_table = req->params->exchange_max < 0 && req->params->doubling_max < 0;
    uint64_t bytes = cg_choose_bytes(req);

    for (int i = 0; by_table && i < t->n; i++) {
        const struct cg_row *r = &t->row[i];
        const struct cg_algorithm *a = NULL;
        if (CG_GENERAL == r->protocol && matches(r, req->coll, req->at, req->via, req->nranks, bytes)) {
            a = algorithm_of(r, req, sums);
        }
        if (a) {
            *row = r;
            return a;
        }
    }
    *row = NULL;
    for (const struct cg_algorithm *a = cg_algorithms; a->name; a++) {
        if (serves(a, req, sums)) return a;
    }
    return NULL;
}

const struct cg_algorithm *cg_choose_plan(const struct cg_plan_request *req, const struct cg_row **row)
{
    const struct cg_algorithm *a = req->wide && req->nranks > 2 ? choose(req, CG_SUMS_LINK, row) : NULL;

    return a ? a : choose(req, CG_SUMS_DST, row);
}

const struct cg_row *cg_choose_fast(const struct cg_table *t, int coll, uint32_t nranks, uint64_t bytes,
                                    unsigned usable)
{
    for (int i = 0; i < t->n; i++) {
        const struct cg_row *r = &t->row[i];
        if (CG_GENERAL != r->protocol && !((usable >> r->protocol) & 1)) continue;
        if (matches(r, coll, CG_AT_DEVICE, CG_VIA_P2P, nranks, bytes)) return r;
    }
    return NULL;
}

/* LL and LL128: one block up to 4 KiB, then one for each 4 KiB; from 64 KiB on each warp of LL128 sends one group of
 * lines; more as long as a block has several groups. Measured on 2 x H200 (bench/results). */
int cg_choose_blocks(const struct cg_row *row, uint64_t bytes)
{
    const uint64_t once = 512 * 15; /* threads of a block, bytes of data that a thread's part of a line holds */
    uint64_t kib = bytes >> 10;

    if (row->blocks || (CG_FAST_LL != row->protocol && CG_FAST_LL128 != row->protocol)) return row->blocks;
    if (kib < 4) return 1;
    if (kib <= 64) return (int) (kib + 3) / 4;
    if (kib <= 256) return (int) cg_ceil_div(bytes, once);
    if (kib <= 1024) return kib <= 512 ? 48 : 64;
    return kib <= 4096 ? 96 : 128;
}
