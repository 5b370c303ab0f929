/* SPDX-License-Identifier: BSD-3-Clause
 * From an operation's plan to its descriptor: links, numbers, and in which slots its messages lie. */
#include "engine/internal.h"

#include <string.h>

static int find_plan(struct cg_group *g, const struct cg_call *call)
{
    int esize = cg_type_size(call->type), wide = cg_call_reduces(call->coll) ? cg_type_wide(call->type) : 0;
    struct cg_plan_request pr = {0};
    int arrays = call->src_len || call->dst_len;

    if (g->plan_kept && !arrays && g->plan_count == call->count && g->plan_coll == call->coll &&
        g->plan_esize == esize && g->plan_wide == wide && g->plan_root == call->root) {
        return CG_OK;
    }
    pr.coll = call->coll;
    pr.nranks = g->size;
    pr.rank = g->rank;
    pr.root = call->root;
    pr.count = call->count;
    pr.src_len = call->src_len;
    pr.src_disp = call->src_disp;
    pr.dst_len = call->dst_len;
    pr.dst_disp = call->dst_disp;
    pr.esize = esize;
    pr.wide = wide;
    pr.params = &g->params;
    pr.table = g->table;
    pr.at = g->at;
    pr.via = g->via;
    pr.nodes = g->nodes;
    g->plan_kept = 0;
    if (CG_COLL_DOWN == call->coll) return cg_plan_meet(&pr, g->neighbor, (uint32_t) g->nneighbors, &g->plan);
    int rc = cg_plan_build(&pr, &g->plan);
    if (CG_OK != rc) return rc;
    g->plan_kept = !arrays;
    g->plan_count = call->count;
    g->plan_coll = call->coll;
    g->plan_esize = esize;
    g->plan_wide = wide;
    g->plan_root = call->root;
    return CG_OK;
}

static int neighbor_index(const struct cg_group *g, uint32_t rank)
{
    for (int i = 0; i < g->nneighbors; i++) {
        if (g->neighbor[i] == rank) return i;
    }
    return -1;
}

/* In which slots the operation's messages lie is this rank's choice alone: those in GPU memory, if a kernel of that GPU
 * works on them and the messages are not small. */
static int uses_fifo(const struct cg_req *req, const struct cg_op *op, struct cg_link_end *end)
{
    struct cg_proc *proc = req->group->proc;

    if (CG_EXEC_SM != req->executor || NULL == end->proxy) return 0;
    if ((uint64_t) op->range[0].chunk * op->esize < (uint64_t) proc->params.gpu_fifo_min) return 0;
    if (CG_OK != cg_link_fifo(proc->links, end, req->gpu)) return 0;
    proc->fifo_device = cg_gpu_device(req->gpu);
    return 1;
}

/* Receives that are posted already lie in host memory. */
static int all_unplaced(const struct cg_link_end *end, uint32_t nchan)
{
    for (uint32_t c = 0; c < nchan; c++) {
        if (cg_proxy_link_unplaced(end->proxy, c) > end->recv_next[c]) return 0;
    }
    return 1;
}

static void fill_slots(struct cg_req *req, const struct cg_op *op, uint32_t l, struct cg_link_end *end)
{
    struct cg_link *link = &cg_op_links(op)[l];

    link->recv_slots = end->recv_slots;
    link->send_slots = end->send_slots;
    link->send_headers = NULL;
    if (!uses_fifo(req, op, end)) return;
    link->send_slots = end->gpu_send_slots;
    link->send_headers = end->send_slots;
    if (!all_unplaced(end, op->nchan)) return;
    link->recv_slots = end->gpu_recv_slots;
    req->gpu_recv |= 1u << l;
}

static int fill_links(struct cg_req *req, struct cg_op *op)
{
    struct cg_group *g = req->group;

    req->links = 0;
    req->gpu_recv = 0;
    req->near = 0;
    for (uint32_t l = 0; l < g->plan.nlinks; l++) {
        int i = neighbor_index(g, g->plan.peer[l]);
        if (i < 0) return CG_ERR_INTERNAL;
        struct cg_link_end *end = g->link[i];
        struct cg_link *link = &cg_op_links(op)[l];
        req->peer[l] = g->plan.peer[l];
        req->end[l] = end;
        link->mine = end->mine;
        link->peer = end->peer;
        fill_slots(req, op, l, end);
        memcpy(link->send_base, end->send_next, sizeof(link->send_base));
        memcpy(link->recv_base, end->recv_next, sizeof(link->recv_base));
        req->links |= 1ull << i;
        if (NULL == end->proxy) req->near |= 1u << l;
    }
    return CG_OK;
}

int cg_op_build(struct cg_req *req)
{
    struct cg_group *g = req->group;
    struct cg_op *op = (struct cg_op *) req->op;
    int rc;

    memset(op, 0, sizeof(*op));
    rc = find_plan(g, &req->call);
    if (CG_OK != rc) return rc;
    cg_plan_to_op(&g->plan, op);
    op->usize = (uint16_t) cg_type_size(req->call.type);
    op->id = ++g->proc->next_op;
    op->src = req->src;
    op->dst = req->dst;
    op->total_bytes = req->bytes;
    op->opno = req->opno;
    op->stream = g->stream;
    op->coll = (uint8_t) req->call.coll;
    op->type = (uint8_t) req->call.type;
    op->redop = (uint8_t) req->call.redop;
    op->slot_bytes = (uint32_t) g->params.slot_bytes;
    op->slots = (uint32_t) g->params.slots;
    req->nchan = op->nchan;
    memset(req->pos, 0, op->nchan * sizeof(req->pos[0]));
    req->plan = g->plan.name;
    req->row = g->plan.row;
    return fill_links(req, op);
}

void cg_op_commit(struct cg_req *req)
{
    struct cg_group *g = req->group;

    for (uint32_t l = 0; l < g->plan.nlinks; l++) {
        struct cg_link_end *end = req->end[l];
        for (uint32_t c = 0; c < g->plan.nchan; c++) {
            uint64_t sends, recvs;
            cg_plan_count(&g->plan, c, l, &sends, &recvs);
            end->send_next[c] += sends;
            end->recv_next[c] += recvs;
            if (end->fifo_gpu && recvs) {
                cg_proxy_link_expect(end->proxy, c, end->recv_next[c], (int) (req->gpu_recv >> l & 1));
            }
        }
    }
}

/* What each lane carried the last time is what it carries this time. */
static void renew_link(const struct cg_req *req, uint32_t l, struct cg_link *link)
{
    struct cg_link_end *end = req->end[l];

    for (int c = 0; c < req->nchan; c++) {
        link->send_base[c] = end->send_next[c];
        link->recv_base[c] = end->recv_next[c];
        end->send_next[c] += req->pos[c].sent[l];
        end->recv_next[c] += req->pos[c].rcvd[l];
        if (end->fifo_gpu && req->pos[c].rcvd[l]) cg_proxy_link_expect(end->proxy, (uint32_t) c, end->recv_next[c], 0);
    }
}

void cg_op_renew(struct cg_req *req)
{
    struct cg_op *op = (struct cg_op *) req->op;

    op->id = ++req->group->proc->next_op;
    op->src = req->src;
    op->dst = req->dst;
    op->opno = req->opno;
    for (uint32_t l = 0; l < op->nlinks; l++) renew_link(req, l, &cg_op_links(op)[l]);
    memset(req->pos, 0, (size_t) req->nchan * sizeof(req->pos[0]));
}
