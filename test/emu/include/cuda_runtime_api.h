/* SPDX-License-Identifier: BSD-3-Clause
 * Of CUDA's runtime API, what the fast executor and its test use, in host memory (device.cc). All GPU memory comes
 * from one mapping that forked processes share, so that an IPC handle is an address. */
#ifndef CG_TEST_EMU_CUDA_RUNTIME_API_H
#define CG_TEST_EMU_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
struct dim3 {
    unsigned x, y, z;
    dim3(int n) : x((unsigned) n), y(1), z(1) {}
};
extern "C" {
#endif

typedef enum cudaError {
    cudaSuccess,
    cudaErrorMemoryAllocation = 2,
    cudaErrorNotReady = 600,
    cudaErrorPeerAccessAlreadyEnabled = 704
} cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUfunc_st *cudaFunction_t;
typedef struct CUmemPoolHandle_st *cudaMemPool_t;
typedef struct {
    char reserved[64];
} cudaIpcMemHandle_t;
struct cudaDeviceProp {
    struct {
        char bytes[16];
    } uuid;
};
struct cudaFuncAttributes {
    int ptxVersion;
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDefault };
enum cudaDeviceP2PAttr { cudaDevP2PAttrNativeAtomicSupported };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrClockRate };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum {
    cudaStreamNonBlocking = 1,
    cudaEventDisableTiming = 2,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaIpcMemLazyEnablePeerAccess = 1
};

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device);
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr what, int from, int to);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high);
cudaError_t cudaDeviceSynchronize(void); /* waits for nothing */
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMemGetInfo(size_t *bytes_free, size_t *bytes_total);
cudaError_t cudaFree(void *p);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p);
cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *p);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);

#ifdef __cplusplus
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s);
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *kernel);
cudaError_t emu_attributes(struct cudaFuncAttributes *attributes);
template <typename K> cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, K) { return emu_attributes(a); }
template <typename K> cudaError_t cudaFuncSetAttribute(K, enum cudaFuncAttribute, int) { return cudaSuccess; }
#endif
#endif
