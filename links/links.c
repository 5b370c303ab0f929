/* SPDX-License-Identifier: BSD-3-Clause
 * The conversation that sets up a link, and what a process opens and closes. */
#include "links/internal.h"
#include "core/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cg_pool_link *of(struct cg_link_end *end) { return (struct cg_pool_link *) end; }

/* Arguments and messages */

static int check_geometry(const struct cg_geometry *g)
{
    struct cg_params p;
    char why[256];

    if (g->slot_bytes > INT32_MAX || g->slots > INT32_MAX) return CG_ERR_ARG;
    cg_params_default(&p);
    p.slot_bytes = (int) g->slot_bytes;
    p.slots = (int) g->slots;
    return cg_params_check(&p, why, sizeof(why));
}

static int check_args(const struct cg_links *links, const struct cg_peer_info *peer, int lower, int medium,
                      const struct cg_geometry *g)
{
    if (!cg_medium_find(medium) || peer->name == links->config.self) return CG_ERR_ARG;
    if (lower != (links->config.self < peer->name)) return CG_ERR_ARG;
    if (medium == CG_MEDIUM_SHM && peer->remote) return CG_ERR_ARG;
    return check_geometry(g);
}

/* The sender's line lies in its lines, its window in its chunk and not on the lines. */
static int check_msg(const struct cg_link_msg *m)
{
    uint64_t need = cg_pool_window(m->medium, &m->geometry);

    if (m->index >= CG_ARENA_LINES || m->chunk >= CG_ARENA_CHUNKS || m->offset % 64) return CG_ERR_ARG;
    if (m->chunk_bytes < need || m->offset > m->chunk_bytes - need) return CG_ERR_ARG;
    if (m->line >= CG_ARENA_LINES || (m->line + 1) * sizeof(struct cg_line) > m->lines_bytes) return CG_ERR_ARG;
    return m->chunk == 0 && m->offset < m->lines_bytes ? CG_ERR_ARG : CG_OK;
}

/* The status that an error message carries; believed only if it is one of ours. */
static int status_of(const struct cg_link_msg *m)
{
    if (m->magic != CG_LINK_MAGIC || m->status > 0 || m->status < CG_ERR_INTERNAL) return CG_ERR_ARG;
    return m->status;
}

static void begin_msg(struct cg_link_msg *msg, uint32_t index, int medium, struct cg_geometry g)
{
    memset(msg, 0, sizeof(*msg));
    msg->magic = CG_LINK_MAGIC;
    msg->index = index;
    msg->medium = medium;
    msg->geometry = g;
}

static void fill_msg(const struct cg_links *links, const struct cg_pool_link *l, struct cg_link_msg *msg)
{
    msg->index = l->index;
    msg->chunk = l->window.chunk;
    msg->offset = l->window.offset;
    msg->chunk_bytes = links->arena.chunk[l->window.chunk].bytes;
    msg->line = l->line;
    msg->lines_bytes = CG_ARENA_LINES_BYTES;
    if (cg_medium_of(l)->fill) cg_medium_of(l)->fill(links, l, msg);
}

static int refuse(struct cg_link_msg *msg, int status, const struct cg_peer_info *peer)
{
    CG_LOG(2, "link %u with process %llx: %s", msg->index, (unsigned long long) peer->name, cg_status_text(status));
    return msg->status = status;
}

static int get_peer(struct cg_links *links, const struct cg_peer_info *info, struct cg_peer **peer)
{
    *peer = cg_peer_get(links, info->name);
    if (!*peer) return CG_ERR_NOMEM;
    (*peer)->info = *info;
    (*peer)->info.socket[sizeof(info->socket) - 1] = 0;
    return CG_OK;
}

static int greet(struct cg_links *links, struct cg_pool_link *l)
{
    return cg_medium_of(l)->greet ? cg_medium_of(l)->greet(links, l) : CG_OK;
}

/* Take in what the peer says of its side. */
static int join(struct cg_links *links, struct cg_pool_link *l, const struct cg_link_msg *m)
{
    struct cg_link_far far;
    int rc;

    memset(&far, 0, sizeof(far));
    far.chunk = m->chunk;
    far.line = m->line;
    far.net_id = m->net_id;
    far.offset = m->offset;
    far.chunk_bytes = m->chunk_bytes;
    far.lines_bytes = m->lines_bytes;
    if (l->joined && memcmp(&far, &l->far, sizeof(far))) return CG_ERR_ARG;
    l->far = far;
    l->joined = 1;
    rc = cg_medium_of(l)->join ? cg_medium_of(l)->join(links, l, m) : CG_OK;
    if (rc == CG_OK) cg_pool_set(links, l, CG_LINK_JOINING);
    return rc;
}

/* The conversation */

int cg_link_offer(struct cg_links *links, const struct cg_peer_info *info, int medium, struct cg_geometry g,
                  struct cg_link_end **link, struct cg_link_msg *msg)
{
    struct cg_pool_link *l = NULL;
    struct cg_peer *peer = NULL;
    int rc = check_args(links, info, 1, medium, &g);

    *link = NULL;
    begin_msg(msg, 0, medium, g);
    if (rc == CG_OK) rc = get_peer(links, info, &peer);
    if (rc == CG_OK) rc = cg_media[medium]->open(links);
    if (rc == CG_OK) l = cg_pool_free(peer, medium, &g);
    if (rc == CG_OK && !l) rc = cg_pool_make(links, peer, peer->nlinks, medium, g, &l);
    if (rc != CG_OK) return refuse(msg, rc, info);
    cg_pool_set(links, l, CG_LINK_OFFERED);
    fill_msg(links, l, msg);
    *link = &l->end;
    return CG_OK;
}

int cg_link_answer(struct cg_links *links, const struct cg_peer_info *info, const struct cg_link_msg *offer,
                   struct cg_link_end **link, struct cg_link_msg *msg)
{
    struct cg_pool_link *l = NULL;
    struct cg_peer *peer = NULL;
    int rc = status_of(offer);

    *link = NULL;
    begin_msg(msg, offer->index, offer->medium, offer->geometry);
    if (rc == CG_OK) rc = check_args(links, info, 0, offer->medium, &offer->geometry);
    if (rc == CG_OK) rc = check_msg(offer);
    if (rc == CG_OK) rc = get_peer(links, info, &peer);
    if (rc == CG_OK) rc = cg_media[offer->medium]->open(links);
    if (rc == CG_OK) rc = cg_pool_offered(links, peer, offer, &l);
    if (rc == CG_OK) rc = greet(links, l);
    if (rc == CG_OK) rc = join(links, l, offer);
    if (rc != CG_OK) {
        if (l) cg_pool_abandon(links, l);
        return refuse(msg, rc, info);
    }
    fill_msg(links, l, msg);
    *link = &l->end;
    return CG_OK;
}

/* A peer that has answered waits for our memory, also if its answer is refused here: greet first. */
int cg_link_take(struct cg_links *links, struct cg_link_end *end, const struct cg_link_msg *answer)
{
    struct cg_pool_link *l = of(end);
    int status = status_of(answer), rc;

    if (l->state != CG_LINK_OFFERED) return CG_ERR_ARG;
    if (answer->status < 0 && status == answer->status) return status;
    rc = greet(links, l);
    if (rc == CG_OK) rc = status;
    if (rc != CG_OK) return rc;
    if (answer->index != l->index || !cg_pool_fits(l, answer->medium, &answer->geometry)) return CG_ERR_ARG;
    rc = check_msg(answer);
    return rc == CG_OK ? join(links, l, answer) : rc;
}

int cg_link_ready(struct cg_links *links, struct cg_link_end *end)
{
    struct cg_pool_link *l = of(end);
    int rc;

    if (l->state == CG_LINK_RENTED) return CG_OK;
    if (l->state != CG_LINK_JOINING) return CG_ERR_ARG;
    rc = cg_medium_of(l)->ready(links, l);
    if (rc == CG_OK && cg_load_acquire(&end->mine->closed) < end->tenants) rc = CG_AGAIN;
    if (rc == CG_OK) cg_pool_set(links, l, CG_LINK_RENTED);
    return rc;
}

void cg_link_abandon(struct cg_links *links, struct cg_link_end *end) { cg_pool_abandon(links, of(end)); }

/* Can the peer be told that the tenant is gone? */
static int established(struct cg_links *links, struct cg_pool_link *l)
{
    return l->state == CG_LINK_RENTED || (l->state == CG_LINK_JOINING && cg_medium_of(l)->ready(links, l) == CG_OK);
}

void cg_link_release(struct cg_links *links, struct cg_link_end *end, uint64_t ops)
{
    struct cg_pool_link *l = of(end);

    if (!established(links, l)) {
        cg_link_abandon(links, end);
        return;
    }
    end->tenants++;
    end->op_base += ops;
    cg_pool_set(links, l, CG_LINK_FREE);
    cg_medium_of(l)->closed(l);
}

/* The process's part */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Everyone can read the names of abstract sockets: the key must not be in it. */
void cg_links_socket_name(uint64_t self, uint64_t key, char *name, size_t len)
{
    snprintf(name, len, "coll_gpu.%016llx.%08llx", (unsigned long long) self,
             (unsigned long long) mix(key ^ mix(self)) >> 32);
}

int cg_links_open(const struct cg_links_config *config, struct cg_links **out)
{
    struct cg_links *links = calloc(1, sizeof(*links));

    if (!links) return CG_ERR_NOMEM;
    links->config = *config;
    links->pass.fd = -1;
    links->net_status = CG_AGAIN;
    links->arena.chunk_bytes = (size_t) config->params->arena_bytes;
    links->arena.limit = (size_t) config->params->stage_limit;
    links->arena.place = config->place;
    links->arena.place_ctx = config->place_ctx;
    *out = links;
    return CG_OK;
}

static void drop_links(struct cg_links *links, struct cg_peer *peer)
{
    for (uint32_t i = 0; i < peer->nlinks; i++) {
        struct cg_pool_link *l = peer->link[i];
        if (l && l->state != CG_LINK_ABANDONED && cg_medium_of(l)->drop) cg_medium_of(l)->drop(links, l);
    }
}

void cg_links_disconnect(struct cg_links *links)
{
    for (uint32_t i = 0; i < links->npeers; i++) drop_links(links, links->peer[i]);
    cg_links_net_disconnect(links);
}

void cg_links_close(struct cg_links *links)
{
    if (!links) return;
    cg_links_disconnect(links);
    cg_links_net_close(links);
    for (uint32_t i = 0; i < links->npeers; i++) cg_peer_free(links->peer[i]);
    cg_fdpass_close(&links->pass);
    cg_arena_close(&links->arena);
    free(links->peer);
    free(links->region);
    free(links);
}

int cg_links_progress(struct cg_links *links)
{
    int events = 0;

    if (links->waiting || links->queued) events += cg_chunks_serve(links);
    if (links->proxy && cg_proxy_busy(links->proxy)) events += cg_proxy_progress(links->proxy);
    return events;
}

int cg_links_busy(const struct cg_links *links)
{
    return links->waiting || links->queued || (links->proxy && cg_proxy_busy(links->proxy));
}

int cg_links_region(const struct cg_links *links, unsigned i, void **addr, size_t *bytes)
{
    if (i >= links->nregions) return 0;
    *addr = links->region[i].addr;
    *bytes = links->region[i].bytes;
    return 1;
}

static uint64_t connections(const struct cg_links *links)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < links->npeers; i++) n += links->peer[i]->ep != NULL;
    return n;
}

static uint64_t registrations(const struct cg_links *links)
{
    struct cg_cache_counters c;

    if (!links->cache) return links->registrations;
    cg_cache_get_counters(links->cache, &c);
    return c.registrations;
}

void cg_links_get_counters(const struct cg_links *links, struct cg_links_counters *c)
{
    uint64_t fifo_bytes = 0;

    for (uint32_t i = 0; i < links->nfifo; i++) fifo_bytes += links->fifo[i].gpu ? links->fifo[i].bytes : 0;
    *c = (struct cg_links_counters){.fifo_bytes = fifo_bytes,
                                    .chunks = links->arena.nchunks,
                                    .chunk_bytes = links->arena.mapped,
                                    .peers = links->npeers,
                                    .links = links->nlinks,
                                    .tenants = links->tenants,
                                    .registrations = registrations(links),
                                    .workers = links->net != NULL,
                                    .connections = connections(links),
                                    .descriptors = links->arena.nchunks + (links->pass.fd >= 0),
                                    .gpu_messages = links->proxy ? cg_proxy_gpu_messages(links->proxy) : 0,
                                    .messages = links->proxy ? cg_proxy_messages(links->proxy) : 0};
}
