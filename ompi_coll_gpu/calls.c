/* SPDX-License-Identifier: BSD-3-Clause
 * Entry points. Whether a call is native follows from type, op, count and the members alone, so it is the same on all
 * ranks; whether one that is not gets staged is each rank's own affair. The next component is called here only, inside
 * the user's call: it takes its tags in the order of the calls. */
#include "ompi_coll_gpu/coll_gpu.h"

struct waiting {
    uint64_t done;
    int status;
};

static void wait_complete(void *ctx, int status)
{
    struct waiting *w = ctx;

    w->status = status;
    cg_store_release(&w->done, 1);
}

static void request_complete(void *ctx, int status) { cg_request_complete(ctx, cg_mpi_error(status)); }

static void follow_threads(void)
{
    int threads = opal_using_threads();

    if (threads == cg_state.threads || !cg_state.proc) return;
    cg_state.threads = threads;
    cg_proc_set_threads(cg_state.proc, threads);
}

/* Post and wait. */
static int run(cg_module_t *m, const struct cg_call *call)
{
    struct waiting w = {0, CG_OK};
    unsigned turn = 0;
    int rc = cg_group_post(m->group, call, wait_complete, &w);

    if (rc == CG_OK) {
        while (!cg_load_acquire(&w.done)) cg_turn(&turn);
        rc = w.status;
    }
    return cg_mpi_error(rc);
}

/* Post and leave. */
static int start(cg_module_t *m, const struct cg_call *call, ompi_request_t **request)
{
    cg_request_t *req = cg_request_get(m->comm);
    int rc;

    if (!req) return MPI_ERR_NO_MEM;
    *request = &req->super.super;
    rc = cg_group_post(m->group, call, request_complete, req);
    if (rc == CG_OK) return OMPI_SUCCESS;
    cg_request_drop(req);
    *request = MPI_REQUEST_NULL;
    return cg_mpi_error(rc);
}

/* 1 if the arguments are for the engine, with call filled in. */
static int allreduce_call(struct cg_call *call, const void *sbuf, void *rbuf, size_t count, struct ompi_datatype_t *dt,
                          struct ompi_op_t *op, int blocking)
{
    *call = (struct cg_call){.coll = CG_COLL_ALLREDUCE,
                             .src = sbuf == MPI_IN_PLACE ? rbuf : sbuf,
                             .dst = rbuf,
                             .count = count,
                             .blocking = blocking};
    return cg_typemap(dt, op, &call->type, &call->redop);
}

/* Open MPI chooses the number of a new communicator by nonblocking allreduces of one int over the parent, from within
 * progress and for MPI_Comm_idup at any time (ompi/communicator/comm_cid.c). Calls of that form go to the next
 * component: so they take no operation number among the user's calls, need no set-up, and do not fail with it. */
static int like_comm_creation(const struct cg_call *call)
{
    return call->count == 1 && call->type == CG_TYPE_I32 &&
           (call->redop == CG_REDOP_MAX || call->redop == CG_REDOP_MIN);
}

/* Nothing to stage: the call goes down as it is. */
static int pass(void)
{
    if (cg_state.gpu) return 0;
    cg_count(&cg_state.calls_passed);
    return 1;
}

static void count_down(const struct cg_stage *s)
{
    cg_count(s->send.copy || s->recv.copy ? &cg_state.calls_staged : &cg_state.calls_passed);
}

static int allreduce_down(cg_module_t *m, const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *dt,
                          struct ompi_op_t *op)
{
    mca_coll_base_comm_coll_t *next = &m->saved;
    struct cg_stage s;
    int rc;

    if (pass()) return next->coll_allreduce(sbuf, rbuf, count, dt, op, m->comm, next->coll_allreduce_module);
    rc = cg_stage_begin(&s, sbuf, count, dt, rbuf, count, dt);
    if (rc != MPI_SUCCESS) return rc;
    count_down(&s);
    rc = next->coll_allreduce(s.send.arg, s.recv.arg, count, dt, op, m->comm, next->coll_allreduce_module);
    return cg_stage_end(&s, rc);
}

static int iallreduce_down(cg_module_t *m, const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *dt,
                           struct ompi_op_t *op, ompi_request_t **request)
{
    mca_coll_base_comm_coll_t *next = &m->saved;
    struct cg_stage s;
    ompi_request_t *inner;
    cg_request_t *req;
    int rc;

    if (pass()) return next->coll_iallreduce(sbuf, rbuf, count, dt, op, m->comm, request, next->coll_iallreduce_module);
    rc = cg_stage_begin(&s, sbuf, count, dt, rbuf, count, dt);
    if (rc != MPI_SUCCESS) return rc;
    count_down(&s);
    if (!s.send.copy && !s.recv.copy) {
        return next->coll_iallreduce(sbuf, rbuf, count, dt, op, m->comm, request, next->coll_iallreduce_module);
    }
    req = cg_request_get(m->comm);
    if (!req) return cg_stage_end(&s, MPI_ERR_NO_MEM);
    rc = next->coll_iallreduce(s.send.arg, s.recv.arg, count, dt, op, m->comm, &inner, next->coll_iallreduce_module);
    if (rc != OMPI_SUCCESS) {
        cg_request_drop(req);
        return cg_stage_end(&s, rc);
    }
    req->stage = s;
    *request = &req->super.super;
    cg_request_watch(req, inner);
    return OMPI_SUCCESS;
}

int cg_allreduce(const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *dt, struct ompi_op_t *op,
                 struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    cg_module_t *m = (cg_module_t *) module;
    struct cg_call call;
    int rc = MPI_SUCCESS, native = 0;

    (void) comm;
    if (count == 0) return OMPI_SUCCESS;
    follow_threads();
    if (allreduce_call(&call, sbuf, rbuf, count, dt, op, 1)) rc = cg_module_native(m, 1, &native);
    if (rc != MPI_SUCCESS) return rc;
    return native ? run(m, &call) : allreduce_down(m, sbuf, rbuf, count, dt, op);
}

int cg_iallreduce(const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *dt, struct ompi_op_t *op,
                  struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    cg_module_t *m = (cg_module_t *) module;
    struct cg_call call;
    int rc = MPI_SUCCESS, native = 0;

    (void) comm;
    if (count == 0) {
        *request = &ompi_request_empty;
        return OMPI_SUCCESS;
    }
    follow_threads();
    if (allreduce_call(&call, sbuf, rbuf, count, dt, op, 0) && !like_comm_creation(&call)) {
        rc = cg_module_native(m, 0, &native);
    }
    if (rc != MPI_SUCCESS) return rc;
    return native ? start(m, &call, request) : iallreduce_down(m, sbuf, rbuf, count, dt, op, request);
}
