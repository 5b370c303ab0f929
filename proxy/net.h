/* SPDX-License-Identifier: BSD-3-Clause
 * The network interface. A transport is one file and one row of cg_transports; the conformance suite
 * (test/proxy) runs every row.
 *
 * All functions run on the thread that holds the engine's lock, never concurrently. None blocks. A function that
 * cannot finish now returns CG_AGAIN, which is not an error. Errors are negative (core/status.h) and final for the
 * request or endpoint concerned, not for the others. */
#ifndef CG_PROXY_NET_H
#define CG_PROXY_NET_H

#include "core/params.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CG_NET_VERSION 1
#define CG_NET_ADDR_MAX 2048 /* bytes of an address */

struct cg_net;     /* one per process and transport: the transport's own */
struct cg_net_ep;  /* towards one process */
struct cg_net_req; /* one send or receive */
struct cg_net_mem; /* a registration */

/* Kinds of memory. */
enum cg_net_kind { CG_NET_HOST, CG_NET_CUDA };

/* Memory to be registered: whole pages (host), or one allocation of cudaMalloc or a part of it (CUDA). */
struct cg_net_region {
    void *addr;
    size_t bytes;
    int kind;   /* enum cg_net_kind */
    int dmabuf; /* of CUDA memory: a descriptor of the dma-buf whose first byte is at addr, the caller's; -1: none */
};

struct cg_net_props {
    const char *name;
    size_t max_bytes; /* of one message */
    int cuda;         /* sends and receives CUDA memory that was registered */
    int dmabuf;       /* registers CUDA memory by the descriptor of a dma-buf */
    int reports_peer_death; /* an endpoint made with remote = 1 reports a dead peer as an error */
};

struct cg_net_ops {
    int version; /* CG_NET_VERSION; a transport of another version is refused */
    const char *name;

    /* Optional: what to tell open as hint. devices: "NAME:PORT,..." of the RDMA ports to be used, each of which reaches
     * those of all processes, or "": the transport's choice. rdma: there is an active RDMA port on this machine; cuda:
     * this process may send CUDA memory. What the user has set for the transport itself stays. text: "" for none. */
    void (*hint)(const char *devices, int rdma, int cuda, char *text, size_t len);
    /* Make the process's worker. hint: transport's own text, may be NULL. CG_OK, or CG_ERR_NET with a reason in why. */
    int (*open)(const struct cg_params *params, const char *hint, struct cg_net **net, char *why, size_t len);
    /* Cancels what is outstanding, closes endpoints, frees. */
    void (*close)(struct cg_net *net);
    void (*props)(struct cg_net *net, struct cg_net_props *props);

    /* My address, to be carried to peers by MPI: at most CG_NET_ADDR_MAX bytes into addr, length into *len. */
    int (*address)(struct cg_net *net, void *addr, size_t *len);
    /* Endpoint towards the process with that address. remote: 1 if it is on another host (then peer death must be
     * reported where the transport can). Does not wait for the peer. */
    int (*connect)(struct cg_net *net, const void *addr, size_t len, int remote, struct cg_net_ep **ep);
    void (*disconnect)(struct cg_net *net, struct cg_net_ep *ep);
    /* CG_OK, or the error that ended the endpoint: how someone who only receives learns of a dead peer. */
    int (*ep_status)(struct cg_net *net, struct cg_net_ep *ep);
    /* Does CUDA memory travel to and from that process without a copy through host memory? Optional: no. */
    int (*ep_direct)(struct cg_net *net, struct cg_net_ep *ep);

    /* Register memory that sends and receives will use. Host memory works without registration too; reg is optional
     * (NULL) where there is no CUDA memory. */
    int (*reg)(struct cg_net *net, const struct cg_net_region *region, struct cg_net_mem **mem);
    void (*dereg)(struct cg_net *net, struct cg_net_mem *mem);

    /* Post. The buffer belongs to the transport until the request is complete. Messages between two processes with
     * equal tags arrive in order. A send may complete before it is received. CG_OK with *req, CG_AGAIN if none can be
     * posted now, or an error. */
    int (*isend)(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                 struct cg_net_mem *mem, struct cg_net_req **req);
    /* Receives from whoever sends with that tag; capacity bytes at most (a longer message is an error). */
    int (*irecv)(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                 struct cg_net_req **req);
    /* CG_AGAIN, or CG_OK: complete, *bytes valid (only now), the request is gone; or an error, the request is gone. */
    int (*test)(struct cg_net *net, struct cg_net_req *req, size_t *bytes);
    /* Give up a request; it is gone on return, and so is its buffer's use, except where a transport cannot take back
     * what is already on its way: such a buffer must stay mapped until the transport is closed. */
    void (*cancel)(struct cg_net *net, struct cg_net_req *req);

    /* Advance; called only while requests are outstanding. Returns the number of events. */
    int (*progress)(struct cg_net *net);
};

extern const struct cg_net_ops *const cg_transports[]; /* ended by NULL, in order of preference */
const struct cg_net_ops *cg_transport_find(const char *name); /* NULL or "": the first; NULL if unknown */

/* proxy/net_loop.c: in process, for tests. Its hint is "seed=N,delay=N,reorder=0|1,fail=N,room=N": deliver after up to
 * delay progress calls, reorder between different tags, the fail-th message errors, at most room posted sends. */
extern const struct cg_net_ops cg_net_loop;

#ifdef __cplusplus
}
#endif
#endif
