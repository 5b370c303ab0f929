/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/gpu/sm_world.h"

#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/status.h"

void sm_fail(const char *file, int line, const char *cond, const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: %s: ", file, line, cond);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

uint64_t sm_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

uint32_t sm_random(uint32_t n)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t) ((state >> 16) % n);
}

void sm_require_gpu(void)
{
    int n = 0;

    if (cg_gpu_present() && cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return;
    printf("skipped: no GPU\n");
    exit(77);
}

static int devices(void)
{
    int n = 0;

    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

/* Lines first, then the lanes of every directed pair of every communicator. */
static size_t lanes_bytes(const struct sm_world *w)
{
    return cg_lanes_bytes((uint32_t) w->params.slot_bytes, (uint32_t) w->params.slots);
}

static size_t pair_index(const struct sm_world *w, int comm, uint32_t to, uint32_t from)
{
    return ((size_t) comm * w->nranks + to) * w->nranks + from;
}

static struct cg_line *line_at(const struct sm_world *w, int comm, uint32_t owner, uint32_t peer)
{
    return (struct cg_line *) w->memory + pair_index(w, comm, owner, peer);
}

static char *slots_at(const struct sm_world *w, int comm, uint32_t to, uint32_t from)
{
    size_t pairs = (size_t) w->ncomms * w->nranks * w->nranks;

    return (char *) w->memory + pairs * sizeof(struct cg_line) + pair_index(w, comm, to, from) * lanes_bytes(w);
}

/* The tests' buffers lie on the first GPU; kernels on another one reach them as a peer's. */
static void reach_first(int device)
{
    cudaError_t rc = cudaSuccess;

    if (device == 0) return;
    SM_CHECK(cudaSetDevice(device) == cudaSuccess, "cudaSetDevice");
    rc = cudaDeviceEnablePeerAccess(0, 0);
    if (rc == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError(); /* or the next call would find it */
        rc = cudaSuccess;
    }
    SM_CHECK(rc == cudaSuccess, "no peer access between the GPUs");
    SM_CHECK(cudaSetDevice(0) == cudaSuccess, "cudaSetDevice");
}

void sm_open(struct sm_world *w, const struct cg_params *params, uint32_t nranks, uint32_t ncomms, uint32_t gpus,
             int spread)
{
    size_t pairs = (size_t) ncomms * nranks * nranks;
    char why[256] = "";

    memset(w, 0, sizeof *w);
    w->params = *params;
    w->nranks = nranks;
    w->ncomms = ncomms;
    w->bytes = pairs * (sizeof(struct cg_line) + lanes_bytes(w));
    w->memory = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SM_CHECK(w->memory != MAP_FAILED, "%zu bytes", w->bytes);
    if (gpus) sm_require_gpu();
    for (uint32_t r = 0; r < nranks; r++) {
        int rc;

        if (!((gpus >> r) & 1)) continue;
        rc = cg_gpu_open(spread ? (int) r % devices() : 0, params, &w->gpu[r], why, sizeof why);
        SM_CHECK(rc == CG_OK, "%s", why);
        if (spread) reach_first((int) r % devices());
        rc = cg_gpu_register(w->gpu[r], w->memory, w->bytes);
        SM_CHECK(rc == CG_OK, "register");
    }
}

void sm_close(struct sm_world *w)
{
    /* the first to register owns the registration */
    for (uint32_t r = w->nranks; r-- > 0;) cg_gpu_close(w->gpu[r]);
    munmap(w->memory, w->bytes);
}

static void fill_links(struct sm_world *w, struct sm_job *job, const struct cg_plan *plan)
{
    struct cg_op *op = (struct cg_op *) job->op;
    uint32_t me = (uint32_t) job->rank;

    for (uint32_t l = 0; l < plan->nlinks; l++) {
        struct cg_link *link = &cg_op_links(op)[l];
        uint32_t peer = plan->peer[l];
        struct sm_lane_end *end = &w->end[job->comm][me][peer];

        link->mine = line_at(w, job->comm, me, peer);
        link->peer = line_at(w, job->comm, peer, me);
        link->recv_slots = slots_at(w, job->comm, me, peer);
        link->send_slots = slots_at(w, job->comm, peer, me);
        link->send_headers = NULL;
        for (uint32_t c = 0; c < CG_MAX_CHAN; c++) {
            uint64_t sends = 0, recvs = 0;

            link->send_base[c] = end->send_next[c];
            link->recv_base[c] = end->recv_next[c];
            if (c < plan->nchan) cg_plan_count(plan, c, l, &sends, &recvs);
            end->send_next[c] += sends;
            end->recv_next[c] += recvs;
        }
    }
}

void sm_start_request(struct sm_world *w, struct sm_job *job, int comm, const struct cg_plan_request *req,
                      const struct sm_call *call, uint64_t bytes, const void *src, void *dst)
{
    int rank = (int) req->rank;
    struct cg_op *op = (struct cg_op *) job->op;
    struct cg_plan plan;
    struct sm_job *before = w->last[comm][rank];
    int rc = cg_plan_build(req, &plan);

    SM_CHECK(rc == CG_OK, "%s", cg_status_text(rc));
    memset(job, 0, sizeof *job);
    job->before = before;
    job->comm = comm;
    job->rank = rank;
    job->status = CG_AGAIN;
    op->id = ++w->ids;
    op->prev_id = before ? ((struct cg_op *) before->op)->id : 0;
    op->src = src;
    op->dst = dst;
    op->opno = ++w->opno[comm][rank];
    op->stream = 77 + (uint32_t) comm;
    op->coll = (uint8_t) call->coll;
    op->type = (uint8_t) call->type;
    op->redop = (uint8_t) call->redop;
    op->usize = (uint16_t) req->esize;
    op->total_bytes = bytes;
    op->slot_bytes = (uint32_t) w->params.slot_bytes;
    op->slots = (uint32_t) w->params.slots;
    cg_plan_to_op(&plan, op);
    fill_links(w, job, &plan);
    w->last[comm][rank] = job;
    if (!w->gpu[rank]) return;
    rc = cg_gpu_post(w->gpu[rank], op, before ? before->slot : -1, &job->slot);
    SM_CHECK(rc == CG_OK, "post: %s", cg_status_text(rc));
}

void sm_start(struct sm_world *w, struct sm_job *job, int comm, int rank, const struct sm_call *call, const void *src,
              void *dst)
{
    struct cg_plan_request req = {.coll = call->coll, .nranks = w->nranks, .rank = (uint32_t) rank,
                                  .count = call->count, .esize = cg_type_size(call->type),
                                  .wide = cg_type_wide(call->type), .params = &w->params};

    sm_start_request(w, job, comm, &req, call, call->count * (uint64_t) req.esize, src, dst);
}

static void finished(struct sm_world *w, struct sm_job *job)
{
    if (w->gpu[job->rank]) cg_gpu_release(w->gpu[job->rank], job->slot);
    if (w->last[job->comm][job->rank] == job) w->last[job->comm][job->rank] = NULL;
}

static void advance_job(struct sm_world *w, struct sm_job *job)
{
    int ran = 0, rc;

    if (w->gpu[job->rank]) {
        rc = cg_gpu_test(w->gpu[job->rank], job->slot, &job->fault);
    } else {
        if (job->before && job->before->status == CG_AGAIN) return;
        rc = cg_host_sweep((struct cg_op *) job->op, job->pos, ~0u, 1000, &ran, &job->fault);
        if (rc == CG_DONE) rc = CG_OK;
    }
    job->status = rc;
    if (rc != CG_AGAIN) finished(w, job);
}

int sm_advance(struct sm_world *w, struct sm_job *const *jobs, int n)
{
    int unfinished = 0;

    for (uint32_t r = 0; r < w->nranks; r++) {
        if (!w->gpu[r]) continue;
        int rc = cg_gpu_progress(w->gpu[r]);
        SM_CHECK(rc >= 0, "progress: %s", cg_status_text(rc));
    }
    for (int i = 0; i < n; i++) {
        if (jobs[i]->status == CG_AGAIN) advance_job(w, jobs[i]);
        unfinished += jobs[i]->status == CG_AGAIN;
    }
    return unfinished;
}

void sm_wait(struct sm_world *w, struct sm_job *const *jobs, int n)
{
    uint64_t end = sm_now_ns() + 20000000000u;
    int left;

    while ((left = sm_advance(w, jobs, n)) > 0) SM_CHECK(sm_now_ns() < end, "%d of %d operations do not end", left, n);
}

void sm_drop(struct sm_world *w, struct sm_job *job)
{
    if (job->status == CG_AGAIN) finished(w, job);
    job->status = CG_ERR_PEER;
}
