/* SPDX-License-Identifier: BSD-3-Clause
 * The transport of the tests: instances of one process find each other by number. One lock guards everything, so they
 * may run on different threads. A message waits in its receiver's inbox for up to `delay` of the receiver's progress
 * calls, has then arrived, and meets the receives in the order of their posting. Messages of up to EAGER bytes are
 * copied when sent, longer ones out of the sender's buffer when they meet a receive. */
#include "proxy/net_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOOP_MAGIC 0x636770u

struct loop_addr {
    uint64_t magic, id;
    int64_t pid;
};

pthread_mutex_t cg_loop_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cg_net *loop_nets;
static uint64_t loop_last_id;

struct cg_net *cg_loop_find(uint64_t id)
{
    struct cg_net *net = loop_nets;

    while (net && net->id != id) net = net->next;
    return net;
}

long cg_loop_draw(struct cg_net *net, long max)
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
                {"room=", &net->room}, {"slow=", &net->slow},   {"flush=", &net->flush}, {NULL, NULL}};
    char buf[256], *item, *rest = buf;

    snprintf(buf, sizeof(buf), "%s", text ? text : "");
    while ((item = strsep(&rest, ","))) {
        int i = 0;
        if (!*item) continue;
        while (keys[i].name && strncmp(keys[i].name, item, strlen(keys[i].name))) i++;
        if (!keys[i].name || (*keys[i].value = strtol(item + strlen(keys[i].name), NULL, 10)) < 0) {
            snprintf(why, len, "loop: hint \"%s\": \"%s\" is none of seed, delay, reorder, fail, room, slow, flush = N "
                     ">= 0", text, item);
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
    pthread_mutex_lock(&cg_loop_lock);
    net->id = ++loop_last_id;
    net->next = loop_nets;
    loop_nets = net;
    pthread_mutex_unlock(&cg_loop_lock);
    *out = net;
    return CG_OK;
}

static void loop_props(struct cg_net *net, struct cg_net_props *props)
{
    (void) net;
    *props = (struct cg_net_props){.name = "loop", .max_bytes = SIZE_MAX / 2, .cuda = 1, .dmabuf = 1,
                                   .reports_peer_death = 1};
}

static int loop_listen(struct cg_net *net, void *addr, size_t *len)
{
    struct loop_addr a = {.magic = LOOP_MAGIC, .id = net->id, .pid = getpid()};

    memcpy(addr, &a, sizeof(a));
    *len = sizeof(a);
    return CG_OK;
}

/* --- endpoints --- */

static struct cg_net_ep *find_ep(const struct cg_net *net, uint64_t peer)
{
    struct cg_net_ep *ep = net->eps;

    while (ep && ep->peer != peer) ep = ep->next;
    return ep;
}

/* An endpoint that is still being made is in the list already. */
static int loop_connect(struct cg_net *net, const void *handle, size_t len, int remote, struct cg_net_ep **out)
{
    struct loop_addr a;
    struct cg_net_ep *ep;

    if (len != sizeof(a)) return CG_ERR_ARG;
    memcpy(&a, handle, sizeof(a));
    if (a.magic != LOOP_MAGIC) return CG_ERR_ARG;
    if (a.pid != getpid()) return CG_ERR_NET;
    ep = find_ep(net, a.id);
    if (!ep || !ep->slow) {
        if (!(ep = calloc(1, sizeof(*ep)))) return CG_ERR_NOMEM;
        *ep = (struct cg_net_ep){.next = net->eps, .peer = a.id, .remote = remote, .slow = net->slow + 1};
        net->eps = ep;
    }
    if (--ep->slow) return CG_AGAIN;
    *out = ep;
    return CG_OK;
}

static void loop_disconnect(struct cg_net *net, struct cg_net_ep *ep)
{
    struct cg_net_ep **p = &net->eps;

    pthread_mutex_lock(&cg_loop_lock);
    for (struct cg_net_req *req = net->reqs; req; req = req->next) {
        if (req->ep == ep) req->ep = NULL;
    }
    pthread_mutex_unlock(&cg_loop_lock);
    while (*p != ep) p = &(*p)->next;
    *p = ep->next;
    free(ep);
}

/* With the lock held. */
int cg_loop_ep_check(struct cg_net_ep *ep)
{
    if (CG_OK == ep->status && ep->remote && !cg_loop_find(ep->peer)) ep->status = CG_ERR_PEER;
    return ep->status;
}

static int loop_ep_status(struct cg_net *net, struct cg_net_ep *ep)
{
    int status;

    (void) net;
    pthread_mutex_lock(&cg_loop_lock);
    status = cg_loop_ep_check(ep);
    pthread_mutex_unlock(&cg_loop_lock);
    return status;
}

/* --- memory --- */

static int add_mem(const struct cg_net_region *region, void *view, struct cg_net_mem **out)
{
    struct cg_net_mem *mem = malloc(sizeof(*mem));

    if (!mem) return CG_ERR_NOMEM;
    *mem = (struct cg_net_mem){.region = *region, .view = view};
    *out = mem;
    return CG_OK;
}

static void *map(size_t bytes, int fd)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
}

static int loop_reg(struct cg_net *net, const struct cg_net_region *region, struct cg_net_mem **out)
{
    void *view = region->dmabuf < 0 ? region->addr : map(region->bytes, region->dmabuf);
    int rc;

    (void) net;
    if (MAP_FAILED == view) return CG_ERR_NET;
    rc = add_mem(region, view, out);
    if (rc && region->dmabuf >= 0) munmap(view, region->bytes);
    return rc;
}

static void loop_dereg(struct cg_net *net, struct cg_net_mem *mem)
{
    (void) net;
    cg_loop_show(mem, 0);
    if (mem->region.dmabuf >= 0) munmap(mem->view, mem->region.bytes);
    free(mem);
}

static int loop_alloc(struct cg_net *net, int kind, int device, size_t bytes, void **addr, struct cg_net_mem **mem)
{
    struct cg_net_region region = {.bytes = bytes, .kind = kind, .dmabuf = -1};
    int rc;

    (void) net;
    (void) device;
    if (CG_NET_HOST != kind) return CG_ERR_UNSUPPORTED;
    region.addr = map(bytes, -1);
    if (MAP_FAILED == region.addr) return CG_ERR_NOMEM;
    rc = add_mem(&region, region.addr, mem);
    if (rc) munmap(region.addr, bytes);
    *addr = region.addr;
    return rc;
}

static void loop_free(struct cg_net *net, void *addr, struct cg_net_mem *mem)
{
    (void) net;
    munmap(addr, mem->region.bytes);
    free(mem);
}

static int loop_ep_cuda(struct cg_net *net, struct cg_net_ep *ep)
{
    (void) ep;
    return CG_NET_DIRECT | (net->flush ? CG_NET_FLUSH : 0);
}

static void loop_close(struct cg_net *net)
{
    struct cg_net **p = &loop_nets;

    pthread_mutex_lock(&cg_loop_lock);
    while (*p != net) p = &(*p)->next;
    *p = net->next;
    cg_loop_drop_all(net);
    pthread_mutex_unlock(&cg_loop_lock);
    while (net->eps) loop_disconnect(net, net->eps);
    free(net);
}

const struct cg_net_ops cg_net_loop = {
    .version = CG_NET_VERSION,
    .name = "loop",
    .by_name = 1,
    .open = loop_open,
    .close = loop_close,
    .props = loop_props,
    .listen = loop_listen,
    .connect = loop_connect, /* both sides are alike */
    .accept = loop_connect,
    .disconnect = loop_disconnect,
    .ep_status = loop_ep_status,
    .ep_cuda = loop_ep_cuda,
    .alloc = loop_alloc,
    .free = loop_free,
    .reg = loop_reg,
    .dereg = loop_dereg,
    .isend = cg_loop_isend,
    .irecv = cg_loop_irecv,
    .test = cg_loop_test,
    .flush = cg_loop_flush,
    .cancel = cg_loop_cancel,
    .progress = cg_loop_progress,
};
