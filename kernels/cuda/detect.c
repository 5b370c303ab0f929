/* SPDX-License-Identifier: BSD-3-Clause
 * Is there a GPU, what kind of memory is this, and how to enter CUDA without leaving traces. The tables here are of the
 * process because CUDA's driver and primary contexts are. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "kernels/cuda/host.h"

/* ---- presence ---- */

int cg_gpu_built(void) { return 1; }

/* CUDA takes the list up to the first entry that is not a device. */
static int hidden_by_environment(void)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");

    if (!list) return 0;
    while (isspace((unsigned char) *list)) list++;
    return !isdigit((unsigned char) *list) && strncmp(list, "GPU-", 4) && strncmp(list, "MIG-", 4);
}

int cg_gpu_present(void)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu"};

    if (hidden_by_environment()) return 0;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        if (access(nodes[i], F_OK) == 0) return 1;
    }
    return 0;
}

/* The directory in which MPS's daemon and its clients meet is there, and so is the daemon, unless its number is of
 * another container's. */
int cg_gpu_mps(void)
{
    const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[512], proc[64];
    long pid = 0;
    FILE *f;

    if (!dir || !*dir) dir = "/tmp/nvidia-mps";
    snprintf(path, sizeof path, "%s/control", dir);
    if (access(path, F_OK) != 0) return 0;
    snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", dir);
    f = fopen(path, "re");
    if (!f) return 1;
    if (fscanf(f, "%ld", &pid) != 1) pid = 0;
    fclose(f);
    snprintf(proc, sizeof proc, "/proc/%ld", pid);
    return pid <= 0 || access(proc, F_OK) == 0;
}

/* ---- classification ---- */

typedef CUresult (*get_attributes_fn)(unsigned, CUpointer_attribute *, void **, CUdeviceptr);

/* How many objects this process has loaded so far. */
static int read_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void) size;
    *(unsigned long long *) loads = info->dlpi_adds;
    return 1;
}

/* libcuda as somebody else loaded it, else NULL. It may come later: looked for again (50 us) whenever something was
 * loaded since. */
static get_attributes_fn find_get_attributes(void)
{
    static _Atomic(get_attributes_fn) found;
    static _Atomic(unsigned long long) missing_at;
    get_attributes_fn fn = found;
    unsigned long long loads = 0;
    void *cuda;

    if (fn) return fn;
    dl_iterate_phdr(read_loads, &loads);
    if (loads == missing_at) return NULL;
    cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); /* kept: fn points into it */
    if (cuda) fn = (get_attributes_fn) dlsym(cuda, "cuPointerGetAttributes");
    if (fn) found = fn;
    else missing_at = loads;
    return fn;
}

void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    CUpointer_attribute name[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 0, managed = 0;
    int device = -1;
    unsigned long long id = 0;
    void *value[] = {&type, &device, &id, &managed};
    get_attributes_fn get = p ? find_get_attributes() : NULL;

    mem->kind = CG_MEM_HOST;
    mem->device = -1;
    mem->id = 0;
    if (!get || get(4, name, value, (CUdeviceptr) p) != CUDA_SUCCESS) return;
    if (managed) mem->kind = CG_MEM_MANAGED;
    else if (type == CU_MEMORYTYPE_DEVICE) mem->kind = CG_MEM_DEVICE;
    else if (type == CU_MEMORYTYPE_HOST) mem->kind = CG_MEM_PINNED;
    if (mem->kind >= CG_MEM_DEVICE) mem->device = device;
    if (mem->kind != CG_MEM_HOST) mem->id = id;
}

/* ---- the driver ---- */

int cg_cuda_ok(cudaError_t rc)
{
    if (rc == cudaSuccess) return 1;
    (void) cudaGetLastError();
    return 0;
}

void *cg_driver_find(const char *name, unsigned version)
{
    enum cudaDriverEntryPointQueryResult found;
    void *fn = NULL;

#if CUDART_VERSION >= 12050
    if (!cg_cuda_ok(cudaGetDriverEntryPointByVersion(name, &fn, version, cudaEnableDefault, &found))) return NULL;
#else
    (void) version;
#if CUDART_VERSION >= 12000
    if (!cg_cuda_ok(cudaGetDriverEntryPoint(name, &fn, cudaEnableDefault, &found))) return NULL;
#else
    found = cudaDriverEntryPointSuccess;
    if (!cg_cuda_ok(cudaGetDriverEntryPoint(name, &fn, cudaEnableDefault))) return NULL;
#endif
#endif
    return found == cudaDriverEntryPointSuccess ? fn : NULL;
}

static struct {
    pthread_mutex_t lock;
    int ready;
    struct cg_driver driver;
    struct {
        _Atomic(CUcontext) primary; /* retained */
        int users;
        cudaStream_t staging;
    } device[CG_MAX_DEVICES];
} cuda = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. A failure is not remembered: a driver may be loaded later. */
static int load_driver(void)
{
    if (cuda.ready) return CG_OK;
#define CG_DRIVER_LOAD(name, version, args)                                     \
    cuda.driver.name = (CUresult(*) args) cg_driver_find(#name, version);          \
    if (!cuda.driver.name) return CG_ERR_GPU;
    CG_DRIVER_TABLE(CG_DRIVER_LOAD)
#undef CG_DRIVER_LOAD
    if (cuda.driver.cuInit(0) != CUDA_SUCCESS) return CG_ERR_GPU;
    cuda.ready = 1;
    return CG_OK;
}

/* Under the lock. */
static int retain_primary(int device)
{
    CUcontext context = NULL;

    if (cuda.device[device].primary) return CG_OK;
    if (load_driver() != CG_OK) return CG_ERR_GPU;
    if (cuda.driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) return CG_ERR_GPU;
    cuda.device[device].primary = context;
    return CG_OK;
}

int cg_primary_use(int device)
{
    int rc = CG_ERR_GPU;

    if (device < 0 || device >= CG_MAX_DEVICES) return CG_ERR_GPU;
    pthread_mutex_lock(&cuda.lock);
    rc = retain_primary(device);
    if (rc == CG_OK) cuda.device[device].users++;
    pthread_mutex_unlock(&cuda.lock);
    return rc;
}

int cg_gpu_launch(CUfunction function, int blocks, int threads, unsigned shared, void *stream, void *arg)
{
    void *args[] = {arg};

    if (cuda.driver.cuLaunchKernel(function, (unsigned) blocks, 1, 1, (unsigned) threads, 1, 1, shared, stream, args,
                                   NULL) == CUDA_SUCCESS)
        return cudaSuccess;
    return cudaErrorLaunchFailure;
}

int cg_gpu_range(const void *p, uint64_t *base, uint64_t *bytes)
{
    CUpointer_attribute ipc = CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
    CUdeviceptr at = 0;
    size_t size = 0;
    int able = 0;

    if (!cuda.ready) return CG_ERR_UNSUPPORTED;
    if (cuda.driver.cuPointerGetAttribute(&able, ipc, (CUdeviceptr) p) != CUDA_SUCCESS || !able) {
        return CG_ERR_UNSUPPORTED;
    }
    if (cuda.driver.cuMemGetAddressRange(&at, &size, (CUdeviceptr) p) != CUDA_SUCCESS) return CG_ERR_UNSUPPORTED;
    *base = (uint64_t) at;
    *bytes = size;
    return CG_OK;
}

/* ---- manners ---- */

int cg_gpu_enter(int device, struct cg_gpu_scope *scope)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext mine, callers = NULL;
    int rc = CG_OK;

    scope->active = 0;
    if (device < 0 || device >= CG_MAX_DEVICES) return CG_ERR_GPU;
    if (!cuda.device[device].primary) {
        pthread_mutex_lock(&cuda.lock);
        rc = retain_primary(device); /* without a user: until an engine of the device closes, or the process ends */
        pthread_mutex_unlock(&cuda.lock);
    }
    mine = cuda.device[device].primary;
    if (rc != CG_OK || !mine) return CG_ERR_GPU;
    if (cuda.driver.cuCtxGetCurrent(&callers) != CUDA_SUCCESS) return CG_ERR_GPU;
    if (callers != mine && cuda.driver.cuCtxSetCurrent(mine) != CUDA_SUCCESS) return CG_ERR_GPU;
    if (cuda.driver.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) {
        if (callers != mine) (void) cuda.driver.cuCtxSetCurrent(callers);
        return CG_ERR_GPU;
    }
    scope->context = callers;
    scope->capture = (int) mode;
    scope->active = 1 + (callers != mine);
    return CG_OK;
}

void cg_gpu_leave(struct cg_gpu_scope *scope)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode) scope->capture;

    if (!scope->active) return;
    (void) cuda.driver.cuThreadExchangeStreamCaptureMode(&mode);
    if (scope->active == 2) (void) cuda.driver.cuCtxSetCurrent(scope->context);
    scope->active = 0;
}

/* Under the lock; enter does not take it, as there is a context. */
static void destroy_staging(int device)
{
    struct cg_gpu_scope scope;

    if (!cuda.device[device].staging || cg_gpu_enter(device, &scope) != CG_OK) return;
    (void) cg_cuda_ok(cudaStreamDestroy(cuda.device[device].staging));
    cuda.device[device].staging = NULL;
    cg_gpu_leave(&scope);
}

void cg_primary_drop(int device)
{
    pthread_mutex_lock(&cuda.lock);
    if (--cuda.device[device].users == 0) {
        destroy_staging(device);
        cuda.device[device].primary = NULL;
        (void) cuda.driver.cuDevicePrimaryCtxRelease(device);
    }
    pthread_mutex_unlock(&cuda.lock);
}

/* A stream of its own, since cudaMemcpy would use the legacy one: waits for blocking streams, breaks their capture. */
static int staging_stream(int device, cudaStream_t *stream)
{
    int ok;

    pthread_mutex_lock(&cuda.lock);
    ok = cuda.device[device].staging ||
         cg_cuda_ok(cudaStreamCreateWithFlags(&cuda.device[device].staging, cudaStreamNonBlocking));
    *stream = cuda.device[device].staging;
    pthread_mutex_unlock(&cuda.lock);
    return ok ? CG_OK : CG_ERR_GPU;
}

int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes)
{
    struct cg_gpu_scope scope;
    cudaStream_t stream;
    int rc = cg_gpu_enter(device, &scope);

    if (rc != CG_OK) return rc;
    rc = staging_stream(device, &stream);
    if (rc == CG_OK && !cg_cuda_ok(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream))) rc = CG_ERR_GPU;
    if (rc == CG_OK && !cg_cuda_ok(cudaStreamSynchronize(stream))) rc = CG_ERR_GPU;
    cg_gpu_leave(&scope);
    return rc;
}
