/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that the engine handles besides its own: registered regions, staging buffers, asynchronous copies. */
#include <stdlib.h>

#include "core/log.h"
#include "kernels/cuda/host.h"

/* The GPU must see the region at the address that the descriptors carry. */
static int register_region(void *addr, size_t bytes, int *owned)
{
    void *seen = NULL;
    cudaError_t rc = cudaHostRegister(addr, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);

    *owned = rc == cudaSuccess;
    if (!cg_cuda_ok(rc) && rc != cudaErrorHostMemoryAlreadyRegistered) {
        cg_log(1, "cudaHostRegister of %zu bytes failed: %s", bytes, cudaGetErrorString(rc));
        return CG_ERR_GPU;
    }
    if (cg_cuda_ok(cudaHostGetDevicePointer(&seen, addr, 0)) && seen == addr) return CG_OK;
    if (*owned) (void) cg_cuda_ok(cudaHostUnregister(addr));
    return CG_ERR_GPU;
}

int cg_gpu_register(struct cg_gpu *gpu, void *addr, size_t bytes)
{
    struct cg_region *region = calloc(1, sizeof *region);
    struct cg_gpu_scope scope;
    int rc = region ? cg_gpu_enter(gpu->device, &scope) : CG_ERR_NOMEM;

    if (rc == CG_OK) {
        rc = register_region(addr, bytes, &region->owned);
        cg_gpu_leave(&scope);
    }
    if (rc != CG_OK) {
        free(region);
        return rc;
    }
    region->addr = addr;
    region->next = gpu->regions;
    gpu->regions = region;
    gpu->counters.registrations++;
    return CG_OK;
}

void cg_gpu_unregister(struct cg_gpu *gpu, void *addr)
{
    struct cg_region **at = &gpu->regions, *region;
    struct cg_gpu_scope scope;

    while (*at && (*at)->addr != addr) at = &(*at)->next;
    if (!*at) return;
    region = *at;
    *at = region->next;
    if (region->owned && cg_gpu_enter(gpu->device, &scope) == CG_OK) {
        (void) cg_cuda_ok(cudaHostUnregister(addr));
        cg_gpu_leave(&scope);
    }
    free(region);
}

void *cg_gpu_host_alloc(struct cg_gpu *gpu, size_t bytes)
{
    struct cg_gpu_scope scope;
    void *p = NULL;

    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) return NULL;
    if (!cg_cuda_ok(cudaHostAlloc(&p, bytes, cudaHostAllocPortable | cudaHostAllocMapped))) p = NULL;
    cg_gpu_leave(&scope);
    return p;
}

void cg_gpu_host_free(struct cg_gpu *gpu, void *p)
{
    struct cg_gpu_scope scope;

    if (!p || cg_gpu_enter(gpu->device, &scope) != CG_OK) return;
    (void) cg_cuda_ok(cudaFreeHost(p));
    cg_gpu_leave(&scope);
}

static struct cg_gpu_copy *get_copy(struct cg_gpu *gpu)
{
    struct cg_gpu_copy *copy = gpu->copies;

    if (copy) {
        gpu->copies = copy->next;
        return copy;
    }
    copy = calloc(1, sizeof *copy);
    if (copy && cg_cuda_ok(cudaEventCreateWithFlags(&copy->done, cudaEventDisableTiming))) return copy;
    free(copy);
    return NULL;
}

static void put_copy(struct cg_gpu *gpu, struct cg_gpu_copy *copy)
{
    copy->next = gpu->copies;
    gpu->copies = copy;
}

struct cg_gpu_copy *cg_copy_mark(struct cg_gpu *gpu)
{
    struct cg_gpu_copy *copy = get_copy(gpu);

    if (!copy || cg_cuda_ok(cudaEventRecord(copy->done, gpu->copy_stream))) return copy;
    put_copy(gpu, copy);
    return NULL;
}

int cg_gpu_copy_start(struct cg_gpu *gpu, void *dst, const void *src, size_t bytes, struct cg_gpu_copy **handle)
{
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(gpu->device, &scope);

    *handle = NULL;
    if (rc != CG_OK) return rc;
    if (cg_cuda_ok(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, gpu->copy_stream))) *handle = cg_copy_mark(gpu);
    cg_gpu_leave(&scope);
    return *handle ? CG_OK : CG_ERR_GPU;
}

int cg_gpu_copy_test(struct cg_gpu *gpu, struct cg_gpu_copy *copy)
{
    struct cg_gpu_scope scope;
    cudaError_t rc;

    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) return CG_ERR_GPU;
    rc = cudaEventQuery(copy->done);
    (void) cg_cuda_ok(rc);
    cg_gpu_leave(&scope);
    if (rc == cudaErrorNotReady) return CG_AGAIN;
    put_copy(gpu, copy);
    return rc == cudaSuccess ? CG_OK : CG_ERR_GPU;
}
