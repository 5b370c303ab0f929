/* SPDX-License-Identifier: BSD-3-Clause
 * Requests of nonblocking and persistent calls: native ones complete from the engine, staged ones when the next
 * component's does. */
#include "ompi_coll_gpu/coll_gpu.h"

#include <string.h>

static int request_free(ompi_request_t **request)
{
    if (!REQUEST_COMPLETE(*request)) return MPI_ERR_REQUEST;
    cg_request_drop((cg_request_t *) *request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int request_cancel(ompi_request_t *request, int flag)
{
    (void) request;
    (void) flag;
    return MPI_ERR_REQUEST; /* MPI does not allow it for collectives */
}

static void request_construct(cg_request_t *req) { req->super.super.req_cancel = request_cancel; }

OBJ_CLASS_INSTANCE(cg_request_t, ompi_coll_base_nbc_request_t, request_construct, NULL);

cg_request_t *cg_request_get(ompi_communicator_t *comm, int persistent)
{
    cg_request_t *req = (cg_request_t *) opal_free_list_get(&cg_state.requests);
    ompi_request_t *r = (ompi_request_t *) req;

    if (!req) return NULL;
    OMPI_REQUEST_INIT(r, persistent);
    r->req_type = OMPI_REQUEST_COLL;
    r->req_mpi_object.comm = comm;
    r->req_free = request_free; /* Open MPI may have replaced it in the request's last life */
    r->req_status.MPI_ERROR = MPI_SUCCESS;
    r->req_status._cancelled = 0;
    if (!persistent) r->req_state = OMPI_REQUEST_ACTIVE;
    req->inner = NULL;
    req->module = NULL;
    req->met = CG_OK;
    req->group = NULL;
    req->op = NULL;
    req->held = 0;
    memset(&req->job, 0, sizeof(req->job));
    OBJ_RETAIN(comm);
    return req;
}

void cg_request_drop(cg_request_t *req)
{
    ompi_communicator_t *comm = req->super.super.req_mpi_object.comm;

    if (req->inner) ompi_request_free(&req->inner);
    if (req->group) cg_group_release(req->group);
    if (req->held) cg_job_release(&req->job);
    if (req->op) OBJ_RELEASE(req->op);
    cg_job_close(&req->job);
    OMPI_REQUEST_FINI(&req->super.super);
    opal_free_list_return(&cg_state.requests, (opal_free_list_item_t *) req);
    OBJ_RELEASE(comm);
}

void cg_request_activate(cg_request_t *req)
{
    ompi_request_t *r = &req->super.super;

    r->req_type = OMPI_REQUEST_COLL;
    r->req_status.MPI_ERROR = MPI_SUCCESS;
    r->req_status._cancelled = 0;
    r->req_state = OMPI_REQUEST_ACTIVE;
    r->req_complete = REQUEST_PENDING;
}

/* Nonblocking calls give their copies back here: types may be gone when the request is freed. */
void cg_request_complete(cg_request_t *req, int mpi_error)
{
    ompi_request_t *r = &req->super.super;

    mpi_error = cg_job_drain(&req->job, mpi_error);
    if (!r->req_persistent) cg_job_close(&req->job);
    r->req_status.MPI_ERROR = mpi_error;
    if (mpi_error != MPI_SUCCESS) r->req_type = CG_FAILED_REQUEST;
    ompi_request_complete(r, true);
}

void cg_request_watch(cg_request_t *req)
{
    OPAL_THREAD_LOCK(&cg_state.staged_lock);
    opal_list_append(&cg_state.staged, (opal_list_item_t *) req);
    OPAL_THREAD_UNLOCK(&cg_state.staged_lock);
}

/* What the next component still works on is left to it for good. */
static void give_up(cg_request_t *req, int status)
{
    req->inner = NULL;
    req->job.send.copy = req->job.recv.copy = NULL;
    req->job.recv.drains = 0;
    cg_request_complete(req, cg_mpi_error(status));
}

static void finish(cg_request_t *req)
{
    int status = (int) (int64_t) cg_load_acquire(&req->met), rc = req->inner->req_status.MPI_ERROR;

    if (status < 0 && !REQUEST_COMPLETE(req->inner)) {
        give_up(req, status);
        return;
    }
    if (status < 0) rc = cg_mpi_error(status);
    if (req->super.super.req_persistent) req->inner->req_state = OMPI_REQUEST_INACTIVE;
    else ompi_request_free(&req->inner);
    cg_request_complete(req, rc);
}

/* Takes the first one that has ended off the list, or NULL. */
static cg_request_t *take_complete(void)
{
    opal_list_item_t *item;

    OPAL_LIST_FOREACH(item, &cg_state.staged, opal_list_item_t) {
        cg_request_t *req = (cg_request_t *) item;
        int64_t met = (int64_t) cg_load_acquire(&req->met);
        if (met >= 0 && (met == CG_AGAIN || !REQUEST_COMPLETE(req->inner))) continue;
        opal_list_remove_item(&cg_state.staged, item);
        return req;
    }
    return NULL;
}

static int poll_staged(void)
{
    cg_request_t *req;
    int done = 0;

    for (;;) {
        if (opal_mutex_trylock(&cg_state.staged_lock)) return done; /* someone else, or an outer call, is at it */
        req = take_complete();
        opal_mutex_unlock(&cg_state.staged_lock);
        if (!req) return done;
        finish(req);
        done++;
    }
}

int cg_progress(void)
{
    int done = cg_state.proc ? cg_proc_progress(cg_state.proc) : 0;

    return opal_list_get_size(&cg_state.staged) ? done + poll_staged() : done;
}

void cg_requests_init(void)
{
    OBJ_CONSTRUCT(&cg_state.requests, opal_free_list_t);
    OBJ_CONSTRUCT(&cg_state.staged, opal_list_t);
    OBJ_CONSTRUCT(&cg_state.staged_lock, opal_mutex_t);
    opal_free_list_init(&cg_state.requests, sizeof(cg_request_t), opal_cache_line_size, OBJ_CLASS(cg_request_t), 0, 0,
                        0, -1, 8, NULL, 0, NULL, NULL, NULL);
}

void cg_requests_fini(void)
{
    OBJ_DESTRUCT(&cg_state.staged);
    OBJ_DESTRUCT(&cg_state.staged_lock);
    OBJ_DESTRUCT(&cg_state.requests);
}
