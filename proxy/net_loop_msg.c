/* SPDX-License-Identifier: BSD-3-Clause
 * Loop transport: requests and messages. */
#include "proxy/net_loop.h"

#include <stdlib.h>
#include <string.h>

#define EAGER 4096

/* --- messages, all with the lock held --- */

static void drop_message(struct message *msg)
{
    struct message **p = &msg->to->inbox;

    while (*p != msg) p = &(*p)->next;
    *p = msg->next;
    if (msg->req) msg->req->msg = NULL;
    free(msg);
}

static void drop_req(struct cg_net *net, struct cg_net_req *req)
{
    struct cg_net_req **p = &net->reqs;

    while (*p != req) p = &(*p)->next;
    *p = req->next;
    if (req->msg) drop_message(req->msg);
    net->posted -= req->send;
    free(req);
}

static void finish(struct cg_net_req *req, int status)
{
    req->done = 1;
    req->status = status;
    req->msg = NULL;
}

static struct cg_net_req *add_req(struct cg_net *net, const struct cg_net_req *fields)
{
    struct cg_net_req **end = &net->reqs, *req = malloc(sizeof(*req));

    if (!req) return NULL;
    *req = *fields;
    while (*end) end = &(*end)->next;
    return *end = req;
}

static int add_message(struct cg_net *net, struct cg_net *to, struct cg_net_req *req)
{
    int eager = req->bytes <= EAGER;
    struct message **end = &to->inbox, *msg = malloc(sizeof(*msg) + (eager ? req->bytes : 0));

    if (!msg) return CG_ERR_NOMEM;
    *msg = (struct message){.to = to, .source = net->id, .tag = req->tag, .bytes = req->bytes,
                            .delay = cg_loop_draw(net, net->delay)};
    msg->data = eager ? msg->copy : req->buf;
    if (eager) {
        if (req->bytes) memcpy(msg->copy, req->buf, req->bytes);
        req->delay = cg_loop_draw(net, net->delay);
        req->done = !req->delay;
    } else {
        msg->req = req;
        req->msg = msg;
    }
    while (*end) end = &(*end)->next;
    *end = msg;
    return CG_OK;
}

/* Messages of one sender with equal tags arrive in order; without reorder all messages of one sender do. */
static int may_arrive(const struct cg_net *net, const struct message *msg)
{
    for (const struct message *m = net->inbox; m != msg; m = m->next) {
        if (!m->arrived && m->source == msg->source && (!net->reorder || m->tag == msg->tag)) return 0;
    }
    return msg->delay <= 0;
}

/* Written, but not visible yet. */
static int add_arrival(const struct cg_net_req *recv, const struct message *msg)
{
    struct loop_arrival **end = &recv->mem->arrivals, *a = malloc(sizeof(*a) + msg->bytes);

    if (!a) return CG_ERR_NOMEM;
    *a = (struct loop_arrival){.to = recv->buf, .bytes = msg->bytes, .n = ++recv->mem->arrived};
    memcpy(a->data, msg->data, msg->bytes);
    while (*end) end = &(*end)->next;
    *end = a;
    return CG_OK;
}

static int write_to(const struct cg_net *net, const struct cg_net_req *recv, const struct message *msg)
{
    if (msg->bytes > recv->bytes) return CG_ERR_LIMIT;
    if (net->flush && recv->mem && CG_NET_CUDA == recv->mem->region.kind) return add_arrival(recv, msg);
    if (msg->bytes) memcpy(recv->buf, msg->data, msg->bytes);
    return CG_OK;
}

void cg_loop_show(struct cg_net_mem *mem, uint64_t upto)
{
    struct loop_arrival *a;

    while ((a = mem->arrivals) && (!upto || a->n <= upto)) {
        mem->arrivals = a->next;
        if (upto) memcpy(a->to, a->data, a->bytes);
        free(a);
    }
}

static int deliver(struct cg_net *net, struct message *msg)
{
    struct cg_net_req *recv = net->reqs;

    while (recv && (recv->send || recv->flush || recv->done || recv->tag != msg->tag)) recv = recv->next;
    if (!recv) return 0;
    finish(recv, write_to(net, recv, msg));
    recv->bytes = msg->bytes;
    if (msg->req) finish(msg->req, CG_OK);
    msg->req = NULL;
    drop_message(msg);
    return 1;
}

int cg_loop_progress(struct cg_net *net)
{
    int events = 0;

    pthread_mutex_lock(&cg_loop_lock);
    for (struct cg_net_req *req = net->reqs; req; req = req->next) {
        if (!(req->send || req->flush) || req->done || req->msg || --req->delay > 0) continue;
        if (req->flush && req->tag) cg_loop_show(req->mem, req->tag);
        events += req->done = 1;
    }
    for (struct message *msg = net->inbox, *next; msg; msg = next) {
        next = msg->next;
        msg->delay--;
        if (!msg->arrived) msg->arrived = may_arrive(net, msg);
        if (msg->arrived) events += deliver(net, msg);
    }
    pthread_mutex_unlock(&cg_loop_lock);
    return events;
}

/* Where this transport finds buf; NULL: not in the memory that was registered. */
static char *view_of(const struct cg_net_mem *mem, const void *buf, size_t bytes)
{
    size_t at;

    if (!mem) return (char *) buf;
    at = (size_t) ((const char *) buf - (const char *) mem->region.addr);
    return at <= mem->region.bytes && bytes <= mem->region.bytes - at ? mem->view + at : NULL;
}

/* --- requests --- */

/* With the lock held. */
static int start_send(struct cg_net *net, struct cg_net_ep *ep, struct cg_net_req *fields, struct cg_net_req **out)
{
    struct cg_net *to = cg_loop_find(ep->peer);
    int rc = cg_loop_ep_check(ep);

    if (rc) return rc;
    if (!to) return CG_ERR_PEER;
    if (net->room && net->posted >= net->room) return CG_AGAIN;
    if (!(*out = add_req(net, fields))) return CG_ERR_NOMEM;
    net->posted++;
    ep->failing |= ++net->sends == net->fail;
    if (ep->failing) {
        (*out)->ep = ep;
        finish(*out, CG_ERR_NET);
        return CG_OK;
    }
    rc = add_message(net, to, *out);
    if (rc) drop_req(net, *out);
    return rc;
}

int cg_loop_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                      struct cg_net_mem *mem, struct cg_net_req **out)
{
    struct cg_net_req fields = {.tag = tag, .buf = view_of(mem, buf, bytes), .bytes = bytes, .send = 1};
    int rc;

    if (!fields.buf && bytes) return CG_ERR_ARG;
    pthread_mutex_lock(&cg_loop_lock);
    rc = start_send(net, ep, &fields, out);
    pthread_mutex_unlock(&cg_loop_lock);
    return rc;
}

int cg_loop_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                      struct cg_net_req **out)
{
    struct cg_net_req fields = {.tag = tag, .buf = view_of(mem, buf, capacity), .bytes = capacity, .mem = mem};

    if (!fields.buf && capacity) return CG_ERR_ARG;
    pthread_mutex_lock(&cg_loop_lock);
    *out = add_req(net, &fields);
    pthread_mutex_unlock(&cg_loop_lock);
    return *out ? CG_OK : CG_ERR_NOMEM;
}

int cg_loop_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes)
{
    int rc = CG_AGAIN;

    pthread_mutex_lock(&cg_loop_lock);
    if (req->done) {
        rc = req->status;
        *bytes = req->bytes;
        if (req->ep) req->ep->status = rc;
        drop_req(net, req);
    }
    pthread_mutex_unlock(&cg_loop_lock);
    return rc;
}

int cg_loop_flush(struct cg_net *net, struct cg_net_mem *mem, struct cg_net_req **out)
{
    struct cg_net_req fields = {.flush = 1, .mem = mem, .tag = mem->arrived};

    pthread_mutex_lock(&cg_loop_lock);
    fields.delay = 1 + cg_loop_draw(net, net->delay);
    *out = add_req(net, &fields);
    pthread_mutex_unlock(&cg_loop_lock);
    return *out ? CG_OK : CG_ERR_NOMEM;
}

void cg_loop_cancel(struct cg_net *net, struct cg_net_req *req)
{
    pthread_mutex_lock(&cg_loop_lock);
    drop_req(net, req);
    pthread_mutex_unlock(&cg_loop_lock);
}

void cg_loop_drop_all(struct cg_net *net)
{
    while (net->reqs) drop_req(net, net->reqs);
    while (net->inbox) {
        if (net->inbox->req) finish(net->inbox->req, CG_ERR_PEER);
        net->inbox->req = NULL;
        drop_message(net->inbox);
    }
}
