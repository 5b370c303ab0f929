/* SPDX-License-Identifier: BSD-3-Clause
 * Peers and the chunks that travel between us and them. */
#define _GNU_SOURCE
#include "links/internal.h"
#include "core/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SERVE_MAX 64 /* datagrams taken at a time */
#define TIMEOUT_MS 10000

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

struct cg_peer *cg_peer_find(const struct cg_links *links, uint64_t name)
{
    for (uint32_t i = 0; i < links->npeers; i++) {
        if (links->peer[i]->info.name == name) return links->peer[i];
    }
    return NULL;
}

struct cg_peer *cg_peer_get(struct cg_links *links, uint64_t name)
{
    struct cg_peer *peer = cg_peer_find(links, name);
    struct cg_peer **grown;

    if (peer) return peer;
    grown = realloc(links->peer, (links->npeers + 1) * sizeof(*grown));
    if (!grown) return NULL;
    links->peer = grown;
    peer = calloc(1, sizeof(*peer));
    if (!peer) return NULL;
    peer->info.name = name;
    links->peer[links->npeers++] = peer;
    return peer;
}

void cg_peer_free(struct cg_peer *peer)
{
    for (uint32_t i = 0; i < peer->nfar; i++) {
        if (peer->far[i].base) munmap(peer->far[i].base, peer->far[i].bytes);
    }
    for (uint32_t i = 0; i < peer->nlinks; i++) free(peer->link[i]);
    free(peer->link);
    free(peer->far);
    free(peer->near);
    free(peer);
}

int cg_region_add(struct cg_links *links, void *addr, size_t bytes)
{
    struct cg_region *grown = realloc(links->region, (links->nregions + 1) * sizeof(*grown));

    if (!grown) return CG_ERR_NOMEM;
    links->region = grown;
    links->region[links->nregions++] = (struct cg_region){.addr = addr, .bytes = bytes};
    return CG_OK;
}

int cg_chunk_send(struct cg_links *links, struct cg_peer *peer, uint32_t chunk)
{
    if (chunk >= peer->nnear) {
        uint8_t *grown = realloc(peer->near, chunk + 1);
        if (!grown) return CG_ERR_NOMEM;
        memset(grown + peer->nnear, CG_CHUNK_KEPT, chunk + 1 - peer->nnear);
        peer->near = grown;
        peer->nnear = chunk + 1;
    }
    if (peer->near[chunk] == CG_CHUNK_SENT || peer->near[chunk] == CG_CHUNK_QUEUED) return CG_OK;
    peer->near[chunk] = CG_CHUNK_QUEUED;
    peer->queued++;
    links->queued++;
    return CG_OK;
}

int cg_chunk_sent(const struct cg_peer *peer, uint32_t chunk)
{
    switch (peer->near[chunk]) {
    case CG_CHUNK_SENT:
        return CG_OK;
    case CG_CHUNK_QUEUED:
        return CG_AGAIN;
    default:
        return CG_ERR_SHM;
    }
}

static void unqueue(struct cg_links *links, struct cg_peer *peer, uint32_t chunk, int state)
{
    peer->near[chunk] = (uint8_t) state;
    peer->queued--;
    links->queued--;
}

static void fail_queued(struct cg_links *links, struct cg_peer *peer)
{
    for (uint32_t i = 0; i < peer->nnear; i++) {
        if (peer->near[i] == CG_CHUNK_QUEUED) unqueue(links, peer, i, CG_CHUNK_FAILED);
    }
}

/* Both sides bind before either sends, so a refusal is a fault; still it is given time. A full queue is none: the peer
 * computes. */
static void refused(struct cg_links *links, struct cg_peer *peer)
{
    uint64_t now = now_ns(), ms = links->config.timeout_ms ? links->config.timeout_ms : TIMEOUT_MS;

    if (peer->refused_since == 0) peer->refused_since = now;
    if (now - peer->refused_since < ms * 1000000u) return;
    CG_LOG(0, "shared memory: process %llx refused descriptors on socket @%s for %llu ms: it is gone, or in another "
              "network namespace; run the processes of a host in one container", (unsigned long long) peer->info.name,
           peer->info.socket, (unsigned long long) ms);
    fail_queued(links, peer);
    peer->refused_since = 0;
}

static int send_chunk(struct cg_links *links, struct cg_peer *peer, uint32_t chunk)
{
    const struct cg_chunk *c = &links->arena.chunk[chunk];
    struct cg_fdpass_msg msg = {.magic = CG_FDPASS_MAGIC,
                                .key = peer->info.key,
                                .from = links->config.self,
                                .bytes = c->bytes,
                                .chunk = chunk};
    int rc = cg_fdpass_send(&links->pass, peer->info.socket, &msg, c->fd);

    if (rc == CG_OK) {
        unqueue(links, peer, chunk, CG_CHUNK_SENT);
        peer->refused_since = 0;
    } else if (rc == CG_ERR_PEER) {
        refused(links, peer);
    } else if (rc != CG_AGAIN) {
        CG_LOG(0, "shared memory: sending a descriptor to process %llx on socket @%s failed: %s",
               (unsigned long long) peer->info.name, peer->info.socket, strerror(errno));
        fail_queued(links, peer);
    }
    return rc;
}

static int flush(struct cg_links *links, struct cg_peer *peer)
{
    int sent = 0;

    for (uint32_t i = 0; peer->queued > 0 && i < peer->nnear; i++) {
        if (peer->near[i] != CG_CHUNK_QUEUED) continue;
        if (send_chunk(links, peer, i) != CG_OK) break;
        sent++;
    }
    return sent;
}

static struct cg_far_chunk *far_chunk(struct cg_peer *peer, uint32_t chunk)
{
    struct cg_far_chunk *grown;

    if (chunk < peer->nfar) return &peer->far[chunk];
    grown = realloc(peer->far, (chunk + 1) * sizeof(*grown));
    if (!grown) return NULL;
    peer->far = grown;
    for (; peer->nfar <= chunk; peer->nfar++) peer->far[peer->nfar] = (struct cg_far_chunk){.status = CG_AGAIN};
    return &peer->far[chunk];
}

/* The file must be as large as it was said to be: access behind its end is SIGBUS. */
static char *map_file(int fd, uint64_t bytes)
{
    struct stat st;
    char *base;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || bytes == 0 || (uint64_t) st.st_size < bytes) {
        errno = EINVAL;
        return NULL;
    }
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

static void map_chunk(struct cg_links *links, struct cg_far_chunk *far, const struct cg_fdpass_msg *msg, int fd)
{
    char *base = fd < 0 ? NULL : map_file(fd, msg->bytes);

    if (base && cg_region_add(links, base, msg->bytes) == CG_OK) {
        *far = (struct cg_far_chunk){.status = CG_OK, .base = base, .bytes = msg->bytes};
        return;
    }
    CG_LOG(0, "shared memory: chunk %u of process %llx (%llu bytes) cannot be mapped: %s", msg->chunk,
           (unsigned long long) msg->from, (unsigned long long) msg->bytes,
           fd < 0 ? "no descriptor came with it: raise ulimit -n; processes of one host must be of one user"
                  : strerror(errno));
    if (base) munmap(base, msg->bytes);
    far->status = CG_ERR_SHM;
}

static void take_chunk(struct cg_links *links, const struct cg_fdpass_msg *msg, int fd)
{
    int sane = msg->chunk < CG_ARENA_CHUNKS && msg->from != links->config.self;
    struct cg_peer *peer = sane ? cg_peer_get(links, msg->from) : NULL;
    struct cg_far_chunk *far = peer ? far_chunk(peer, msg->chunk) : NULL;

    if (far && far->status != CG_OK) {
        map_chunk(links, far, msg, fd);
    } else {
        links->pass.dropped++;
    }
    if (fd >= 0) close(fd);
}

int cg_chunk_arrived(const struct cg_peer *peer, uint32_t chunk, uint64_t bytes, char **base)
{
    const struct cg_far_chunk *far = chunk < peer->nfar ? &peer->far[chunk] : NULL;

    if (!far) return CG_AGAIN;
    if (far->status != CG_OK) return far->status;
    *base = far->base;
    if (far->bytes >= bytes) return CG_OK;
    CG_LOG(0, "shared memory: chunk %u of process %llx has %zu bytes, it said %llu: do all ranks run the same build?",
           chunk, (unsigned long long) peer->info.name, far->bytes, (unsigned long long) bytes);
    return CG_ERR_SHM;
}

int cg_chunks_serve(struct cg_links *links)
{
    struct cg_fdpass_msg msg;
    int fd, events = 0;

    if (links->pass.fd < 0) return 0;
    for (uint32_t i = 0; links->queued > 0 && i < links->npeers; i++) events += flush(links, links->peer[i]);
    for (int i = 0; i < SERVE_MAX && cg_fdpass_recv(&links->pass, &msg, &fd) == CG_OK; i++, events++) {
        take_chunk(links, &msg, fd);
    }
    return events;
}
