/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of links/ share. */
#ifndef CG_LINKS_INTERNAL_H
#define CG_LINKS_INTERNAL_H

#include "links/arena.h"
#include "links/fdpass.h"
#include "links/links.h"
#include "proxy/cache.h"

#define CG_LINK_MAGIC 0x63676c31u

enum cg_link_state {
    CG_LINK_FREE,     /* no tenant on this side */
    CG_LINK_OFFERED,  /* lower name: the answer is on its way */
    CG_LINK_JOINING,  /* both sides' facts are known; ready not yet said so */
    CG_LINK_RENTED,
    CG_LINK_ABANDONED /* for good; memory given back */
};

/* Where the peer's part of a link lies, as its first message said. Later messages must say the same. */
struct cg_link_far {
    uint32_t chunk, line, net_id;
    uint64_t offset, chunk_bytes, lines_bytes;
};

struct cg_pool_link {
    struct cg_link_end end; /* first, so that the tenant's pointer is ours */
    struct cg_peer *peer;
    uint32_t index, state, line, out_line, net_id;
    int joined;  /* far is valid */
    int no_fifo; /* in GPU memory: was tried */
    int joining; /* net: the tenant that was agreed on has not been opened here */
    struct cg_window window, slots;  /* slots: net, where the transport allocates none */
    struct cg_net_mem *slots_mem;    /* their registration, or NULL */
    struct cg_cached *slots_cached;  /* the cache's, or NULL */
    struct cg_link_far far;
};

/* A chunk of the peer's; mapped until close. status: CG_AGAIN not arrived, CG_OK mapped, or why it cannot be had. */
struct cg_far_chunk {
    int status;
    char *base;
    size_t bytes;
};

enum cg_near_chunk { CG_CHUNK_KEPT, CG_CHUNK_QUEUED, CG_CHUNK_SENT, CG_CHUNK_FAILED };

/* Another process. Chunks may arrive before we know more of it than its name. */
struct cg_peer {
    struct cg_peer_info info;
    struct cg_pool_link **link; /* by index; NULL: not known here (yet) */
    uint32_t nlinks;
    struct cg_far_chunk *far;   /* by chunk number of the peer's arena */
    uint32_t nfar;
    uint8_t *near;              /* enum cg_near_chunk, by chunk number of our arena */
    uint32_t nnear, queued;
    uint64_t refused_since;     /* ns; 0: its socket does not refuse */
    struct cg_net_ep *ep;
    int refused;                /* why it cannot be connected, for good; said once */
    unsigned char handle[CG_NET_HANDLE_MAX]; /* how to reach it */
    size_t handle_len;
};

struct cg_region {
    void *addr;
    size_t bytes;
};

/* A chunk of memory for slots of net links that is not the arena's: of a GPU, or of the transport. */
struct cg_fifo_chunk {
    struct cg_gpu *gpu; /* NULL: host memory */
    char *base;
    size_t bytes, used;
    struct cg_net_mem *mem;
    struct cg_cached *cached; /* NULL: the transport allocated it */
};

struct cg_links {
    struct cg_links_config config;
    struct cg_arena arena;
    struct cg_fdpass pass;
    struct cg_peer **peer;
    uint32_t npeers;
    struct cg_region *region;
    uint32_t nregions, own_regions; /* own_regions: chunks of our arena that are in the list */
    uint32_t queued, waiting;       /* chunks to be sent; shm links in state JOINING */
    uint64_t nlinks, tenants;
    struct cg_net *net;
    struct cg_proxy *proxy;
    int net_status;                 /* CG_AGAIN: not tried yet */
    uint32_t next_net_id;
    uint32_t told;                  /* failures of links, of which one was said */
    struct cg_cache *cache;         /* NULL: the transport registers nothing */
    uint64_t registrations;         /* of a transport that has been closed */
    struct cg_fifo_chunk *fifo;
    uint32_t nfifo, fifo_told;
    unsigned char handle[CG_NET_HANDLE_MAX];
    size_t handle_len;
};

/* One row per medium. Those marked with * may be NULL. None blocks. */
struct cg_medium_ops {
    const char *name;
    int lanes, lines;                                                /* of a window; of the arena's lines */
    int (*open)(struct cg_links *links);                             /* what the process needs, once */
    int (*make)(struct cg_links *links, struct cg_pool_link *l);     /* * window and lines are there */
    void (*fill)(const struct cg_links *links, const struct cg_pool_link *l, struct cg_link_msg *msg); /* * */
    int (*greet)(struct cg_links *links, struct cg_pool_link *l);    /* * send what the peer's ready waits for */
    int (*join)(struct cg_links *links, struct cg_pool_link *l, const struct cg_link_msg *msg); /* * each tenant */
    int (*ready)(struct cg_links *links, struct cg_pool_link *l);
    int (*usable)(const struct cg_pool_link *l);                     /* * by a further tenant */
    void (*closed)(struct cg_pool_link *l);                          /* tell the peer end.tenants */
    void (*drop)(struct cg_links *links, struct cg_pool_link *l);    /* * abandoned, or close */
};
extern const struct cg_medium_ops cg_medium_shm, cg_medium_net;
extern const struct cg_medium_ops *const cg_media[]; /* by enum cg_medium */
const struct cg_medium_ops *cg_medium_find(int medium); /* NULL: no such row */
static inline const struct cg_medium_ops *cg_medium_of(const struct cg_pool_link *l) { return cg_media[l->end.medium]; }

/* The announcements at the start of a window, then the note, then the lanes. */
#define CG_LINK_RING_BYTES (CG_ANNOUNCE * sizeof(struct cg_announce) + CG_NOTE_BYTES)
static inline void *cg_link_note(void *window) { return (struct cg_announce *) window + CG_ANNOUNCE; }
CG_STATIC_ASSERT(CG_LINK_RING_BYTES % 64 == 0, "slots stay aligned");

/* pool.c */
/* The only way in which a link's state changes; keeps the counts. */
void cg_pool_set(struct cg_links *links, struct cg_pool_link *l, uint32_t state);
uint64_t cg_pool_window(int medium, const struct cg_geometry *g); /* bytes */
int cg_pool_fits(const struct cg_pool_link *l, int medium, const struct cg_geometry *g);
/* Nobody's link: both sides have closed all tenants. Only the lower name asks. NULL if there is none. */
struct cg_pool_link *cg_pool_free(const struct cg_peer *peer, int medium, const struct cg_geometry *g);
int cg_pool_make(struct cg_links *links, struct cg_peer *peer, uint32_t index, int medium, struct cg_geometry g,
                 struct cg_pool_link **link);
/* The higher name's side of an offered link, made if it is new. Offers of several communicators may overtake each
 * other, so indices may have gaps. */
int cg_pool_offered(struct cg_links *links, struct cg_peer *peer, const struct cg_link_msg *m,
                    struct cg_pool_link **link);
void cg_pool_abandon(struct cg_links *links, struct cg_pool_link *l);

/* peers.c */
struct cg_peer *cg_peer_find(const struct cg_links *links, uint64_t name);
struct cg_peer *cg_peer_get(struct cg_links *links, uint64_t name); /* made if missing; NULL: no memory */
void cg_peer_free(struct cg_peer *peer);
int cg_region_add(struct cg_links *links, void *addr, size_t bytes);
int cg_regions_add(struct cg_links *links); /* pool.c: new chunks of our arena */
/* Have a chunk of ours sent to the peer, unless that was done before. */
int cg_chunk_send(struct cg_links *links, struct cg_peer *peer, uint32_t chunk);
/* CG_OK: sent; CG_AGAIN: queued; or an error: the peer refused it too long. */
int cg_chunk_sent(const struct cg_peer *peer, uint32_t chunk);
/* The peer's chunk: CG_OK with *base, CG_AGAIN, or an error: it cannot be mapped, or has fewer than bytes. */
int cg_chunk_arrived(const struct cg_peer *peer, uint32_t chunk, uint64_t bytes, char **base);
/* Send what is queued, map what has arrived. Returns events. */
int cg_chunks_serve(struct cg_links *links);

/* fifo.c. Memory for slots of net links, of a GPU or, with NULL, of the transport (CG_ERR_UNSUPPORTED: it has none). It
 * is given back at close, that of GPUs before: kernels may still run on host memory. */
int cg_fifo_take(struct cg_links *links, struct cg_gpu *gpu, size_t bytes, char **at, struct cg_net_mem **mem);
void cg_links_fifo_close(struct cg_links *links, int host);
int cg_links_fifo_on_host(const struct cg_links *links);

/* net.c, after all links are dropped: proxy and endpoints, and, unless GPUs still know memory of the transport, all;
 * then all. */
void cg_links_net_disconnect(struct cg_links *links);
void cg_links_net_close(struct cg_links *links);

#endif
