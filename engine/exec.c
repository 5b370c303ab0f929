/* SPDX-License-Identifier: BSD-3-Clause
 * What differs between executors. The executor follows from the receive buffer; a send buffer of another kind is first
 * copied into the receive buffer, and the operation is then in place. */
#include "engine/internal.h"

#include <stdlib.h>

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

/* No engine for the device: work on a host copy. */
static int choose_bounce(struct cg_req *req, int device)
{
    const void *from = req->call.src;

    req->executor = CG_EXEC_HOST;
    req->bounce = malloc(req->bytes);
    if (NULL == req->bounce) return CG_ERR_NOMEM;
    req->src = req->dst = req->bounce;
    req->dmem.device = device;
    req->state = CG_REQ_STAGED;
    req->bounced = 1;
    req->group->proc->counters.bounced++;
    return cg_gpu_memcpy(device, req->bounce, from, req->bytes);
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

int cg_exec_choose(struct cg_req *req)
{
    struct cg_proc *proc = req->group->proc;
    int other = 0;

    cg_gpu_classify(req->call.dst, &req->dmem);
    req->smem = req->dmem;
    if (req->call.src != req->call.dst) cg_gpu_classify(req->call.src, &req->smem);
    req->src = req->call.src;
    req->dst = req->call.dst;
    if (on_gpu(&req->dmem)) {
        int device = device_of(proc, &req->dmem);
        req->executor = CG_EXEC_SM;
        req->gpu = cg_proc_gpu(proc, device);
        if (NULL == req->gpu) return choose_bounce(req, device);
        other = !on_gpu(&req->smem) || (CG_MEM_DEVICE == req->smem.kind && req->smem.device != device);
        if (other) return choose_copy(req, device);
    } else {
        req->executor = CG_EXEC_HOST;
        if (on_gpu(&req->smem)) return choose_copy(req, device_of(proc, &req->smem));
    }
    req->state = CG_REQ_STAGED;
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
        req->group->proc->counters.native_host++;
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
            rc = req->pos[c].done ? CG_DONE : cg_host_step(op, c, &req->pos[c], &req->fault);
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

int cg_exec_return(struct cg_req *req)
{
    int rc = CG_OK;

    if (req->bounce) {
        rc = cg_gpu_memcpy(req->dmem.device, req->call.dst, req->bounce, req->bytes);
        free(req->bounce);
        req->bounce = NULL;
    }
    return rc;
}
