/* SPDX-License-Identifier: BSD-3-Clause
 * Operations: from the queue of a group through its executor to the end. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_LOOK 1024 /* calls of progress between looks at clocks and at neighbours' failures */

void cg_group_announce(struct cg_req *req)
{
    struct cg_group *g = req->group;

    req->opno = ++g->opno;
    g->inflight++;
    for (int i = 0; i < g->nneighbors; i++) {
        const struct cg_link_end *end = g->link[i];
        uint64_t op = end->op_base + req->opno;
        if (end->fifo_gpu) {
            cg_proxy_link_announce(end->proxy, req->opno, req->bytes, req->call.coll, req->call.type, req->call.redop);
        }
        if (NULL == end->announce_out) continue;
        struct cg_announce *a = &end->announce_out[op % CG_ANNOUNCE];
        a->bytes = req->bytes;
        a->coll = (uint8_t) req->call.coll;
        a->type = (uint8_t) req->call.type;
        a->redop = (uint8_t) req->call.redop;
        a->executor = (uint8_t) (req->fast ? req->group->fast.kind : req->executor);
        cg_store_release(&a->op, op);
        cg_store_release(&end->peer->posted, op);
    }
}

/* Has the neighbour passed the operation whose announcement this one overwrites? The word is in a line of the cache
 * that the neighbour writes in every operation: it is read once in many. */
static int passed_by(struct cg_link_end *end, uint64_t op)
{
    if (end->heard + CG_ANNOUNCE < op) end->heard = cg_load_acquire(&end->mine->passed);
    return end->heard + CG_ANNOUNCE >= op;
}

int cg_group_may_announce(const struct cg_group *g)
{
    for (int i = 0; i < g->nneighbors; i++) {
        if (g->link[i]->announce_out && !passed_by(g->link[i], g->link[i]->op_base + g->opno + 1)) return 0;
    }
    return 1;
}

/* ---- ending ---- */

static void tell_passed(struct cg_link_end *end, uint32_t passed)
{
    if (CG_MEDIUM_SHM == end->medium) {
        cg_store_release(&end->peer->passed, end->op_base + passed);
    } else {
        cg_proxy_link_passed(end->proxy, end->op_base + passed);
    }
}

/* Seldom: the neighbour's line is elsewhere, and a quarter of the announcements may wait for it. */
void cg_group_tell_passed(struct cg_group *g)
{
    g->told = g->passed;
    for (int i = 0; i < g->nneighbors; i++) tell_passed(g->link[i], g->passed);
}

void cg_group_passed(struct cg_group *g)
{
    const struct cg_req *first = g->head;
    uint32_t passed;

    while (first && 0 == first->opno) first = first->next;
    passed = first ? first->opno - 1 : g->opno;
    g->passed = passed;
    if (passed - g->told >= CG_ANNOUNCE / 4) cg_group_tell_passed(g);
}

static void end(struct cg_req *req, int status)
{
    struct cg_proc *proc = req->group->proc;

    cg_exec_drop(req);
    cg_exec_forget(req);
    req->status = status;
    req->state = CG_REQ_ENDED;
    proc->counters.errors += status < 0;
    if (req->opno) req->group->inflight--;
}

static void fail(struct cg_req *req, int status)
{
    req->fault.status = status;
    cg_report_fault(req);
    if (req->group->size > 1)
        cg_group_break(req->group, status, req->opno); /* this rank's part is missing: lanes are out of step */
    end(req, status);
}

/* The group broke while req was on its way. A copy into the user's buffer is waited for. */
static void end_broken(struct cg_req *req)
{
    if (CG_REQ_COPYING == req->state && CG_AGAIN == cg_gpu_copy_test(req->gpu, req->copy)) return;
    if ((CG_REQ_PACKING == req->state || CG_REQ_UNPACKING == req->state) && CG_AGAIN == cg_pack_test(req)) return;
    end(req, req->group->broken);
}

void cg_group_trace_of(const struct cg_req *req)
{
    struct cg_group *g = req->group;
    int shm = 0, net = 0;

    for (int i = 0; i < g->nneighbors; i++) {
        if (!((req->links >> i) & 1)) continue;
        shm |= CG_MEDIUM_SHM == g->link[i]->medium;
        net |= CG_MEDIUM_NET == g->link[i]->medium;
    }
    g->traced = req == g->own ? req : NULL;
    g->trace.plan = req->plan;
    g->trace.executor = CG_EXEC_FAST == req->executor ? "fast"
                        : CG_EXEC_SM == req->executor ? "gpu"
                        : req->bounced                ? "bounced"
                                                      : "host";
    g->trace.medium = shm && net                      ? "shm+net"
                      : net                           ? "net"
                      : shm                           ? "shm"
                      : CG_EXEC_FAST == req->executor ? "p2p"
                                                      : "none";
    CG_LOG(7, "rank %u of %s: operation %u, %llu bytes, plan %s, executor %s, links %s", g->rank, g->label, req->opno,
           (unsigned long long) req->bytes, g->trace.plan, g->trace.executor, g->trace.medium);
    cg_report_choice(req);
}

/* ---- one function per state: CG_OK went forward, CG_AGAIN, or an error ---- */

struct look {
    struct cg_req *running; /* the last earlier one that still uses lanes */
    uint32_t taken;         /* channels that earlier ones use on the host executor */
    int waiting;            /* an earlier one is not dispatched yet */
};

static int on_queued(struct cg_req *req, struct look *look)
{
    (void) look;
    if (NULL == req->call.pack && NULL == req->call.unpack) return cg_exec_choose(req);
    req->state = CG_REQ_PACKING;
    return cg_pack_begin(req);
}

static int on_packing(struct cg_req *req, struct look *look)
{
    int rc = cg_pack_test(req);

    (void) look;
    return CG_OK == rc ? cg_exec_choose(req) : rc;
}

static int on_copying(struct cg_req *req, struct look *look)
{
    int rc = cg_gpu_copy_test(req->gpu, req->copy);

    (void) look;
    if (CG_OK == rc) req->state = CG_REQ_STAGED;
    return rc;
}

static int on_staged(struct cg_req *req, struct look *look)
{
    struct cg_group *g = req->group;

    if (look->waiting || g->inflight >= CG_MAX_INFLIGHT || !cg_group_may_announce(g)) return CG_AGAIN;
    if (cg_call_reach(req->call.coll) > g->reach && g->size > 1) { /* more links first, as on all ranks at this call */
        if (g->reach_failed) return g->reach_failed;
        int rc = cg_group_reach(g, cg_call_reach(req->call.coll));
        return CG_OK == rc ? CG_AGAIN : rc;
    }
    /* Until a fast operation has ended, it is not known here how often the window was used; all must know alike. */
    if (look->running && CG_EXEC_FAST == look->running->executor) return CG_AGAIN;
    cg_fast_prepare(req);
    cg_group_announce(req);
    req->state = CG_REQ_ANNOUNCED;
    return CG_OK;
}

static int on_announced(struct cg_req *req, struct look *look)
{
    int rc;

    if (req->fast) {
        if (look->running) return CG_AGAIN; /* a window takes one operation at a time */
        rc = cg_fast_dispatch(req);
        if (CG_OK == rc) req->state = CG_REQ_RUNNING;
        if (CG_ERR_UNSUPPORTED != rc) return rc;
        req->fast = 0;
    }
    rc = cg_op_build(req);
    if (CG_OK != rc) return rc;
    if (!cg_exec_may_follow(req, look->running)) return CG_AGAIN;
    rc = cg_exec_dispatch(req, look->running);
    if (CG_OK != rc) return rc;
    cg_op_commit(req);
    req->state = CG_REQ_RUNNING;
    return CG_OK;
}

static int on_running(struct cg_req *req, struct look *look)
{
    int rc = cg_exec_test(req, look->taken);

    if (CG_AGAIN == rc) {
        look->running = req;
        if (CG_EXEC_HOST == req->executor) look->taken |= cg_exec_channels(req);
    }
    if (CG_ERR_UNSUPPORTED == rc && req->fast) { /* a neighbour announced another executor */
        req->fast = 0;
        req->executor = CG_EXEC_SM;
        req->state = CG_REQ_ANNOUNCED;
        return CG_OK;
    }
    if (CG_OK == rc) req->state = CG_REQ_RETURNING;
    return rc;
}

static int on_returning(struct cg_req *req, struct look *look)
{
    int rc = cg_exec_return(req);

    (void) look;
    if (CG_OK != rc) return rc;
    req->state = req->call.unpack ? CG_REQ_UNPACKING : CG_REQ_DRAINING;
    return req->call.unpack ? cg_pack_finish(req) : CG_OK;
}

static int on_unpacking(struct cg_req *req, struct look *look)
{
    int rc = cg_pack_test(req);

    (void) look;
    if (CG_OK == rc) req->state = CG_REQ_DRAINING;
    return rc;
}

int cg_group_drained(const struct cg_req *req)
{
    const struct cg_group *g = req->group;

    for (int i = 0; i < g->nneighbors; i++) {
        if (!((req->links >> i) & 1) || NULL == g->link[i]->proxy) continue;
        if (cg_proxy_link_status(g->link[i]->proxy) < 0) return cg_proxy_link_status(g->link[i]->proxy);
        if (!cg_proxy_link_drained(g->link[i]->proxy)) return CG_AGAIN;
    }
    return CG_OK;
}

static int on_draining(struct cg_req *req, struct look *look)
{
    int rc = cg_group_drained(req);

    (void) look;
    if (CG_OK != rc) return rc;
    cg_group_trace_of(req);
    end(req, CG_OK);
    return CG_OK;
}

typedef int (*state_fn)(struct cg_req *req, struct look *look);
static const state_fn states[] = {
    [CG_REQ_QUEUED] = on_queued,       [CG_REQ_PACKING] = on_packing,     [CG_REQ_COPYING] = on_copying,
    [CG_REQ_STAGED] = on_staged,       [CG_REQ_ANNOUNCED] = on_announced, [CG_REQ_RUNNING] = on_running,
    [CG_REQ_RETURNING] = on_returning, [CG_REQ_UNPACKING] = on_unpacking, [CG_REQ_DRAINING] = on_draining,
};

static void advance(struct cg_req *req, struct look *look)
{
    int rc = CG_OK;

    while (CG_OK == rc && CG_REQ_ENDED != req->state) rc = states[req->state](req, look);
    if (rc < 0) fail(req, rc);
    look->waiting |= req->state < CG_REQ_RUNNING;
}

/* ---- the slow look: neighbours that failed, links that failed, operations that are stuck ---- */

static int neighbor_failed(const struct cg_group *g)
{
    for (int i = 0; i < g->nneighbors; i++) {
        const struct cg_link_end *end = g->link[i];
        uint64_t failed = cg_load_acquire(&end->mine->failed);
        if (failed > end->op_base) {
            cg_log(0, "rank %u of %s: rank %u failed in its operation %llu; this communicator is unusable", g->rank,
                   g->label, g->neighbor[i], (unsigned long long) (failed - end->op_base));
            return CG_ERR_PEER;
        }
        if (end->proxy && cg_proxy_link_status(end->proxy) < 0) return cg_proxy_link_status(end->proxy);
    }
    return CG_OK;
}

static void slow_look(struct cg_group *g)
{
    uint64_t now;
    int rc;

    if (++g->ticks % SLOW_LOOK || g->broken) return;
    rc = neighbor_failed(g);
    if (rc < 0) cg_group_break(g, rc, 0);
    now = cg_now_us();
    if (0 == g->head->moved_at) g->head->moved_at = now;
    if (g->params.stuck_seconds && now - g->head->moved_at > (uint64_t) g->params.stuck_seconds * 1000000) {
        cg_report_stuck(g->head);
        g->head->moved_at = now;
    }
}

void cg_group_rest(struct cg_group *g, int rest)
{
    if (rest == g->resting) return;
    g->resting = rest;
    if (!g->proxied) return;
    for (int i = 0; i < g->nneighbors; i++) {
        if (g->link[i] && g->link[i]->proxy) cg_proxy_link_rest(g->link[i]->proxy, rest);
    }
}

int cg_group_advance(struct cg_group *g)
{
    struct look look = {0};
    struct cg_req **p = &g->head, *last = NULL;
    int ended = 0;

    if (CG_GROUP_READY != g->state && CG_GROUP_FAILED != g->state) return 0;
    cg_group_rest(g, 0);
    slow_look(g);
    while (*p) {
        struct cg_req *req = *p;
        if (CG_GROUP_FAILED == g->state) {
            end(req, g->status);
        } else if (g->broken) {
            end_broken(req);
        } else {
            advance(req, &look);
        }
        if (CG_REQ_ENDED != req->state) {
            last = req;
            p = &req->next;
            continue;
        }
        *p = req->next;
        req->next = NULL;
        ended++;
        if (req == g->own) {
            cg_again_ended(req);
            continue;
        }
        *g->proc->ended_tail = req;
        g->proc->ended_tail = &req->next;
    }
    g->tail = last;
    if (ended) cg_group_passed(g);
    cg_group_rest(g, NULL == g->head);
    return ended;
}
