/* SPDX-License-Identifier: BSD-3-Clause
 * What differs between executors. The executor follows from the receive buffer; a send buffer of another kind is first
 * copied into the receive buffer, and the operation is then in place. */
#include "engine/internal.h"

#include <stdlib.h>
#include <string.h>

#define HOST_BUDGET 64 /* steps of one operation in one call of progress */

static int on_gpu(const struct cg_mem *m) { return CG_MEM_DEVICE == m->kind || CG_MEM_MANAGED == m->kind; }

/* Managed memory is anyone's: prefer a device that is in use already. */
static int device_of(const struct cg_proc *proc, const struct cg_mem *m)
{
    if (CG_MEM_MANAGED == m->kind) {
        for (int d = 0; d < CG_MAX_GPUS; d++) {
            if (proc->gpu[d]) return d;
        }
    }
    return m->device < 0 ? 0 : m->device;
}

static char *bounce_in(const void *user, uint64_t bytes, int device, int *rc)
{
    char *copy = malloc(bytes ? bytes : 1);

    *rc = copy ? cg_gpu_memcpy(device, copy, user, bytes) : CG_ERR_NOMEM;
    return copy;
}

/* Is p a part of [base, base + bytes)? In-place calls hand over one buffer twice, or a block of it. */
static int inside(const void *p, const void *base, uint64_t bytes)
{
    return p && base && (const char *) p >= (const char *) base && (const char *) p < (const char *) base + bytes;
}

/* Work on host copies of whatever is in device memory. Where one buffer lies in the other there is one copy, of the
 * larger one. dst is copied in as well: what is not received survives. */
static int choose_bounce(struct cg_req *req)
{
    struct cg_proc *proc = req->group->proc;
    const char *src = req->call.src, *dst = req->call.dst;
    uint64_t sbytes, dbytes;
    int rc = CG_OK;

    req->executor = CG_EXEC_HOST;
    req->bounced = 1;
    req->state = CG_REQ_STAGED;
    proc->counters.bounced++;
    cg_call_spans(req->group, &req->call, &sbytes, &dbytes);
    int in_src = sbytes >= dbytes && inside(dst, src, sbytes), in_dst = !in_src && inside(src, dst, dbytes);
    if (sbytes && !in_dst && on_gpu(&req->smem)) {
        req->bounce_src = bounce_in(src, sbytes, device_of(proc, &req->smem), &rc);
        req->src = req->bounce_src;
        if (in_src) req->dst = req->bounce_src + (dst - src);
    }
    if (CG_OK == rc && dbytes && !in_src && on_gpu(&req->dmem)) {
        req->bounce_dst = bounce_in(dst, dbytes, device_of(proc, &req->dmem), &rc);
        req->dst = req->bounce_dst;
        if (in_dst) req->src = req->bounce_dst + (src - dst);
    }
    return rc;
}

/* Bring src into dst, of which at least one is GPU memory, then go on in place. */
static int choose_copy(struct cg_req *req, int device)
{
    struct cg_gpu *gpu = cg_proc_gpu(req->group->proc, device);
    int rc;

    req->src = req->dst;
    if (NULL == gpu) {
        req->state = CG_REQ_STAGED;
        return cg_gpu_memcpy(device, req->dst, req->call.src, req->bytes);
    }
    req->state = CG_REQ_COPYING;
    rc = cg_gpu_copy_start(gpu, req->dst, req->call.src, req->bytes, &req->copy);
    if (NULL == req->gpu) req->gpu = gpu;
    return rc;
}

static void classify(struct cg_req *req)
{
    const struct cg_call *call = &req->call;

    memset(&req->dmem, 0, sizeof(req->dmem));
    req->dmem.device = -1;
    if (call->dst) cg_gpu_classify(call->dst, &req->dmem);
    req->smem = req->dmem;
    if (call->src && call->src != call->dst) cg_gpu_classify(call->src, &req->smem);
    if (NULL == call->dst) req->dmem = req->smem; /* insignificant: follows the other */
    if (call->src_len || call->dst_len) {
        uint64_t sbytes, dbytes;
        cg_call_spans(req->group, call, &sbytes, &dbytes);
        if (0 == sbytes && dbytes) req->smem = req->dmem; /* nothing lies there, wherever that is */
        if (0 == dbytes && sbytes) req->dmem = req->smem;
    }
    req->src = call->src;
    req->dst = call->dst;
    req->group->on_host = !on_gpu(&req->smem) && !on_gpu(&req->dmem);
}

static int same_place(const struct cg_req *req, int device)
{
    return on_gpu(&req->smem) && (CG_MEM_DEVICE != req->smem.kind || req->smem.device == device);
}

/* May src be copied into dst first, and the operation then be in place? Not over gaps, which are the user's. */
static int copyable(const struct cg_req *req)
{
    return CG_COLL_ALLREDUCE == req->call.coll && CG_NO_GAPS == cg_type_data(req->call.type);
}

int cg_exec_on_host(struct cg_req *req)
{
    classify(req);
    req->executor = CG_EXEC_HOST;
    req->state = CG_REQ_STAGED;
    return req->group->on_host;
}

int cg_exec_choose(struct cg_req *req)
{
    struct cg_proc *proc = req->group->proc;

    req->executor = CG_EXEC_HOST;
    req->state = CG_REQ_STAGED;
    if (CG_COLL_DOWN == req->call.coll) {
        req->src = req->dst = req->nothing;
        return CG_OK;
    }
    classify(req);
    if (on_gpu(&req->dmem)) {
        int device = device_of(proc, &req->dmem);
        req->gpu = cg_proc_gpu(proc, device);
        if (NULL == req->gpu) return choose_bounce(req);
        if (!same_place(req, device) && !copyable(req)) return choose_bounce(req);
        req->executor = CG_EXEC_SM;
        if (!same_place(req, device)) return choose_copy(req, device);
    } else if (on_gpu(&req->smem)) {
        return copyable(req) ? choose_copy(req, device_of(proc, &req->smem)) : choose_bounce(req);
    }
    return CG_OK;
}

int cg_exec_may_follow(const struct cg_req *req, const struct cg_req *before)
{
    if (NULL == before) return 1;
    if (req->executor != before->executor) return 0;
    if (CG_EXEC_FAST == req->executor) return 0;
    if (CG_EXEC_HOST == req->executor) return 1; /* cg_exec_test keeps the channels in order */
    return req->gpu == before->gpu && req->nchan <= before->nchan; /* so that "after the one before" covers all */
}

int cg_exec_dispatch(struct cg_req *req, const struct cg_req *before)
{
    struct cg_op *op = (struct cg_op *) req->op;

    if (CG_EXEC_HOST == req->executor) {
        req->group->proc->counters.native_host += CG_COLL_DOWN != req->call.coll;
        return CG_OK;
    }
    op->prev_id = before ? ((const struct cg_op *) before->op)->id : 0;
    int rc = cg_gpu_post(req->gpu, op, before ? before->gpu_slot : -1, &req->gpu_slot);
    if (CG_OK == rc) req->group->proc->counters.native_gpu++;
    return rc;
}

static int test_host(struct cg_req *req, uint32_t taken)
{
    const struct cg_op *op = (const struct cg_op *) req->op;
    int budget = HOST_BUDGET, ran = 0, rc;

    for (uint32_t c = 0; c < op->nchan; c++) {
        if ((taken >> c) & 1) continue;
        do {
            rc = req->pos[c].done ? CG_DONE : cg_host_step(op, c, &req->pos[c], req->near, &req->fault);
            ran += CG_RUN_STEP == rc;
        } while (CG_RUN_STEP == rc && ran < budget);
        if (rc < 0) return rc;
    }
    if (ran) req->moved_at = 0; /* stamped by the next slow look */
    return cg_exec_channels(req) ? CG_AGAIN : CG_OK;
}

int cg_exec_test(struct cg_req *req, uint32_t taken)
{
    if (CG_EXEC_FAST == req->executor) return cg_fast_finish(req);
    if (CG_EXEC_HOST == req->executor) return test_host(req, taken);
    int rc = cg_gpu_test(req->gpu, req->gpu_slot, &req->fault);
    if (CG_OK == rc) cg_exec_drop(req);
    return rc;
}

uint32_t cg_exec_channels(const struct cg_req *req)
{
    const struct cg_op *op = (const struct cg_op *) req->op;
    uint32_t mask = 0;

    for (uint32_t c = 0; c < op->nchan && c < CG_MAX_CHAN; c++) mask |= (uint32_t) !req->pos[c].done << c;
    return mask;
}

void cg_exec_drop(struct cg_req *req)
{
    if (req->gpu_slot >= 0) cg_gpu_release(req->gpu, req->gpu_slot);
    if (req->fast_id >= 0) cg_fast_cancel(req->group->fast.exec, req->fast_id);
    req->gpu_slot = req->fast_id = -1;
}

void cg_exec_forget(struct cg_req *req)
{
    free(req->bounce_src);
    free(req->bounce_dst);
    req->bounce_src = req->bounce_dst = NULL;
    if (req == req->group->own) return; /* keeps its arrays for the next call */
    free(req->arrays);
    req->arrays = NULL;
}

int cg_exec_return(struct cg_req *req)
{
    uint64_t sbytes, dbytes;

    if (!req->bounced || !on_gpu(&req->dmem)) return CG_OK;
    cg_call_spans(req->group, &req->call, &sbytes, &dbytes);
    return dbytes ? cg_gpu_memcpy(device_of(req->group->proc, &req->dmem), req->call.dst, req->dst, dbytes) : CG_OK;
}
