/* SPDX-License-Identifier: BSD-3-Clause
 * Blocking calls on host buffers while nothing else of the group is under way: no queue, no callback, and the
 * descriptor is kept, so that a call like the last one only gets its number and its buffers. States and their order are
 * those of op.c, which takes over what is not done after a few turns, and what fails. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

/* Turns before the caller goes on waiting in its own progress, which serves others too. */
#define TURNS_SHM 64
#define TURNS_NET 16

static void waited_for(struct cg_wait *wait, int status)
{
    wait->status = status;
    cg_store_release(&wait->done, 1);
}

static void called(void *ctx, int status) { waited_for(ctx, status); }

/* Does the call need no queue? */
static int alone(const struct cg_group *g, const struct cg_call *call)
{
    return CG_GROUP_READY == g->state && g->on_host && !g->head && !g->broken && !g->boot &&
           CG_COLL_DOWN != call->coll && !call->pack && !call->unpack &&
           (cg_call_reach(call->coll) <= g->reach || 1 == g->size) && cg_group_may_announce(g);
}

static int same(const uint64_t *a, const uint64_t *b, uint32_t n)
{
    return a == b || (a && b && 0 == memcmp(a, b, n * sizeof(*a)));
}

/* Does the descriptor serve this call, too? */
static int like(const struct cg_req *req, const struct cg_call *b)
{
    const struct cg_call *a = &req->call;
    uint32_t n = req->group->size;

    if (!req->kept || a->coll != b->coll || a->type != b->type || a->redop != b->redop || a->count != b->count ||
        a->root != b->root || !a->src != !b->src || !a->dst != !b->dst)
        return 0;
    if (!req->arrays) return !b->src_len && !b->src_disp && !b->dst_len && !b->dst_disp;
    return same(a->src_len, b->src_len, n) && same(a->src_disp, b->src_disp, n) && same(a->dst_len, b->dst_len, n) &&
           same(a->dst_disp, b->dst_disp, n);
}

/* The group's own request, as a new one. */
static int begin(struct cg_group *g, const struct cg_call *call)
{
    struct cg_req *req = g->own;

    if (req) free(req->arrays);
    else req = g->own = aligned_alloc(64, sizeof(*req));
    if (!req) return CG_ERR_NOMEM;
    memset(req, 0, offsetof(struct cg_req, pos));
    req->gpu_slot = req->fast_id = -1;
    req->group = g;
    req->bytes = cg_call_known(call->coll) ? call->count * (uint64_t) cg_type_size(call->type) : 0;
    return cg_call_copy(req, call);
}

static int ready(struct cg_group *g, const struct cg_call *call)
{
    int rc;

    if (g->own && like(g->own, call)) {
        g->own->call.src = call->src;
        g->own->call.dst = call->dst;
        return CG_OK;
    }
    rc = cg_call_check(g, call);
    return CG_OK == rc ? begin(g, call) : rc;
}

/* QUEUED to RUNNING: nothing is before it. */
static int dispatch(struct cg_req *req)
{
    int rc = CG_OK;

    cg_group_announce(req);
    req->state = CG_REQ_ANNOUNCED;
    if (req->kept) cg_op_renew(req);
    else rc = cg_op_build(req);
    if (CG_OK != rc) return rc;
    cg_exec_dispatch(req, NULL);
    if (!req->kept) cg_op_commit(req);
    req->kept = 0; /* until it has run to its end */
    req->state = CG_REQ_RUNNING;
    return CG_OK;
}

/* As long as it may be done soon. With several threads the others want the lock. */
static int turn(struct cg_req *req)
{
    const struct cg_group *g = req->group;
    int turns = g->proc->threads ? 1 : g->proxied ? TURNS_NET : TURNS_SHM, rc = CG_AGAIN;

    while (turns-- > 0) {
        if (CG_REQ_RUNNING == req->state && CG_OK == (rc = cg_exec_test(req, 0))) req->state = CG_REQ_DRAINING;
        if (CG_REQ_DRAINING == req->state && (!g->proxied || CG_AGAIN != (rc = cg_group_drained(req)))) return rc;
        if (rc < 0) return rc;
        if (g->proxied) cg_proc_links(g->proc);
    }
    return CG_AGAIN;
}

static void finish(struct cg_req *req)
{
    struct cg_group *g = req->group;

    if (g->traced != req) cg_group_trace_of(req);
    req->state = CG_REQ_ENDED;
    req->kept = 1;
    g->inflight--;
    g->head = g->tail = NULL;
    cg_group_passed(g);
    cg_group_rest(g, 1);
    waited_for(req->wait, CG_OK);
}

/* An error comes again there, and is reported. */
static void hand_over(struct cg_req *req, int rc)
{
    cg_proc_outstanding(req->group->proc, 1);
    if (rc < 0) cg_group_advance(req->group);
}

void cg_again_ended(struct cg_req *req)
{
    req->kept = CG_OK == req->status;
    cg_proc_outstanding(req->group->proc, -1);
    waited_for(req->wait, req->status);
}

static void run(struct cg_group *g, struct cg_wait *wait)
{
    struct cg_req *req = g->own;
    int rc;

    req->wait = wait;
    req->opno = 0;
    req->moved_at = 0;
    g->head = g->tail = req;
    g->proc->counters.posts++;
    cg_group_rest(g, 0);
    rc = dispatch(req);
    if (CG_OK == rc) rc = turn(req);
    if (CG_OK == rc) finish(req);
    else hand_over(req, rc);
}

int cg_group_call(struct cg_group *g, const struct cg_call *call, struct cg_wait *wait)
{
    int rc = CG_AGAIN;

    wait->done = 0;
    cg_proc_lock(g->proc);
    if (alone(g, call)) {
        rc = ready(g, call);
        if (CG_OK == rc && !cg_exec_on_host(g->own)) rc = CG_AGAIN;
        if (CG_OK == rc) run(g, wait);
    }
    cg_proc_unlock(g->proc);
    return CG_AGAIN == rc ? cg_group_post(g, call, called, wait) : rc;
}
