/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel: block 0 polls, block 1 + c runs channel c. No block waits for another to be scheduled: each leaves within
 * a bounded time of its own start, and the last one out tells the host. It uses no local memory (no stack), so that its
 * launch never waits for a change of the device's stack size. */
#include <cuda_runtime.h>

#include "kernels/cuda/poll.cuh"

#define CG_THREADS 512

/* Unfinished operations wait with what they knew: the host compares it with what the words say now. */
static __device__ void show_seen(const struct cg_launch *L, uint32_t lane)
{
    uint32_t live = cg_live_slots(L, lane);

    for (; live; live &= live - 1) {
        uint32_t slot = __ffs(live) - 1;
        const struct cg_post *post = &L->state->post[slot];
        const char *end = (const char *) post + cg_post_watch_offset(&post->op);
        const struct cg_watch *watch = (const struct cg_watch *) end;

        for (uint32_t k = lane; k < post->op.nlinks * 4u; k += 32) {
            ulonglong2 v = cg_gpu_pair_relaxed(&watch[k / 4].chan[k % 4]);
            *(ulonglong2 *) &L->ctl->seen[slot][k / 4][k % 4] = v;
        }
    }
}

/* Warp 0 of each block. */
static __device__ void leave(const struct cg_launch *L, uint32_t lane)
{
    struct cg_state *st = L->state;
    uint32_t before = 0;

    __syncwarp();
    if (lane == 0) {
        cg_fence_gpu();
        before = atomicAdd(&st->exited, 1u);
        cg_fence_gpu();
    }
    before = __shfl_sync(CG_ALL, before, 0);
    __syncwarp();
    if (before + 1 < gridDim.x) return;
    show_seen(L, lane);
    __syncwarp();
    if (lane == 0) {
        uint64_t ns = cg_now_ns() - cg_gpu_load(&st->start_ns);

        if (ns > st->longest_ns) st->longest_ns = L->ctl->longest_ns = ns;
        cg_gpu_store32(&st->exited, 0);
        cg_gpu_store(&st->start_ns, ~0ull);
        L->ctl->taken = cg_gpu_load(&st->taken);
        cg_store_release(&L->ctl->state, L->id << 2 | CG_LAUNCH_GONE);
    }
}

union cg_scratch {
    struct cg_worker worker;
    struct cg_poller poller;
};

static __global__ void __launch_bounds__(CG_THREADS) cg_gpu_kernel(const struct cg_launch L)
{
    extern __shared__ __align__(16) char shared[];
    union cg_scratch *block = (union cg_scratch *) shared;

    if (L.workers == 0) return;
    if (threadIdx.x == 0) cg_gpu_min(&L.state->start_ns, cg_now_ns());
    if (blockIdx.x > 0) cg_work(&block->worker, &L, blockIdx.x - 1);
    else if (threadIdx.x < 32) cg_poll(&block->poller, &L);
    if (threadIdx.x < 32) leave(&L, threadIdx.x);
}

extern "C" int cg_kernel_load(int *threads)
{
    struct cudaFuncAttributes attr;
    cudaError_t rc = cudaFuncGetAttributes(&attr, cg_gpu_kernel);

    *threads = rc == cudaSuccess ? attr.maxThreadsPerBlock / 32 * 32 : 0;
    return rc;
}

extern "C" int cg_kernel_launch(const struct cg_launch *launch, int threads, void *stream)
{
    void *args[] = {(void *) launch};

    return cudaLaunchKernel((const void *) cg_gpu_kernel, dim3(1 + launch->workers), dim3(threads), args,
                            sizeof(union cg_scratch), (cudaStream_t) stream);
}
