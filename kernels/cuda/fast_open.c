/* SPDX-License-Identifier: BSD-3-Clause
 * Set-up and tear-down of the fast executor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "kernels/cuda/fast_copy.h"
#include "kernels/cuda/fast_lead.h"

struct attempt {
    char *why;
    size_t len;
    int device, rc;
};

static int failed(struct attempt *a, int rc, const char *what)
{
    cudaError_t error = (cudaError_t) rc;

    if (a->rc != CG_OK) return 1;
    if (cg_cuda_ok(error)) return 0;
    snprintf(a->why, a->len, "GPU %d: %s failed: %s", a->device, what, cudaGetErrorString(error));
    a->rc = error == cudaErrorMemoryAllocation ? CG_ERR_GPU_NOMEM : CG_ERR_GPU;
    return 1;
}

/* With CUDA_LAUNCH_BLOCKING the launch call lasts as long as the kernel: nothing lingers, nothing waits for peers. */
static void set_times(struct cg_fast *fast, const struct cg_params *params)
{
    const char *env = getenv("CUDA_LAUNCH_BLOCKING");
    int blocking = env && atoi(env);

    fast->spin_ns = blocking ? 0 : (uint64_t) params->spin_us * 1000;
    fast->launch.age_ns = (uint64_t) params->age_us * 1000;
    fast->lingers = !blocking && params->linger_us > 0;
    fast->max_blocks = params->max_blocks;
}

static void make_memory(struct cg_fast *fast, struct attempt *a)
{
    void *ctl = NULL, *state = NULL;

    const unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped;

    if (failed(a, cudaHostAlloc(&ctl, sizeof *fast->ctl, flags), "cudaHostAlloc")) return;
    fast->ctl = fast->launch.ctl = ctl;
    memset(fast->ctl, 0, sizeof *fast->ctl);
    if (failed(a, cudaMalloc(&state, sizeof *fast->state), "cudaMalloc")) return;
    fast->state = fast->launch.state = state;
    if (failed(a, cudaMemsetAsync(state, 0, sizeof *fast->state, fast->setup), "cudaMemsetAsync")) return;
    failed(a, cudaStreamSynchronize(fast->setup), "cudaMemsetAsync");
}

static int first(struct cg_fast *fast, struct attempt *a, int which, int threads, unsigned shared, void *arg)
{
    return failed(a, cg_gpu_launch(fast->function[which], 1, threads, shared, fast->stream, arg), "the first launch");
}

/* Those of LL and LL128, and TWO_SHOT. An EXIT with RETRY leaves what kernels tell each other as it was. */
static void load_exchange(struct cg_fast *fast, struct attempt *a, int narrow)
{
    const uint64_t misc = narrow ? CG_CMD_EXIT | CG_CMD_RETRY : CG_CMD_EXIT;
    const int last = narrow ? CG_FX_NARROW : CG_FX_MOVE, big = narrow ? CG_FX_BIG_NARROW : CG_FX_BIG;
    struct cg_fast_launch nothing = {.ctl = fast->ctl, .state = fast->state, .n = 1, .cmd = {.misc = misc}};
    struct cg_fast_big nothing_big = {.ctl = fast->ctl, .state = fast->state, .misc = CG_CMD_EXIT};

    if (failed(a, cg_fx_load(fast->function, &fast->bulk, narrow), "loading the kernels")) return;
    nothing_big.bulk = fast->bulk;
    for (int which = narrow ? CG_FX_NARROW : CG_FX_LL; which <= last; which++) {
        if (first(fast, a, which, 32, 0, &nothing)) return;
    }
    first(fast, a, big, CG_TS_THREADS, fast->bulk, &nothing_big);
}

/* Code is loaded by running it: a first launch later, beside a resident kernel, would stall the GPU. LEAD's kernel
 * tells that the last launch before it has ended, which is so on that stream. */
static void load(struct cg_fast *fast, struct attempt *a, int narrow)
{
    struct cg_copy_reduction nothing_copy = {.misc = CG_CMD(0, narrow ? CG_TYPE_F16 : CG_TYPE_F32, 0, 1, 0, 0)};
    struct cg_lead_args nothing_lead = {.state = fast->state, .ctl = fast->ctl, .number = fast->led};
    void **lead = &fast->lead_kernel[narrow];

    load_exchange(fast, a, narrow);
    if (failed(a, cg_fx_copy_load(narrow), "loading the kernels")) return;
    if (failed(a, cg_fx_lead_load(lead, narrow), "loading the kernels")) return;
    if (failed(a, cg_fx_copy_reduce(&nothing_copy, 1, fast->stream), "the first launch")) return;
    if (failed(a, cg_gpu_launch(*lead, 1, 32, 0, fast->lead, &nothing_lead), "the first launch")) return;
    failed(a, cudaStreamSynchronize(fast->stream), "the first launch");
    failed(a, cudaStreamSynchronize(fast->lead), "the first launch");
}

/* Few programs have these types; to load for all would make every first call longer. What is resident leaves in bounded
 * time. */
int cg_fx_load_narrow(struct cg_fast *fast)
{
    char why[256] = "";
    struct attempt a = {why, sizeof why, fast->device, CG_OK};
    struct cg_gpu_scope scope;

    if (fast->narrow) return CG_OK;
    a.rc = cg_gpu_enter(fast->device, &scope);
    if (a.rc != CG_OK) return a.rc;
    load(fast, &a, 1);
    cg_gpu_leave(&scope);
    if (a.rc != CG_OK) cg_log(0, "%s", why);
    fast->narrow = a.rc == CG_OK;
    return a.rc;
}

/* The SM's own clock is read at once, the timer of the GPU is not. */
static void set_linger(struct cg_fast *fast, struct attempt *a, const struct cg_params *params)
{
    int khz = 0;

    failed(a, cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, a->device), "cudaDeviceGetAttribute");
    fast->launch.linger_clocks = (uint64_t) params->linger_us * (uint64_t) khz / 1000;
}

static void make(struct cg_fast *fast, struct attempt *a, const struct cg_params *params)
{
    int low, high = 0;

    set_linger(fast, a, params);

    failed(a, cudaDeviceGetAttribute(&fast->sms, cudaDevAttrMultiProcessorCount, a->device), "cudaDeviceGetAttribute");
    failed(a, cudaDeviceGetStreamPriorityRange(&low, &high), "cudaDeviceGetStreamPriorityRange");
    failed(a, cudaStreamCreateWithPriority(&fast->stream, cudaStreamNonBlocking, high), "cudaStreamCreateWithPriority");
    failed(a, cudaStreamCreateWithPriority(&fast->lead, cudaStreamNonBlocking, high), "cudaStreamCreateWithPriority");
    failed(a, cudaStreamCreateWithFlags(&fast->setup, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    if (a->rc == CG_OK) make_memory(fast, a);
    if (a->rc == CG_OK) load(fast, a, 0);
}

static void unmake(struct cg_fast *fast)
{
    if (fast->stream) (void) cg_cuda_ok(cudaStreamSynchronize(fast->stream));
    if (fast->lead) (void) cg_cuda_ok(cudaStreamSynchronize(fast->lead));
    cg_fx_free_windows(fast);
    if (fast->state) (void) cg_cuda_ok(cudaFree(fast->state));
    if (fast->ctl) (void) cg_cuda_ok(cudaFreeHost(fast->ctl));
    if (fast->setup) (void) cg_cuda_ok(cudaStreamDestroy(fast->setup));
    if (fast->lead) (void) cg_cuda_ok(cudaStreamDestroy(fast->lead));
    if (fast->stream) (void) cg_cuda_ok(cudaStreamDestroy(fast->stream));
}

int cg_fast_open(int device, const struct cg_params *params, struct cg_fast **out, char *why, size_t len)
{
    struct attempt a = {why, len, device, CG_OK};
    struct cg_fast *fast = calloc(1, sizeof *fast);
    struct cg_gpu_scope scope;

    *out = NULL;
    snprintf(why, len, "out of host memory");
    if (!fast) return CG_ERR_NOMEM;
    fast->device = device;
    fast->current = -1;
    set_times(fast, params);
    snprintf(why, len, "GPU %d: no context can be made; see nvidia-smi", device);
    a.rc = cg_primary_use(device);
    if (a.rc != CG_OK) {
        free(fast);
        return a.rc;
    }
    a.rc = cg_gpu_enter(device, &scope);
    if (a.rc == CG_OK) {
        make(fast, &a, params);
        if (a.rc != CG_OK) unmake(fast);
        cg_gpu_leave(&scope);
    }
    if (a.rc != CG_OK) {
        cg_primary_drop(device);
        free(fast);
        return a.rc;
    }
    *out = fast;
    return CG_OK;
}

void cg_fast_close(struct cg_fast *fast)
{
    struct cg_gpu_scope scope;

    if (cg_gpu_enter(fast->device, &scope) == CG_OK) {
        unmake(fast);
        cg_gpu_leave(&scope);
    }
    cg_primary_drop(fast->device);
    free(fast);
}
