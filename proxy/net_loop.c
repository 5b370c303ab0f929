/* SPDX-License-Identifier: BSD-3-Clause
 * The transport of the tests: instances of one process find each other by number. One lock guards everything, so they
 * may run on different threads. A message waits in its receiver's inbox for up to `delay` of the receiver's progress
 * calls, has then arrived, and meets the receives in the order of their posting. Messages of up to EAGER bytes are
 * copied when sent, longer ones out of the sender's buffer when they meet a receive. */
#include "proxy/net.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EAGER 4096

struct message {
    struct message *next; /* in the inbox */
    struct cg_net *to;
    struct cg_net_req *req; /* the sender's, if data is its buffer */
    const char *data;
    uint64_t source, tag;
    size_t bytes;
    long delay;
    int arrived;
    char copy[];
};

struct cg_net_req {
    struct cg_net_req *next; /* of this instance */
    struct cg_net_ep *ep;    /* of a send that fails */
    struct message *msg;     /* of a send that waits for its receive */
    uint64_t tag;
    char *buf;
    size_t bytes; /* of the message; of the buffer while a receive is posted */
    long delay;   /* until a copied send is complete */
    int send, done, status;
};

struct cg_net_ep {
    struct cg_net_ep *next;
    uint64_t peer;
    int remote, status;
    int failing; /* sends do not arrive; the first that is tested ends the endpoint */
};

struct cg_net {
    struct cg_net *next; /* in the registry */
    uint64_t id, random;
    long seed, delay, reorder, fail, room; /* of the hint */
    long sends, posted;                    /* sends so far; those that have not been tested to their end */
    struct message *inbox;
    struct cg_net_req *reqs;
    struct cg_net_ep *eps;
};

struct loop_addr {
    uint64_t id;
    int64_t pid;
};

static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cg_net *loop_nets;
static uint64_t loop_last_id;

static struct cg_net *find_net(uint64_t id)
{
    struct cg_net *net = loop_nets;

    while (net && net->id != id) net = net->next;
    return net;
}

/* splitmix64: 0 to max */
static long draw(struct cg_net *net, long max)
{
    uint64_t z = (net->random += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (long) ((z ^ (z >> 31)) % ((uint64_t) max + 1));
}

static int parse_hint(struct cg_net *net, const char *text, char *why, size_t len)
{
    const struct {
        const char *name;
        long *value;
    } keys[] = {{"seed=", &net->seed}, {"delay=", &net->delay}, {"reorder=", &net->reorder}, {"fail=", &net->fail},
                {"room=", &net->room}, {NULL, NULL}};
    char buf[256], *item, *rest = buf;

    snprintf(buf, sizeof(buf), "%s", text ? text : "");
    while ((item = strsep(&rest, ","))) {
        int i = 0;
        if (!*item) continue;
        while (keys[i].name && strncmp(keys[i].name, item, strlen(keys[i].name))) i++;
        if (!keys[i].name || (*keys[i].value = strtol(item + strlen(keys[i].name), NULL, 10)) < 0) {
            snprintf(why, len, "loop: hint \"%s\": \"%s\" is none of seed, delay, reorder, fail, room = N >= 0", text,
                     item);
            return CG_ERR_NET;
        }
    }
    net->random = (uint64_t) net->seed;
    return CG_OK;
}

static int loop_open(const struct cg_params *params, const char *hint, struct cg_net **out, char *why, size_t len)
{
    struct cg_net *net = calloc(1, sizeof(*net));

    (void) params;
    if (!net) snprintf(why, len, "loop: out of host memory");
    if (!net || parse_hint(net, hint, why, len)) {
        free(net);
        return CG_ERR_NET;
    }
    pthread_mutex_lock(&loop_lock);
    net->id = ++loop_last_id;
    net->next = loop_nets;
    loop_nets = net;
    pthread_mutex_unlock(&loop_lock);
    *out = net;
    return CG_OK;
}

static void loop_props(struct cg_net *net, struct cg_net_props *props)
{
    (void) net;
    *props = (struct cg_net_props){.name = "loop", .max_bytes = SIZE_MAX / 2, .reports_peer_death = 1};
}

static int loop_address(struct cg_net *net, void *addr, size_t *len)
{
    struct loop_addr a = {.id = net->id, .pid = getpid()};

    memcpy(addr, &a, sizeof(a));
    *len = sizeof(a);
    return CG_OK;
}

/* --- endpoints --- */

static int loop_connect(struct cg_net *net, const void *addr, size_t len, int remote, struct cg_net_ep **out)
{
    struct loop_addr a;
    struct cg_net_ep *ep;

    if (len != sizeof(a)) return CG_ERR_ARG;
    memcpy(&a, addr, sizeof(a));
    if (a.pid != getpid()) return CG_ERR_NET;
    if (!(ep = calloc(1, sizeof(*ep)))) return CG_ERR_NOMEM;
    *ep = (struct cg_net_ep){.next = net->eps, .peer = a.id, .remote = remote};
    *out = net->eps = ep;
    return CG_OK;
}

static void loop_disconnect(struct cg_net *net, struct cg_net_ep *ep)
{
    struct cg_net_ep **p = &net->eps;

    pthread_mutex_lock(&loop_lock);
    for (struct cg_net_req *req = net->reqs; req; req = req->next) {
        if (req->ep == ep) req->ep = NULL;
    }
    pthread_mutex_unlock(&loop_lock);
    while (*p != ep) p = &(*p)->next;
    *p = ep->next;
    free(ep);
}

/* With the lock held. */
static int ep_check(struct cg_net_ep *ep)
{
    if (CG_OK == ep->status && ep->remote && !find_net(ep->peer)) ep->status = CG_ERR_PEER;
    return ep->status;
}

static int loop_ep_status(struct cg_net *net, struct cg_net_ep *ep)
{
    int status;

    (void) net;
    pthread_mutex_lock(&loop_lock);
    status = ep_check(ep);
    pthread_mutex_unlock(&loop_lock);
    return status;
}

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
                            .delay = draw(net, net->delay)};
    msg->data = eager ? msg->copy : req->buf;
    if (eager) {
        if (req->bytes) memcpy(msg->copy, req->buf, req->bytes);
        req->delay = draw(net, net->delay);
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

static int deliver(struct cg_net *net, struct message *msg)
{
    struct cg_net_req *recv = net->reqs;

    while (recv && (recv->send || recv->done || recv->tag != msg->tag)) recv = recv->next;
    if (!recv) return 0;
    if (msg->bytes <= recv->bytes && msg->bytes) memcpy(recv->buf, msg->data, msg->bytes);
    finish(recv, msg->bytes <= recv->bytes ? CG_OK : CG_ERR_LIMIT);
    recv->bytes = msg->bytes;
    if (msg->req) finish(msg->req, CG_OK);
    msg->req = NULL;
    drop_message(msg);
    return 1;
}

static int loop_progress(struct cg_net *net)
{
    int events = 0;

    pthread_mutex_lock(&loop_lock);
    for (struct cg_net_req *req = net->reqs; req; req = req->next) {
        if (req->send && !req->done && !req->msg && --req->delay <= 0) events += req->done = 1;
    }
    for (struct message *msg = net->inbox, *next; msg; msg = next) {
        next = msg->next;
        msg->delay--;
        if (!msg->arrived) msg->arrived = may_arrive(net, msg);
        if (msg->arrived) events += deliver(net, msg);
    }
    pthread_mutex_unlock(&loop_lock);
    return events;
}

/* --- requests --- */

/* With the lock held. */
static int start_send(struct cg_net *net, struct cg_net_ep *ep, struct cg_net_req *fields, struct cg_net_req **out)
{
    struct cg_net *to = find_net(ep->peer);
    int rc = ep_check(ep);

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

static int loop_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                      struct cg_net_mem *mem, struct cg_net_req **out)
{
    struct cg_net_req fields = {.tag = tag, .buf = (char *) buf, .bytes = bytes, .send = 1};
    int rc;

    (void) mem;
    pthread_mutex_lock(&loop_lock);
    rc = start_send(net, ep, &fields, out);
    pthread_mutex_unlock(&loop_lock);
    return rc;
}

static int loop_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                      struct cg_net_req **out)
{
    struct cg_net_req fields = {.tag = tag, .buf = buf, .bytes = capacity};

    (void) mem;
    pthread_mutex_lock(&loop_lock);
    *out = add_req(net, &fields);
    pthread_mutex_unlock(&loop_lock);
    return *out ? CG_OK : CG_ERR_NOMEM;
}

static int loop_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes)
{
    int rc = CG_AGAIN;

    pthread_mutex_lock(&loop_lock);
    if (req->done) {
        rc = req->status;
        *bytes = req->bytes;
        if (req->ep) req->ep->status = rc;
        drop_req(net, req);
    }
    pthread_mutex_unlock(&loop_lock);
    return rc;
}

static void loop_cancel(struct cg_net *net, struct cg_net_req *req)
{
    pthread_mutex_lock(&loop_lock);
    drop_req(net, req);
    pthread_mutex_unlock(&loop_lock);
}

/* Senders that wait for a receive here are told. */
static void loop_close(struct cg_net *net)
{
    struct cg_net **p = &loop_nets;

    pthread_mutex_lock(&loop_lock);
    while (*p != net) p = &(*p)->next;
    *p = net->next;
    while (net->reqs) drop_req(net, net->reqs);
    while (net->inbox) {
        if (net->inbox->req) finish(net->inbox->req, CG_ERR_PEER);
        net->inbox->req = NULL;
        drop_message(net->inbox);
    }
    pthread_mutex_unlock(&loop_lock);
    while (net->eps) loop_disconnect(net, net->eps);
    free(net);
}

const struct cg_net_ops cg_net_loop = {
    .version = CG_NET_VERSION,
    .name = "loop",
    .open = loop_open,
    .close = loop_close,
    .props = loop_props,
    .address = loop_address,
    .connect = loop_connect,
    .disconnect = loop_disconnect,
    .ep_status = loop_ep_status,
    .isend = loop_isend,
    .irecv = loop_irecv,
    .test = loop_test,
    .cancel = loop_cancel,
    .progress = loop_progress,
};
