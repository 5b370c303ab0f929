/* SPDX-License-Identifier: BSD-3-Clause
 * Groups: a communicator's part in the engine, from first use until nothing of it is outstanding. */
#include "engine/internal.h"
#include "plan/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAY_US 20

int cg_group_wanted(const struct cg_card *cards, uint32_t size, const struct cg_params *params, const char **why)
{
    uint32_t any = 0, every = ~0u;
    int one_host = 1;

    for (uint32_t r = 0; r < size; r++) {
        if (CG_CARD_VERSION != cards[r].version) {
            *why = "a rank runs another version of coll/gpu, or none";
            return 0;
        }
        any |= cards[r].flags;
        every &= cards[r].flags;
        one_host &= cards[r].host == cards[0].host;
    }
    (void) params; /* virtual nodes may differ between ranks before they are agreed: pretended hosts never decide */
    if (any & CG_CARD_NEVER) {
        *why = "switched off on a rank";
    } else if (!(any & (CG_CARD_GPU | CG_CARD_ALWAYS))) {
        *why = "no rank has a GPU";
    } else if (!one_host && !(every & CG_CARD_NET)) {
        *why = "ranks on several hosts and no network transport on one of them; install UCX";
    } else {
        *why = "served natively";
        return 1;
    }
    return 0;
}

int cg_group_open(struct cg_proc *proc, const struct cg_group_config *config, struct cg_group **out)
{
    struct cg_group *group = calloc(1, sizeof(*group));

    if (NULL == group) return CG_ERR_NOMEM;
    group->names = malloc(config->size * sizeof(*group->names));
    group->cards = malloc(config->size * sizeof(*group->cards));
    if (NULL == group->names || NULL == group->cards) { /* not among proc's yet */
        free(group->names);
        free(group->cards);
        free(group);
        return CG_ERR_NOMEM;
    }
    memcpy(group->names, config->names, config->size * sizeof(*group->names));
    memcpy(group->cards, config->cards, config->size * sizeof(*group->cards));
    snprintf(group->label, sizeof(group->label), "%s", config->label ? config->label : "?");
    group->proc = proc;
    group->rank = config->rank;
    group->size = config->size;
    group->boot_ops = config->boot;
    group->boot_ctx = config->boot_ctx;
    group->params = proc->params;
    group->table = proc->table;
    for (int coll = CG_COLL_NONE + 1; coll < CG_COLL_COUNT; coll++) {
        group->serves |= (uint64_t) cg_plan_exists(coll, config->size) << coll; /* looked at by every call */
    }
    group->at = CG_AT_HOST;
    for (uint32_t r = 0; r < config->size; r++) {
        if (config->cards[r].flags & CG_CARD_GPU) group->at = CG_AT_DEVICE;
    }
    group->on_host = CG_AT_HOST == group->at;
    group->status = CG_AGAIN;
    cg_proc_lock(proc);
    group->next = proc->groups;
    proc->groups = group;
    cg_proc_unlock(proc);
    *out = group;
    return CG_OK;
}

static void unlink_group(struct cg_group *group)
{
    struct cg_group **p = &group->proc->groups;

    while (*p != group) p = &(*p)->next;
    *p = group->next;
}

void cg_group_free(struct cg_group *group)
{
    unlink_group(group);
    cg_nodes_free(group->nodes);
    if (group->own) free(group->own->arrays);
    free(group->own);
    free(group->names);
    free(group->cards);
    free(group);
}

void cg_group_free_if_unused(struct cg_group *group)
{
    if (!group->released || group->head || group->boot || group->boot_busy) return;
    cg_fast_bury(group);
    /* Links of a broken group are out of step, perhaps still written to: no later tenant gets them. */
    for (int i = 0; i < group->nneighbors && !group->broken; i++) {
        if (group->link[i]) cg_link_release(group->proc->links, group->link[i], group->opno);
    }
    cg_group_free(group);
}

void cg_group_release(struct cg_group *group)
{
    struct cg_proc *proc = group->proc;

    cg_proc_lock(proc);
    group->released = 1;
    cg_group_free_if_unused(group);
    cg_proc_unlock(proc);
}

int cg_group_status(const struct cg_group *group)
{
    return CG_GROUP_READY == group->state || CG_GROUP_FAILED == group->state ? group->status : CG_AGAIN;
}

int cg_group_reach(struct cg_group *group, int reach)
{
    int rc;

    if (group->boot || reach <= group->reach) return CG_OK;
    rc = cg_boot_open(group, reach);
    if (CG_OK != rc) return rc;
    if (CG_GROUP_NEW == group->state) group->state = CG_GROUP_SETUP;
    cg_proc_outstanding(group->proc, 1);
    return CG_OK;
}

void cg_group_boot_ended(struct cg_group *group, int status)
{
    struct cg_proc *proc = group->proc;

    if (CG_GROUP_SETUP == group->state) {
        group->status = status;
        group->state = CG_OK == status ? CG_GROUP_READY : CG_GROUP_FAILED;
    } else if (CG_OK != status) {
        group->reach_failed = status;
    }
    if (CG_OK == status) cg_group_tell_passed(group); /* links that came late have missed operations */
    group->plan_kept = 0; /* chosen for the links that there were */
    if (group->own) group->own->kept = 0;
    group->proxied = 0;
    for (int i = 0; i < group->nneighbors; i++) group->proxied += group->link[i] && group->link[i]->proxy;
    group->resting = 0; /* as the new links are */
    cg_group_rest(group, NULL == group->head);
    proc->counters.setups++;
    proc->counters.setup_failures += CG_OK != status;
    cg_boot_close(group);
    cg_proc_outstanding(proc, -1);
}

static int start(struct cg_group *group, int reach)
{
    if (CG_GROUP_NEW != group->state) return CG_OK;
    if (group->size > 1) return cg_group_reach(group, reach);
    group->state = CG_GROUP_READY;
    group->status = CG_OK;
    return CG_OK;
}

int cg_group_start(struct cg_group *group)
{
    int rc;

    cg_proc_lock(group->proc);
    rc = start(group, 1);
    cg_proc_unlock(group->proc);
    return rc;
}

int cg_group_serves(const struct cg_group *group, int coll)
{
    if (CG_COLL_DOWN == coll) return group->size > 1 && group->size <= CG_MEET_RANKS;
    return coll > CG_COLL_NONE && coll < CG_COLL_COUNT && (group->serves >> coll & 1);
}

static struct cg_req *new_req(struct cg_proc *proc)
{
    struct cg_req *req = proc->free;

    if (req) {
        proc->free = req->next;
    } else {
        req = aligned_alloc(64, sizeof(*req));
        if (NULL == req) return NULL;
    }
    memset(req, 0, offsetof(struct cg_req, pos));
    req->gpu_slot = req->fast_id = -1;
    return req;
}

/* The transport is opened by the first set-up that needs it, and finds out then what is near the current GPU. */
static void note_device(const struct cg_group *group, const struct cg_call *call)
{
    struct cg_mem mem;

    if (group->proc->fifo_device >= 0 || CG_GROUP_NEW != group->state || group->size < 2) return;
    cg_gpu_classify(call->dst ? call->dst : call->src, &mem);
    if (CG_MEM_DEVICE == mem.kind) group->proc->fifo_device = mem.device;
}

/* A blocking call through the fast executor: nothing else has to happen until it ends, mostly within microseconds. Not
 * with several threads, which would wait for the lock. */
static void stay(struct cg_group *group, const struct cg_req *req)
{
    uint64_t since = 0;

    for (uint32_t turns = 1; CG_REQ_ENDED != req->state && req->fast; turns++) {
        cg_group_advance(group);
        if (turns % 64) continue;
        cg_fast_progress(group->fast.exec);
        if (0 == since) since = cg_now_us();
        if (cg_now_us() - since > STAY_US) return;
    }
}

int cg_group_post(struct cg_group *group, const struct cg_call *call, cg_complete_fn complete, void *ctx)
{
    struct cg_proc *proc = group->proc;
    struct cg_req *req = NULL, *ended = NULL;
    int rc = cg_call_check(group, call);

    if (CG_OK != rc) return rc;
    cg_proc_lock(proc);
    cg_fast_expect(group);
    note_device(group, call);
    rc = start(group, 1);
    if (CG_OK == rc && NULL == (req = new_req(proc))) rc = CG_ERR_NOMEM;
    if (CG_OK == rc) {
        req->group = group;
        rc = cg_call_copy(req, call);
        if (CG_OK != rc) {
            req->next = proc->free;
            proc->free = req;
        }
    }
    if (CG_OK == rc) {
        req->complete = complete;
        req->ctx = ctx;
        req->bytes = cg_call_known(call->coll) ? call->count * (uint64_t) cg_type_size(call->type) : 0;
        if (CG_AT_HOST != group->at) req->posted_at = cg_now_us();
        if (group->tail) {
            group->tail->next = req;
        } else {
            group->head = req;
        }
        group->tail = req;
        proc->counters.posts += CG_COLL_DOWN != call->coll;
        cg_proc_outstanding(proc, 1);
        if (CG_GROUP_READY == group->state) cg_group_advance(group); /* the launch leaves from here */
        if (call->blocking && !proc->threads) {
            stay(group, req);
            ended = cg_proc_take_ended(proc);
        }
    }
    cg_proc_unlock(proc);
    cg_proc_call_ended(proc, ended);
    return rc;
}

void cg_group_break(struct cg_group *group, int status, uint32_t opno)
{
    if (group->broken) return;
    group->broken = status;
    for (int i = 0; i < group->nneighbors; i++) {
        struct cg_link_end *link = group->link[i];
        uint64_t op;
        if (NULL == link) continue;
        op = link->op_base + (opno ? opno : group->opno + 1);
        if (link->proxy) {
            cg_proxy_link_failed(link->proxy, op);
        } else {
            cg_store_release(&link->peer->failed, op);
        }
    }
}

void cg_group_trace(const struct cg_group *group, struct cg_trace *trace) { *trace = group->trace; }
