/* SPDX-License-Identifier: BSD-3-Clause
 * Kinds of memory, and CUDA's state of the caller: never made, never changed. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "test/gpu/sm_world.h"

#define CUDA(call) SM_CHECK((call) == cudaSuccess, "CUDA failed")

static void expect(const void *p, int kind, int device, const char *what)
{
    struct cg_mem m;

    cg_gpu_classify(p, &m);
    SM_CHECK(m.kind == kind && m.device == device, "%s: kind %d device %d", what, m.kind, m.device);
    SM_CHECK((m.id != 0) == (kind != CG_MEM_HOST), "%s: id %llu", what, (unsigned long long) m.id);
}

static void kinds(void)
{
    static int fixed;
    void *page = malloc(1 << 20), *pinned, *device, *managed, *pool;
    struct cg_mem a, b;

    CUDA(cudaHostAlloc(&pinned, 4096, 0));
    CUDA(cudaMalloc(&device, 1 << 20));
    CUDA(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
    CUDA(cudaMallocAsync(&pool, 4096, 0));
    expect(NULL, CG_MEM_HOST, -1, "NULL");
    expect(&fixed, CG_MEM_HOST, -1, "static");
    expect(page, CG_MEM_HOST, -1, "malloc");
    expect(pinned, CG_MEM_PINNED, -1, "cudaHostAlloc");
    expect((char *) device + 777, CG_MEM_DEVICE, 0, "cudaMalloc");
    expect(managed, CG_MEM_MANAGED, 0, "managed");
    expect(pool, CG_MEM_DEVICE, 0, "pool");
    CUDA(cudaHostRegister(page, 1 << 20, 0));
    expect((char *) page + 5000, CG_MEM_PINNED, -1, "registered");
    CUDA(cudaHostUnregister(page));
    expect(page, CG_MEM_HOST, -1, "unregistered");
    cg_gpu_classify(device, &a);
    CUDA(cudaFree(device));
    CUDA(cudaMalloc(&device, 1 << 20));
    cg_gpu_classify(device, &b);
    SM_CHECK(a.id != b.id, "same id for another allocation");
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(pinned));
    CUDA(cudaFree(managed));
    CUDA(cudaFreeAsync(pool, 0));
    free(page);
}

/* Before anything initialised CUDA: a host pointer is a host pointer, and asking does not initialise it. */
static void before_cuda(void)
{
    int x = 0;

    expect(&x, CG_MEM_HOST, -1, "stack, before CUDA");
}

/* The runtime would make a context: ask the driver. */
static void *driver_call(const char *name, unsigned version)
{
    enum cudaDriverEntryPointQueryResult found;
    void *fn = NULL;

#if CUDART_VERSION >= 12050
    CUDA(cudaGetDriverEntryPointByVersion(name, &fn, version, cudaEnableDefault, &found));
#else
    (void) version;
    CUDA(cudaGetDriverEntryPoint(name, &fn, cudaEnableDefault, &found));
#endif
    SM_CHECK(fn && found == cudaDriverEntryPointSuccess, "%s", name);
    return fn;
}

static void scope(void)
{
    CUresult (*current)(CUcontext *) = (CUresult(*)(CUcontext *)) driver_call("cuCtxGetCurrent", 4000);
    CUresult (*exchange)(CUstreamCaptureMode *) =
        (CUresult(*)(CUstreamCaptureMode *)) driver_call("cuThreadExchangeStreamCaptureMode", 10010);
    struct cg_gpu_scope s, inner;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CUcontext before = NULL, inside = NULL, after = NULL;

    SM_CHECK(current(&before) == CUDA_SUCCESS && !before, "there is a context already");
    SM_CHECK(cg_gpu_enter(999, &s) == CG_ERR_GPU && cg_gpu_enter(-1, &s) == CG_ERR_GPU, "no such GPU");
    SM_CHECK(exchange(&mode) == CUDA_SUCCESS, "exchange");
    SM_CHECK(cg_gpu_enter(0, &s) == CG_OK, "enter");
    SM_CHECK(current(&inside) == CUDA_SUCCESS && inside, "no context inside");
    SM_CHECK(cg_gpu_enter(0, &inner) == CG_OK, "enter again");
    cg_gpu_leave(&inner);
    SM_CHECK(current(&after) == CUDA_SUCCESS && after == inside, "inner leave");
    cg_gpu_leave(&s);
    SM_CHECK(current(&after) == CUDA_SUCCESS && !after, "a context stays behind");
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    SM_CHECK(exchange(&mode) == CUDA_SUCCESS, "exchange");
    SM_CHECK(mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, "capture mode %d", (int) mode);
}

static void engine(void)
{
    struct cg_params params;
    struct cg_gpu *gpu;
    char why[256] = "", id[32];

    cg_params_default(&params);
    SM_CHECK(cg_gpu_open(63, &params, &gpu, why, sizeof why) == CG_ERR_GPU && !gpu && strlen(why) > 10, "%s", why);
    for (int i = 0; i < 3; i++) {
        SM_CHECK(cg_gpu_open(0, &params, &gpu, why, sizeof why) == CG_OK, "%s", why);
        cg_gpu_bus_id(gpu, id);
        SM_CHECK(strlen(id) == 12, "bus id '%s'", id);
        cg_gpu_close(gpu);
    }
    printf("GPU at %s\n", id);
}

int main(void)
{
    before_cuda();
    sm_require_gpu();
    scope();
    engine();
    CUDA(cudaSetDevice(0));
    kinds();
    engine();
    SM_CHECK(cudaGetLastError() == cudaSuccess, "an error of ours is left to the application");
    return 0;
}
