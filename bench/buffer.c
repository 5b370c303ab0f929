/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_name[CG_BUF_KINDS] = {"host", "pinned", "registered", "device", "managed", "pool", "vmm"};

const char *cg_buf_kind_name(int kind) { return kind_name[kind]; }

int cg_buf_kind_find(const char *name)
{
    for (int k = 0; k < CG_BUF_KINDS; k++) {
        if (strcmp(kind_name[k], name) == 0) return k;
    }
    return -1;
}

#ifndef HAVE_CUDA

int cg_buf_gpus(void) { return 0; }
int cg_buf_select_gpu(int local_rank) { return (void) local_rank, -1; }
size_t cg_buf_gpu_free(void) { return 0; }
int cg_buf_device_sync(void) { return 0; }

int cg_buf_alloc(struct cg_buf *b, int kind, size_t bytes)
{
    *b = (struct cg_buf){.p = kind == CG_BUF_HOST ? malloc(bytes) : NULL, .bytes = bytes, .kind = kind};
    if (b->p != NULL) return 0;
    fprintf(stderr, "no %s memory of %zu bytes%s\n", kind_name[kind], bytes,
            kind == CG_BUF_HOST ? "" : ": built without CUDA");
    return -1;
}

void cg_buf_free(struct cg_buf *b)
{
    free(b->p);
    b->p = NULL;
}

static int gpu_copy(void *dst, const void *src, size_t bytes) { return (void) dst, (void) src, (void) bytes, -1; }
static int gpu_set(void *p, int byte, size_t bytes) { return (void) p, (void) byte, (void) bytes, -1; }

#else
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

static int report(const char *what, size_t bytes, const char *why)
{
    fprintf(stderr, "%s of %zu bytes: %s\n", what, bytes, why);
    return -1;
}

static int check(cudaError_t rc, const char *what, size_t bytes)
{
    return rc == cudaSuccess ? 0 : report(what, bytes, cudaGetErrorString(rc));
}

int cg_buf_gpus(void)
{
    int n = 0;

    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

int cg_buf_select_gpu(int local_rank)
{
    int n = cg_buf_gpus();

    return n > 0 ? check(cudaSetDevice(local_rank % n), "cudaSetDevice", 0) : -1;
}

size_t cg_buf_gpu_free(void)
{
    size_t unused, total;

    return cg_buf_gpus() > 0 && check(cudaMemGetInfo(&unused, &total), "cudaMemGetInfo", 0) == 0 ? unused : 0;
}

int cg_buf_device_sync(void) { return check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", 0); }

/* The driver's functions for VMM, looked up so that nothing links to libcuda. */
struct vmm {
    CUresult (*granularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
    CUresult (*release)(CUmemGenericAllocationHandle);
    CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*unreserve)(CUdeviceptr, size_t);
    CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*unmap)(CUdeviceptr, size_t);
    CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
};

static int vmm_load(struct vmm *v)
{
    static const char *const name[] = {"cuMemGetAllocationGranularity", "cuMemCreate", "cuMemRelease",
                                       "cuMemAddressReserve", "cuMemAddressFree", "cuMemMap", "cuMemUnmap",
                                       "cuMemSetAccess"};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *f;

    for (size_t i = 0; lib != NULL && i < sizeof(name) / sizeof(name[0]); i++) {
        if ((f = dlsym(lib, name[i])) == NULL) return -1;
        memcpy((char *) v + i * sizeof(f), &f, sizeof(f));
    }
    return lib != NULL ? 0 : -1;
}

static int vmm_map(struct vmm *v, struct cg_buf *b, const CUmemAllocationProp *prop)
{
    CUmemAccessDesc access = {.location = prop->location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;

    if (v->create(&handle, b->mapped, prop, 0) != CUDA_SUCCESS) return -1;
    if (v->reserve(&p, b->mapped, 0, 0, 0) != CUDA_SUCCESS) goto release_handle;
    if (v->map(p, b->mapped, 0, handle, 0) != CUDA_SUCCESS) goto free_range;
    if (v->access(p, b->mapped, &access, 1) != CUDA_SUCCESS) goto unmap_range;
    b->p = (char *) (uintptr_t) p;
    b->handle = handle;
    return 0;

unmap_range:
    v->unmap(p, b->mapped);
free_range:
    v->unreserve(p, b->mapped);
release_handle:
    v->release(handle);
    return -1;
}

static int vmm_alloc(struct cg_buf *b)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    struct vmm v;
    size_t unit;
    int device;

    if (cudaGetDevice(&device) != cudaSuccess || cudaFree(NULL) != cudaSuccess || vmm_load(&v) != 0) return -1;
    prop.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    if (v.granularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS) return -1;
    b->mapped = (b->bytes + unit - 1) / unit * unit;
    return vmm_map(&v, b, &prop);
}

static void vmm_free(struct cg_buf *b)
{
    struct vmm v;

    if (vmm_load(&v) != 0) return;
    v.unmap((CUdeviceptr) (uintptr_t) b->p, b->mapped);
    v.unreserve((CUdeviceptr) (uintptr_t) b->p, b->mapped);
    v.release(b->handle);
}

static int register_host(struct cg_buf *b)
{
    if ((b->p = malloc(b->bytes)) == NULL) return -1;
    if (cudaHostRegister(b->p, b->bytes, cudaHostRegisterDefault) == cudaSuccess) return 0;
    free(b->p);
    b->p = NULL;
    return -1;
}

int cg_buf_alloc(struct cg_buf *b, int kind, size_t bytes)
{
    void *p = NULL;
    int rc;

    *b = (struct cg_buf){.bytes = bytes, .kind = kind};
    switch (kind) {
    case CG_BUF_REGISTERED: rc = register_host(b), p = b->p; break;
    case CG_BUF_VMM: rc = vmm_alloc(b), p = b->p; break;
    case CG_BUF_PINNED: rc = check(cudaHostAlloc(&p, bytes, cudaHostAllocDefault), "cudaHostAlloc", bytes); break;
    case CG_BUF_DEVICE: rc = check(cudaMalloc(&p, bytes), "cudaMalloc", bytes); break;
    case CG_BUF_MANAGED:
        rc = check(cudaMallocManaged(&p, bytes, cudaMemAttachGlobal), "cudaMallocManaged", bytes);
        break;
    case CG_BUF_POOL:
        rc = check(cudaMallocAsync(&p, bytes, 0), "cudaMallocAsync", bytes);
        if (rc == 0) rc = check(cudaStreamSynchronize(0), "cudaMallocAsync", bytes);
        break;
    default: rc = (p = malloc(bytes)) != NULL ? 0 : -1;
    }
    b->p = p;
    return rc == 0 ? 0 : report(kind_name[kind], bytes, "no memory");
}

void cg_buf_free(struct cg_buf *b)
{
    if (b->p == NULL) return;
    switch (b->kind) {
    case CG_BUF_REGISTERED: cudaHostUnregister(b->p), free(b->p); break;
    case CG_BUF_VMM: vmm_free(b); break;
    case CG_BUF_PINNED: cudaFreeHost(b->p); break;
    case CG_BUF_DEVICE:
    case CG_BUF_MANAGED: cudaFree(b->p); break;
    case CG_BUF_POOL: cudaFreeAsync(b->p, 0), cudaStreamSynchronize(0); break;
    default: free(b->p);
    }
    b->p = NULL;
}

static int gpu_copy(void *dst, const void *src, size_t bytes)
{
    if (check(cudaMemcpy(dst, src, bytes, cudaMemcpyDefault), "cudaMemcpy", bytes) != 0) return -1;
    return check(cudaStreamSynchronize(0), "cudaMemcpy", bytes); /* a pageable copy may return before it is done */
}

static int gpu_set(void *p, int byte, size_t bytes)
{
    if (check(cudaMemset(p, byte, bytes), "cudaMemset", bytes) != 0) return -1;
    return check(cudaStreamSynchronize(0), "cudaMemset", bytes);
}
#endif

int cg_buf_write(const struct cg_buf *b, size_t at, const void *host, size_t bytes)
{
    return b->kind >= CG_BUF_DEVICE ? gpu_copy(b->p + at, host, bytes) : (memcpy(b->p + at, host, bytes), 0);
}

int cg_buf_read(const struct cg_buf *b, size_t at, void *host, size_t bytes)
{
    return b->kind >= CG_BUF_DEVICE ? gpu_copy(host, b->p + at, bytes) : (memcpy(host, b->p + at, bytes), 0);
}

int cg_buf_set(const struct cg_buf *b, size_t at, int byte, size_t bytes)
{
    return b->kind >= CG_BUF_DEVICE ? gpu_set(b->p + at, byte, bytes) : (memset(b->p + at, byte, bytes), 0);
}
