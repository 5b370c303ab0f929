/* SPDX-License-Identifier: BSD-3-Clause
 * The proxy's links and their progress; what happens on a link is in machine.c. */
#include "core/log.h"
#include "proxy/machine.h"

#include <stdlib.h>

/* A peer that goes while nothing is on its way to it may simply have finished before us (MPI_Finalize). An operation
 * that waits for it says so itself. */
static int level_of_end(const struct cg_proxy_link *link, int status)
{
    return CG_ERR_PEER == status && !cg_proxy_sends_pending(link) ? 2 : 0;
}

/* Sends stay with the transport until the link is closed: not every transport can take them back. */
static void end_link(struct cg_proxy_link *link, const struct cg_machine *at, int status)
{
    CG_LOG(level_of_end(link, status),
           "net link %u to %u, channel %u, which %s (%llu of %llu): %s: the peer died or the network failed",
           link->config.local_id, link->config.remote_id, at->chan, cg_machine_text(at),
           (unsigned long long) at->done, (unsigned long long) at->posted, cg_status_text(status));
    link->status = status;
    for (int i = LISTENER; i < SENDER; i++) cg_machine_cancel(link, &link->machine[i]);
    for (int i = 0; i < MACHINES; i++) cg_machine_end(link, &link->machine[i]);
}

static void activate(struct cg_proxy_link *link)
{
    if (link->active || link->status) return;
    link->active = 1;
    link->quiet = 0;
    link->next_active = link->proxy->active;
    link->proxy->active = link;
}

static void init_machine(struct cg_proxy_link *link, int index, enum cg_proxy_state state, uint32_t chan)
{
    struct cg_machine *m = &link->machine[index];

    m->state = state;
    m->chan = chan;
    m->req = link->req + (size_t) index * link->config.slots;
}

static int config_ok(const struct cg_proxy *proxy, const struct cg_proxy_link_config *c)
{
    struct cg_net_props props;

    proxy->ops->props(proxy->net, &props);
    return c->ep && c->line && c->out && c->recv_slots && c->send_slots && c->announce && c->slots >= 2 &&
           c->slots <= LANE_SLOTS && !(c->slots & (c->slots - 1)) && cg_slot_stride(c->slot_bytes) <= props.max_bytes;
}

int cg_proxy_link_open(struct cg_proxy *proxy, const struct cg_proxy_link_config *config, struct cg_proxy_link **out)
{
    struct cg_proxy_link *link;

    if (!config_ok(proxy, config)) return CG_ERR_ARG;
    link = calloc(1, sizeof(*link) + (size_t) MACHINES * config->slots * sizeof(link->req[0]));
    if (!link) return CG_ERR_NOMEM;
    link->proxy = proxy;
    link->config = *config;
    link->awake = (1u << MACHINES) - 1;
    init_machine(link, LISTENER, LISTEN_IDLE, LANE_CONTROL);
    init_machine(link, REPORTER, REPORT_IDLE, LANE_CONTROL);
    for (uint32_t c = 0; c < CG_MAX_CHAN; c++) {
        init_machine(link, RECEIVER + (int) c, RECV_IDLE, c);
        init_machine(link, SENDER + (int) c, SEND_IDLE, c);
    }
    link->next = proxy->links;
    proxy->links = link;
    *out = link;
    return CG_OK;
}

void cg_proxy_link_close(struct cg_proxy *proxy, struct cg_proxy_link *link)
{
    struct cg_proxy_link **p = &proxy->links, **a = &proxy->active;

    while (*p != link) p = &(*p)->next;
    *p = link->next;
    while (*a && *a != link) a = &(*a)->next_active;
    if (*a) *a = link->next_active;
    for (int i = 0; i < MACHINES; i++) cg_machine_cancel(link, &link->machine[i]);
    free(link);
}

void cg_proxy_link_tenant_opened(struct cg_proxy_link *link)
{
    for (int i = 0; i < CG_ANNOUNCE; i++) cg_store_release(&link->config.announce[i].op, 0);
    link->now.announced = (struct cg_announce){0};
    link->resting = 0;
    link->opened++;
    activate(link);
}

void cg_proxy_link_rest(struct cg_proxy_link *link, int rest)
{
    link->resting = rest;
    if (!rest) activate(link);
}

void cg_proxy_link_tenant_closed(struct cg_proxy_link *link, uint64_t n)
{
    if (n > link->now.closed) link->now.closed = n;
    link->now.announced = (struct cg_announce){0}; /* the next tenant's numbers begin anew */
    activate(link);
}

void cg_proxy_link_passed(struct cg_proxy_link *link, uint64_t op)
{
    if (op > link->now.passed) link->now.passed = op;
    activate(link);
}

void cg_proxy_link_failed(struct cg_proxy_link *link, uint64_t op)
{
    if (op > link->now.failed) link->now.failed = op;
    activate(link);
}

int cg_proxy_link_drained(const struct cg_proxy_link *link)
{
    return link->status || (!cg_proxy_sends_pending(link) && !cg_proxy_report_due(link));
}

int cg_proxy_link_status(const struct cg_proxy_link *link) { return link->status; }

/* --- progress --- */

/* The first channel's receiver is what small messages wait for, and reports tell of failures. */
#define NEVER_REST (1u << LISTENER | 1u << RECEIVER | 1u << REPORTER)

/* A channel that nobody uses costs little: it rests, until a slot is published there. */
static uint32_t machines_due(struct cg_proxy_link *link)
{
    uint32_t due = link->awake | NEVER_REST;

    if (++link->pass % REST_STRIDE == 0) return (1u << MACHINES) - 1;
    for (int c = 0; c < CG_MAX_CHAN; c++) {
        uint64_t tail = cg_load_relaxed(&link->config.out->chan[c].tail);
        due |= (uint32_t) (tail > link->machine[SENDER + c].posted) << (SENDER + c);
    }
    return due;
}

static int step_link(struct cg_proxy_link *link)
{
    const struct cg_proxy *proxy = link->proxy;
    int rc = proxy->ops->ep_status(proxy->net, link->config.ep), events = 0;

    if (rc) {
        end_link(link, &link->machine[LISTENER], rc);
        return 1;
    }
    for (uint32_t due = machines_due(link); due; due &= due - 1) {
        struct cg_machine *m = &link->machine[__builtin_ctz(due)];
        rc = cg_machine_step(link, m);
        if (rc < 0) {
            end_link(link, m, rc);
            return 1;
        }
        events += rc;
    }
    link->quiet = events ? 0 : link->quiet + (link->quiet < LINGER_PASSES);
    return events;
}

/* Of a tenant that is gone here, the peer's "closed" is awaited: then the link serves again. */
static int tenant_active(const struct cg_proxy_link *link)
{
    return link->opened > link->now.closed ? !link->resting : cg_proxy_has_tenant(link);
}

static int finished(const struct cg_proxy_link *link)
{
    if (link->status) return 1;
    return link->quiet >= LINGER_PASSES && !tenant_active(link) && !cg_proxy_sends_pending(link);
}

int cg_proxy_progress(struct cg_proxy *proxy)
{
    struct cg_proxy_link **p = &proxy->active;
    int events = 0;

    if (!*p) return 0;
    proxy->ops->progress(proxy->net);
    while (*p) {
        struct cg_proxy_link *link = *p;
        events += step_link(link);
        if (finished(link)) {
            *p = link->next_active;
            link->active = 0;
        } else {
            p = &link->next_active;
        }
    }
    return events;
}

int cg_proxy_busy(const struct cg_proxy *proxy) { return NULL != proxy->active; }

uint64_t cg_proxy_gpu_messages(const struct cg_proxy *proxy) { return proxy->gpu_messages; }
uint64_t cg_proxy_messages(const struct cg_proxy *proxy) { return proxy->messages; }

int cg_proxy_open(const struct cg_net_ops *ops, struct cg_net *net, struct cg_proxy **out)
{
    struct cg_proxy *proxy;

    if (CG_NET_VERSION != ops->version) return CG_ERR_UNSUPPORTED;
    if (!(proxy = calloc(1, sizeof(*proxy)))) return CG_ERR_NOMEM;
    proxy->ops = ops;
    proxy->net = net;
    *out = proxy;
    return CG_OK;
}

void cg_proxy_close(struct cg_proxy *proxy)
{
    while (proxy->links) cg_proxy_link_close(proxy, proxy->links);
    free(proxy);
}
