/* SPDX-License-Identifier: BSD-3-Clause
 * UCX: one context and worker per process, tagged messages. UCX 1.13 and later. The only file that includes UCX.
 * The hint is "NAME=VALUE;...", UCX settings without their UCX_ prefix that override the environment. */
#include "core/log.h"
#include "proxy/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

#define REQ_BLOCK 64  /* requests allocated at a time */
#define CANCEL_MS 20  /* how long to wait for UCX to let go of a request */
#define CLOSE_MS 200  /* ... of endpoints */
#define USE_MEMH (UCP_API_VERSION >= UCP_VERSION(1, 14))

enum req_state { REQ_FREE, REQ_POSTED, REQ_DONE, REQ_ORPHAN };

/* POSTED: UCX holds it, ucp is its handle. DONE: kept for test(). ORPHAN: given up by its owner, still with UCX. */
struct cg_net_req {
    struct cg_net_req *next; /* in the free list */
    struct cg_net *net;
    void *ucp;
    size_t bytes;
    int status;
    enum req_state state;
};

struct req_block {
    struct req_block *next;
    struct cg_net_req req[REQ_BLOCK];
};

struct cg_net_ep {
    struct cg_net_ep *next;
    ucp_ep_h ucp;
    int status; /* CG_OK, or the error that ended it */
    int remote;
};

struct cg_net_mem {
    ucp_mem_h ucp;
};

struct cg_net {
    ucp_context_h context;
    ucp_worker_h worker;
    struct cg_net_req *free;
    struct req_block *blocks;
    struct cg_net_ep *eps;
    char discarded[4096]; /* see discard_unexpected */
};

static int from_ucs(ucs_status_t status)
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

/* --- requests --- */

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

    req->status = UCS_ERR_NO_RESOURCE == status ? CG_ERR_NET : from_ucs(status);
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
        return from_ucs(UCS_PTR_STATUS(ptr));
    }
    if (!ptr) req->state = REQ_DONE;
    req->ucp = ptr;
    *out = req;
    return CG_OK;
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void ucx_cancel(struct cg_net *net, struct cg_net_req *req)
{
    if (REQ_POSTED == req->state) {
        double end = now_ms() + CANCEL_MS;
        ucp_request_cancel(net->worker, req->ucp);
        while (REQ_POSTED == req->state && now_ms() < end) ucp_worker_progress(net->worker);
    }
    if (REQ_POSTED == req->state) {
        req->state = REQ_ORPHAN;
        cg_log(1, "UCX still holds a cancelled request after %d ms; its buffer must stay mapped",
               CANCEL_MS);
        return;
    }
    req_put(req);
}

/* --- worker --- */

static ucs_status_t read_config(const char *hint, ucp_config_t **config)
{
    char text[256], *item, *value, *rest = text;
    ucs_status_t rc = ucp_config_read(NULL, NULL, config);

    snprintf(text, sizeof(text), "%s", hint ? hint : "");
    while (UCS_OK == rc && (item = strsep(&rest, ";"))) {
        if (!(value = strchr(item, '='))) continue;
        *value++ = 0;
        rc = ucp_config_modify(*config, item, value);
        if (UCS_OK != rc) ucp_config_release(*config);
    }
    return rc;
}

static ucs_status_t make_worker(const char *hint, struct cg_net *net, const char **call)
{
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_config_t *config;
    ucs_status_t rc;

    *call = "ucp_config_read";
    if (UCS_OK != (rc = read_config(hint, &config))) return rc;
    *call = "ucp_init";
    rc = ucp_init(&params, config, &net->context);
    ucp_config_release(config);
    if (UCS_OK != rc) return rc;
    *call = "ucp_worker_create";
    rc = ucp_worker_create(net->context, &worker, &net->worker);
    if (UCS_OK != rc) ucp_cleanup(net->context);
    return rc;
}

static int ucx_open(const struct cg_params *params, const char *hint, struct cg_net **out, char *why, size_t len)
{
    struct cg_net *net = calloc(1, sizeof(*net));
    const char *call = "calloc";
    ucs_status_t rc = net ? make_worker(hint, net, &call) : UCS_ERR_NO_MEMORY;

    (void) params;
    if (UCS_OK != rc) {
        snprintf(why, len, "%s: %s (UCX_TLS=%s, UCX_NET_DEVICES=%s): `ucx_info -d` lists the transports that work here; "
                 "unset UCX_TLS and UCX_NET_DEVICES or name some of those",
                 call, ucs_status_string(rc), getenv("UCX_TLS") ? getenv("UCX_TLS") : "unset",
                 getenv("UCX_NET_DEVICES") ? getenv("UCX_NET_DEVICES") : "unset");
        free(net);
        return CG_ERR_NET;
    }
    *out = net;
    return CG_OK;
}

static void ucx_props(struct cg_net *net, struct cg_net_props *props)
{
    (void) net;
    *props = (struct cg_net_props){.name = "ucx", .max_bytes = SIZE_MAX / 2, .reports_peer_death = 1};
}

static int query_address(struct cg_net *net, uint32_t flags, void *addr, size_t *len)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
                              .address_flags = flags};
    ucs_status_t rc = ucp_worker_query(net->worker, &attr);

    if (UCS_OK != rc) return from_ucs(rc);
    *len = attr.address_length;
    if (*len <= CG_NET_ADDR_MAX) memcpy(addr, attr.address, *len);
    ucp_worker_release_address(net->worker, attr.address);
    return *len <= CG_NET_ADDR_MAX ? CG_OK : CG_ERR_LIMIT;
}

/* Hosts with many adapters have long addresses; without the shared-memory part they may still fit. */
static int ucx_address(struct cg_net *net, void *addr, size_t *len)
{
    int rc = query_address(net, 0, addr, len);

    if (CG_ERR_LIMIT == rc) rc = query_address(net, UCP_WORKER_ADDRESS_FLAG_NET_ONLY, addr, len);
    if (CG_ERR_LIMIT == rc)
        cg_log(0, "the UCX address has %zu bytes, at most %d fit: name fewer devices in UCX_NET_DEVICES", *len,
               CG_NET_ADDR_MAX);
    return rc;
}

/* --- endpoints --- */

static void on_error(void *arg, ucp_ep_h ucp, ucs_status_t status)
{
    struct cg_net_ep *ep = arg;
    int rc = from_ucs(status);

    (void) ucp;
    ep->status = rc < 0 ? rc : CG_ERR_NET;
    CG_LOG(1, "UCX endpoint failed: %s", ucs_status_string(status));
}

static int ucx_connect(struct cg_net *net, const void *addr, size_t len, int remote, struct cg_net_ep **out)
{
    struct cg_net_ep *ep = calloc(1, sizeof(*ep));
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = addr,
                              .err_mode = remote ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE,
                              .err_handler = {.cb = on_error, .arg = ep}};
    ucs_status_t rc;

    if (!ep) return CG_ERR_NOMEM;
    (void) len; /* UCX addresses carry their length */
    rc = ucp_ep_create(net->worker, &params, &ep->ucp);
    if (UCS_OK != rc) {
        cg_log(0, "ucp_ep_create: %s: UCX_TLS and UCX_NET_DEVICES must leave a transport that reaches the peer%s",
               ucs_status_string(rc), remote ? " and reports its death (tcp does, shared memory does not)" : "");
        free(ep);
        return UCS_ERR_NO_MEMORY == rc ? CG_ERR_NOMEM : CG_ERR_NET;
    }
    ep->remote = remote;
    ep->next = net->eps;
    net->eps = ep;
    *out = ep;
    return CG_OK;
}

/* UCX may close by force only what was made with error handling; otherwise it flushes, which a dead peer prevents:
 * then the worker's end takes the endpoint along. */
static void close_ep(struct cg_net *net, struct cg_net_ep *ep, double end)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = ep->remote ? UCP_EP_CLOSE_FLAG_FORCE : 0};
    ucs_status_ptr_t ptr = ucp_ep_close_nbx(ep->ucp, &param);

    if (!UCS_PTR_IS_PTR(ptr)) return;
    while (UCS_INPROGRESS == ucp_request_check_status(ptr) && now_ms() < end) ucp_worker_progress(net->worker);
    ucp_request_free(ptr);
}

static void drop_ep(struct cg_net *net, struct cg_net_ep *ep, double end)
{
    struct cg_net_ep **p = &net->eps;

    while (*p != ep) p = &(*p)->next;
    *p = ep->next;
    close_ep(net, ep, end);
    free(ep);
}

static void ucx_disconnect(struct cg_net *net, struct cg_net_ep *ep) { drop_ep(net, ep, now_ms() + CLOSE_MS); }

static int ucx_ep_status(struct cg_net *net, struct cg_net_ep *ep)
{
    (void) net;
    return ep->status;
}

/* Short messages that nobody will receive, such as a peer's last report: UCX warns its user of each that it holds. */
static void discard_unexpected(struct cg_net *net, double end)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE, .memory_type = UCS_MEMORY_TYPE_HOST};
    ucp_tag_recv_info_t info;

    while (now_ms() < end && ucp_tag_probe_nb(net->worker, 0, 0, 0, &info) && info.length <= sizeof(net->discarded)) {
        ucp_tag_message_h msg = ucp_tag_probe_nb(net->worker, 0, 0, 1, &info);
        ucs_status_ptr_t ptr = ucp_tag_msg_recv_nbx(net->worker, net->discarded, info.length, msg, &param);
        if (!UCS_PTR_IS_PTR(ptr)) continue;
        while (UCS_INPROGRESS == ucp_request_check_status(ptr) && now_ms() < end) ucp_worker_progress(net->worker);
        ucp_request_free(ptr);
    }
}

/* Endpoints go first: that completes their sends. Callbacks may still run until the worker is gone. */
static void ucx_close(struct cg_net *net)
{
    double end = now_ms() + CLOSE_MS;

    discard_unexpected(net, now_ms() + CANCEL_MS);
    while (net->eps) drop_ep(net, net->eps, end);
    for (struct req_block *block = net->blocks; block; block = block->next) {
        for (int i = 0; i < REQ_BLOCK; i++) {
            if (REQ_POSTED == block->req[i].state) ucp_request_cancel(net->worker, block->req[i].ucp);
        }
    }
    while (ucp_worker_progress(net->worker) && now_ms() < end) continue; /* what closing has left to do */
    discard_unexpected(net, end);
    ucp_worker_destroy(net->worker);
    ucp_cleanup(net->context);
    while (net->blocks) {
        struct req_block *block = net->blocks;
        net->blocks = block->next;
        free(block);
    }
    free(net);
}

/* --- memory and messages --- */

static int ucx_reg(struct cg_net *net, void *addr, size_t bytes, struct cg_net_mem **out)
{
    struct cg_net_mem *mem = calloc(1, sizeof(*mem));
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                                                 UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
                                   .address = addr,
                                   .length = bytes,
                                   .memory_type = UCS_MEMORY_TYPE_HOST};
    ucs_status_t rc;

    if (!mem) return CG_ERR_NOMEM;
    rc = ucp_mem_map(net->context, &params, &mem->ucp);
    if (UCS_OK != rc) {
        cg_log(1, "ucp_mem_map of %zu bytes: %s", bytes, ucs_status_string(rc));
        free(mem);
        return UCS_ERR_NO_MEMORY == rc ? CG_ERR_NOMEM : CG_ERR_NET;
    }
    *out = mem;
    return CG_OK;
}

static void ucx_dereg(struct cg_net *net, struct cg_net_mem *mem)
{
    ucp_mem_unmap(net->context, mem->ucp);
    free(mem);
}

/* The memory is host memory: UCX need not ask the driver. Without the handle its registration cache finds it. */
static void set_param(ucp_request_param_t *param, struct cg_net_req *req, struct cg_net_mem *mem)
{
    param->op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param->memory_type = UCS_MEMORY_TYPE_HOST;
    param->user_data = req;
#if USE_MEMH
    if (mem) {
        param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
        param->memh = mem->ucp;
    }
#else
    (void) mem;
#endif
}

static int ucx_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
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
static int ucx_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
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

static int ucx_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes)
{
    int status = req->status;

    (void) net;
    if (REQ_DONE != req->state) return CG_AGAIN;
    *bytes = req->bytes;
    req_put(req);
    return status;
}

static int ucx_progress(struct cg_net *net) { return (int) ucp_worker_progress(net->worker); }

const struct cg_net_ops cg_net_ucx = {
    .version = CG_NET_VERSION,
    .name = "ucx",
    .open = ucx_open,
    .close = ucx_close,
    .props = ucx_props,
    .address = ucx_address,
    .connect = ucx_connect,
    .disconnect = ucx_disconnect,
    .ep_status = ucx_ep_status,
    .reg = ucx_reg,
    .dereg = ucx_dereg,
    .isend = ucx_isend,
    .irecv = ucx_irecv,
    .test = ucx_test,
    .cancel = ucx_cancel,
    .progress = ucx_progress,
};
