/* SPDX-License-Identifier: BSD-3-Clause
 * Persistent requests. A native one has a group of its own: ranks may start several in different orders. A staged one
 * keeps its host copies, on which an inner persistent request of the next component works. Both hold their types and op
 * until they are freed, which Open MPI leaves to the component. */
#include "ompi_coll_gpu/coll_gpu.h"

static void complete(void *ctx, int status) { cg_request_complete(ctx, cg_mpi_error(status)); }

static int begin(cg_request_t *req)
{
    int rc = cg_job_fill(&req->job);

    if (rc != MPI_SUCCESS) return rc;
    if (req->group) return cg_mpi_error(cg_group_post(req->group, &req->job.call, complete, req));
    /* there is nothing to start where the next component had nothing to do */
    if (req->inner->req_type != OMPI_REQUEST_NOOP) rc = req->inner->req_start(1, &req->inner);
    if (rc == OMPI_SUCCESS) cg_request_watch(req);
    return rc;
}

/* An error is the operation's, for whoever waits for it. */
static int start(size_t count, ompi_request_t **requests)
{
    cg_follow_threads();
    for (size_t i = 0; i < count; i++) {
        cg_request_t *req = (cg_request_t *) requests[i];
        int rc;

        cg_request_activate(req);
        rc = begin(req);
        if (rc != MPI_SUCCESS) cg_request_complete(req, rc);
    }
    return OMPI_SUCCESS;
}

static int native_init(cg_module_t *m, cg_request_t *req, const struct cg_role *role, const struct cg_args *a)
{
    int rc = cg_module_group(m, &req->boot, &req->group);

    return rc == MPI_SUCCESS && req->group ? cg_native_job(&req->job, role, a) : rc;
}

/* Calls that nobody needs to stage are the next component's own. */
static int down_init(cg_module_t *m, cg_request_t *req, const struct cg_role *role, const struct cg_args *a,
                     struct ompi_info_t *info, ompi_request_t **request)
{
    struct cg_args down;
    int rc;

    if (cg_pass()) {
        *request = NULL;
        return cg_next[a->row].init(m, a, info, request);
    }
    rc = cg_stage(&req->job, role, a, &down);
    if (rc != MPI_SUCCESS) return rc;
    if (req->job.send.copy || req->job.recv.copy) return cg_next[a->row].init(m, &down, info, &req->inner);
    *request = NULL;
    return cg_next[a->row].init(m, a, info, request);
}

static void hold(cg_request_t *req, struct ompi_op_t *op)
{
    cg_job_retain(&req->job);
    req->held = 1;
    if (!op || ompi_op_is_intrinsic(op)) return;
    OBJ_RETAIN(op);
    req->op = op;
}

int cg_call_init(cg_module_t *m, const struct cg_args *a, struct ompi_info_t *info, ompi_request_t **request)
{
    struct cg_call call = {0};
    struct cg_role role;
    cg_request_t *req;
    enum cg_way way;
    int rc;

    cg_role_of(&role, m->comm, a);
    rc = cg_role_check(m, &role, a, cg_row_name(a->row));
    if (rc != MPI_SUCCESS) return rc;
    if (cg_empty(m, &role, a)) return ompi_request_persistent_noop_create(request);
    rc = cg_choose(m, &role, a, &call, 0, &way);
    if (rc == MPI_SUCCESS && way != CG_WAY_APART && cg_group_serves(m->group, CG_COLL_DOWN))
        rc = cg_meet(m, &role, a, way == CG_WAY_NATIVE ? CG_NATIVE_INIT : CG_DOWN_INIT);
    if (rc != MPI_SUCCESS) return rc;
    req = cg_request_get(m->comm, 1);
    if (!req) return MPI_ERR_NO_MEM;
    *request = &req->super.super;
    req->super.super.req_start = start;
    req->job.call = call;
    if (way == CG_WAY_NATIVE) rc = native_init(m, req, &role, a);
    if (rc == MPI_SUCCESS && !req->group) rc = down_init(m, req, &role, a, info, request);
    if (rc == MPI_SUCCESS && *request == &req->super.super) hold(req, a->op);
    else cg_request_drop(req);
    if (rc != MPI_SUCCESS) *request = MPI_REQUEST_NULL;
    return rc;
}
