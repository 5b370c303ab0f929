/* SPDX-License-Identifier: BSD-3-Clause
 * Which of a call's arguments count on this rank, and where in its buffers data lie. Nothing else is read. */
#include "ompi_coll_gpu/coll_gpu.h"

#include <string.h>

struct row {
    enum cg_flow flow;
    enum cg_layout sent, received;
};
#define ROW(name, sig, flow, sent, received, coll) [CG_ROW_##name] = {CG_##flow, CG_##sent, CG_##received},
static const struct row rows[CG_ROWS] = {CG_COLLECTIVES(ROW)};
#undef ROW

static int peers_of(ompi_communicator_t *comm, enum cg_flow flow, struct cg_role *role)
{
    if (flow == CG_NEIGHBORS) return mca_topo_base_neighbor_count(comm, &role->nrecv, &role->nsend);
    role->nsend = role->nrecv = OMPI_COMM_IS_INTER(comm) ? ompi_comm_remote_size(comm) : ompi_comm_size(comm);
    return OMPI_SUCCESS;
}

/* Between groups, root is MPI_ROOT at the root, MPI_PROC_NULL beside it, its rank in the other group. */
static void who_takes_part(struct cg_role *role, enum cg_flow flow, int root, int inter)
{
    int at_root = inter ? root == MPI_ROOT : root == role->rank, others = inter ? root >= 0 : 1;

    switch (flow) {
    case CG_ALL:
    case CG_NEIGHBORS: role->sends = role->recvs = 1; break;
    case CG_TO_ROOT: role->sends = others, role->recvs = at_root; break;
    case CG_FROM_ROOT: role->sends = at_root, role->recvs = others; break;
    case CG_BCAST: role->sends = at_root, role->recvs = others && !at_root; break;
    }
}

void cg_role_of(struct cg_role *role, ompi_communicator_t *comm, const struct cg_args *a)
{
    const struct row *row = &rows[a->row];
    int sent_in_place, received_in_place;

    role->comm = comm;
    role->rank = ompi_comm_rank(comm);
    role->size = ompi_comm_size(comm);
    if (peers_of(comm, row->flow, role) != OMPI_SUCCESS) role->nsend = role->nrecv = 0;
    who_takes_part(role, row->flow, a->root, OMPI_COMM_IS_INTER(comm));
    sent_in_place = role->sends && row->flow != CG_BCAST && a->sbuf == MPI_IN_PLACE;
    received_in_place = role->recvs && a->rbuf == MPI_IN_PLACE;
    role->in_place = sent_in_place || received_in_place;
    if (sent_in_place) role->sends = 0;
    if (received_in_place) role->recvs = 0;
    /* exscan says nothing to rank 0, which may have no buffer for it */
    if (a->row == CG_ROW_exscan && role->rank == 0 && !role->in_place) role->recvs = 0;
}

/* One direction, whatever the collective calls it. */
struct half {
    enum cg_layout layout;
    char *buf;
    int n, wide; /* wide: displacements are wdisps */
    size_t count;
    struct ompi_datatype_t *type;
    cg_counts_t counts;
    cg_disps_t disps;
    cg_wdisps_t wdisps;
    struct ompi_datatype_t *const *types;
};

/* Reductions and bcast have one count and type. */
static int one_type(const struct cg_args *a) { return a->op || rows[a->row].flow == CG_BCAST; }

static struct half half_sent(const struct cg_role *role, const struct cg_args *a)
{
    const struct row *row = &rows[a->row];

    return (struct half){
        .layout = row->sent,
        .buf = row->flow == CG_BCAST ? a->rbuf : (char *) a->sbuf,
        .n = a->op ? role->size : role->nsend,
        .wide = row->flow == CG_NEIGHBORS,
        .count = (size_t) (one_type(a) ? a->rcount : a->scount),
        .type = one_type(a) ? a->rtype : a->stype,
        .counts = one_type(a) ? a->rcounts : a->scounts,
        .disps = a->sdisps,
        .wdisps = a->swdisps,
        .types = a->stypes,
    };
}

static struct half half_received(const struct cg_role *role, const struct cg_args *a)
{
    const struct row *row = &rows[a->row];

    return (struct half){
        .layout = a->op && role->in_place ? row->sent : row->received,
        .buf = a->rbuf,
        .n = a->op ? role->size : role->nrecv,
        .wide = row->flow == CG_NEIGHBORS,
        .count = (size_t) a->rcount,
        .type = a->rtype,
        .counts = a->rcounts,
        .disps = a->rdisps,
        .wdisps = a->rwdisps,
        .types = a->rtypes,
    };
}

/* Elements that are one piece. */
static size_t together(const struct half *h, int rank)
{
    size_t count = 0;

    switch (h->layout) {
    case CG_ONE: return h->count;
    case CG_EACH: return h->count * (size_t) h->n;
    case CG_OWN: return CG_COUNT_AT(h->counts, rank);
    default:
        for (int i = 0; i < h->n; i++) count += CG_COUNT_AT(h->counts, i);
        return count;
    }
}

static struct cg_piece piece(char *at, size_t count, struct ompi_datatype_t *type)
{
    if (count == 0 || type->super.size == 0) return (struct cg_piece){at, 0, NULL};
    return (struct cg_piece){at, count, type};
}

static ptrdiff_t extent(const struct ompi_datatype_t *type) { return type->super.ub - type->super.lb; }

static struct cg_piece part(const struct half *h, int i)
{
    size_t count = h->layout < CG_PARTS ? h->count : CG_COUNT_AT(h->counts, i);

    if (count == 0) return piece(h->buf, 0, NULL);
    if (h->layout == CG_ONE) return piece(h->buf, count, h->type);
    if (h->layout == CG_EACH) return piece(h->buf + (ptrdiff_t) count * i * extent(h->type), count, h->type);
    if (h->layout == CG_PARTS) return piece(h->buf + CG_DISP_AT(h->disps, i) * extent(h->type), count, h->type);
    if (h->wide) return piece(h->buf + CG_DISP_AT(h->wdisps, i), count, h->types[i]);
    return piece(h->buf + CG_DISP_AT(h->disps, i), count, h->types[i]);
}

/* One piece for each edge, also where they are the same bytes. */
static int open_edges(struct cg_side *s, const struct half *h, ompi_communicator_t *comm, int sent)
{
    struct cg_edge *edges = cg_pool_get((size_t) h->n * sizeof(*edges));
    int rc;

    s->peer = cg_pool_get((size_t) h->n * sizeof(*s->peer));
    rc = edges && s->peer ? cg_edges(comm, sent, h->n, edges) : MPI_ERR_NO_MEM;
    for (int i = 0; i < h->n && rc == MPI_SUCCESS; i++) {
        s->peer[i] = edges[i].peer;
        s->list[i] = edges[i].peer < 0 ? piece(h->buf, 0, NULL) : part(h, edges[i].slot);
    }
    if (edges) cg_pool_put(edges);
    return rc;
}

static int open_side(struct cg_side *s, const struct half *h, const struct cg_role *role, int edges)
{
    s->arg = h->buf;
    s->device = -1;
    if (h->layout < CG_PARTS && !edges) {
        s->n = 1;
        s->one = piece(h->buf, together(h, role->rank), h->type);
        return MPI_SUCCESS;
    }
    if (h->n == 0) return MPI_SUCCESS;
    s->list = cg_pool_get((size_t) h->n * sizeof(*s->list));
    if (!s->list) return MPI_ERR_NO_MEM;
    s->n = h->n;
    if (edges) return open_edges(s, h, role->comm, s->fills);
    for (int i = 0; i < h->n; i++) s->list[i] = part(h, i);
    return MPI_SUCCESS;
}

/* ---- what MPI forbids ---- */

/* Most calls have one count and one type in each direction: they are looked at without being taken apart. */
static int simple(const struct cg_args *a)
{
    const struct row *row = &rows[a->row];

    return row->flow != CG_NEIGHBORS && row->sent <= CG_EACH && row->received <= CG_EACH;
}

static int counts_fine(const struct cg_role *role, const struct cg_args *a)
{
    ptrdiff_t sent = role->sends ? (ptrdiff_t) (one_type(a) ? a->rcount : a->scount) : 0;

    return simple(a) && sent >= 0 && (!role->recvs || (ptrdiff_t) a->rcount >= 0);
}

/* At most so many elements from buf on; SIZE_MAX if some lie below, or that takes a closer look. */
static size_t extends(const struct half *h, int rank)
{
    size_t most = 0;

    if (h->layout < CG_PARTS) return together(h, rank);
    for (int i = 0; i < h->n; i++) {
        ptrdiff_t at = h->layout == CG_PARTS ? (ptrdiff_t) CG_DISP_AT(h->disps, i) : -1;
        if (at < 0) return SIZE_MAX;
        if (CG_COUNT_AT(h->counts, i) > 0 && (size_t) at + CG_COUNT_AT(h->counts, i) > most)
            most = (size_t) at + CG_COUNT_AT(h->counts, i);
    }
    return most;
}

static size_t bytes_of(const struct half *h, int rank)
{
    const struct ompi_datatype_t *type = h->type;
    size_t n = extends(h, rank);

    if (n == SIZE_MAX || type->super.true_lb != 0 || extent(type) != (ptrdiff_t) type->super.size) return SIZE_MAX;
    return n * type->super.size;
}

int cg_role_bytes(const struct cg_role *role, const struct cg_args *a, size_t *sent, size_t *received)
{
    const struct row *row = &rows[a->row];
    struct half half;

    *sent = *received = 0;
    if (row->flow == CG_NEIGHBORS || row->sent == CG_TYPED) return 0;
    if (!role->sends || !role->recvs) return 1;
    half = half_sent(role, a);
    *sent = bytes_of(&half, role->rank);
    half = half_received(role, a);
    *received = bytes_of(&half, role->rank);
    return *sent != SIZE_MAX && *received != SIZE_MAX;
}

static int pieces(const struct half *h) { return h->layout < CG_PARTS ? 1 : h->n; }

static struct cg_piece piece_at(const struct half *h, int rank, int i)
{
    return h->layout < CG_PARTS ? piece(h->buf, together(h, rank), h->type) : part(h, i);
}

/* Whose call it is, for messages. */
struct caller {
    const cg_module_t *m;
    const char *name;
};
#define CALLED "rank %d of %s called %s with "
#define CALLER(c) ompi_comm_rank((c)->m->comm), (c)->m->comm->c_name, (c)->name

static int bad_root(const struct cg_role *role, const struct cg_args *a, const struct caller *c)
{
    int inter = OMPI_COMM_IS_INTER(role->comm), n = inter ? ompi_comm_remote_size(role->comm) : role->size;
    enum cg_flow flow = rows[a->row].flow;

    if (flow == CG_ALL || flow == CG_NEIGHBORS || (a->root >= 0 && a->root < n)) return MPI_SUCCESS;
    if (inter && (a->root == MPI_ROOT || a->root == MPI_PROC_NULL)) return MPI_SUCCESS;
    cg_log(0, CALLED "root %d: there are ranks 0 to %d", CALLER(c), a->root, n - 1);
    return MPI_ERR_ROOT;
}

static int bad_counts(const struct half *h, const struct caller *c)
{
    int arrays = h->layout >= CG_SUM;

    for (int i = 0; i < (arrays ? h->n : 1); i++) {
        ptrdiff_t count = arrays ? (ptrdiff_t) CG_COUNT_AT(h->counts, i) : (ptrdiff_t) h->count;
        if (count >= 0) continue;
        cg_log(0, CALLED "a count of %td: none is below 0", CALLER(c), count);
        return MPI_ERR_COUNT;
    }
    return MPI_SUCCESS;
}

struct range {
    char *low, *high;
};

static struct range range_of(const struct cg_piece *p)
{
    struct range r = {NULL, NULL};
    size_t bytes = cg_piece_span(p, &r.low);

    r.high = bytes ? r.low + bytes : NULL;
    return bytes ? r : (struct range){NULL, NULL};
}

static struct range range_of_all(const struct half *h, int rank)
{
    struct range all = {NULL, NULL};

    for (int i = 0; i < pieces(h); i++) {
        struct cg_piece p = piece_at(h, rank, i);
        struct range r = range_of(&p);
        if (!r.high) continue;
        if (!all.low || r.low < all.low) all.low = r.low;
        if (r.high > all.high) all.high = r.high;
    }
    return all;
}

static int meet(struct range a, struct range b) { return a.high && b.high && a.low < b.high && b.low < a.high; }

/* Pieces with gaps may lie between each other, unless they are the same. */
static int share_bytes(const struct cg_piece *a, const struct cg_piece *b)
{
    int same = a->at == b->at && a->type == b->type;

    return meet(range_of(a), range_of(b)) && (same || (cg_piece_dense(a) && cg_piece_dense(b)));
}

static int overlap(const struct half *s, const struct half *r, int rank, const struct caller *c)
{
    if (!meet(range_of_all(s, rank), range_of_all(r, rank))) return MPI_SUCCESS;
    for (int i = 0; i < pieces(s); i++) {
        for (int k = 0; k < pieces(r); k++) {
            struct cg_piece a = piece_at(s, rank, i), b = piece_at(r, rank, k);
            if (!share_bytes(&a, &b)) continue;
            cg_log(0, CALLED "overlapping send and receive buffers (%p, %p): MPI wants MPI_IN_PLACE for that",
                   CALLER(c), (void *) a.at, (void *) b.at);
            return MPI_ERR_BUFFER;
        }
    }
    return MPI_SUCCESS;
}

int cg_role_check(const cg_module_t *m, const struct cg_role *role, const struct cg_args *a, const char *name)
{
    struct caller c = {m, name};
    int rc = role->comm ? bad_root(role, a, &c) : MPI_SUCCESS;
    struct half h;

    if (rc != MPI_SUCCESS || counts_fine(role, a)) return rc;
    if (role->sends) h = half_sent(role, a), rc = bad_counts(&h, &c);
    if (rc == MPI_SUCCESS && role->recvs) h = half_received(role, a), rc = bad_counts(&h, &c);
    return rc;
}

int cg_role_overlap(const cg_module_t *m, const struct cg_role *role, const struct cg_args *a, const char *name)
{
    struct caller c = {m, name};
    struct half s, r;
    size_t sent, received;

    if (cg_below || !role->sends || !role->recvs || rows[a->row].flow == CG_NEIGHBORS) return MPI_SUCCESS;
    if (cg_role_bytes(role, a, &sent, &received) && cg_apart(a, sent, received)) return MPI_SUCCESS;
    s = half_sent(role, a);
    r = half_received(role, a);
    return overlap(&s, &r, role->rank, &c);
}

int cg_job_open(struct cg_job *job, const struct cg_role *role, const struct cg_args *a, int native)
{
    int rc = MPI_SUCCESS, edges = native && rows[a->row].flow == CG_NEIGHBORS;
    struct half half;

    if (role->sends) {
        half = half_sent(role, a);
        job->send.fills = 1;
        rc = open_side(&job->send, &half, role, edges);
    }
    if (rc == MPI_SUCCESS && role->recvs) {
        half = half_received(role, a);
        job->recv.drains = 1;
        job->recv.fills = role->in_place;
        rc = open_side(&job->recv, &half, role, edges);
    }
    if (rc != MPI_SUCCESS) cg_job_close(job);
    return rc;
}

static void close_side(struct cg_side *s)
{
    if (s->list) cg_pool_put(s->list);
    if (s->peer) cg_pool_put(s->peer);
    if (s->copy) cg_pool_put(s->copy);
    if (s->kind == CG_COPY_GPU) cg_side_unpiece(s);
}

void cg_job_close(struct cg_job *job)
{
    close_side(&job->send);
    close_side(&job->recv);
    if (job->arrays) cg_pool_put(job->arrays);
    memset(job, 0, sizeof(*job));
}

static void hold(struct cg_side *s, int on)
{
    for (int i = 0; i < s->n; i++) {
        struct ompi_datatype_t *type = cg_piece_of(s, i)->type;
        if (!type || ompi_datatype_is_predefined(type)) continue;
        if (on) {
            OBJ_RETAIN(type);
        } else {
            OBJ_RELEASE(type);
        }
    }
}

void cg_job_retain(struct cg_job *job)
{
    hold(&job->send, 1);
    hold(&job->recv, 1);
}

void cg_job_release(struct cg_job *job)
{
    hold(&job->send, 0);
    hold(&job->recv, 0);
}
