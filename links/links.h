/* SPDX-License-Identifier: BSD-3-Clause
 * Links between processes: shared memory, its windows, and who may use them.
 *
 * A process has one arena: chunks of memory from memfd_create, passed to peers over a datagram socket in the abstract
 * namespace, so that nothing stays behind after kill -9. Chunk 0 starts with the array of lines (all host words that a
 * GPU polls). A link joins two processes, is made once and never freed before close: communicators (tenants) rent it,
 * one at a time. Its sequence numbers never restart. It is free for the next tenant when both sides have published
 * "closed". The process with the lower name picks the link; so there is no race between communicators.
 *
 * Set-up of one link is a conversation of two messages, carried by the caller (MPI):
 *     lower:  cg_link_offer  -> message -> higher: cg_link_answer -> message -> lower: cg_link_take
 *     both:   cg_link_ready until it is not CG_AGAIN
 * On an error either side abandons the link; the caller tells the other side and tries the next medium.
 *
 * All functions: under the engine's lock; none blocks. */
#ifndef CG_LINKS_LINKS_H
#define CG_LINKS_LINKS_H

#include "core/params.h"
#include "kernels/cuda/gpu.h"
#include "kernels/ring.h"
#include "proxy/proxy.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cg_links;

enum cg_medium { CG_MEDIUM_SHM, CG_MEDIUM_NET };

struct cg_geometry {
    uint32_t slot_bytes, slots;
};

/* An established link, as its tenant sees it. Pointers are valid in this process. */
struct cg_link_end {
    int medium;
    struct cg_geometry geometry;
    struct cg_line *mine, *peer;          /* see struct cg_link */
    char *recv_slots, *send_slots;
    struct cg_announce *announce_in;      /* the peer's announcements: read here */
    struct cg_announce *announce_out;     /* mine, in the peer's memory; NULL for net (headers carry them) */
    void *note_in, *note_out;             /* CG_NOTE_BYTES for the tenant: the peer's here, mine there; NULL for net.
                                           * Not cleaned between tenants */
    struct cg_proxy_link *proxy;          /* NULL for shm */
    struct cg_gpu *fifo_gpu;              /* net: in whose memory there are slots as well, or NULL */
    char *gpu_recv_slots, *gpu_send_slots;
    uint64_t send_next[CG_MAX_CHAN], recv_next[CG_MAX_CHAN]; /* next sequence numbers, kept by the tenant */
    uint64_t op_base;                     /* the link's operation number = op_base + the communicator's */
    uint64_t heard;                       /* mine->passed when the tenant last looked */
    uint64_t tenants;                     /* that this side has closed */
};

struct cg_links_config {
    const struct cg_params *params;
    uint64_t self;                 /* this process's name, unique in the job and its relatives */
    const struct cg_net_ops *net;  /* NULL: no network transport */
    const char *net_hint;          /* NULL: find_hint is asked when the transport is opened; without its text, if the
                                    * transport refuses that */
    const char *(*find_hint)(void *ctx); /* returns NULL for none; may be NULL; ctx: place_ctx */
    const char *socket;            /* abstract socket name as from cg_links_socket_name */
    uint64_t key;                  /* datagrams must carry it */
    void (*place)(void *addr, size_t bytes, void *ctx); /* may bind a fresh chunk to a NUMA node; may be NULL */
    void *place_ctx;
    unsigned timeout_ms;           /* that a peer's socket may refuse before its links fail; 0: 10,000 */
};

/* A name for this process's socket, known before anything is opened (published through the modex). len >= 48. */
void cg_links_socket_name(uint64_t self, uint64_t key, char *name, size_t len);

/* Opens nothing but bookkeeping; arena, socket and worker come with the first link. */
int cg_links_open(const struct cg_links_config *config, struct cg_links **links);
/* Unmaps and closes everything; no traffic. Links of all tenants are gone. */
void cg_links_close(struct cg_links *links);

/* What travels between the two sides. Fixed size, plain data. */
struct cg_link_msg {
    uint32_t magic, index;     /* of the link between these two processes */
    int32_t status, medium;
    struct cg_geometry geometry;
    uint32_t chunk, line;      /* where the sender's window and line lie in its arena */
    uint64_t offset, chunk_bytes, lines_bytes;
    uint32_t net_id, handle_len;
    unsigned char handle[CG_NET_HANDLE_MAX];
};

struct cg_peer_info {
    uint64_t name, key;
    char socket[48];
    int remote; /* on another host */
};

/* status of the message is an error if this side cannot (its reason is logged once); it is sent all the same. Then
 * the function returns the same error and *link is NULL: nothing to abandon here. After an error of take or ready the
 * caller abandons. A message is believed only as far as it agrees with itself and with former ones. */
int cg_link_offer(struct cg_links *links, const struct cg_peer_info *peer, int medium, struct cg_geometry geometry,
                  struct cg_link_end **link, struct cg_link_msg *msg);
int cg_link_answer(struct cg_links *links, const struct cg_peer_info *peer, const struct cg_link_msg *offer,
                   struct cg_link_end **link, struct cg_link_msg *msg);
int cg_link_take(struct cg_links *links, struct cg_link_end *link, const struct cg_link_msg *answer);
/* CG_AGAIN while descriptors are on their way (or the former tenant's "closed"), CG_OK, or an error: at once if a
 * descriptor cannot be had, after timeout_ms if the peer's socket refuses. A peer that computes is waited for. Both
 * sides' ready come to an end even if the other's was an error: then exchange the results. Drives the socket. */
int cg_link_ready(struct cg_links *links, struct cg_link_end *link);
/* Set-up failed on either side: never use it again (its memory is kept for later links of the same geometry). */
void cg_link_abandon(struct cg_links *links, struct cg_link_end *link);

/* The tenant is gone, ops operations after it came: publish "closed". Never waits. Before ready it is an abandon. */
void cg_link_release(struct cg_links *links, struct cg_link_end *link, uint64_t ops);

/* Slots of a net link in gpu's memory as well, made at the first call: CG_OK and end has them; CG_ERR_UNSUPPORTED if
 * transport, path or the parameter gpu_fifo say no, or they lie in another GPU's memory; or why it failed (said once).
 * They stay with the link. May allocate and register. */
int cg_link_fifo(struct cg_links *links, struct cg_link_end *end, struct cg_gpu *gpu);

/* Is there any such link? Then progress and disconnect may make CUDA calls: with the context of that GPU. */
int cg_links_on_gpu(const struct cg_links *links);

/* Close all net links and the transport: no memory of GPUs is used any more. Part of cg_links_close. */
void cg_links_disconnect(struct cg_links *links);

/* Move the proxy and serve the socket. Returns events. */
int cg_links_progress(struct cg_links *links);
int cg_links_busy(const struct cg_links *links);

/* Regions mapped so far, own and peers', for registration with GPUs; the list only grows. 0 behind the last. */
int cg_links_region(const struct cg_links *links, unsigned i, void **addr, size_t *bytes);

/* links: ever made and not abandoned; tenants: links in use now; descriptors: open now. */
struct cg_links_counters {
    uint64_t chunks, chunk_bytes, peers, links, tenants, registrations, descriptors, messages, gpu_messages;
    uint64_t fifo_bytes; /* GPU memory */
    uint64_t workers, connections; /* of the network transport */
};
void cg_links_get_counters(const struct cg_links *links, struct cg_links_counters *c);

#ifdef __cplusplus
}
#endif
#endif
