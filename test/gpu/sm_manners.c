/* SPDX-License-Identifier: BSD-3-Clause
 * What an application may do while operations wait for a peer that has not come: synchronize the device, allocate and
 * free, use the legacy stream, capture a graph in another thread. And: kernels do not stay. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "test/gpu/sm_world.h"

#define COUNT 50000
#define CUDA(call)                                                                            \
    do {                                                                                      \
        cudaError_t rc_ = (call);                                                             \
        SM_CHECK(rc_ == cudaSuccess, "%s", cudaGetErrorString(rc_));                          \
    } while (0)

struct manners {
    struct sm_world w;
    struct sm_call call;
    float *src[2], *dst[2]; /* GPU memory */
    struct sm_job job[2];
};

static void set_up(struct manners *m, const struct cg_params *params)
{
    float *ones = malloc(COUNT * sizeof(float));

    memset(m, 0, sizeof *m);
    sm_open(&m->w, params, 2, 1, 3, 0);
    m->call = (struct sm_call){CG_COLL_ALLREDUCE, CG_TYPE_F32, CG_REDOP_SUM, COUNT};
    for (int i = 0; i < COUNT; i++) ones[i] = (float) i;
    for (int r = 0; r < 2; r++) {
        CUDA(cudaMalloc((void **) &m->src[r], COUNT * sizeof(float)));
        CUDA(cudaMalloc((void **) &m->dst[r], COUNT * sizeof(float)));
        CUDA(cudaMemcpy(m->src[r], ones, COUNT * sizeof(float), cudaMemcpyHostToDevice));
    }
    free(ones);
}

static void tear_down(struct manners *m)
{
    for (int r = 0; r < 2; r++) {
        CUDA(cudaFree(m->src[r]));
        CUDA(cudaFree(m->dst[r]));
    }
    sm_close(&m->w);
}

static void start(struct manners *m, int r)
{
    sm_start(&m->w, &m->job[r], 0, r, &m->call, m->src[r], m->dst[r]);
}

static void check_result(const struct manners *m)
{
    float *x = malloc(COUNT * sizeof(float));

    for (int r = 0; r < 2; r++) {
        CUDA(cudaMemcpy(x, m->dst[r], COUNT * sizeof(float), cudaMemcpyDeviceToHost));
        for (int i = 0; i < COUNT; i++) SM_CHECK(x[i] == 2.0f * (float) i, "rank %d, element %d: %g", r, i, x[i]);
    }
    free(x);
}

/* ---- what the application does ---- */

static void synchronize(struct manners *m)
{
    (void) m;
    CUDA(cudaDeviceSynchronize());
}

static void allocate(struct manners *m)
{
    void *p;

    (void) m;
    CUDA(cudaMalloc(&p, 64 << 20));
    CUDA(cudaFree(p));
}

static void legacy_stream(struct manners *m)
{
    void *p;

    (void) m;
    CUDA(cudaMalloc(&p, 1 << 20));
    CUDA(cudaMemsetAsync(p, 1, 1 << 20, 0)); /* a kernel of the driver */
    CUDA(cudaStreamSynchronize(0));
    CUDA(cudaFree(p));
}

struct capture {
    atomic_int begun, end;
    cudaGraph_t graph;
    void *p;
};

static void *capture_thread(void *arg)
{
    struct capture *c = arg;
    cudaStream_t s;

    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemsetAsync(c->p, 1, 1 << 20, s));
    c->begun = 1;
    while (!c->end) continue;
    CUDA(cudaMemsetAsync(c->p, 2, 1 << 20, s));
    CUDA(cudaStreamEndCapture(s, &c->graph));
    CUDA(cudaStreamDestroy(s));
    return NULL;
}

static void capture(struct manners *m)
{
    struct capture c = {0};
    struct sm_job *jobs[] = {&m->job[0]};
    struct cg_gpu_copy *copy;
    pthread_t thread;
    char *host;
    uint64_t end;
    int rc;

    CUDA(cudaMalloc(&c.p, 1 << 20));
    pthread_create(&thread, NULL, capture_thread, &c);
    while (!c.begun) continue;
    for (end = sm_now_ns() + 20000000; sm_now_ns() < end;) sm_advance(&m->w, jobs, 1); /* launches */
    host = cg_gpu_host_alloc(m->w.gpu[0], 4096);
    SM_CHECK(host, "host_alloc");
    SM_CHECK(cg_gpu_copy_start(m->w.gpu[0], host, c.p, 4096, &copy) == CG_OK, "copy");
    while ((rc = cg_gpu_copy_test(m->w.gpu[0], copy)) == CG_AGAIN) continue;
    SM_CHECK(rc == CG_OK, "copy");
    SM_CHECK(cg_gpu_memcpy(0, host, c.p, 4096) == CG_OK, "memcpy");
    cg_gpu_host_free(m->w.gpu[0], host);
    c.end = 1;
    pthread_join(thread, NULL);
    CUDA(cudaGraphDestroy(c.graph));
    CUDA(cudaFree(c.p));
}

/* Rank 0 waits, the application goes on, rank 1 comes. */
static void beside(struct manners *m, const char *name, void (*doing)(struct manners *m), int advance)
{
    struct sm_job *jobs[] = {&m->job[0], &m->job[1]};
    uint64_t at, ns;

    start(m, 0);
    for (uint64_t end = sm_now_ns() + (uint64_t) advance * 1000; sm_now_ns() < end;) sm_advance(&m->w, jobs, 1);
    at = sm_now_ns();
    doing(m);
    ns = sm_now_ns() - at;
    SM_CHECK(m->job[0].status == CG_AGAIN, "cannot be finished");
    start(m, 1);
    sm_wait(&m->w, jobs, 2);
    SM_CHECK(m->job[0].status == CG_OK && m->job[1].status == CG_OK, "failed");
    check_result(m);
    printf("  %-28s %9.1f us\n", name, (double) ns / 1e3);
}

/* ---- residency ---- */

struct syncs {
    atomic_int stop;
    uint64_t count, longest_ns;
};

static void *sync_thread(void *arg)
{
    struct syncs *s = arg;

    CUDA(cudaSetDevice(0));
    while (!s->stop) {
        uint64_t at = sm_now_ns(), ns;

        CUDA(cudaDeviceSynchronize());
        ns = sm_now_ns() - at;
        if (ns > s->longest_ns) s->longest_ns = ns;
        s->count++;
    }
    return NULL;
}

static void residency(const struct cg_params *params, uint64_t count)
{
    struct manners m;
    struct sm_job *jobs[] = {&m.job[0], &m.job[1]};
    struct syncs syncs = {0};
    struct cg_gpu_counters c;
    pthread_t thread;
    uint64_t calls = 0, end, slowest = 0;

    set_up(&m, params);
    m.call.count = count;
    pthread_create(&thread, NULL, sync_thread, &syncs);
    for (end = sm_now_ns() + 2000000000u; sm_now_ns() < end; calls++) {
        uint64_t at = sm_now_ns();

        start(&m, 0);
        start(&m, 1);
        sm_wait(&m.w, jobs, 2);
        if (sm_now_ns() - at > slowest) slowest = sm_now_ns() - at;
    }
    syncs.stop = 1;
    pthread_join(thread, NULL);
    cg_gpu_get_counters(m.w.gpu[0], &c);
    printf("  %6llu elements: %llu calls, %llu launches, longest launch %.1f us, slowest call %.1f us; "
           "cudaDeviceSynchronize %llu times, slowest %.1f us\n",
           (unsigned long long) count, (unsigned long long) calls, (unsigned long long) c.launches,
           (double) c.longest_ns / 1e3, (double) slowest / 1e3,
           (unsigned long long) syncs.count, (double) syncs.longest_ns / 1e3);
    SM_CHECK(calls > 100 && syncs.count > 10, "starved");
    SM_CHECK(c.longest_ns < (uint64_t) (params->age_us + params->spin_us) * 1000 + slowest, "longest launch %llu ns",
             (unsigned long long) c.longest_ns);
    tear_down(&m);
}

int main(void)
{
    struct cg_params params;
    struct manners m;

    sm_require_gpu();
    cg_params_default(&params);
    set_up(&m, &params);
    for (int advance = 0; advance <= 3000; advance += 1500) {
        printf("after %d us of waiting\n", advance);
        beside(&m, "cudaDeviceSynchronize", synchronize, advance);
        beside(&m, "cudaMalloc, cudaFree", allocate, advance);
        beside(&m, "legacy stream", legacy_stream, advance);
        beside(&m, "another thread's capture", capture, advance);
    }
    tear_down(&m);
    residency(&params, 1);
    residency(&params, COUNT);
    return 0;
}
