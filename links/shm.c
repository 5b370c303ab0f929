/* SPDX-License-Identifier: BSD-3-Clause
 * Links through shared memory: each side receives in its own arena and writes into the peer's. */
#include "links/internal.h"
#include "core/log.h"

#include <errno.h>
#include <string.h>

static int shm_open_socket(struct cg_links *links)
{
    if (links->pass.fd >= 0) return CG_OK;
    if (cg_fdpass_open(&links->pass, links->config.socket, links->config.key) == CG_OK) return CG_OK;
    CG_LOG(0, "shared memory: socket @%s cannot be opened: %s; raise ulimit -n, or allow AF_UNIX sockets",
           links->config.socket, strerror(errno));
    return CG_ERR_SHM;
}

/* Both sides are bound by now. */
static int shm_greet(struct cg_links *links, struct cg_pool_link *l)
{
    int rc = cg_chunk_send(links, l->peer, 0);

    if (rc == CG_OK) rc = cg_chunk_send(links, l->peer, l->window.chunk);
    if (rc == CG_OK) cg_chunks_serve(links);
    return rc;
}

static int worst_of(int a, int b) { return a != CG_OK && (a < 0 || b >= 0) ? a : b; }

static int shm_ready(struct cg_links *links, struct cg_pool_link *l)
{
    char *lines = NULL, *chunk = NULL;
    int rc;

    if (l->end.peer) return CG_OK; /* a former tenant's work */
    cg_chunks_serve(links);
    rc = worst_of(cg_chunk_sent(l->peer, 0), cg_chunk_sent(l->peer, l->window.chunk));
    rc = worst_of(rc, cg_chunk_arrived(l->peer, 0, l->far.lines_bytes, &lines));
    rc = worst_of(rc, cg_chunk_arrived(l->peer, l->far.chunk, l->far.chunk_bytes, &chunk));
    if (rc != CG_OK) return rc;
    l->end.peer = (struct cg_line *) lines + l->far.line;
    l->end.announce_out = (struct cg_announce *) (chunk + l->far.offset);
    l->end.note_out = cg_link_note(l->end.announce_out);
    l->end.send_slots = chunk + l->far.offset + CG_LINK_RING_BYTES;
    return CG_OK;
}

static void shm_closed(struct cg_pool_link *l)
{
    if (l->end.peer) cg_store_release(&l->end.peer->closed, l->end.tenants);
}

const struct cg_medium_ops cg_medium_shm = {
    .name = "shared memory",
    .lanes = 1,
    .lines = 1,
    .open = shm_open_socket,
    .greet = shm_greet,
    .ready = shm_ready,
    .closed = shm_closed,
};
