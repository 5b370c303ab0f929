/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/work.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 1024
#define STEPS 20000 /* about 80 us of a block alone on an SM of an H200 at 1.98 GHz */
#define COPY_BYTES (256ull << 20)

struct cg_work {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float4 *from, *to;
    int sms, resident; /* blocks of arithmetic that an SM holds at once */
};

static __global__ void __launch_bounds__(THREADS) arithmetic(float *out, int steps)
{
    float x = (float) threadIdx.x;

    for (int i = 0; i < steps; i++) x = fmaf(x, 0.999f, 0.5f);
    if (x < 0) *out = x; /* never: keeps the loop */
}

static __global__ void __launch_bounds__(THREADS) copy(float4 *to, const float4 *from, size_t n)
{
    for (size_t i = blockIdx.x * (size_t) THREADS + threadIdx.x; i < n; i += (size_t) gridDim.x * THREADS) {
        to[i] = from[i];
    }
}

static int ok(cudaError_t rc)
{
    if (rc != cudaSuccess) fprintf(stderr, "an application's kernel: %s\n", cudaGetErrorString(rc));
    return rc == cudaSuccess;
}

static int open_inside(struct cg_work *w)
{
    int device;

    return ok(cudaGetDevice(&device)) && ok(cudaDeviceGetAttribute(&w->sms, cudaDevAttrMultiProcessorCount, device)) &&
           ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&w->resident, arithmetic, THREADS, 0)) &&
           ok(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking)) && ok(cudaEventCreate(&w->begin)) &&
           ok(cudaEventCreate(&w->end)) && ok(cudaMalloc(&w->from, COPY_BYTES)) && ok(cudaMalloc(&w->to, COPY_BYTES)) &&
           ok(cudaMemset(w->from, 0, COPY_BYTES)) && ok(cudaDeviceSynchronize());
}

extern "C" struct cg_work *cg_work_open(void)
{
    struct cg_work *w = (struct cg_work *) calloc(1, sizeof *w);

    if (w && open_inside(w)) return w;
    if (w) cg_work_close(w);
    return NULL;
}

extern "C" void cg_work_close(struct cg_work *w)
{
    cudaFree(w->from);
    cudaFree(w->to);
    if (w->begin) cudaEventDestroy(w->begin);
    if (w->end) cudaEventDestroy(w->end);
    if (w->stream) cudaStreamDestroy(w->stream);
    free(w);
}

extern "C" const char *cg_work_name(int kind)
{
    static const char *const names[CG_WORK_KINDS] = {"block_per_sm", "one_wave", "ten_waves", "memory_bound"};

    return names[kind];
}

static void launch(struct cg_work *w, int kind)
{
    int wave = w->sms * w->resident;

    if (kind == CG_WORK_MEMORY) {
        copy<<<wave, THREADS, 0, w->stream>>>(w->to, w->from, COPY_BYTES / sizeof(float4));
    } else {
        int blocks = kind == CG_WORK_SMS ? w->sms : kind == CG_WORK_WAVE ? wave : 10 * wave;
        arithmetic<<<blocks, THREADS, 0, w->stream>>>((float *) w->to, STEPS);
    }
}

extern "C" double cg_work_run(struct cg_work *w, int kind)
{
    float ms = -1;

    if (!ok(cudaEventRecord(w->begin, w->stream))) return -1;
    launch(w, kind);
    if (!ok(cudaGetLastError()) || !ok(cudaEventRecord(w->end, w->stream)) || !ok(cudaEventSynchronize(w->end)) ||
        !ok(cudaEventElapsedTime(&ms, w->begin, w->end)))
        return -1;
    return ms * 1e3;
}
