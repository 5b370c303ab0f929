/* SPDX-License-Identifier: BSD-3-Clause
 * The network interface: what a transport provides and what it may rely on. docs/net-interface.md shows a whole one. A
 * transport is a row of cg_transports (transports.c); test/proxy/conformance.c, which runs every row, is its
 * definition in doubt.
 *
 * One instance (struct cg_net) serves a process: all its communicators, GPUs and peers. Messages have tags and no order
 * but that between two processes messages of equal tags arrive as they were sent.
 *
 * Threads. The functions of an instance never run at the same time; from call to call the thread may be another one.
 * Instances of several processes (tests put them into one) may run at the same time. They are called from MPI's
 * progress, so none may wait, sleep, call MPI, or start a thread that calls back; open, close, alloc, reg and their
 * opposites may take as long as the system calls they make, all others are called with other work waiting.
 * CUDA. From the first registration of CUDA memory on the current context is that of its GPU, in all calls; what a
 * function changes of the thread's CUDA state it puts back.
 *
 * Results. CG_OK is 0. CG_AGAIN: cannot be done now; nothing has changed, and the call will be repeated; no error.
 * Negative: an error (core/status.h), and final. It ends the request or endpoint concerned and nothing else; which is
 * said below. CG_ERR_PEER: the peer is gone. CG_ERR_NET: anything else that the network did. CG_ERR_NOMEM, CG_ERR_LIMIT
 * and CG_ERR_ARG as their texts say.
 *
 * Ownership. Every struct cg_net_* is the transport's. The caller keeps pointers to them, and gives each back exactly
 * once (close, disconnect, dereg or free, test or cancel). Arguments are the caller's again when a function returns,
 * except buffers of requests. */
#ifndef CG_PROXY_NET_H
#define CG_PROXY_NET_H

#include "core/params.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CG_NET_VERSION 2       /* goes up with every change that a transport must know of */
#define CG_NET_HANDLE_MAX 2048 /* bytes of a handle */

struct cg_net;     /* one per process and transport */
struct cg_net_ep;  /* an endpoint: towards one process, for both directions */
struct cg_net_req; /* a send, a receive or a flush */
struct cg_net_mem; /* a registration */

/* Kinds of memory. */
enum cg_net_kind { CG_NET_HOST, CG_NET_CUDA };

/* Memory to be registered: whole pages of host memory, or memory from one cudaMalloc, from its begin on. */
struct cg_net_region {
    void *addr;
    size_t bytes;
    int kind;   /* enum cg_net_kind */
    int dmabuf; /* of CUDA memory: a descriptor of the dma-buf whose first byte is at addr, the caller's; -1: none */
};

/* What CUDA memory means to an endpoint (ep_cuda), added up. */
enum cg_net_cuda {
    CG_NET_DIRECT = 1, /* it travels without a copy through host memory */
    CG_NET_FLUSH = 2   /* a device writes it: a completed receive may be ahead of its data, until that is flushed */
};

struct cg_net_props {
    const char *name;       /* the row's */
    size_t max_bytes;       /* of one message; at least 16 MiB and 64 bytes */
    int cuda;               /* registers CUDA memory, sends from it and receives into it */
    int dmabuf;             /* does so by descriptor; region.dmabuf may be -1 all the same */
    int reports_peer_death; /* an endpoint made with remote = 1 ends when its peer dies, also if it only receives */
};

/* NULL is allowed for what is called optional. */
struct cg_net_ops {
    int version; /* CG_NET_VERSION; a transport of another version is refused */
    const char *name; /* of at most 15 characters, as the parameter transport names it */
    int by_name;      /* used only when it is named: not for everybody */

    /* ---- the process ---- */

    /* Optional: what to tell open as hint. devices: "NAME:PORT,..." of the RDMA ports to be used, each of which reaches
     * those of all processes, or "": the transport's choice. rdma: there is an active RDMA port on this machine; cuda:
     * this process may send CUDA memory. What the user has set for the transport itself stays. text: "" for none. */
    void (*hint)(const char *devices, int rdma, int cuda, char *text, size_t len);
    /* Make the process's instance. hint: the transport's own text, may be NULL; one that makes no sense is an error.
     * CG_OK with *net, or CG_ERR_NET or CG_ERR_NOMEM with one line of cause and remedy in why (len bytes). */
    int (*open)(const struct cg_params *params, const char *hint, struct cg_net **net, char *why, size_t len);
    /* Ends everything that has not been given back: requests and endpoints; then frees. No wait for a peer that does
     * not answer beyond 2 s. Registrations and memory of alloc have been given back before. */
    void (*close)(struct cg_net *net);
    /* Constant for an instance. */
    void (*props)(struct cg_net *net, struct cg_net_props *props);

    /* ---- endpoints ----
     * listen makes the handle that says how to reach this process. MPI carries it to each process that becomes a peer,
     * and the peer's here. Then of the two processes one calls connect and the other one accept, each with the other's
     * handle, in no particular order; sends may follow at once on either side. A pair of processes has one endpoint on
     * each side. A transport for which both sides are alike has one function for both. */

    /* At most CG_NET_HANDLE_MAX bytes into handle, their number into *len. The same at every call. CG_OK, or an error:
     * the transport cannot be used. */
    int (*listen)(struct cg_net *net, void *handle, size_t *len);
    /* CG_OK with *ep; CG_AGAIN while it waits for the peer: call again; or an error (CG_ERR_ARG: no handle of this
     * transport). remote: 1 if the process is on another host; then its death must be reported if props say so. */
    int (*connect)(struct cg_net *net, const void *handle, size_t len, int remote, struct cg_net_ep **ep);
    int (*accept)(struct cg_net *net, const void *handle, size_t len, int remote, struct cg_net_ep **ep);
    /* The endpoint is gone on return, whatever its state; its requests are not: they end with an error or not at all,
     * and are cancelled. */
    void (*disconnect)(struct cg_net *net, struct cg_net_ep *ep);
    /* CG_OK, or the error that ended the endpoint: how someone who only receives learns of a dead peer. Cheap. */
    int (*ep_status)(struct cg_net *net, struct cg_net_ep *ep);
    /* enum cg_net_cuda, for memory registered as CG_NET_CUDA. Optional: 0. */
    int (*ep_cuda)(struct cg_net *net, struct cg_net_ep *ep);

    /* ---- memory ----
     * FIFO memory is registered in large pieces, once per process. A registration covers sends and receives with every
     * peer, whenever its endpoint was made. It stays valid over fork in the parent; the child must not use it. */

    /* Memory for FIFOs, zeroed, registered, aligned to pages, on the device's GPU for CG_NET_CUDA: for a transport that
     * needs memory of its own making. CG_OK with *addr and *mem; CG_ERR_UNSUPPORTED: not this kind, the caller then
     * allocates and registers; CG_ERR_NOMEM, CG_ERR_LIMIT. free takes both back. Host memory must allow registration
     * with CUDA. Optional, both or none. */
    int (*alloc)(struct cg_net *net, int kind, int device, size_t bytes, void **addr, struct cg_net_mem **mem);
    void (*free)(struct cg_net *net, void *addr, struct cg_net_mem *mem);
    /* CG_OK with *mem; CG_ERR_UNSUPPORTED: not this kind; CG_ERR_NOMEM, CG_ERR_LIMIT (locked memory), CG_ERR_NET.
     * Optional, both or none: then there is no CUDA memory. Requests that use it have ended when dereg is called. */
    int (*reg)(struct cg_net *net, const struct cg_net_region *region, struct cg_net_mem **mem);
    void (*dereg)(struct cg_net *net, struct cg_net_mem *mem);

    /* ---- messages ----
     * From a post until test says that it is complete, or cancel returns, the buffer is the transport's. mem: the
     * registration in which the whole buffer lies, or NULL for host memory of any kind. */

    /* A message to the endpoint's process. May complete before it is received. CG_OK with *req, CG_AGAIN if none can be
     * posted now, or an error: the endpoint's, or CG_ERR_NOMEM or CG_ERR_ARG (then the endpoint lives on). */
    int (*isend)(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                 struct cg_net_mem *mem, struct cg_net_req **req);
    /* Receives from whoever sends with exactly that tag; capacity bytes at most. Posted before or after the message
     * was sent; receives of equal tags get messages in the order in which they were posted. As isend. */
    int (*irecv)(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                 struct cg_net_req **req);
    /* CG_AGAIN: not yet. CG_OK: complete, the request is gone, and *bytes, only now, is the message's length (0 for a
     * flush). Or an error, the request is gone: CG_ERR_LIMIT if the message is longer than capacity; nothing was then
     * written behind capacity, and the endpoint lives on. Does not advance anything. */
    int (*test)(struct cg_net *net, struct cg_net_req *req, size_t *bytes);
    /* Makes visible to the GPU what receives, complete at the time of the call, wrote into that registration from
     * endpoints with CG_NET_FLUSH. As irecv. Only for GPUs that cannot flush themselves; optional. */
    int (*flush)(struct cg_net *net, struct cg_net_mem *mem, struct cg_net_req **req);
    /* Give up a request: it is gone on return, and the buffer is the caller's, except where a transport cannot take
     * back what is already on its way: such a buffer must stay mapped until the instance is closed. */
    void (*cancel)(struct cg_net *net, struct cg_net_req *req);
    /* Advance all requests and endpoints. Called only while operations or messages are outstanding. Returns the number
     * of events, for statistics. */
    int (*progress)(struct cg_net *net);
};

extern const struct cg_net_ops *const cg_transports[]; /* ended by NULL, in order of preference */
/* NULL or "": the first that is not by_name. NULL if there is none, or one of another version only (which is said). */
const struct cg_net_ops *cg_transport_find(const char *name);

/* proxy/net_loop*.c: in process, for tests. Its hint is "seed=N,delay=N,reorder=0|1,fail=N,room=N,slow=N,flush=0|1":
 * deliver after up to delay progress calls, reorder between different tags, the fail-th message errors, at most room
 * posted sends, connect and accept after slow calls, CUDA memory shows what arrived only when flushed. */
extern const struct cg_net_ops cg_net_loop;

#ifdef __cplusplus
}
#endif
#endif
