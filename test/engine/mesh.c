/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/engine/mesh.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A message: sent and not yet fetched. */
struct mesh_mail {
    struct mesh_mail *next;
    size_t bytes;
    unsigned char data[];
};

struct mail_req {
    struct mesh_comm *comm; /* NULL: a send, complete */
    uint32_t from, to;
    void *buf;
    size_t bytes;
};

static int mail_isend(void *ctx, uint32_t peer, const void *buf, size_t bytes, void **req)
{
    struct mesh_end *end = ctx;
    struct mesh_mail **p = &end->comm->mail[end->rank][peer], *mail;

    if (end->comm->drop) return CG_ERR_NET;
    mail = malloc(sizeof(*mail) + bytes);
    mail->next = NULL;
    mail->bytes = bytes;
    memcpy(mail->data, buf, bytes);
    while (*p) p = &(*p)->next;
    *p = mail;
    *req = calloc(1, sizeof(struct mail_req));
    return CG_OK;
}

static int mail_irecv(void *ctx, uint32_t peer, void *buf, size_t bytes, void **req)
{
    struct mesh_end *end = ctx;
    struct mail_req *r = calloc(1, sizeof(*r));

    r->comm = end->comm;
    r->from = peer;
    r->to = end->rank;
    r->buf = buf;
    r->bytes = bytes;
    *req = r;
    return CG_OK;
}

static int mail_test(void *ctx, void *req)
{
    struct mail_req *r = req;
    struct mesh_mail *mail;
    int rc = CG_OK;

    (void) ctx;
    if (r->comm) {
        mail = r->comm->mail[r->from][r->to];
        if (NULL == mail) return CG_AGAIN;
        r->comm->mail[r->from][r->to] = mail->next;
        if (mail->bytes != r->bytes) rc = CG_ERR_INTERNAL;
        else memcpy(r->buf, mail->data, r->bytes);
        free(mail);
    }
    free(r);
    return rc;
}

static const struct cg_boot_ops mail_ops = {mail_isend, mail_irecv, mail_test};

void mesh_init(struct mesh *m, uint32_t n)
{
    memset(m, 0, sizeof(*m));
    m->n = n;
    for (uint32_t r = 0; r < n; r++) {
        cg_params_default(&m->params[r]);
        m->name[r] = ((uint64_t) getpid() << 32) | (r + 1);
    }
}

int mesh_open(struct mesh *m)
{
    for (uint32_t r = 0; r < m->n; r++) {
        struct cg_proc_config config = {.params = m->params[r], .self = m->name[r], .net = m->net,
                                        .net_hint = m->hint,
                                        .table = m->table[r], .local_rank = r, .local_size = m->n};
        int rc = cg_proc_open(&config, &m->proc[r], &m->card[r]);
        if (CG_OK != rc) return rc;
        m->card[r].flags |= CG_CARD_ALWAYS;
        m->card[r].host = m->host[r];
        m->card[r].local_rank = r;
        m->card[r].local_size = m->n;
    }
    return CG_OK;
}

void mesh_close(struct mesh *m)
{
    for (uint32_t r = 0; r < m->n; r++) cg_proc_close(m->proc[r]);
}

int mesh_comm_open(struct mesh *m, const char *label, struct mesh_comm *c)
{
    memset(c, 0, sizeof(*c));
    c->mesh = m;
    for (uint32_t r = 0; r < m->n; r++) {
        struct cg_group_config config = {
            .rank = r, .size = m->n, .names = m->name, .cards = m->card, .label = label, .boot = &mail_ops};
        c->end[r].comm = c;
        c->end[r].rank = r;
        config.boot_ctx = &c->end[r];
        int rc = cg_group_open(m->proc[r], &config, &c->group[r]);
        if (CG_OK != rc) return rc;
    }
    return CG_OK;
}

void mesh_comm_free_mail(struct mesh_comm *c)
{
    for (uint32_t a = 0; a < c->mesh->n; a++) {
        for (uint32_t b = 0; b < c->mesh->n; b++) {
            while (c->mail[a][b]) {
                struct mesh_mail *mail = c->mail[a][b];
                c->mail[a][b] = mail->next;
                free(mail);
            }
        }
    }
}

void mesh_comm_close(struct mesh_comm *c)
{
    for (uint32_t r = 0; r < c->mesh->n; r++) cg_group_release(c->group[r]);
    mesh_comm_free_mail(c);
}

static void ended(void *ctx, int status)
{
    struct mesh_op *op = ctx;

    op->ended++;
    op->status = status;
}

int mesh_post(struct mesh_comm *c, uint32_t rank, const struct cg_call *call, struct mesh_op *op)
{
    op->ended = 0;
    op->status = CG_AGAIN;
    return cg_group_post(c->group[rank], call, ended, op);
}

void mesh_spin(struct mesh *m, int rounds, unsigned *seed)
{
    for (int i = 0; i < rounds; i++) cg_proc_progress(m->proc[(uint32_t) rand_r(seed) % m->n]);
}

int mesh_run(struct mesh *m, struct mesh_op *ops, int n, unsigned *seed)
{
    for (int round = 0; round < 1000000; round++) {
        int left = 0;
        for (int i = 0; i < n; i++) left += 1 != ops[i].ended;
        if (0 == left) return 1;
        mesh_spin(m, 8, seed);
        if (0 == round % 1000 && round > 2000) usleep(100);
    }
    return 0;
}
