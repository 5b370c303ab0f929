/* SPDX-License-Identifier: BSD-3-Clause
 * The last blocking call of a communicator that was native: one like it differs in its buffers only, and what follows
 * from everything else is not worked out again. Of calls with types and operations that never go away. */
#include "ompi_coll_gpu/coll_gpu.h"

#include <stdlib.h>
#include <string.h>

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

enum { SCOUNTS = 1, SDISPS = 2, RCOUNTS = 4, RDISPS = 8 };

/* Which are read on this rank; a reduction's are rcounts. */
static int lists_of(const struct cg_role *role, const struct cg_args *a, const struct cg_job *job)
{
    if (!job->arrays) return 0;
    if (a->op) return RCOUNTS;
    return (role->sends && job->send.list ? SCOUNTS | SDISPS : 0) |
           (role->recvs && job->recv.list ? RCOUNTS | RDISPS : 0);
}

static void lists_keep(const struct cg_args *a, int lists, int n, uint64_t *to)
{
    for (int i = 0; i < n; i++, to += 4) {
        if (lists & SCOUNTS) to[0] = (uint64_t) CG_COUNT_AT(a->scounts, i);
        if (lists & SDISPS) to[1] = (uint64_t) CG_DISP_AT(a->sdisps, i);
        if (lists & RCOUNTS) to[2] = (uint64_t) CG_COUNT_AT(a->rcounts, i);
        if (lists & RDISPS) to[3] = (uint64_t) CG_DISP_AT(a->rdisps, i);
    }
}

static int lists_alike(const struct cg_args *a, int lists, int n, const uint64_t *kept)
{
    for (int i = 0; i < n; i++, kept += 4) {
        if ((lists & SCOUNTS && kept[0] != (uint64_t) CG_COUNT_AT(a->scounts, i)) ||
            (lists & SDISPS && kept[1] != (uint64_t) CG_DISP_AT(a->sdisps, i)) ||
            (lists & RCOUNTS && kept[2] != (uint64_t) CG_COUNT_AT(a->rcounts, i)) ||
            (lists & RDISPS && kept[3] != (uint64_t) CG_DISP_AT(a->rdisps, i)))
            return 0;
    }
    return 1;
}

static const uint64_t *moved(const uint64_t *p, const uint64_t *from, const uint64_t *to)
{
    return p ? to + (p - from) : NULL;
}

/* Copies of the call's arrays, and of the arguments that they follow from. */
static int arrays_keep(struct cg_memo *k, const struct cg_role *role, const struct cg_args *a, const struct cg_job *job)
{
    size_t n = (size_t) role->size, used = a->op ? n : 4 * n;
    struct cg_call *call = &k->call;

    k->lists = lists_of(role, a, job);
    if (!job->arrays) return 1;
    if (!k->arrays) k->arrays = malloc(8 * n * sizeof(*k->arrays));
    if (!k->arrays) return 0;
    memcpy(k->arrays, job->arrays, used * sizeof(*k->arrays));
    call->src_len = moved(call->src_len, job->arrays, k->arrays);
    call->src_disp = moved(call->src_disp, job->arrays, k->arrays);
    call->dst_len = moved(call->dst_len, job->arrays, k->arrays);
    call->dst_disp = moved(call->dst_disp, job->arrays, k->arrays);
    lists_keep(a, k->lists, role->size, k->arrays + 4 * n);
    return 1;
}

void cg_memo_free(cg_module_t *m)
{
    free(m->memo.arrays);
    m->memo.arrays = NULL;
    m->memo.valid = 0;
}

const struct cg_call *cg_memo_call(cg_module_t *m, const struct cg_args *a)
{
    struct cg_memo *k = &m->memo;
    const struct cg_args *b = &k->args;

    if (!k->valid || a->row != b->row || a->rcount != b->rcount || a->rtype != b->rtype || a->scount != b->scount ||
        a->stype != b->stype || a->op != b->op || a->root != b->root || places(a) != k->places)
        return NULL;
    if (k->lists && !lists_alike(a, k->lists, k->n, k->arrays + 4 * k->n)) return NULL;
    if (!cg_apart(a, k->sent, k->received) || !found(a, &k->src) || !found(a, &k->dst)) return NULL;
    k->call.src = at(a, &k->src);
    k->call.dst = at(a, &k->dst);
    return &k->call;
}

/* As it is in the user's memory, and not nothing. */
static int plain(const struct cg_side *s)
{
    size_t any = 0;

    for (int i = 0; i < s->n; i++) any |= cg_piece_of(s, i)->count;
    return s->kind == CG_COPY_NONE && (s->n == 0 || any);
}

static int lasting(const struct cg_role *role, const struct cg_args *a)
{
    int one = a->op || a->row == CG_ROW_bcast;

    if (a->op && !ompi_op_is_intrinsic(a->op)) return 0;
    if (!one && role->sends && !ompi_datatype_is_predefined(a->stype)) return 0;
    return (!one && !role->recvs) || ompi_datatype_is_predefined(a->rtype);
}

void cg_memo_keep(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, const struct cg_job *job)
{
    int bcast = a->row == CG_ROW_bcast, scatter = a->row == CG_ROW_scatter || a->row == CG_ROW_scatterv;
    struct cg_memo *k = &m->memo;

    k->valid = m->state == CG_MODULE_READY && plain(&job->send) && plain(&job->recv) &&
               cg_role_bytes(role, a, &k->sent, &k->received) && lasting(role, a);
    if (!k->valid) return;
    k->args = *a;
    k->places = places(a);
    k->n = role->size;
    k->call = job->call;
    k->src = spot(a, job->call.src, bcast || (role->in_place && !scatter) ? IN_RBUF : IN_SBUF);
    k->dst = spot(a, job->call.dst, role->in_place && scatter ? IN_SBUF : IN_RBUF);
    k->valid = found(a, &k->src) && found(a, &k->dst) && arrays_keep(k, role, a, job);
}
