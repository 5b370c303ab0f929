/* SPDX-License-Identifier: BSD-3-Clause
 * UCX transport: requests and messages. */
#include "proxy/net_ucx.h"

#include <stdlib.h>
#include <time.h>

#define USE_MEMH (UCP_API_VERSION >= UCP_VERSION(1, 14))

int cg_ucx_status(ucs_status_t status)
{
    switch (status) {
    case UCS_OK: return CG_OK;
    case UCS_ERR_NO_MEMORY: return CG_ERR_NOMEM;
    case UCS_ERR_NO_RESOURCE: return CG_AGAIN;
    case UCS_ERR_MESSAGE_TRUNCATED: return CG_ERR_LIMIT;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_REJECTED: return CG_ERR_PEER;
    default: return CG_ERR_NET;
    }
}

static struct cg_net_req *req_get(struct cg_net *net)
{
    struct cg_net_req *req = net->free;

    if (!req) {
        struct req_block *block = calloc(1, sizeof(*block));
        if (!block) return NULL;
        block->next = net->blocks;
        net->blocks = block;
        for (int i = REQ_BLOCK - 1; i >= 0; i--) {
            block->req[i].net = net;
            block->req[i].next = net->free;
            net->free = &block->req[i];
        }
        req = net->free;
    }
    net->free = req->next;
    req->state = REQ_POSTED;
    req->status = CG_OK;
    req->bytes = 0;
    return req;
}

static void req_put(struct cg_net_req *req)
{
    req->state = REQ_FREE;
    req->next = req->net->free;
    req->net->free = req;
}

/* The end of a request inside UCX. */
static void req_finish(struct cg_net_req *req, void *ucp, ucs_status_t status, size_t bytes)
{
    int orphan = REQ_ORPHAN == req->state;

    req->status = UCS_ERR_NO_RESOURCE == status ? CG_ERR_NET : cg_ucx_status(status);
    req->bytes = bytes;
    req->state = REQ_DONE;
    ucp_request_free(ucp);
    if (orphan) req_put(req);
}

static void on_sent(void *ucp, ucs_status_t status, void *user)
{
    struct cg_net_req *req = user;

    req_finish(req, ucp, status, req->bytes);
}

static void on_received(void *ucp, ucs_status_t status, const ucp_tag_recv_info_t *info, void *user)
{
    req_finish(user, ucp, status, UCS_OK == status ? info->length : 0);
}

/* What UCX returned for a request: complete at once (NULL), an error, or under way, then its callback may have run. */
static int req_started(struct cg_net_req *req, ucs_status_ptr_t ptr, struct cg_net_req **out)
{
    if (UCS_PTR_IS_ERR(ptr)) {
        req_put(req);
        return cg_ucx_status(UCS_PTR_STATUS(ptr));
    }
    if (!ptr) req->state = REQ_DONE;
    req->ucp = ptr;
    *out = req;
    return CG_OK;
}

double cg_ucx_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

void cg_ucx_cancel(struct cg_net *net, struct cg_net_req *req)
{
    if (REQ_POSTED == req->state) {
        double end = cg_ucx_now_ms() + CANCEL_MS;
        ucp_request_cancel(net->worker, req->ucp);
        while (REQ_POSTED == req->state && cg_ucx_now_ms() < end) ucp_worker_progress(net->worker);
    }
    if (REQ_POSTED == req->state) {
        req->state = REQ_ORPHAN;
        cg_log(1, "UCX still holds a cancelled request after %d ms; its buffer must stay mapped", CANCEL_MS);
        return;
    }
    req_put(req);
}

/* UCX need not ask the driver what memory it is. Without the handle its registration cache finds it. */
static void set_param(ucp_request_param_t *param, struct cg_net_req *req, struct cg_net_mem *mem)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param->memory_type = mem ? mem->type : UCS_MEMORY_TYPE_HOST;
    param->user_data = req;
#if USE_MEMH
    if (mem) {
        param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        param->memh = mem->ucp;
    }
#endif
}

int cg_ucx_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                     struct cg_net_mem *mem, struct cg_net_req **out)
{
    ucp_request_param_t param;
    struct cg_net_req *req;

    if (ep->status) return ep->status;
    if (!(req = req_get(net))) return CG_ERR_NOMEM;
    req->bytes = bytes;
    set_param(&param, req, mem);
    param.cb.send = on_sent;
    return req_started(req, ucp_tag_send_nbx(ep->ucp, buf, bytes, tag, &param), out);
}

/* Without immediate completion, since UCX 1.13 then does not tell the length: the callback does, perhaps at once. */
int cg_ucx_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                     struct cg_net_req **out)
{
    struct cg_net_req *req = req_get(net);
    ucp_request_param_t param;

    if (!req) return CG_ERR_NOMEM;
    set_param(&param, req, mem);
    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = on_received;
    return req_started(req, ucp_tag_recv_nbx(net->worker, buf, capacity, tag, UINT64_MAX, &param), out);
}

int cg_ucx_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes)
{
    int status = req->status;

    (void) net;
    if (REQ_DONE != req->state) return CG_AGAIN;
    *bytes = req->bytes;
    req_put(req);
    return status;
}
