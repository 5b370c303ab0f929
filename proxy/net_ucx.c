/* SPDX-License-Identifier: BSD-3-Clause
 * UCX: one context and worker per process, tagged messages. UCX 1.13 and later. Only proxy/net_ucx* include UCX.
 * The hint is "NAME=VALUE;...", UCX settings without their UCX_ prefix that override the environment. */
#include "proxy/net_ucx.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- worker --- */

static ucs_status_t read_config(const char *hint, ucp_config_t **config)
{
    char text[1024], *item, *value, *rest = text;
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

/* Adds word to a list; a word that does not fit is left out. */
static void append(char *list, size_t len, const char *between, const char *word)
{
    size_t at = strlen(list);

    if (!at) between = "";
    if (at + strlen(between) + strlen(word) < len) snprintf(list + at, len - at, "%s%s", between, word);
}

/* Interfaces for tcp, too: a host without RDMA must remain reachable. UCX prefers RDMA where both sides have it. */
static void append_interfaces(char *list, size_t len)
{
    struct ifaddrs *first = NULL;

    if (getifaddrs(&first)) return;
    for (const struct ifaddrs *i = first; i; i = i->ifa_next) {
        int up = (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_RUNNING);
        if (up && i->ifa_addr && AF_INET == i->ifa_addr->sa_family) append(list, len, ",", i->ifa_name);
    }
    freeifaddrs(first);
}

/* Over sockets rendezvous costs a round trip behind what is queued in either direction, and spares nothing: a receive
 * lies ready for every message. CUDA memory needs it, for cuda_ipc. */
static void ucx_hint(const char *devices, int rdma, int cuda, char *text, size_t len)
{
    char list[512] = "NET_DEVICES=";

    text[0] = 0;
    if (devices[0] && !getenv("UCX_NET_DEVICES")) {
        append(list, sizeof(list), "", devices);
        append_interfaces(list, sizeof(list));
        append(text, len, ";", list);
    }
    if (!rdma && !cuda && !getenv("UCX_RNDV_THRESH")) append(text, len, ";", "RNDV_THRESH=inf");
}

/* What UCX was built with and could open. */
static int handles_cuda(ucp_context_h context)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};

    return UCS_OK == ucp_context_query(context, &attr) && (attr.memory_types >> UCS_MEMORY_TYPE_CUDA & 1);
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
    else net->cuda = handles_cuda(net->context);
    return rc;
}

static int ucx_open(const struct cg_params *params, const char *hint, struct cg_net **out, char *why, size_t len)
{
    struct cg_net *net = calloc(1, sizeof(*net));
    const char *call = "calloc";
    ucs_status_t rc = net ? make_worker(hint, net, &call) : UCS_ERR_NO_MEMORY;

    (void) params;
    if (UCS_OK != rc) {
        snprintf(why, len,
                 "%s: %s (UCX_TLS=%s, UCX_NET_DEVICES=%s): `ucx_info -d` lists the transports that work here; "
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
    *props = (struct cg_net_props){.name = "ucx", .max_bytes = SIZE_MAX / 2, .cuda = net->cuda,
                                   .reports_peer_death = 1};
}

/* A handle: this mark, then UCX's address, which knows its own length. */
static const char mark[8] = "UCXaddr";

static int query_address(struct cg_net *net, uint32_t flags, char *handle, size_t *len)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
                              .address_flags = flags};
    ucs_status_t rc = ucp_worker_query(net->worker, &attr);

    if (UCS_OK != rc) return cg_ucx_status(rc);
    *len = sizeof(mark) + attr.address_length;
    if (*len <= CG_NET_HANDLE_MAX) {
        memcpy(handle, mark, sizeof(mark));
        memcpy(handle + sizeof(mark), attr.address, attr.address_length);
    }
    ucp_worker_release_address(net->worker, attr.address);
    return *len <= CG_NET_HANDLE_MAX ? CG_OK : CG_ERR_LIMIT;
}

/* Hosts with many adapters have long addresses; without the shared-memory part they may still fit. */
static int ucx_listen(struct cg_net *net, void *handle, size_t *len)
{
    int rc = query_address(net, 0, handle, len);

    if (CG_ERR_LIMIT == rc) rc = query_address(net, UCP_WORKER_ADDRESS_FLAG_NET_ONLY, handle, len);
    if (CG_ERR_LIMIT == rc)
        cg_log(0, "the UCX address has %zu bytes, at most %d fit: name fewer devices in UCX_NET_DEVICES", *len,
               CG_NET_HANDLE_MAX);
    return rc;
}

/* --- endpoints --- */

static void on_error(void *arg, ucp_ep_h ucp, ucs_status_t status)
{
    struct cg_net_ep *ep = arg;
    int rc = cg_ucx_status(status);

    (void) ucp;
    ep->status = rc < 0 ? rc : CG_ERR_NET;
    CG_LOG(1, "UCX endpoint failed: %s", ucs_status_string(status));
}

static int ucx_connect(struct cg_net *net, const void *handle, size_t len, int remote, struct cg_net_ep **out)
{
    int marked = len > sizeof(mark) && !memcmp(handle, mark, sizeof(mark));
    struct cg_net_ep *ep = marked ? calloc(1, sizeof(*ep)) : NULL;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                            UCP_EP_PARAM_FIELD_ERR_HANDLER,
                              .address = (const ucp_address_t *) ((const char *) handle + sizeof(mark)),
                              .err_mode = remote ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE,
                              .err_handler = {.cb = on_error, .arg = ep}};
    ucs_status_t rc;

    if (!ep) return marked ? CG_ERR_NOMEM : CG_ERR_ARG;
    rc = ucp_ep_create(net->worker, &params, &ep->ucp);
    if (UCS_OK != rc) {
        cg_log(0, "ucp_ep_create: %s: UCX_TLS and UCX_NET_DEVICES must leave a transport that reaches the peer%s%s",
               ucs_status_string(rc), remote ? " and reports its death (tcp does, shared memory does not)" : "",
               access("/sys/class/net", F_OK) ? "; here is no /sys/class/net, where UCX looks for interfaces" : "");
        free(ep);
        return UCS_ERR_NO_MEMORY == rc ? CG_ERR_NOMEM : CG_ERR_NET;
    }
    ep->remote = remote;
    ep->next = net->eps;
    net->eps = ep;
    *out = ep;
    return CG_OK;
}

/* Until UCX is done with it, or end has come: then net is stuck. */
static void await(struct cg_net *net, ucs_status_ptr_t ptr, double end)
{
    if (!UCS_PTR_IS_PTR(ptr)) return;
    while (UCS_INPROGRESS == ucp_request_check_status(ptr) && cg_ucx_now_ms() < end) {
        ucp_worker_progress(net->worker);
    }
    net->stuck |= UCS_INPROGRESS == ucp_request_check_status(ptr);
    ucp_request_free(ptr);
}

/* UCX may close by force only what was made with error handling; otherwise it flushes, which a dead peer prevents, and
 * one that makes no progress while its connection is being made. */
static void close_ep(struct cg_net *net, struct cg_net_ep *ep, double end)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = ep->remote ? UCP_EP_CLOSE_FLAG_FORCE : 0};

    await(net, ucp_ep_close_nbx(ep->ucp, &param), end);
}

static void drop_ep(struct cg_net *net, struct cg_net_ep *ep, double end)
{
    struct cg_net_ep **p = &net->eps;

    while (*p != ep) p = &(*p)->next;
    *p = ep->next;
    close_ep(net, ep, end);
    free(ep);
}

static void ucx_disconnect(struct cg_net *net, struct cg_net_ep *ep) { drop_ep(net, ep, cg_ucx_now_ms() + CLOSE_MS); }

static int ucx_ep_status(struct cg_net *net, struct cg_net_ep *ep)
{
    (void) net;
    return ep->status;
}

/* By the transports that the endpoint uses: copies by GPUs are behind their completion, what network devices write need
 * not be. UCX before 1.14 does not tell. */
static int ucx_ep_cuda(struct cg_net *net, struct cg_net_ep *ep)
{
#if UCP_API_VERSION >= UCP_VERSION(1, 14)
    static const struct {
        const char *prefix;
        int bits;
    } kinds[] = {{"cuda_ipc", CG_NET_DIRECT},
                 {"rc_", CG_NET_DIRECT | CG_NET_FLUSH},
                 {"dc_", CG_NET_DIRECT | CG_NET_FLUSH},
                 {"ud_", CG_NET_FLUSH},
                 {"srd", CG_NET_FLUSH}};
    ucp_transport_entry_t entry[32];
    ucp_ep_attr_t attr = {.field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS,
                          .transports = {.entries = entry, .num_entries = 32, .entry_size = sizeof(entry[0])}};
    int bits = 0;

    if (!net->cuda || UCS_OK != ucp_ep_query(ep->ucp, &attr)) return CG_NET_FLUSH;
    for (unsigned i = 0; i < attr.transports.num_entries; i++) {
        for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            size_t len = strlen(kinds[k].prefix);
            if (!strncmp(entry[i].transport_name, kinds[k].prefix, len)) bits |= kinds[k].bits;
        }
    }
    return bits;
#else
    (void) net;
    (void) ep;
    return CG_NET_FLUSH;
#endif
}

/* Short messages that nobody will receive, such as a peer's last report: UCX warns its user of each that it holds. */
static void discard_unexpected(struct cg_net *net, double end)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE, .memory_type = UCS_MEMORY_TYPE_HOST};
    ucp_tag_recv_info_t info;

    while (cg_ucx_now_ms() < end && ucp_tag_probe_nb(net->worker, 0, 0, 0, &info)) {
        if (info.length > sizeof(net->discarded)) return;
        ucp_tag_message_h msg = ucp_tag_probe_nb(net->worker, 0, 0, 1, &info);
        ucs_status_ptr_t ptr = ucp_tag_msg_recv_nbx(net->worker, net->discarded, info.length, msg, &param);
        await(net, ptr, end);
    }
}

/* What UCX could not be made to let go, where leak checkers find it. */
static struct cg_net *left_nets;

static void leave(struct cg_net *net, const char *what)
{
    CG_LOG(1, "UCX still waits for a peer that does not answer; its %s is left as it is", what);
    net->next_left = __atomic_exchange_n(&left_nets, net, __ATOMIC_ACQ_REL);
}

static void cancel_requests(struct cg_net *net)
{
    for (struct req_block *block = net->blocks; block; block = block->next) {
        for (int i = 0; i < REQ_BLOCK; i++) {
            if (REQ_POSTED == block->req[i].state) ucp_request_cancel(net->worker, block->req[i].ucp);
        }
    }
}

/* Receives end when they are cancelled. Not so a send by rendezvous that nobody receives, on an endpoint without error
 * handling. */
static int holds_requests(const struct cg_net *net)
{
    int n = 0;

    for (const struct req_block *block = net->blocks; block; block = block->next) {
        for (int i = 0; i < REQ_BLOCK; i++)
            n += REQ_POSTED == block->req[i].state || REQ_ORPHAN == block->req[i].state;
    }
    return n > 0;
}

/* Endpoints go first: that completes their sends. Callbacks may still run until the worker is gone. UCX aborts the
 * process if a worker ends while it still asks for a connection (seen with 1.13), or a context while a send holds
 * memory that it has registered (seen with 1.18). */
static void ucx_close(struct cg_net *net)
{
    double end = cg_ucx_now_ms() + CLOSE_MS;
    int held;

    discard_unexpected(net, cg_ucx_now_ms() + CANCEL_MS);
    while (net->eps) drop_ep(net, net->eps, end);
    cancel_requests(net);
    while (ucp_worker_progress(net->worker) && cg_ucx_now_ms() < end) continue; /* what closing has left to do */
    discard_unexpected(net, end);
    if (net->stuck) {
        leave(net, "worker");
        return;
    }
    held = holds_requests(net);
    ucp_worker_destroy(net->worker);
    if (held) {
        leave(net, "context");
        return;
    }
    ucp_cleanup(net->context);
    while (net->blocks) {
        struct req_block *block = net->blocks;
        net->blocks = block->next;
        free(block);
    }
    free(net);
}

/* --- memory and messages --- */

static int ucx_reg(struct cg_net *net, const struct cg_net_region *region, struct cg_net_mem **out)
{
    struct cg_net_mem *mem = calloc(1, sizeof(*mem));
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                                                 UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
                                   .address = region->addr,
                                   .length = region->bytes};
    ucs_status_t rc;

    if (CG_NET_CUDA == region->kind && !net->cuda) {
        free(mem);
        return CG_ERR_UNSUPPORTED;
    }
    if (!mem) return CG_ERR_NOMEM;
    mem->type = CG_NET_CUDA == region->kind ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
    params.memory_type = mem->type;
    rc = ucp_mem_map(net->context, &params, &mem->ucp);
    if (UCS_OK != rc) {
        cg_log(1, "ucp_mem_map of %zu bytes: %s", region->bytes, ucs_status_string(rc));
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

static int ucx_progress(struct cg_net *net) { return (int) ucp_worker_progress(net->worker); }

const struct cg_net_ops cg_net_ucx = {
    .version = CG_NET_VERSION,
    .name = "ucx",
    .hint = ucx_hint,
    .open = ucx_open,
    .close = ucx_close,
    .props = ucx_props,
    .listen = ucx_listen,
    .connect = ucx_connect, /* both sides are alike */
    .accept = ucx_connect,
    .disconnect = ucx_disconnect,
    .ep_status = ucx_ep_status,
    .ep_cuda = ucx_ep_cuda,
    .reg = ucx_reg,
    .dereg = ucx_dereg,
    .isend = cg_ucx_isend,
    .irecv = cg_ucx_irecv,
    .test = cg_ucx_test,
    .cancel = cg_ucx_cancel,
    .progress = ucx_progress,
};
