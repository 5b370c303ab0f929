/* SPDX-License-Identifier: BSD-3-Clause
 * Links through the network: lanes of both directions lie in the own arena, joined by the proxy. */
#include "links/internal.h"
#include "core/log.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_REGISTRATIONS 64 /* chunks whose links were abandoned */

static int open_worker(struct cg_links *links)
{
    const struct cg_net_ops *ops = links->config.net;
    const char *hint = links->config.net_hint, *found = NULL;
    char why[256] = "";
    int rc;

    if (!hint && links->config.find_hint) hint = found = links->config.find_hint(links->config.place_ctx);
    rc = ops->open(links->config.params, hint, &links->net, why, sizeof(why));
    if (rc != CG_OK && found) {
        CG_LOG(1, "network: transport %s cannot be opened with %s: %s; it chooses by itself", ops->name, found, why);
        rc = ops->open(links->config.params, NULL, &links->net, why, sizeof(why));
    }

    if (rc != CG_OK) {
        CG_LOG(0, "network: transport %s cannot be opened: %s; choose another with coll_gpu_transport", ops->name, why);
        return rc;
    }
    links->handle_len = sizeof(links->handle);
    rc = ops->listen(links->net, links->handle, &links->handle_len);
    if (rc == CG_OK && ops->reg) rc = cg_cache_open(ops, links->net, IDLE_REGISTRATIONS, &links->cache);
    if (rc == CG_OK) rc = cg_proxy_open(ops, links->net, &links->proxy);
    if (rc == CG_OK) return CG_OK;
    cg_cache_close(links->cache);
    links->cache = NULL;
    CG_LOG(0, "network: transport %s cannot be used: %s; choose another with coll_gpu_transport", ops->name,
           cg_status_text(rc));
    ops->close(links->net);
    links->net = NULL;
    return rc;
}

static int net_open(struct cg_links *links)
{
    if (links->net_status != CG_AGAIN) return links->net_status;
    if (links->config.net && links->config.net->version == CG_NET_VERSION) {
        links->net_status = open_worker(links);
    } else {
        CG_LOG(0, "network: %s; build with UCX (libucx-dev) or choose another with coll_gpu_transport",
               links->config.net ? "the transport is of another version" : "there is no transport");
        links->net_status = CG_ERR_NET;
    }
    return links->net_status;
}

/* Chunks of the arena are registered as a whole, with their first link. They are shared, so fork does no harm. */
static int register_slots(struct cg_links *links, struct cg_pool_link *l)
{
    const struct cg_chunk *c = &links->arena.chunk[l->slots.chunk];
    int rc;

    if (!links->cache) return CG_OK;
    rc = cg_cache_get(links->cache, &(struct cg_net_region){c->base, c->bytes, CG_NET_HOST, -1}, 0, &l->slots_cached);
    if (rc == CG_OK) {
        l->slots_mem = cg_cached_mem(l->slots_cached);
    } else {
        CG_LOG(links->told++ ? 1 : 0, "network: registering %zu bytes failed: %s; raise ulimit -l", c->bytes,
               cg_status_text(rc));
    }
    return rc;
}

/* Lanes of both directions, in the transport's memory if it has some, else in the arena. */
static int make_slots(struct cg_links *links, struct cg_pool_link *l)
{
    size_t lanes = cg_lanes_bytes(l->end.geometry.slot_bytes, l->end.geometry.slots);
    int rc = cg_fifo_take(links, NULL, 2 * lanes, &l->end.recv_slots, &l->slots_mem);

    if (rc == CG_ERR_UNSUPPORTED) {
        rc = cg_arena_window(&links->arena, 2 * lanes, &l->slots);
        if (rc != CG_OK) return rc;
        l->end.recv_slots = cg_arena_at(&links->arena, &l->slots);
        rc = register_slots(links, l);
    }
    l->end.send_slots = l->end.recv_slots + lanes;
    return rc;
}

static void net_drop(struct cg_links *links, struct cg_pool_link *l)
{
    if (l->end.proxy) cg_proxy_link_close(links->proxy, l->end.proxy);
    l->end.proxy = NULL;
    if (l->slots_cached) cg_cache_put(links->cache, l->slots_cached);
    l->slots_cached = NULL;
    if (l->slots.bytes) cg_arena_window_free(&links->arena, &l->slots);
    l->slots.bytes = 0;
}

static int net_make(struct cg_links *links, struct cg_pool_link *l)
{
    int rc = make_slots(links, l);

    if (rc == CG_OK) rc = cg_regions_add(links); /* a chunk may have come */
    if (rc != CG_OK) {
        net_drop(links, l);
        return rc;
    }
    l->net_id = ++links->next_net_id; /* never used again: late messages find nobody */
    l->end.peer = cg_arena_line_at(&links->arena, l->out_line);
    return CG_OK;
}

static void net_fill(const struct cg_links *links, const struct cg_pool_link *l, struct cg_link_msg *msg)
{
    msg->net_id = l->net_id;
    msg->handle_len = (uint32_t) links->handle_len;
    memcpy(msg->handle, links->handle, links->handle_len);
}

/* The endpoint of a process, made with its first link. One that has failed stays so. The lower name has made the offer,
 * so the higher one knows of it first: it connects. */
static int connect_peer(struct cg_links *links, struct cg_peer *peer)
{
    const struct cg_net_ops *ops = links->config.net;
    int (*make)(struct cg_net *, const void *, size_t, int, struct cg_net_ep **) =
        links->config.self < peer->info.name ? ops->accept : ops->connect;
    int rc;

    if (peer->refused) return peer->refused;
    if (peer->ep) {
        rc = ops->ep_status(links->net, peer->ep);
    } else {
        rc = make(links->net, peer->handle, peer->handle_len, peer->info.remote, &peer->ep);
    }
    if (rc < 0) {
        CG_LOG(0, "network: no connection to process %llx: %s; check that it lives, and that transport %s may use a "
                  "network that both hosts share", (unsigned long long) peer->info.name, cg_status_text(rc), ops->name);
    }
    if (rc < 0) peer->refused = rc;
    return rc;
}

static int open_proxy_link(struct cg_links *links, struct cg_pool_link *l)
{
    struct cg_proxy_link_config config = {.ep = l->peer->ep,
                                          .local_id = l->net_id,
                                          .remote_id = l->far.net_id,
                                          .slot_bytes = l->end.geometry.slot_bytes,
                                          .slots = l->end.geometry.slots,
                                          .line = l->end.mine,
                                          .out = l->end.peer,
                                          .recv_slots = l->end.recv_slots,
                                          .send_slots = l->end.send_slots,
                                          .announce = l->end.announce_in,
                                          .mem = l->slots_mem};
    int rc = cg_proxy_link_open(links->proxy, &config, &l->end.proxy);

    if (rc != CG_OK) {
        CG_LOG(links->told++ ? 1 : 0,
               "network: a link to process %llx with %u slots of %u bytes failed: %s; lower coll_gpu_slot_bytes",
               (unsigned long long) l->peer->info.name, config.slots, config.slot_bytes, cg_status_text(rc));
    }
    return rc;
}

static int net_join(struct cg_links *links, struct cg_pool_link *l, const struct cg_link_msg *msg)
{
    (void) links;
    if (msg->handle_len == 0 || msg->handle_len > CG_NET_HANDLE_MAX) return CG_ERR_ARG;
    l->peer->handle_len = msg->handle_len;
    memcpy(l->peer->handle, msg->handle, msg->handle_len);
    l->joining = 1;
    return CG_OK;
}

/* Connections need not be made at once. */
static int net_ready(struct cg_links *links, struct cg_pool_link *l)
{
    int rc = l->joining ? connect_peer(links, l->peer) : CG_OK;

    if (rc == CG_OK && !l->end.proxy) rc = open_proxy_link(links, l);
    if (rc != CG_OK) return rc;
    if (l->joining) cg_proxy_link_tenant_opened(l->end.proxy);
    l->joining = 0;
    return cg_proxy_link_status(l->end.proxy);
}

static int net_usable(const struct cg_pool_link *l) { return cg_proxy_link_status(l->end.proxy) == CG_OK; }

static void net_closed(struct cg_pool_link *l) { cg_proxy_link_tenant_closed(l->end.proxy, l->end.tenants); }

void cg_links_net_disconnect(struct cg_links *links)
{
    const struct cg_net_ops *ops = links->config.net;

    if (!links->net) return;
    if (links->proxy) cg_proxy_close(links->proxy);
    links->proxy = NULL;
    for (uint32_t i = 0; i < links->npeers; i++) {
        if (links->peer[i]->ep) ops->disconnect(links->net, links->peer[i]->ep);
        links->peer[i]->ep = NULL;
    }
    cg_links_fifo_close(links, 0);
    if (!cg_links_fifo_on_host(links)) cg_links_net_close(links);
}

void cg_links_net_close(struct cg_links *links)
{
    struct cg_cache_counters c = {0};

    if (!links->net) return;
    cg_links_fifo_close(links, 1);
    if (links->cache) cg_cache_get_counters(links->cache, &c);
    links->registrations = c.registrations;
    cg_cache_close(links->cache);
    links->cache = NULL;
    links->config.net->close(links->net);
    links->net = NULL;
    links->net_status = CG_ERR_NET;
}

const struct cg_medium_ops cg_medium_net = {
    .name = "network",
    .lanes = 0, /* net_make allocates them */
    .lines = 2,
    .open = net_open,
    .make = net_make,
    .fill = net_fill,
    .join = net_join,
    .ready = net_ready,
    .usable = net_usable,
    .closed = net_closed,
    .drop = net_drop,
};
