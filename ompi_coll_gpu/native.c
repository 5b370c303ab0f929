/* SPDX-License-Identifier: BSD-3-Clause
 * A call in the engine's terms. What all ranks decide by follows from arguments that are equal on all of them: type and
 * op of a reduction, the bytes of a regular call. Everything else is this rank's own affair: collectives that do not
 * reduce move bytes, and a type with gaps is packed here without the peers' notice. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/host/host.h"

#include <inttypes.h>
#include <string.h>

struct row {
    const char *name;
    enum cg_flow flow;
    enum cg_layout sent, received;
    int coll;
};
#define ROW(name, sig, flow, sent, received, coll) \
    [CG_ROW_##name] = {#name, CG_##flow, CG_##sent, CG_##received, CG_COLL_##coll},
static const struct row rows[CG_ROWS] = {CG_COLLECTIVES(ROW)};
#undef ROW

const char *cg_row_name(int row) { return rows[row].name; }

/* Open MPI chooses the number of a new communicator by nonblocking allreduces of one int over the parent, from within
 * progress and for MPI_Comm_idup at any time (ompi/communicator/comm_cid.c). Calls of that form go to the next
 * component: so they take no operation number among the user's calls, need no set-up, and do not fail with it. */
static int like_comm_creation(const struct cg_args *a, const struct cg_call *call)
{
    return a->row == CG_ROW_allreduce && !call->blocking && a->rcount == 1 && call->type == CG_TYPE_I32 &&
           (call->redop == CG_REDOP_MAX || call->redop == CG_REDOP_MIN);
}

/* MPI_Neighbor_allgather and MPI_Neighbor_alltoall do nothing on a rank that has nothing to send or receive, and the
 * others cannot know. */
static int may_miss_some(const struct cg_args *a, const struct cg_call *call)
{
    return call->blocking && (a->row == CG_ROW_neighbor_allgather || a->row == CG_ROW_neighbor_alltoall);
}

int cg_native_coll(const struct cg_args *a, struct cg_call *call)
{
    if (may_miss_some(a, call)) return CG_COLL_NONE;
    if (!a->op) {
        call->type = CG_TYPE_U8;
    } else if (!cg_typemap(a->rtype, a->op, &call->type, &call->redop)) {
        return CG_COLL_DOWN;
    } else if (like_comm_creation(a, call)) {
        return CG_COLL_NONE;
    }
    return rows[a->row].coll;
}

static size_t sum(cg_counts_t counts, int n)
{
    size_t total = 0;

    for (int i = 0; i < n; i++) total += CG_COUNT_AT(counts, i);
    return total;
}

/* Elements of the block, or of the whole buffer, by arguments that are significant here. */
static size_t regular(const struct cg_role *role, const struct cg_args *a, const struct ompi_datatype_t **type)
{
    const struct row *row = &rows[a->row];
    int by_send = row->flow == CG_TO_ROOT ? role->sends && !a->op : row->flow == CG_FROM_ROOT && role->in_place;

    *type = by_send ? a->stype : a->rtype;
    if (row->sent == CG_SUM) return sum(a->rcounts, role->size);
    if (row->flow == CG_ALL && row->received == CG_PARTS) return sum(a->rcounts, role->nrecv);
    return (size_t) (by_send ? a->scount : a->rcount);
}

static int irregular(const struct row *row)
{
    return row->flow == CG_NEIGHBORS || row->sent >= CG_PARTS || (row->received >= CG_PARTS && row->flow != CG_ALL);
}

size_t cg_regular_bytes(const struct cg_role *role, const struct cg_args *a)
{
    const struct ompi_datatype_t *type;
    size_t count;

    if (irregular(&rows[a->row])) return 1;
    count = regular(role, a, &type);
    return count ? count * type->super.size : 0;
}

void cg_down_call(const struct cg_role *role, const struct cg_args *a, int init, struct cg_call *call)
{
    call->coll = CG_COLL_DOWN;
    call->type = CG_TYPE_U8;
    call->redop = rows[a->row].coll + init;
    call->count = irregular(&rows[a->row]) ? 0 : cg_regular_bytes(role, a);
}

/* ---- buffers ---- */

static char nowhere[2]; /* a buffer of nothing that is neither NULL nor in place */

static int dense(const struct cg_side *s)
{
    for (int i = 0; i < s->n; i++) {
        if (!cg_piece_dense(cg_piece_of(s, i))) return 0;
    }
    return 1;
}

static char *lowest(const struct cg_side *s)
{
    char *low = NULL, *first;

    if (s->kind != CG_COPY_NONE) return s->arg;
    for (int i = 0; i < s->n; i++) {
        if (cg_piece_span(cg_piece_of(s, i), &first) && (!low || first < low)) low = first;
    }
    return low;
}

/* Several pieces for one peer are one block for the engine. */
static int repeats(const struct cg_side *s)
{
    for (int i = 1; s->peer && i < s->n; i++) {
        if (s->peer[i] >= 0 && s->peer[i] == s->peer[i - 1]) return 1;
    }
    return 0;
}

/* The engine's buffer, and bytes and, n later, offset of each peer's part in it. */
static char *describe(const struct cg_side *s, uint64_t *len, size_t n, char *none)
{
    char *low = lowest(s), *first;
    uint64_t at = 0;

    for (int i = 0; s->list && i < s->n; i++) {
        uint64_t bytes = cg_piece_bytes(&s->list[i]);
        int r = s->peer ? s->peer[i] : i;
        if (bytes == 0) continue;
        cg_piece_span(&s->list[i], &first);
        if (len[r] == 0) len[n + (size_t) r] = s->kind != CG_COPY_NONE ? at : (uint64_t) (first - low);
        len[r] += bytes;
        at += bytes;
    }
    return low ? low : none;
}

static int pack_gaps(struct cg_side *s, const struct cg_side *other)
{
    return s->n == 0 || (dense(s) && !repeats(s)) ? MPI_SUCCESS : cg_side_packed(s, other);
}

static const struct cg_pieces *pieces_of(const struct cg_side *s, int used)
{
    return s->kind == CG_COPY_GPU && used ? &s->pieces : NULL;
}

/* This rank's own block of the buffer that has all blocks. */
static uint64_t own_offset(const struct cg_call *call, const struct cg_role *role, const uint64_t *disp)
{
    return disp ? disp[role->rank] : call->count * (uint64_t) role->rank;
}

/* In place: what alltoall sends is where it receives, the others' own block is within the buffer of all blocks. */
static void in_place(struct cg_call *call, const struct cg_role *role, const struct row *row)
{
    if (row->flow == CG_FROM_ROOT) {
        call->dst = (char *) call->src + own_offset(call, role, call->src_disp);
    } else if (row->sent == CG_ONE) {
        call->src = (char *) call->dst + own_offset(call, role, call->dst_disp);
    } else {
        call->src = call->dst;
        call->src_len = call->dst_len;
        call->src_disp = call->dst_disp;
    }
}

/* Of gatherv and scatterv, only this rank's own part has a known size. */
static void own_count(struct cg_call *call, const struct cg_role *role, const struct cg_job *job, const struct row *row)
{
    const struct cg_side *one = row->flow == CG_TO_ROOT ? &job->send : &job->recv;

    if (row->flow == CG_ALL || row->flow == CG_NEIGHBORS) return;
    if (role->in_place) call->count = (call->src_len ? call->src_len : call->dst_len)[role->rank];
    else call->count = cg_piece_bytes(&one->one);
}

static uint64_t own_bytes(const struct cg_side *s, enum cg_layout layout, const uint64_t *len,
                          const struct cg_role *role)
{
    if (len) return len[role->rank];
    return cg_piece_bytes(&s->one) / (layout == CG_EACH ? (uint64_t) role->size : 1);
}

/* What a rank sends to itself it must expect from itself: seen here, before others wait for it. */
static int own_agree(const struct cg_job *job, const struct cg_role *role, const struct row *row)
{
    uint64_t sent, received;

    if (!role->sends || !role->recvs) return MPI_SUCCESS;
    sent = own_bytes(&job->send, row->sent, job->call.src_len, role);
    received = own_bytes(&job->recv, row->received, job->call.dst_len, role);
    if (sent == received) return MPI_SUCCESS;
    cg_log(0, "rank %d of %s called %s with %" PRIu64 " bytes for itself but expects %" PRIu64 " from itself: the "
           "counts or types of its two buffers do not match",
           role->rank, role->comm->c_name, row->name, sent, received);
    return MPI_ERR_TRUNCATE;
}

static int has_parts(const struct row *row, enum cg_layout layout)
{
    return layout >= CG_PARTS || row->flow == CG_NEIGHBORS;
}

static int set_arrays(struct cg_job *job, const struct cg_role *role, const struct row *row)
{
    struct cg_call *call = &job->call;
    size_t n = (size_t) role->size;

    if (!has_parts(row, row->sent) && !has_parts(row, row->received)) return MPI_SUCCESS;
    job->arrays = cg_pool_get(4 * n * sizeof(*job->arrays));
    if (!job->arrays) return MPI_ERR_NO_MEM;
    memset(job->arrays, 0, 4 * n * sizeof(*job->arrays));
    if (role->sends && has_parts(row, row->sent)) {
        call->src_len = job->arrays;
        call->src_disp = call->src_len + n;
    }
    if (role->recvs && has_parts(row, row->received)) {
        call->dst_len = job->arrays + 2 * n;
        call->dst_disp = call->dst_len + n;
    }
    return MPI_SUCCESS;
}

/* Whatever is packed on the GPU. */
static void set_packing(struct cg_job *job)
{
    job->call.pack = pieces_of(job->send.fills ? &job->send : &job->recv, job->send.fills || job->recv.fills);
    job->call.unpack = pieces_of(&job->recv, job->recv.drains);
}

static int moving(struct cg_job *job, const struct cg_role *role, const struct cg_args *a)
{
    const struct row *row = &rows[a->row];
    struct cg_call *call = &job->call;
    size_t n = (size_t) role->size;
    int rc = pack_gaps(&job->send, &job->recv);

    if (rc == MPI_SUCCESS) rc = pack_gaps(&job->recv, &job->send);
    if (rc == MPI_SUCCESS) rc = set_arrays(job, role, row);
    if (rc != MPI_SUCCESS) return rc;
    if (role->sends) call->src = describe(&job->send, job->arrays, n, &nowhere[0]);
    if (role->recvs) call->dst = describe(&job->recv, job->arrays ? job->arrays + 2 * n : NULL, n, &nowhere[1]);
    call->count = irregular(row) ? 0 : cg_regular_bytes(role, a);
    if (irregular(row)) own_count(call, role, job, row);
    if (role->in_place) in_place(call, role, row);
    set_packing(job);
    return own_agree(job, role, row);
}

/* Predefined types are what they look like: the engine knows their gaps. Types of operations of coll_gpu.h are the
 * user's: packed where they have any. */
static int reduced_buffers(struct cg_job *job, const struct cg_role *role, const struct cg_args *a)
{
    struct cg_call *call = &job->call;
    int rc;

    call->dst = role->recvs ? a->rbuf : NULL;
    call->src = a->sbuf;
    if (!ompi_op_is_intrinsic(a->op)) {
        rc = cg_job_open(job, role, a, 1);
        if (rc == MPI_SUCCESS) rc = pack_gaps(&job->send, &job->recv);
        if (rc == MPI_SUCCESS) rc = pack_gaps(&job->recv, &job->send);
        if (rc != MPI_SUCCESS) return rc;
        set_packing(job);
        if (role->recvs) call->dst = describe(&job->recv, NULL, 0, &nowhere[1]);
        if (role->sends) call->src = describe(&job->send, NULL, 0, &nowhere[0]);
    }
    if (role->in_place) call->src = call->dst;
    return MPI_SUCCESS;
}

static int reducing(struct cg_job *job, const struct cg_role *role, const struct cg_args *a)
{
    struct cg_call *call = &job->call;
    const struct ompi_datatype_t *type;
    uint64_t *len, count = regular(role, a, &type), times;
    int rc = reduced_buffers(job, role, a);

    times = ompi_op_is_intrinsic(a->op) ? 1 : type->super.size / (size_t) cg_type_size(call->type);
    call->count = count * times;
    if (rc != MPI_SUCCESS || rows[a->row].sent != CG_SUM) return rc;
    job->arrays = len = cg_pool_get((size_t) role->size * sizeof(*len));
    if (!len) return MPI_ERR_NO_MEM;
    for (int i = 0; i < role->size; i++) len[i] = CG_COUNT_AT(a->rcounts, i) * times;
    call->src_len = len;
    return MPI_SUCCESS;
}

int cg_native_job(struct cg_job *job, const struct cg_role *role, const struct cg_args *a)
{
    struct cg_call *call = &job->call;
    int rc;

    if (a->op) {
        rc = reducing(job, role, a);
    } else {
        rc = cg_job_open(job, role, a, 1);
        if (rc == MPI_SUCCESS) rc = moving(job, role, a);
    }
    if (rows[a->row].flow == CG_TO_ROOT || rows[a->row].flow == CG_FROM_ROOT || rows[a->row].flow == CG_BCAST)
        call->root = (uint32_t) a->root;
    if (rows[a->row].flow == CG_BCAST) call->src = call->dst = role->sends ? (void *) call->src : call->dst;
    if (rc != MPI_SUCCESS) cg_job_close(job);
    return rc;
}
