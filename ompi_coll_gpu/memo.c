/* SPDX-License-Identifier: BSD-3-Clause
 * The last blocking call of a communicator that was native: one like it differs in its buffers only, and what follows
 * from everything else is not worked out again. Of simple calls with types and operations that never go away. */
#include "ompi_coll_gpu/coll_gpu.h"

enum { NOWHERE, IN_SBUF, IN_RBUF };

static int places(const struct cg_args *a) { return (a->sbuf == MPI_IN_PLACE) | (a->rbuf == MPI_IN_PLACE) << 1; }

static char *buffer(const struct cg_args *a, int which) { return which == IN_SBUF ? (char *) a->sbuf : a->rbuf; }

/* A buffer that counts is there (MPI_BOTTOM is left to others). */
static int found(const struct cg_args *a, const struct cg_spot *s)
{
    return s->which == NOWHERE || buffer(a, s->which) != NULL;
}

static void *at(const struct cg_args *a, const struct cg_spot *s)
{
    return s->which == NOWHERE ? NULL : buffer(a, s->which) + s->offset;
}

static struct cg_spot spot(const struct cg_args *a, const void *p, int which)
{
    if (!p) return (struct cg_spot){NOWHERE, 0};
    return (struct cg_spot){which, (const char *) p - buffer(a, which)};
}

const struct cg_call *cg_memo_call(cg_module_t *m, const struct cg_args *a)
{
    struct cg_memo *k = &m->memo;
    const struct cg_args *b = &k->args;

    if (!k->valid || a->row != b->row || a->rcount != b->rcount || a->rtype != b->rtype || a->scount != b->scount ||
        a->stype != b->stype || a->op != b->op || a->root != b->root || places(a) != k->places)
        return NULL;
    if (!cg_apart(a, k->sent, k->received) || !found(a, &k->src) || !found(a, &k->dst)) return NULL;
    k->call.src = at(a, &k->src);
    k->call.dst = at(a, &k->dst);
    return &k->call;
}

/* As it is in the user's memory, and not nothing. */
static int plain(const struct cg_side *s) { return s->kind == CG_COPY_NONE && !s->list && (s->n == 0 || s->one.count); }

static int lasting(const struct cg_role *role, const struct cg_args *a)
{
    int one = a->op || a->row == CG_ROW_bcast;

    if (a->op && !ompi_op_is_intrinsic(a->op)) return 0;
    if (!one && role->sends && !ompi_datatype_is_predefined(a->stype)) return 0;
    return (!one && !role->recvs) || ompi_datatype_is_predefined(a->rtype);
}

void cg_memo_keep(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, const struct cg_job *job)
{
    int bcast = a->row == CG_ROW_bcast, scatter = a->row == CG_ROW_scatter;
    struct cg_memo *k = &m->memo;

    k->valid = m->state == CG_MODULE_READY && !job->arrays && plain(&job->send) && plain(&job->recv) &&
               cg_role_bytes(role, a, &k->sent, &k->received) && lasting(role, a);
    if (!k->valid) return;
    k->args = *a;
    k->places = places(a);
    k->call = job->call;
    k->src = spot(a, job->call.src, bcast || (role->in_place && !scatter) ? IN_RBUF : IN_SBUF);
    k->dst = spot(a, job->call.dst, role->in_place && scatter ? IN_SBUF : IN_RBUF);
    k->valid = found(a, &k->src) && found(a, &k->dst);
}
