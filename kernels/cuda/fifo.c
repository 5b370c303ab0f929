/* SPDX-License-Identifier: BSD-3-Clause
 * GPU memory that networks read and write. */
#include <stdlib.h>

#include "core/log.h"
#include "kernels/cuda/host.h"

static int attribute(const struct cg_gpu *gpu, enum cudaDeviceAttr name)
{
    int value = 0;

    return cg_cuda_ok(cudaDeviceGetAttribute(&value, name, gpu->device)) ? value : 0;
}

/* A GPU that orders what devices write (or cannot be written to by any) needs nothing; else the driver may be able to
 * flush, else the transport must. */
static int find_flush_kind(const struct cg_gpu *gpu)
{
    if (!attribute(gpu, cudaDevAttrGPUDirectRDMASupported)) return CG_FLUSH_NONE;
    if (attribute(gpu, cudaDevAttrGPUDirectRDMAWritesOrdering) >= cudaGPUDirectRDMAWritesOrderingOwner) {
        return CG_FLUSH_NONE;
    }
    return attribute(gpu, cudaDevAttrGPUDirectRDMAFlushWritesOptions) & cudaFlushGPUDirectRDMAWritesOptionHost
               ? CG_FLUSH_HOST
               : CG_FLUSH_NET;
}

int cg_gpu_flush_kind(struct cg_gpu *gpu)
{
    struct cg_gpu_scope scope;

    if (gpu->flush_kind) return gpu->flush_kind;
    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) return CG_FLUSH_NONE;
    gpu->flush_kind = find_flush_kind(gpu);
    cg_gpu_leave(&scope);
    return gpu->flush_kind;
}

int cg_gpu_flush(struct cg_gpu *gpu)
{
    struct cg_gpu_scope scope;
    int ok;

    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) return CG_ERR_GPU;
    ok = cg_cuda_ok(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                                       cudaFlushGPUDirectRDMAWritesToOwner));
    cg_gpu_leave(&scope);
    return ok ? CG_OK : CG_ERR_GPU;
}

void *cg_gpu_mem_alloc(struct cg_gpu *gpu, size_t bytes)
{
    struct cg_memory *m = calloc(1, sizeof *m);
    struct cg_gpu_scope scope;

    if (!m || cg_gpu_enter(gpu->device, &scope) != CG_OK) {
        free(m);
        return NULL;
    }
    if (!cg_cuda_ok(cudaMalloc(&m->addr, bytes))) m->addr = NULL;
    cg_gpu_leave(&scope);
    if (!m->addr) {
        free(m);
        return NULL;
    }
    m->next = gpu->memory;
    gpu->memory = m;
    return m->addr;
}

void cg_gpu_mem_free(struct cg_gpu *gpu, void *addr)
{
    struct cg_memory **at = &gpu->memory, *m;
    struct cg_gpu_scope scope;

    while (*at && (*at)->addr != addr) at = &(*at)->next;
    if (!(m = *at)) return;
    *at = m->next;
    free(m);
    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) return;
    (void) cg_cuda_ok(cudaFree(addr));
    cg_gpu_leave(&scope);
}

int cg_gpu_dmabuf(struct cg_gpu *gpu, void *addr, size_t bytes)
{
#if CUDART_VERSION >= 11070
    CUresult (*get)(void *, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long);
    struct cg_gpu_scope scope;
    int fd = -1;

    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) return -1;
    *(void **) &get = cg_driver_find("cuMemGetHandleForAddressRange", 11070);
    if (!get || get(&fd, (CUdeviceptr) addr, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) != CUDA_SUCCESS) fd = -1;
    cg_gpu_leave(&scope);
    return fd;
#else
    (void) gpu, (void) addr, (void) bytes;
    return -1;
#endif
}

int cg_gpu_device(const struct cg_gpu *gpu) { return gpu->device; }
