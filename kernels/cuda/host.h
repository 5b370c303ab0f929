/* SPDX-License-Identifier: BSD-3-Clause
 * The host side of kernels/cuda among itself. */
#ifndef CG_KERNELS_CUDA_HOST_H
#define CG_KERNELS_CUDA_HOST_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "core/status.h"
#include "kernels/cuda/ctl.h"
#include "kernels/cuda/gpu.h"

#define CG_MAX_DEVICES 64

/* What we call of libcuda, which is never linked. */
#define CG_DRIVER_TABLE(X)                                                       \
    X(cuInit, 2000, (unsigned) )                                                 \
    X(cuCtxGetCurrent, 4000, (CUcontext *) )                                     \
    X(cuCtxSetCurrent, 4000, (CUcontext) )                                       \
    X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, CUdevice) )                  \
    X(cuDevicePrimaryCtxRelease, 11000, (CUdevice) )                             \
    X(cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode *) )        \
    X(cuMemGetAddressRange, 3020, (CUdeviceptr *, size_t *, CUdeviceptr) )       \
    X(cuPointerGetAttribute, 4000, (void *, CUpointer_attribute, CUdeviceptr) )  \
    X(cuLaunchKernel, 4000,                                                      \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **) )

struct cg_driver {
#define CG_DRIVER_MEMBER(name, version, args) CUresult(*name) args;
    CG_DRIVER_TABLE(CG_DRIVER_MEMBER)
#undef CG_DRIVER_MEMBER
};

/* CUDA's primary context of a device, kept while something of ours uses it. use: CG_OK or CG_ERR_GPU; drop ends one
 * use. */
int cg_primary_use(int device);
void cg_primary_drop(int device);

/* A function of the driver; NULL if it is older than that version. */
void *cg_driver_find(const char *name, unsigned version);

/* The allocation around p, memory of the current device that CUDA IPC can export. CG_OK or CG_ERR_UNSUPPORTED. */
int cg_gpu_range(const void *p, uint64_t *base, uint64_t *bytes);

/* Launch a function that was loaded into the current context, without the runtime's way to it. shared: bytes of dynamic
 * shared memory. Returns cudaError_t. */
int cg_gpu_launch(CUfunction function, int blocks, int threads, unsigned shared, void *stream, void *arg);

/* Result of a runtime call of ours: true if it succeeded. Otherwise the error is taken off the thread's list, so that
 * the application does not find it there. */
int cg_cuda_ok(cudaError_t rc);

struct cg_post_slot {
    uint64_t n;       /* doorbell number, 0 = free */
    uint64_t id;      /* of the operation */
    uint64_t chain;
    uint32_t nlinks, nchan, warps;
    int dropped;      /* released before it was done */
    const struct cg_line *line[CG_MAX_LINKS];
};

struct cg_gpu_copy {
    struct cg_gpu_copy *next;
    cudaEvent_t done;
};

struct cg_region {
    struct cg_region *next;
    void *addr;
    int owned; /* registered by us */
};

/* Allocated by cg_gpu_mem_alloc. */
struct cg_memory {
    struct cg_memory *next;
    void *addr;
};

/* The tables of a flat description in this GPU's memory, by its id. The last used is first. */
struct cg_table {
    struct cg_table *next;
    uint64_t id, bytes;
    char *mem;
};

/* Memory for packed data, in use or kept for the next of its size. */
struct cg_room {
    struct cg_room *next;
    void *at;
    size_t bytes;
    int used;
};

struct cg_gpu {
    int device, broken, flush_kind; /* enum cg_flush_kind; 0: not asked yet */
    char bus_id[32];
    cudaStream_t stream, copy_stream;
    struct cg_ctl *ctl;
    struct cg_state *state;
    uint64_t posted, cancels, chains;
    struct cg_launch launch; /* the last one */
    int threads;      /* of a block at most */
    uint32_t warps;   /* of the last launch */
    uint64_t launched_ns, checked_ns;
    int busy;
    struct cg_post_slot slot[CG_POSTS];
    struct cg_gpu_copy *copies; /* free ones */
    struct cg_table *tables;
    struct cg_room *rooms;
    size_t rooms_kept;      /* bytes of those not in use */
    cudaMemPool_t pool;     /* of rooms and tables; NULL: not made yet */
    int processors;         /* SMs */
    struct cg_region *regions;
    struct cg_memory *memory;
    struct cg_gpu_counters counters;
};

/* A record on the stream of the copies, behind what was issued there; NULL with an error. */
struct cg_gpu_copy *cg_copy_mark(struct cg_gpu *gpu);
/* pack.c: at close, the streams at rest. */
void cg_pack_free(struct cg_gpu *gpu);
/* detect.c: do this process's contexts belong to MPS? A guess, from the daemon's directory; for speed alone. */
int cg_gpu_mps(void);

#endif
