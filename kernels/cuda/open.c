/* SPDX-License-Identifier: BSD-3-Clause
 * Set-up and tear-down of an engine. All that waits for kernels, allocates or loads code happens here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/local.h"
#include "kernels/cuda/pack.h"

struct attempt {
    char *why;
    size_t len;
    int device;
};

/* CG_OK, or one line of reason and remedy. */
static int check(const struct attempt *a, cudaError_t rc, const char *what)
{
    if (cg_cuda_ok(rc)) return CG_OK;
    const char *remedy = rc == cudaErrorMemoryAllocation      ? "free GPU memory or use fewer processes on this GPU"
                         : rc == cudaErrorNoKernelImageForDevice ? "configure --with-cuda-arch for this GPU"
                         : rc == cudaErrorInsufficientDriver  ? "install a newer driver"
                                                              : "run nvidia-smi to see whether the GPU works";

    snprintf(a->why, a->len, "GPU %d: %s failed: %s; %s", a->device, what, cudaGetErrorString(rc), remedy);
    return rc == cudaErrorMemoryAllocation ? CG_ERR_GPU_NOMEM : CG_ERR_GPU;
}

#define TRY(call)                                             \
    if (rc == CG_OK) rc = check(a, call, #call)

/* Descriptors carry host addresses: the GPU must see registered memory at the same ones. */
static int check_addressing(const struct attempt *a)
{
    int same = 0, rc = CG_OK;

    TRY(cudaDeviceGetAttribute(&same, cudaDevAttrCanUseHostPointerForRegisteredMem, a->device));
    if (rc != CG_OK || same) return rc;
    snprintf(a->why, a->len, "GPU %d does not see host memory at the host's addresses; its buffers are staged",
             a->device);
    return CG_ERR_GPU;
}

static int open_streams(struct cg_gpu *gpu, const struct attempt *a)
{
    int low, high = 0, rc = CG_OK;

    TRY(cudaDeviceGetStreamPriorityRange(&low, &high));
    TRY(cudaStreamCreateWithPriority(&gpu->stream, cudaStreamNonBlocking, high));
    TRY(cudaStreamCreateWithPriority(&gpu->copy_stream, cudaStreamNonBlocking, high));
    return rc;
}

static int open_memory(struct cg_gpu *gpu, const struct attempt *a)
{
    const uint64_t start = ~0ull;
    int rc = CG_OK;

    TRY(cudaHostAlloc((void **) &gpu->ctl, sizeof *gpu->ctl, cudaHostAllocPortable | cudaHostAllocMapped));
    TRY(cudaMalloc((void **) &gpu->state, sizeof *gpu->state));
    TRY(cudaMemsetAsync(gpu->state, 0, sizeof *gpu->state, gpu->stream));
    TRY(cudaMemcpyAsync(&gpu->state->start_ns, &start, sizeof start, cudaMemcpyHostToDevice, gpu->stream));
    TRY(cudaStreamSynchronize(gpu->stream));
    if (rc != CG_OK) return rc;
    memset(gpu->ctl, 0, sizeof *gpu->ctl);
    gpu->ctl->state = CG_LAUNCH_GONE;
    gpu->launch.ctl = gpu->ctl;
    gpu->launch.state = gpu->state;
    return CG_OK;
}

/* Code is loaded now: a first launch later, beside a resident kernel, would stall the GPU. */
static int load_code(struct cg_gpu *gpu, const struct attempt *a)
{
    struct cg_launch nothing = {.ctl = gpu->ctl, .state = gpu->state};
    struct cg_pack_args no_piece = {.back = 0};
    struct cg_local_args no_bytes = {.bytes = 0};
    int rc = CG_OK, most = 0;

    TRY(cg_kernel_load(&most));
    if (rc == CG_OK && gpu->threads > most) gpu->threads = most;
    TRY(cg_kernel_launch(&nothing, gpu->threads, gpu->stream));
    TRY(cg_pack_load());
    TRY(cg_pack_launch(&no_piece, 1, 1, gpu->stream));
    TRY(cg_local_load());
    TRY(cg_local_launch(&no_bytes, 1, gpu->stream));
    TRY(cudaStreamSynchronize(gpu->stream));
    TRY(cudaDeviceGetAttribute(&gpu->processors, cudaDevAttrMultiProcessorCount, gpu->device));
    return rc;
}

/* With CUDA_LAUNCH_BLOCKING the launch call lasts as long as the kernel: nothing lingers, nothing spins. */
static void set_times(struct cg_gpu *gpu, const struct cg_params *params)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");

    gpu->threads = params->threads;
    gpu->launch.spin_ns = blocking && atoi(blocking) ? 0 : (uint64_t) params->spin_us * 1000;
    gpu->launch.age_ns = (uint64_t) params->age_us * 1000;
}

static void free_all(struct cg_gpu *gpu)
{
    struct cg_gpu_copy *copy;

    if (gpu->stream) (void) cg_cuda_ok(cudaStreamSynchronize(gpu->stream));
    if (gpu->copy_stream) (void) cg_cuda_ok(cudaStreamSynchronize(gpu->copy_stream));
    cg_pack_free(gpu);
    while (gpu->regions) cg_gpu_unregister(gpu, gpu->regions->addr);
    while (gpu->memory) cg_gpu_mem_free(gpu, gpu->memory->addr);
    while ((copy = gpu->copies)) {
        gpu->copies = copy->next;
        (void) cg_cuda_ok(cudaEventDestroy(copy->done));
        free(copy);
    }
    if (gpu->state) (void) cg_cuda_ok(cudaFree(gpu->state));
    if (gpu->ctl) (void) cg_cuda_ok(cudaFreeHost(gpu->ctl));
    if (gpu->copy_stream) (void) cg_cuda_ok(cudaStreamDestroy(gpu->copy_stream));
    if (gpu->stream) (void) cg_cuda_ok(cudaStreamDestroy(gpu->stream));
}

static int open_inside(struct cg_gpu *gpu, const struct attempt *a)
{
    int rc = check_addressing(a);

    if (rc == CG_OK) rc = open_streams(gpu, a);
    if (rc == CG_OK) rc = open_memory(gpu, a);
    if (rc == CG_OK) rc = load_code(gpu, a);
    TRY(cudaDeviceGetPCIBusId(gpu->bus_id, sizeof gpu->bus_id, a->device));
    if (rc != CG_OK) free_all(gpu);
    return rc;
}

int cg_gpu_open(int device, const struct cg_params *params, struct cg_gpu **out, char *why, size_t len)
{
    struct attempt a = {why, len, device};
    struct cg_gpu *gpu = calloc(1, sizeof *gpu);
    struct cg_gpu_scope scope;
    int rc = CG_ERR_NOMEM;

    *out = NULL;
    snprintf(why, len, "out of host memory");
    if (!gpu) return CG_ERR_NOMEM;
    gpu->device = device;
    set_times(gpu, params);
    rc = cg_primary_use(device);
    if (rc != CG_OK) {
        snprintf(why, len, "GPU %d: no context can be made: no driver, no such GPU, or no memory left; see nvidia-smi",
                 device);
        free(gpu);
        return rc;
    }
    rc = cg_gpu_enter(device, &scope);
    if (rc == CG_OK) {
        rc = open_inside(gpu, &a);
        cg_gpu_leave(&scope);
    } else {
        snprintf(why, len, "GPU %d: its context cannot be made current; was the device reset?", device);
    }
    if (rc != CG_OK) {
        cg_primary_drop(device);
        free(gpu);
        return rc;
    }
    *out = gpu;
    return CG_OK;
}

void cg_gpu_close(struct cg_gpu *gpu)
{
    struct cg_gpu_scope scope;

    if (!gpu) return;
    if (cg_gpu_enter(gpu->device, &scope) == CG_OK) {
        free_all(gpu);
        cg_gpu_leave(&scope);
    }
    cg_primary_drop(gpu->device);
    free(gpu);
}
