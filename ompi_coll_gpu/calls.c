/* SPDX-License-Identifier: BSD-3-Clause
 * Blocking and nonblocking calls. Whether one is native follows from what is equal on all ranks: the collective, type
 * and op where it reduces, the members; whether one that is not gets staged is each rank's own affair. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/host/host.h"

#include <stdlib.h>

static void request_complete(void *ctx, int status) { cg_request_complete(ctx, cg_mpi_error(status)); }

void cg_follow_threads(void)
{
    int threads = opal_using_threads();

    if (threads == cg_state.threads || !cg_state.proc) return;
    cg_state.threads = threads;
    cg_proc_set_threads(cg_state.proc, threads);
}

int cg_pass(void)
{
    if (cg_state.gpu) return 0;
    cg_count(&cg_state.calls_passed);
    return 1;
}

static void count_down(const struct cg_job *job)
{
    cg_count(job->send.copy || job->recv.copy ? &cg_state.calls_staged : &cg_state.calls_passed);
}

/* Nothing to do on any rank. Between groups bytes may differ by direction. */
int cg_empty(const cg_module_t *m, const struct cg_role *role, const struct cg_args *a)
{
    return !OMPI_COMM_IS_INTER(m->comm) && cg_regular_bytes(role, a) == 0;
}

/* MPI looks at it before, unless it is built or told not to (mpi_param_check). */
static int forbidden(const cg_module_t *m, const struct cg_args *a)
{
    char *why;

    if (!a->op || ompi_op_is_valid(a->op, a->rtype, &why, cg_row_name(a->row))) return MPI_SUCCESS;
    cg_log(0, "rank %d of %s: %s", ompi_comm_rank(m->comm), m->comm->c_name, why);
    free(why);
    return MPI_ERR_OP;
}

/* Open MPI's own allreduces, which make communicators, reduce into their send buffer (CG_COLL_NONE). */
int cg_choose(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, struct cg_call *call, int wait,
              enum cg_way *way)
{
    int rc;

    *way = CG_WAY_APART;
    cg_follow_threads();
    call->coll = cg_native_coll(a, call);
    if (call->coll == CG_COLL_DOWN && forbidden(m, a) != MPI_SUCCESS) return MPI_ERR_OP;
    if (call->coll == CG_COLL_NONE) return MPI_SUCCESS;
    rc = cg_role_overlap(m, role, a, cg_row_name(a->row));
    return rc == MPI_SUCCESS ? cg_module_way(m, call->coll, wait, way) : rc;
}

/* ---- native ---- */

#define OTHERS_EVERY 64 /* calls that need not wait, for one look at what else is under way in this process */

/* Post and wait. */
static int run(cg_module_t *m, const struct cg_call *call)
{
    struct cg_wait w;
    unsigned turn = 0;
    int rc = cg_group_call(m->group, call, &w);

    if (rc == CG_OK) {
        if (cg_load_acquire(&w.done) && ++m->calls % OTHERS_EVERY == 0) opal_progress();
        while (!cg_load_acquire(&w.done)) cg_turn(&turn);
        rc = w.status;
    }
    return cg_mpi_error(rc);
}

/* A set-up that failed is no reason to fail a call that does not need it. */
int cg_meet(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, int init)
{
    struct cg_call call = {0};
    int rc;

    cg_down_call(role, a, init, &call);
    rc = run(m, &call);
    return cg_group_status(m->group) < 0 ? MPI_SUCCESS : rc;
}

static int native_blocking(cg_module_t *m, struct cg_job *job, const struct cg_role *role, const struct cg_args *a)
{
    int rc = cg_native_job(job, role, a);

    if (rc == MPI_SUCCESS) cg_memo_keep(m, role, a, job);
    if (rc == MPI_SUCCESS) rc = cg_job_fill(job);
    if (rc == MPI_SUCCESS) rc = cg_job_drain(job, run(m, &job->call));
    cg_job_close(job);
    return rc;
}

/* Post and leave. */
static int native_nonblocking(cg_module_t *m, cg_request_t *req, const struct cg_role *role, const struct cg_args *a)
{
    int rc = cg_native_job(&req->job, role, a);

    if (rc == MPI_SUCCESS) rc = cg_job_fill(&req->job);
    if (rc != MPI_SUCCESS) return rc;
    return cg_mpi_error(cg_group_post(m->group, &req->job.call, request_complete, req));
}

/* ---- to the next component ---- */

int cg_stage(struct cg_job *job, const struct cg_role *role, const struct cg_args *a, struct cg_args *down)
{
    int rc = cg_job_open(job, role, a, 0);

    if (rc == MPI_SUCCESS) rc = cg_job_image(job);
    if (rc != MPI_SUCCESS) return rc;
    count_down(job);
    *down = *a;
    if (job->recv.copy) down->rbuf = job->recv.arg;
    if (job->send.copy && a->row == CG_ROW_bcast) down->rbuf = job->send.arg;
    else if (job->send.copy) down->sbuf = job->send.arg;
    return cg_job_fill(job);
}

static int down_blocking(cg_module_t *m, struct cg_job *job, const struct cg_role *role, const struct cg_args *a)
{
    struct cg_args down;
    int rc = cg_stage(job, role, a, &down);

    if (rc == MPI_SUCCESS) rc = cg_job_drain(job, cg_next[a->row].call(m, &down));
    cg_job_close(job);
    return rc;
}

static void met(void *ctx, int status)
{
    cg_request_t *req = ctx;
    const cg_module_t *m = req->module;

    if (cg_group_status(m->group) < 0) status = CG_OK;
    cg_store_release(&req->met, (uint64_t) (int64_t) status);
}

/* An error is for whoever waits. */
static void tell(cg_module_t *m, cg_request_t *req, const struct cg_role *role, const struct cg_args *a)
{
    struct cg_call call = {0};
    int rc;

    cg_down_call(role, a, 0, &call);
    req->module = m;
    req->met = CG_AGAIN;
    rc = cg_group_post(m->group, &call, met, req);
    if (rc != CG_OK) req->met = (uint64_t) (int64_t) rc;
}

/* The next component takes its tags in the order of the calls: it is called at once. */
static int down_nonblocking(cg_module_t *m, cg_request_t *req, const struct cg_role *role, const struct cg_args *a,
                            enum cg_way way, ompi_request_t **request)
{
    struct cg_args down;
    int rc = cg_stage(&req->job, role, a, &down);

    if (rc != MPI_SUCCESS) return rc;
    if (way == CG_WAY_APART && !req->job.send.copy && !req->job.recv.copy) {
        cg_request_drop(req);
        return cg_next[a->row].start(m, a, request);
    }
    *request = &req->super.super;
    rc = cg_next[a->row].start(m, &down, &req->inner);
    if (rc == OMPI_SUCCESS && way == CG_WAY_DOWN) tell(m, req, role, a);
    if (rc == OMPI_SUCCESS) cg_request_watch(req);
    return rc;
}

/* ---- what the entry points do ---- */

static int blocking(cg_module_t *m, const struct cg_args *a)
{
    struct cg_job job = {.call = {.blocking = 1}};
    struct cg_role role;
    enum cg_way way;
    int rc;

    cg_role_of(&role, m->comm, a);
    rc = cg_role_check(m, &role, a, cg_row_name(a->row));
    if (rc != MPI_SUCCESS || cg_empty(m, &role, a)) return rc;
    rc = cg_choose(m, &role, a, &job.call, 1, &way);
    if (rc != MPI_SUCCESS) return rc;
    if (way == CG_WAY_NATIVE) return native_blocking(m, &job, &role, a);
    if (way == CG_WAY_DOWN) rc = cg_meet(m, &role, a, 0);
    if (rc != MPI_SUCCESS) return rc;
    return cg_pass() ? cg_next[a->row].call(m, a) : down_blocking(m, &job, &role, a);
}

int cg_call_blocking(cg_module_t *m, const struct cg_args *a)
{
    const struct cg_call *call = cg_memo_call(m, a);

    if (!call) return blocking(m, a);
    cg_follow_threads();
    return run(m, call);
}

int cg_call_nonblocking(cg_module_t *m, const struct cg_args *a, ompi_request_t **request)
{
    struct cg_call call = {0};
    struct cg_role role;
    cg_request_t *req;
    enum cg_way way;
    int rc;

    cg_role_of(&role, m->comm, a);
    rc = cg_role_check(m, &role, a, cg_row_name(a->row));
    if (rc != MPI_SUCCESS) return rc;
    if (cg_empty(m, &role, a)) {
        *request = &ompi_request_empty;
        return OMPI_SUCCESS;
    }
    rc = cg_choose(m, &role, a, &call, 0, &way);
    if (rc != MPI_SUCCESS) return rc;
    if (way == CG_WAY_APART && cg_pass()) return cg_next[a->row].start(m, a, request);
    req = cg_request_get(m->comm, 0);
    if (!req) return MPI_ERR_NO_MEM;
    *request = &req->super.super;
    req->job.call = call;
    rc = way == CG_WAY_NATIVE ? native_nonblocking(m, req, &role, a)
                              : down_nonblocking(m, req, &role, a, way, request);
    if (rc == MPI_SUCCESS || *request != &req->super.super) return rc;
    cg_request_drop(req);
    *request = MPI_REQUEST_NULL;
    return rc;
}

/* Host copies of device buffers are reduced as the engine would: the same bits as in a collective. */
static int reduce_local(const cg_module_t *m, const struct cg_job *job, const struct cg_args *a)
{
    const mca_coll_base_comm_coll_t *next = &m->saved;
    int type, redop, copied = job->send.copy || job->recv.copy;

    if (!copied || !ompi_op_is_intrinsic(a->op) || !cg_typemap(a->rtype, a->op, &type, &redop))
        return next->coll_reduce_local(a->sbuf, a->rbuf, a->rcount, a->rtype, a->op, next->coll_reduce_local_module);
    cg_fold_host(type, redop, a->rbuf, (const char *const[]){a->sbuf, a->rbuf}, 2, (size_t) a->rcount);
    return MPI_SUCCESS;
}

/* By the GPU that has both buffers. Packed memory would have to be made for a type with gaps: staged. */
static int local_on_gpu(const struct cg_args *a, int *rc)
{
    struct cg_piece in = {(char *) a->sbuf, (size_t) a->rcount, a->rtype};
    struct cg_piece inout = {a->rbuf, (size_t) a->rcount, a->rtype};
    size_t times = 1;
    int type, redop;

    if (!cg_state.proc || a->rcount == 0 || !cg_typemap(a->rtype, a->op, &type, &redop)) return 0;
    if (!ompi_op_is_intrinsic(a->op)) { /* of coll_gpu.h: any type of its elements */
        if (!cg_piece_dense(&inout)) return 0;
        times = a->rtype->super.size / (size_t) cg_type_size(type);
        cg_piece_span(&in, &in.at);
        cg_piece_span(&inout, &inout.at);
    }
    *rc = cg_proc_reduce_local(cg_state.proc, type, redop, in.at, inout.at, in.count * times);
    if (*rc == CG_ERR_UNSUPPORTED) return 0;
    *rc = cg_mpi_error(*rc);
    return 1;
}

int cg_call_local(cg_module_t *m, const struct cg_args *a)
{
    struct cg_job job = {0};
    struct cg_role role = {.size = 1, .sends = 1, .recvs = 1};
    struct cg_args down;
    int rc = cg_role_check(m, &role, a, "reduce_local");

    if (rc == MPI_SUCCESS) rc = cg_role_overlap(m, &role, a, "reduce_local");
    if (rc != MPI_SUCCESS) return rc;
    if (cg_pass()) return reduce_local(m, &job, a);
    if (local_on_gpu(a, &rc)) return rc;
    rc = cg_stage(&job, &role, a, &down);
    if (rc == MPI_SUCCESS) rc = cg_job_drain(&job, reduce_local(m, &job, &down));
    cg_job_close(&job);
    return rc;
}
