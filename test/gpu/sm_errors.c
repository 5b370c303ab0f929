/* SPDX-License-Identifier: BSD-3-Clause
 * Mismatched ranks, operations given up, all slots in use, many small operations, and what they cost.
 * Usage: sm_errors [small operations] */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "test/gpu/sm_world.h"

#define COUNT 4000000
#define MIDDLE 40000
#define SLOTS 32
#define CUDA(call) SM_CHECK((call) == cudaSuccess, "CUDA failed")

static int *src[2], *dst[2];

/* hosted: rank 1's buffers in host memory. */
static void allocate(int hosted)
{
    int *x = malloc(COUNT * sizeof(int));

    for (int i = 0; i < COUNT; i++) x[i] = i;
    for (int r = 0; r < 2; r++) {
        void **to[] = {(void **) &src[r], (void **) &dst[r]};

        for (int k = 0; k < 2; k++) {
            if (hosted && r == 1) CUDA(cudaHostAlloc(to[k], COUNT * sizeof(int), 0));
            else CUDA(cudaMalloc(to[k], COUNT * sizeof(int)));
        }
        CUDA(cudaMemcpy(src[r], x, COUNT * sizeof(int), cudaMemcpyDefault));
        CUDA(cudaMemset(dst[r], 0, COUNT * sizeof(int)));
    }
    free(x);
}

static void release(int hosted)
{
    for (int r = 0; r < 2; r++) {
        CUDA(hosted && r == 1 ? cudaFreeHost(src[r]) : cudaFree(src[r]));
        CUDA(hosted && r == 1 ? cudaFreeHost(dst[r]) : cudaFree(dst[r]));
    }
}

static void check_sum(uint64_t count)
{
    int *x = malloc(COUNT * sizeof(int));

    for (int r = 0; r < 2; r++) {
        CUDA(cudaMemcpy(x, dst[r], count * sizeof(int), cudaMemcpyDefault));
        for (int i = 0; i < (int) count; i++) SM_CHECK(x[i] == 2 * i, "rank %d, element %d: %d", r, i, x[i]);
        CUDA(cudaMemset(dst[r], 0, count * sizeof(int)));
    }
    CUDA(cudaDeviceSynchronize());
    free(x);
}

static struct sm_call sum_of(uint64_t count)
{
    return (struct sm_call){CG_COLL_ALLREDUCE, CG_TYPE_I32, CG_REDOP_SUM, count};
}

static void good_call(struct sm_world *w, int comm, uint64_t count)
{
    struct sm_call call = sum_of(count);
    struct sm_job job[2], *jobs[] = {&job[0], &job[1]};

    for (int r = 0; r < 2; r++) sm_start(w, &job[r], comm, r, &call, src[r], dst[r]);
    sm_wait(w, jobs, 2);
    SM_CHECK(job[0].status == CG_OK && job[1].status == CG_OK, "failed");
    check_sum(count);
}

/* The ranks' calls differ: both learn what the other called; other communicators go on. */
static void mismatch(const struct cg_params *params, const struct sm_call *a, const struct sm_call *b)
{
    const struct sm_call *call[] = {a, b};
    struct sm_job job[2], *jobs[] = {&job[0], &job[1]};
    struct sm_world w;

    sm_open(&w, params, 2, 2, 3, 0);
    good_call(&w, 0, MIDDLE);
    for (int r = 0; r < 2; r++) sm_start(&w, &job[r], 0, r, call[r], src[r], dst[r]);
    sm_wait(&w, jobs, 2);
    for (int r = 0; r < 2; r++) {
        const struct cg_fault *f = &job[r].fault;

        SM_CHECK(job[r].status == CG_ERR_MISMATCH, "rank %d: %s", r, cg_status_text(job[r].status));
        SM_CHECK(f->status == CG_ERR_MISMATCH, "rank %d: %s", r, cg_status_text(f->status));
        SM_CHECK(f->want_bytes == call[r]->count * 4 && f->got_bytes == call[!r]->count * 4, "rank %d", r);
        SM_CHECK(f->want_redop == call[r]->redop && f->got_redop == call[!r]->redop, "rank %d", r);
        SM_CHECK(f->want_opno == 2 && f->got_opno == 2 && f->link == 0, "rank %d", r);
    }
    good_call(&w, 1, MIDDLE);
    sm_close(&w);
}

/* Operations that nobody answers are given up, before, while and after kernels know them; their slots come back. */
static void give_up(struct sm_world *w)
{
    struct sm_call call = sum_of(MIDDLE);

    for (int round = 0; round < 200; round++) {
        struct sm_job job, *jobs[] = {&job};
        uint64_t end = sm_now_ns() + sm_random(3) * sm_random(400) * 1000;

        sm_start(w, &job, 1, 0, &call, src[0], dst[0]);
        while (sm_now_ns() < end) sm_advance(w, jobs, 1);
        SM_CHECK(job.status == CG_AGAIN, "cannot end");
        sm_drop(w, &job);
        memset(w->end[1], 0, sizeof w->end[1]); /* nobody will read what it sent */
        if (round % 20 == 0) good_call(w, 0, MIDDLE);
    }
    CUDA(cudaMemset(dst[0], 0, COUNT * sizeof(int)));
    SM_CHECK(cg_gpu_busy(w->gpu[0]) == 0, "busy");
}

/* One operation more than there are slots. */
static void all_slots(struct sm_world *w)
{
    struct sm_call call = sum_of(7);
    static struct sm_job job[2][SLOTS], more;
    struct sm_job *jobs[2 * SLOTS];
    int slot;

    for (int i = 0; i < SLOTS; i++) sm_start(w, jobs[i] = &job[0][i], 0, 0, &call, src[0], dst[0]);
    memcpy(more.op, job[0][0].op, sizeof more.op);
    SM_CHECK(cg_gpu_post(w->gpu[0], (struct cg_op *) more.op, -1, &slot) == CG_AGAIN, "a slot too many");
    for (int i = 0; i < SLOTS; i++) sm_start(w, jobs[SLOTS + i] = &job[1][i], 0, 1, &call, src[1], dst[1]);
    sm_wait(w, jobs, 2 * SLOTS);
    check_sum(7);
}

static void many(struct sm_world *w, const char *what, uint64_t count, int n)
{
    struct sm_call call = sum_of(count);
    struct sm_job job[2], *jobs[] = {&job[0], &job[1]};
    struct cg_gpu_counters c, d;
    uint64_t at;

    cg_gpu_get_counters(w->gpu[0], &c);
    at = sm_now_ns();
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < 2; r++) sm_start(w, &job[r], 0, r, &call, src[r], dst[r]);
        sm_wait(w, jobs, 2);
        SM_CHECK(job[0].status == CG_OK && job[1].status == CG_OK, "operation %d failed", i);
    }
    at = sm_now_ns() - at;
    cg_gpu_get_counters(w->gpu[0], &d);
    check_sum(count);
    printf("  %d operations of %llu bytes, %s: %.2f us each, %.2f GB/s, %.2f launches each\n", n,
           (unsigned long long) count * 4, what, (double) at / 1e3 / n, (double) count * 4 * n / (double) at,
           (double) (d.launches - c.launches) / n);
}

static void many_sizes(struct sm_world *w, const char *what, int n)
{
    many(w, what, 2, n);
    for (uint64_t count = 2048; count <= COUNT; count *= 8) many(w, what, count, 1 + (int) (20000000 / count / 50));
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100000;
    struct sm_call small = sum_of(100), big = sum_of(MIDDLE), other = sum_of(100), less = sum_of(MIDDLE - 1);
    struct cg_params params;
    struct sm_world w;

    sm_require_gpu();
    cg_params_default(&params);
    params.channel_bytes = 8192;
    allocate(0);
    other.redop = CG_REDOP_MAX;
    mismatch(&params, &small, &other);
    mismatch(&params, &big, &less);
    sm_open(&w, &params, 2, 2, 3, 0);
    give_up(&w);
    sm_close(&w);
    sm_open(&w, &params, 2, 1, 3, 0);
    all_slots(&w);
    sm_close(&w);
    params.channel_bytes = 65536;
    sm_open(&w, &params, 2, 1, 3, 0);
    many_sizes(&w, "both on the GPU", n);
    sm_close(&w);
    release(0);
    allocate(1);
    sm_open(&w, &params, 2, 1, 1, 0);
    many_sizes(&w, "one on the GPU, one on the host", n);
    sm_close(&w);
    release(1);
    return 0;
}
