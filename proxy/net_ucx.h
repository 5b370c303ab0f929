/* SPDX-License-Identifier: BSD-3-Clause
 * Inside of the UCX transport: net_ucx.c has worker, endpoints and memory, net_ucx_msg.c requests and messages. */
#ifndef CG_PROXY_NET_UCX_H
#define CG_PROXY_NET_UCX_H

#include "core/log.h"
#include "proxy/net.h"

#include <ucp/api/ucp.h>

#define REQ_BLOCK 64  /* requests allocated at a time */
#define CANCEL_MS 20  /* how long to wait for UCX to let go of a request */
#define CLOSE_MS 200  /* ... of endpoints */

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
    ucs_memory_type_t type;
};

struct cg_net {
    ucp_context_h context;
    ucp_worker_h worker;
    struct cg_net_req *free;
    struct req_block *blocks;
    struct cg_net_ep *eps;
    char discarded[4096]; /* see discard_unexpected */
    int cuda;             /* UCX can access CUDA memory */
    int stuck;            /* closing an endpoint took too long */
    struct cg_net *next_left;
};

int cg_ucx_status(ucs_status_t status);
double cg_ucx_now_ms(void);

int cg_ucx_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                 struct cg_net_mem *mem, struct cg_net_req **req);
int cg_ucx_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                 struct cg_net_req **req);
int cg_ucx_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes);
void cg_ucx_cancel(struct cg_net *net, struct cg_net_req *req);

#endif
