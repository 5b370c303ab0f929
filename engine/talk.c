/* SPDX-License-Identifier: BSD-3-Clause
 * The conversation in which two neighbours agree on a link. */
#include "engine/boot.h"

#include <string.h>

/* ---- messages ---- */

int cg_msg_send(struct cg_group *g, uint32_t peer, const void *buf, size_t bytes, struct boot_msg *m)
{
    int rc = g->boot_ops->isend(g->boot_ctx, peer, buf, bytes, &m->req);
    m->active = CG_OK == rc;
    return rc;
}

int cg_msg_recv(struct cg_group *g, uint32_t peer, void *buf, size_t bytes, struct boot_msg *m)
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

int cg_msgs_test(struct cg_group *g, struct boot_msg *a, struct boot_msg *b)
{
    int ra = msg_test(g, a), rb = msg_test(g, b);

    return ra < 0 ? ra : rb < 0 ? rb : (CG_AGAIN == ra || CG_AGAIN == rb) ? CG_AGAIN : CG_OK;
}

/* ---- conversation ---- */

static uint32_t virtual_node(const struct cg_card *card, const struct cg_params *params)
{
    return cg_virtual_node(card->local_rank, card->local_size, params->virtual_nodes);
}

/* card->host of one host differs between its pretended ones. */
uint64_t cg_talk_host(const struct cg_card *card, const struct cg_params *params)
{
    return card->host + 0x9e3779b97f4a7c15u * virtual_node(card, params);
}

void cg_talk_init(struct cg_group *g, struct boot_talk *t, uint32_t rank)
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
        rc = cg_msg_send(g, rank, &t->out, sizeof(t->out), &t->send);
        if (CG_OK != rc) return rc;
    }
    t->state = TALK_OFFER;
    return cg_msg_recv(g, rank, &t->in, sizeof(t->in), &t->recv);
}

static int talk_offer(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = cg_msgs_test(g, &t->send, &t->recv);

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
    return t->lower ? CG_OK : cg_msg_send(g, rank, &t->out, sizeof(t->out), &t->send);
}

static int talk_answer(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = msg_test(g, &t->send);

    if (CG_OK != rc) return rc;
    t->state = TALK_READY;
    return cg_msg_recv(g, rank, &t->vin, sizeof(t->vin), &t->recv);
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
    return cg_msg_send(g, rank, &t->vout, sizeof(t->vout), &t->send);
}

/* Another medium helps where the two processes cannot reach each other (containers), not where one of them is short of
 * memory or descriptors. Both sides see the same two verdicts. */
static int another_medium(const struct boot_talk *t)
{
    int mine = t->vout.status, theirs = t->vin.status;

    return t->medium != t->last_medium && (mine >= 0 || CG_ERR_PEER == mine) && (theirs >= 0 || CG_ERR_PEER == theirs);
}

static int talk_verdict(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = cg_msgs_test(g, &t->send, &t->recv);

    if (CG_OK != rc) return rc;
    if (t->status >= 0 && t->vin.status < 0) t->status = t->vin.status;
    if (t->status < 0) {
        cg_proc_lock(g->proc);
        if (t->link) cg_link_abandon(g->proc->links, t->link);
        cg_proc_unlock(g->proc);
        t->link = NULL;
        CG_LOG(1, "rank %u of %s: no %s link with rank %u: %s", g->rank, g->label,
               CG_MEDIUM_SHM == t->medium ? "shared-memory" : "network", rank, cg_status_text(t->status));
        if (another_medium(t)) {
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

int cg_talk_step(struct cg_group *g, struct boot_talk *t, uint32_t rank)
{
    int rc = CG_OK;

    while (CG_OK == rc && TALK_DONE != t->state) rc = talk_table[t->state](g, t, rank);
    return rc;
}
