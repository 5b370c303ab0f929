/* SPDX-License-Identifier: BSD-3-Clause
 * The proxy: joins the two FIFOs of a net link. Towards the executor it acts as the next GPU: it reads the tail, sends,
 * and returns credit through the head; on the other side it receives into slots and raises the tail. Runs inside the
 * progress hook, under the engine's lock; never blocks. */
#ifndef CG_PROXY_PROXY_H
#define CG_PROXY_PROXY_H

#include "kernels/ring.h"
#include "proxy/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cg_proxy;
struct cg_proxy_link;

struct cg_proxy_link_config {
    struct cg_net_ep *ep;
    uint32_t local_id, remote_id; /* the receiver's id makes the tag: unique among links of that process */
    uint32_t slot_bytes, slots;
    struct cg_line *line;         /* polled by my executors: the proxy raises tail and head */
    struct cg_line *out;          /* polled by the proxy: my executors raise tail (to send) and head (consumed) */
    char *recv_slots, *send_slots;
    struct cg_announce *announce; /* CG_ANNOUNCE entries, filled from the headers of messages that arrive: index and op
                                   * are the header's opno, i.e. the tenant's number, without the link's op_base */
    struct cg_net_mem *mem;       /* registration that covers the slots, or NULL */
};

/* A second set of slots, in GPU memory, beside those in host memory. Message n of a channel lies in slot n of the one
 * or the other. On the sending side its header in host memory says which (in_gpu); on the receiving side the executor
 * does, before a receive is posted. Neither needs to know of the other side's choice. */
struct cg_proxy_fifo {
    char *recv_slots, *send_slots; /* the CPU never touches them */
    struct cg_net_mem *mem;
    /* What makes visible to the GPU what arrived there: nothing (it is), this function (CG_OK or an error), or, with
     * net_flush, the transport's. */
    int (*flush)(void *ctx);
    void *ctx;
    int net_flush;
};

int cg_proxy_open(const struct cg_net_ops *ops, struct cg_net *net, struct cg_proxy **proxy);
void cg_proxy_close(struct cg_proxy *proxy);

/* Start serving a link. Counters start at zero and never restart. The config is copied, except what it points to. */
int cg_proxy_link_open(struct cg_proxy *proxy, const struct cg_proxy_link_config *config, struct cg_proxy_link **link);
void cg_proxy_link_close(struct cg_proxy *proxy, struct cg_proxy_link *link);

/* From here on receives are posted only for messages that are expected. Once per link. Copied. */
void cg_proxy_link_fifo(struct cg_proxy_link *link, const struct cg_proxy_fifo *fifo);
/* The first message of chan whose receive is not posted yet: from there on its place may be chosen. */
uint64_t cg_proxy_link_unplaced(const struct cg_proxy_link *link, uint32_t chan);
/* The messages of chan before number upto will be read from GPU memory (1) or host memory (0). With a fifo only. */
void cg_proxy_link_expect(struct cg_proxy_link *link, uint32_t chan, uint64_t upto, int in_gpu);
/* The tenant's operation that begins here, for the peer's announcements: where the peer receives in GPU memory its
 * proxy does not see the headers. Sent lazily. With a fifo only. */
void cg_proxy_link_announce(struct cg_proxy_link *link, uint32_t opno, uint64_t bytes, int coll, int type, int redop);

/* A tenant came to the link: from here on until both sides have closed it, its messages are carried. Clears the
 * announcements of former tenants: call it before the tenant can expect any. */
void cg_proxy_link_tenant_opened(struct cg_proxy_link *link);
/* The tenant has no operation under way (1), or has again (0, as at first). A link that rests and has nothing to send
 * is not moved: what arrives waits in the transport. */
void cg_proxy_link_rest(struct cg_proxy_link *link, int rest);
/* Tell the peer that the n-th tenant here is gone; raises line->closed there. Returns at once, sent by progress. */
void cg_proxy_link_tenant_closed(struct cg_proxy_link *link, uint64_t n);
/* The last operation finished here, for the peer's line->passed; sent lazily. */
void cg_proxy_link_passed(struct cg_proxy_link *link, uint64_t op);

/* The link's operation number at which this side failed, for the peer's line->failed; sent at once. */
void cg_proxy_link_failed(struct cg_proxy_link *link, uint64_t op);

/* Has everything that my executors published been handed to the network, so that the caller may go away to compute? */
int cg_proxy_link_drained(const struct cg_proxy_link *link);
/* CG_OK, or the error that ended the link; nothing is sent or received on it any more. */
int cg_proxy_link_status(const struct cg_proxy_link *link);

/* Advance every link with something to do. Returns transitions made. Cheap when nothing is outstanding. */
int cg_proxy_progress(struct cg_proxy *proxy);
/* Should progress be called: are tenants that do not rest on any link, or messages on their way? */
int cg_proxy_busy(const struct cg_proxy *proxy);
/* Messages given to the transport so far; those among them that were sent from GPU memory. */
uint64_t cg_proxy_messages(const struct cg_proxy *proxy);
uint64_t cg_proxy_gpu_messages(const struct cg_proxy *proxy);

#ifdef __cplusplus
}
#endif
#endif
