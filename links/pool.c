/* SPDX-License-Identifier: BSD-3-Clause
 * The pool of links: their states, their memory, and who may use which. */
#include "links/internal.h"

#include <stdlib.h>
#include <string.h>

const struct cg_medium_ops *const cg_media[] = {
    [CG_MEDIUM_SHM] = &cg_medium_shm,
    [CG_MEDIUM_NET] = &cg_medium_net,
};

const struct cg_medium_ops *cg_medium_find(int medium)
{
    int n = (int) (sizeof(cg_media) / sizeof(cg_media[0]));
    return medium >= 0 && medium < n ? cg_media[medium] : NULL;
}

void cg_pool_set(struct cg_links *links, struct cg_pool_link *l, uint32_t state)
{
    int shm = l->end.medium == CG_MEDIUM_SHM;
    int used = l->state != CG_LINK_FREE && l->state != CG_LINK_ABANDONED;

    links->waiting -= shm && l->state == CG_LINK_JOINING;
    links->tenants -= used;
    l->state = state;
    used = state != CG_LINK_FREE && state != CG_LINK_ABANDONED;
    links->waiting += shm && state == CG_LINK_JOINING;
    links->tenants += used;
}

uint64_t cg_pool_window(int medium, const struct cg_geometry *g)
{
    return CG_LINK_RING_BYTES + (uint64_t) cg_media[medium]->lanes * cg_lanes_bytes(g->slot_bytes, g->slots);
}

int cg_pool_fits(const struct cg_pool_link *l, int medium, const struct cg_geometry *g)
{
    return l->end.medium == medium && l->end.geometry.slot_bytes == g->slot_bytes && l->end.geometry.slots == g->slots;
}

struct cg_pool_link *cg_pool_free(const struct cg_peer *peer, int medium, const struct cg_geometry *g)
{
    for (uint32_t i = 0; i < peer->nlinks; i++) {
        struct cg_pool_link *l = peer->link[i];
        if (!l || l->state != CG_LINK_FREE || !cg_pool_fits(l, medium, g)) continue;
        if (cg_load_acquire(&l->end.mine->closed) < l->end.tenants) continue;
        if (!cg_medium_of(l)->usable || cg_medium_of(l)->usable(l)) return l;
    }
    return NULL;
}

int cg_regions_add(struct cg_links *links)
{
    const struct cg_arena *a = &links->arena;
    int rc = CG_OK;

    for (; rc == CG_OK && links->own_regions < a->nchunks; links->own_regions += rc == CG_OK) {
        rc = cg_region_add(links, a->chunk[links->own_regions].base, a->chunk[links->own_regions].bytes);
    }
    return rc;
}

/* Window, lines and pointers of a new link. A ladder: what fails undoes what came before. */
static int allocate(struct cg_links *links, struct cg_pool_link *l)
{
    struct cg_arena *a = &links->arena;
    struct cg_link_end *e = &l->end;
    int rc = cg_arena_window(a, cg_pool_window(e->medium, &e->geometry), &l->window);

    if (rc != CG_OK) return rc;
    rc = cg_regions_add(links);
    if (rc != CG_OK) goto window;
    rc = cg_arena_line(a, &l->line);
    if (rc != CG_OK) goto window;
    if (cg_medium_of(l)->lines > 1) rc = cg_arena_line(a, &l->out_line);
    if (rc != CG_OK) goto line;
    e->mine = cg_arena_line_at(a, l->line);
    e->announce_in = (struct cg_announce *) cg_arena_at(a, &l->window);
    e->note_in = cg_link_note(e->announce_in);
    e->recv_slots = cg_arena_at(a, &l->window) + CG_LINK_RING_BYTES;
    memset(e->announce_in, 0, CG_LINK_RING_BYTES);
    if (cg_medium_of(l)->make) rc = cg_medium_of(l)->make(links, l);
    if (rc == CG_OK) return CG_OK;
    if (cg_medium_of(l)->lines > 1) cg_arena_line_free(a, l->out_line);
line:
    cg_arena_line_free(a, l->line);
window:
    cg_arena_window_free(a, &l->window);
    return rc;
}

int cg_pool_make(struct cg_links *links, struct cg_peer *peer, uint32_t index, int medium, struct cg_geometry g,
                struct cg_pool_link **link)
{
    struct cg_pool_link *l, **grown;
    int rc;

    if (index >= CG_ARENA_LINES) return CG_ERR_LIMIT;
    if (index >= peer->nlinks) {
        grown = realloc(peer->link, (index + 1) * sizeof(*grown));
        if (!grown) return CG_ERR_NOMEM;
        peer->link = grown;
        while (peer->nlinks <= index) peer->link[peer->nlinks++] = NULL;
    }
    l = calloc(1, sizeof(*l));
    if (!l) return CG_ERR_NOMEM;
    l->end.medium = medium;
    l->end.geometry = g;
    l->peer = peer;
    l->index = index;
    rc = allocate(links, l);
    if (rc != CG_OK) {
        free(l);
        return rc;
    }
    links->nlinks++;
    peer->link[index] = *link = l;
    return CG_OK;
}

int cg_pool_offered(struct cg_links *links, struct cg_peer *peer, const struct cg_link_msg *m,
                    struct cg_pool_link **link)
{
    struct cg_pool_link *l = m->index < peer->nlinks ? peer->link[m->index] : NULL;

    if (!l) return cg_pool_make(links, peer, m->index, m->medium, m->geometry, link);
    if (l->state != CG_LINK_FREE || !cg_pool_fits(l, m->medium, &m->geometry)) return CG_ERR_ARG;
    *link = l;
    return CG_OK;
}

/* The peer of a shm link may yet publish "closed" there: that line serves no other link. */
static void free_lines(struct cg_links *links, const struct cg_pool_link *l)
{
    int far_writer = l->joined && l->end.medium == CG_MEDIUM_SHM;

    if (!far_writer) cg_arena_line_free(&links->arena, l->line);
    if (cg_medium_of(l)->lines > 1) cg_arena_line_free(&links->arena, l->out_line);
}

void cg_pool_abandon(struct cg_links *links, struct cg_pool_link *l)
{
    if (l->state == CG_LINK_ABANDONED) return;
    if (cg_medium_of(l)->drop) cg_medium_of(l)->drop(links, l);
    cg_arena_window_free(&links->arena, &l->window);
    free_lines(links, l);
    cg_pool_set(links, l, CG_LINK_ABANDONED);
    links->nlinks--;
}
