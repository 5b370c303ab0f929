/* SPDX-License-Identifier: BSD-3-Clause
 * Set-up of a communicator, carried by a few messages of its own, in three parts:
 *   hello     rank 0's parameters and stream tag go down a binary tree; they apply everywhere
 *   links     every pair of neighbours agrees on a link: shared memory if they can, else network (a conversation of
 *             offer, answer, and a verdict from each side that says whether it worked there)
 *   verdict   the worst status goes up the tree and down again: all ranks have it, or none
 * Between two ranks messages are in order and both sides know which comes next, so one ordered channel suffices. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

#define BOOT_MAGIC 0x43474254u

struct boot_hello {
    uint32_t magic, stream;
    struct cg_agreed agreed;
};

struct boot_verdict {
    uint32_t magic, rank; /* rank: the first that failed */
    int32_t status, pad;
};

/* One message under way. */
struct boot_msg {
    void *req;
    int active;
};

enum talk_state { TALK_BEGIN, TALK_OFFER, TALK_ANSWER, TALK_READY, TALK_VERDICT, TALK_DONE };

/* The conversation with one neighbour. */
struct boot_talk {
    int state, status, medium, last_medium, lower; /* lower: I have the lower name and make the offer */
    struct cg_peer_info peer;
    struct cg_link_end *link;
    struct cg_link_msg out, in;
    struct boot_verdict vout, vin;
    struct boot_msg send, recv;
};

enum boot_stage {
    BOOT_HELLO_IN,
    BOOT_HELLO_OUT,
    BOOT_LINKS,
    BOOT_UP_IN,
    BOOT_UP_OUT,
    BOOT_DOWN_IN,
    BOOT_DOWN_OUT,
    BOOT_END
};

struct cg_boot {
    int stage, begun, reach, npeers;
    struct boot_hello hello;
    struct boot_verdict verdict, child[2];
    struct boot_msg msg[2];
    uint32_t peer[CG_MAX_NEIGHBORS]; /* those who become neighbours */
    struct boot_talk talk[]; /* as many as there may be neighbours */
};

/* ---- messages ---- */

static int msg_send(struct cg_group *g, uint32_t peer, const void *buf, size_t bytes, struct boot_msg *m)
{
    int rc = g->boot_ops->isend(g->boot_ctx, peer, buf, bytes, &m->req);
    m->active = CG_OK == rc;
    return rc;
}

static int msg_recv(struct cg_group *g, uint32_t peer, void *buf, size_t bytes, struct boot_msg *m)
{
    int rc = g->boot_ops->irecv(g->boot_ctx, peer, buf, bytes, &m->req);
    m->active = CG_OK == rc;
    return rc;
}

static int msg_test(struct cg_group *g, struct boot_msg *m)
{
    int rc;

    if (!m->active) return CG_OK;
    rc = g->boot_ops->test(g->boot_ctx, m->req);
    if (CG_AGAIN != rc) m->active = 0;
    return rc;
}

static int msgs_test(struct cg_group *g, struct boot_msg *a, struct boot_msg *b)
{
    int ra = msg_test(g, a), rb = msg_test(g, b);

    return ra < 0 ? ra : rb < 0 ? rb : (CG_AGAIN == ra || CG_AGAIN == rb) ? CG_AGAIN : CG_OK;
}

/* ---- tree ---- */

static int children(const struct cg_group *g, uint32_t child[2])
{
    int n = 0;

    for (uint32_t c = 2 * g->rank + 1; c <= 2 * g->rank + 2 && c < g->size; c++) child[n++] = c;
    return n;
}

static uint32_t parent(const struct cg_group *g) { return (g->rank - 1) / 2; }

static int to_children(struct cg_group *g, const void *buf, size_t bytes)
{
    uint32_t child[2];
    int n = children(g, child), rc = CG_OK;

    for (int i = 0; i < n && CG_OK == rc; i++) rc = msg_send(g, child[i], buf, bytes, &g->boot->msg[i]);
    return rc;
}

static int from_parent(struct cg_group *g, void *buf, size_t bytes)
{
    return 0 == g->rank ? CG_OK : msg_recv(g, parent(g), buf, bytes, &g->boot->msg[0]);
}

/* ---- hello ---- */

static int hello_in_begin(struct cg_group *g)
{
    if (0 == g->rank) {
        g->boot->hello.magic = BOOT_MAGIC;
        g->boot->hello.stream = ++g->proc->next_stream ^ (uint32_t) (g->proc->self * 2654435761u);
        cg_params_get_agreed(&g->proc->params, &g->boot->hello.agreed);
    }
    return from_parent(g, &g->boot->hello, sizeof(g->boot->hello));
}

static int hello_in_end(struct cg_group *g)
{
    struct cg_agreed mine;
    const char *name;

    if (BOOT_MAGIC != g->boot->hello.magic) return CG_ERR_INTERNAL;
    cg_params_get_agreed(&g->proc->params, &mine);
    name = cg_agreed_differ(&mine, &g->boot->hello.agreed);
    if (name) {
        cg_log(0, "rank %u of %s: coll_gpu_%s differs from rank 0's; rank 0's value applies. Set it alike on all ranks",
               g->rank, g->label, name);
    }
    cg_params_set_agreed(&g->params, &g->boot->hello.agreed);
    g->stream = g->boot->hello.stream;
    return CG_OK;
}

static int hello_out_begin(struct cg_group *g) { return to_children(g, &g->boot->hello, sizeof(g->boot->hello)); }

/* ---- links ---- */

static uint32_t virtual_node(const struct cg_card *card, const struct cg_params *params)
{
    if (params->virtual_nodes < 2 || card->local_size < 2) return 0;
    return card->local_rank * (uint32_t) params->virtual_nodes / card->local_size;
}

static void talk_init(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    const struct cg_card *me = &g->cards[g->rank], *other = &g->cards[rank];
    int one_host = me->host == other->host;
    int near = one_host && virtual_node(me, &g->params) == virtual_node(other, &g->params);
    int net = (me->flags & other->flags & CG_CARD_NET) != 0;

    t->state = TALK_BEGIN;
    t->lower = g->names[g->rank] < g->names[rank];
    t->medium = near ? CG_MEDIUM_SHM : CG_MEDIUM_NET;
    t->last_medium = net ? CG_MEDIUM_NET : t->medium;
    t->peer.name = g->names[rank];
    t->peer.key = other->key;
    t->peer.remote = !one_host;
    memcpy(t->peer.socket, other->socket, sizeof(t->peer.socket));
}

static int is_neighbor(const struct cg_group *g, uint32_t rank)
{
    for (int i = 0; i < g->nneighbors; i++) {
        if (g->neighbor[i] == rank) return 1;
    }
    return 0;
}

/* Conversations with those who are not neighbours yet. */
static int links_begin(struct cg_group *g)
{
    uint32_t peers[CG_MAX_NEIGHBORS];
    int n = cg_plan_neighbors(g->size, g->rank, &g->params, g->boot->reach, peers, CG_MAX_NEIGHBORS);

    if (n < 0) {
        cg_log(0, "rank %u of %s: more than %d neighbours in a communicator of %u ranks", g->rank, g->label,
               CG_MAX_NEIGHBORS, g->size);
        g->boot->verdict.status = n;
        return CG_OK; /* the verdict tells the others */
    }
    for (int i = 0; i < n; i++) {
        if (is_neighbor(g, peers[i])) continue;
        talk_init(g, &g->boot->talk[g->boot->npeers], peers[i]);
        g->boot->peer[g->boot->npeers++] = peers[i];
    }
    return CG_OK;
}

static int talk_begin(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    struct cg_geometry geometry = {(uint32_t) g->params.slot_bytes, (uint32_t) g->params.slots};
    int rc;

    t->link = NULL;
    t->status = CG_OK;
    if (t->lower) {
        cg_proc_lock(g->proc);
        cg_link_offer(g->proc->links, &t->peer, t->medium, geometry, &t->link, &t->out);
        cg_proc_unlock(g->proc);
        rc = msg_send(g, rank, &t->out, sizeof(t->out), &t->send);
        if (CG_OK != rc) return rc;
    }
    t->state = TALK_OFFER;
    return msg_recv(g, rank, &t->in, sizeof(t->in), &t->recv);
}

static int talk_offer(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = msgs_test(g, &t->send, &t->recv);

    if (CG_OK != rc) return rc;
    cg_proc_lock(g->proc);
    if (t->lower) {
        t->status = t->out.status < 0 ? t->out.status : cg_link_take(g->proc->links, t->link, &t->in);
    } else {
        cg_link_answer(g->proc->links, &t->peer, &t->in, &t->link, &t->out);
        t->status = t->out.status;
    }
    cg_proc_unlock(g->proc);
    t->state = TALK_ANSWER;
    return t->lower ? CG_OK : msg_send(g, rank, &t->out, sizeof(t->out), &t->send);
}

static int talk_answer(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = msg_test(g, &t->send);

    if (CG_OK != rc) return rc;
    t->state = TALK_READY;
    return msg_recv(g, rank, &t->vin, sizeof(t->vin), &t->recv);
}

static int talk_ready(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = msg_test(g, &t->recv);

    if (rc < 0) return rc;
    if (CG_OK == rc && t->vin.status < 0) t->status = t->vin.status; /* what this side waits for may never come */
    if (t->status >= 0) {
        cg_proc_lock(g->proc);
        t->status = cg_link_ready(g->proc->links, t->link);
        cg_proc_unlock(g->proc);
        if (CG_AGAIN == t->status) return CG_AGAIN;
    }
    t->vout.magic = BOOT_MAGIC;
    t->vout.status = t->status;
    t->state = TALK_VERDICT;
    return msg_send(g, rank, &t->vout, sizeof(t->vout), &t->send);
}

static int talk_verdict(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = msgs_test(g, &t->send, &t->recv);

    if (CG_OK != rc) return rc;
    if (t->status >= 0 && t->vin.status < 0) t->status = t->vin.status;
    if (t->status < 0) {
        cg_proc_lock(g->proc);
        if (t->link) cg_link_abandon(g->proc->links, t->link);
        cg_proc_unlock(g->proc);
        t->link = NULL;
        CG_LOG(1, "rank %u of %s: no %s link with rank %u: %s", g->rank, g->label,
               CG_MEDIUM_SHM == t->medium ? "shared-memory" : "network", rank, cg_status_text(t->status));
        if (t->medium != t->last_medium) {
            t->medium = t->last_medium;
            t->state = TALK_BEGIN;
            return CG_OK;
        }
    }
    t->state = TALK_DONE;
    return CG_OK;
}

typedef int (*talk_fn)(struct cg_group *g, struct boot_talk *t, uint32_t rank);
static const talk_fn talk_table[] = {
    [TALK_BEGIN] = talk_begin, [TALK_OFFER] = talk_offer,     [TALK_ANSWER] = talk_answer,
    [TALK_READY] = talk_ready, [TALK_VERDICT] = talk_verdict,
};

/* Every conversation as far as it goes. */
static int links_test(struct cg_group *g)
{
    int again = 0;

    for (int i = 0; i < g->boot->npeers; i++) {
        struct boot_talk *t = &g->boot->talk[i];
        int rc = CG_OK;
        while (CG_OK == rc && TALK_DONE != t->state) rc = talk_table[t->state](g, t, g->boot->peer[i]);
        if (rc < 0) return rc;
        again |= CG_AGAIN == rc;
    }
    return again ? CG_AGAIN : CG_OK;
}

static int links_end(struct cg_group *g)
{
    for (int i = 0; i < g->boot->npeers; i++) {
        const struct boot_talk *t = &g->boot->talk[i];
        if (NULL == t->link && CG_OK == g->boot->verdict.status) {
            g->boot->verdict.status = t->status < 0 ? t->status : CG_ERR_INTERNAL;
        }
    }
    return CG_OK;
}

/* ---- verdict ---- */

static int up_in_begin(struct cg_group *g)
{
    uint32_t child[2];
    int n = children(g, child), rc = CG_OK;

    g->boot->verdict.magic = BOOT_MAGIC;
    g->boot->verdict.rank = g->rank;
    for (int i = 0; i < n && CG_OK == rc; i++) {
        rc = msg_recv(g, child[i], &g->boot->child[i], sizeof(g->boot->child[i]), &g->boot->msg[i]);
    }
    return rc;
}

static int up_in_end(struct cg_group *g)
{
    uint32_t child[2];
    int n = children(g, child);

    for (int i = 0; i < n; i++) {
        if (g->boot->verdict.status >= 0 && g->boot->child[i].status < 0) g->boot->verdict = g->boot->child[i];
    }
    return CG_OK;
}

static int up_out_begin(struct cg_group *g)
{
    return 0 == g->rank ? CG_OK
                        : msg_send(g, parent(g), &g->boot->verdict, sizeof(g->boot->verdict), &g->boot->msg[0]);
}

static int down_in_begin(struct cg_group *g) { return from_parent(g, &g->boot->verdict, sizeof(g->boot->verdict)); }
static int down_out_begin(struct cg_group *g) { return to_children(g, &g->boot->verdict, sizeof(g->boot->verdict)); }

/* ---- the stages ---- */

static const struct {
    int (*begin)(struct cg_group *g);
    int (*test)(struct cg_group *g); /* NULL: the stage's messages */
    int (*end)(struct cg_group *g);
} stages[BOOT_END] = {
    [BOOT_HELLO_IN] = {hello_in_begin, NULL, hello_in_end},
    [BOOT_HELLO_OUT] = {hello_out_begin, NULL, NULL},
    [BOOT_LINKS] = {links_begin, links_test, links_end},
    [BOOT_UP_IN] = {up_in_begin, NULL, up_in_end},
    [BOOT_UP_OUT] = {up_out_begin, NULL, NULL},
    [BOOT_DOWN_IN] = {down_in_begin, NULL, NULL},
    [BOOT_DOWN_OUT] = {down_out_begin, NULL, NULL},
};

int cg_boot_open(struct cg_group *group, int reach)
{
    uint32_t most = group->size - 1 < CG_MAX_NEIGHBORS ? group->size - 1 : CG_MAX_NEIGHBORS;

    group->boot = calloc(1, sizeof(*group->boot) + most * sizeof(group->boot->talk[0]));
    if (NULL == group->boot) return CG_ERR_NOMEM;
    group->boot->reach = reach;
    return CG_OK;
}

static int finish(struct cg_group *g, int status)
{
    cg_proc_lock(g->proc);
    for (int i = 0; i < g->boot->npeers; i++) {
        struct cg_link_end *link = g->boot->talk[i].link;
        if (status >= 0) {
            g->neighbor[g->nneighbors] = g->boot->peer[i];
            g->link[g->nneighbors++] = link;
        } else if (link) {
            cg_link_release(g->proc->links, link, 0);
        }
    }
    if (status >= 0) g->reach = g->boot->reach;
    cg_proc_unlock(g->proc);
    if (status >= 0) return CG_OK;
    if (0 == g->rank) {
        cg_log(0, "%s is not served by coll/gpu: set-up failed on rank %u: %s", g->label, g->boot->verdict.rank,
               cg_status_text(status));
    }
    return status;
}

int cg_boot_step(struct cg_group *g)
{
    struct cg_boot *b = g->boot;
    int rc = CG_OK;

    while (b->stage < BOOT_END) {
        if (!b->begun) {
            b->begun = 1;
            rc = stages[b->stage].begin(g);
        }
        if (rc >= 0) rc = stages[b->stage].test ? stages[b->stage].test(g) : msgs_test(g, &b->msg[0], &b->msg[1]);
        if (CG_OK == rc && stages[b->stage].end) rc = stages[b->stage].end(g);
        if (CG_AGAIN == rc) return CG_AGAIN;
        if (rc < 0) {
            cg_log(0, "rank %u of %s: a message of the set-up failed: %s", g->rank, g->label, cg_status_text(rc));
            return rc;
        }
        b->stage++;
        b->begun = 0;
    }
    return finish(g, b->verdict.status);
}

void cg_boot_close(struct cg_group *group)
{
    free(group->boot);
    group->boot = NULL;
}
