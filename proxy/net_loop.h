/* SPDX-License-Identifier: BSD-3-Clause
 * Inside of the loop transport: net_loop.c has instances, endpoints, memory; net_loop_msg.c requests and messages. */
#ifndef CG_PROXY_NET_LOOP_H
#define CG_PROXY_NET_LOOP_H

#include "proxy/net.h"

#include <pthread.h>

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
    uint64_t tag; /* of a flush: how many arrivals it shows */
    char *buf;
    size_t bytes; /* of the message; of the buffer while a receive is posted */
    long delay;   /* until a copied send or a flush is complete */
    int send, flush, done, status; /* neither send nor flush: a receive */
    struct cg_net_mem *mem;
};

struct cg_net_ep {
    struct cg_net_ep *next;
    uint64_t peer;
    long slow; /* calls of connect or accept that are still too early */
    int remote, status;
    int failing; /* sends do not arrive; the first that is tested ends the endpoint */
};

/* Arrived in CUDA memory that shows it only when it is flushed. */
struct loop_arrival {
    struct loop_arrival *next;
    char *to;
    size_t bytes;
    uint64_t n; /* counts the arrivals of its memory, from 1 */
    char data[];
};

/* CUDA memory is accessed through the descriptor that came with it, as a device would, if there was one. */
struct cg_net_mem {
    struct cg_net_region region;
    char *view;
    struct loop_arrival *arrivals; /* oldest first */
    uint64_t arrived;
};

struct cg_net {
    struct cg_net *next; /* in the registry */
    uint64_t id, random;
    long seed, delay, reorder, fail, room, slow, flush; /* of the hint */
    long sends, posted;                    /* sends so far; those that have not been tested to their end */
    struct message *inbox;
    struct cg_net_req *reqs;
    struct cg_net_ep *eps;
};

extern pthread_mutex_t cg_loop_lock;

/* With the lock held. find: NULL if there is none (any more). */
struct cg_net *cg_loop_find(uint64_t id);
int cg_loop_ep_check(struct cg_net_ep *ep);
/* splitmix64: 0 to max */
long cg_loop_draw(struct cg_net *net, long max);
/* All requests and messages of an instance that closes; senders that wait for a receive here are told. */
void cg_loop_drop_all(struct cg_net *net);
/* Show arrivals up to the upto-th; 0: forget all. */
void cg_loop_show(struct cg_net_mem *mem, uint64_t upto);

int cg_loop_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                  struct cg_net_mem *mem, struct cg_net_req **req);
int cg_loop_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                  struct cg_net_req **req);
int cg_loop_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes);
int cg_loop_flush(struct cg_net *net, struct cg_net_mem *mem, struct cg_net_req **req);
void cg_loop_cancel(struct cg_net *net, struct cg_net_req *req);
int cg_loop_progress(struct cg_net *net);

#endif
