/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels as threads and fibers of the host, and what of CUDA's runtime the fast executor uses. */
#include "test/emu/device.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "core/status.h"
#include "kernels/cuda/gpu.h"

/* ---- fibers ---- */

static const size_t stack_bytes = 64 << 10;
static const unsigned named_barriers = 16;

struct gate { /* a barrier of a block or a warp */
    unsigned arrived, generation, opened; /* opened: in which round */
    emu_votes votes[2];
    uint64_t value[2][32];
};

struct fiber {
    ucontext_t context;
    struct gate *at; /* waits there until the generation changes */
    unsigned generation, index;
    bool gone;
};

struct block {
    void (*kernel)(struct emu_blob);
    const struct emu_blob *argument;
    std::vector<fiber> fibers;
    std::vector<gate> warps;
    std::vector<unsigned> live_in_warp;
    gate gates[named_barriers];
    ucontext_t scheduler;
    fiber *now;
    unsigned live, round;
    char *shared;
};

/* Kernels take one structure by value, of at most so many bytes: it lies on the stack, whatever its type. */
struct alignas(16) emu_blob {
    char bytes[1024];
};

thread_local emu_index threadIdx, blockIdx, blockDim, gridDim;
static thread_local block *self;

void emu_yield(void) { swapcontext(&self->now->context, &self->scheduler); }

char *emu_dynamic_shared(void) { return self->shared; }

static emu_votes pass(gate *g, const unsigned *need, uint64_t vote)
{
    unsigned generation = g->generation;
    emu_votes *votes = &g->votes[generation & 1];

    if (g->arrived++ == 0) *votes = {~0ull, 0};
    votes->all &= vote ? ~0ull : 0;
    votes->any |= vote;
    while (g->generation == generation && g->arrived < *need) {
        self->now->at = g;
        self->now->generation = generation;
        emu_yield();
    }
    if (g->generation == generation) {
        g->arrived = 0;
        g->generation++;
        g->opened = self->round;
        self->now->at = g;
        self->now->generation = generation;
        emu_yield();
    }
    return *votes;
}

emu_votes emu_barrier(unsigned id, unsigned threads, uint64_t vote)
{
    return pass(&self->gates[id], threads ? &threads : &self->live, vote);
}

emu_votes emu_warp(uint64_t vote)
{
    unsigned warp = threadIdx.x / 32;
    return pass(&self->warps[warp], &self->live_in_warp[warp], vote);
}

uint64_t emu_shuffle(uint64_t value, unsigned lane)
{
    gate *g = &self->warps[threadIdx.x / 32];
    unsigned half = g->generation & 1;

    g->value[half][threadIdx.x % 32] = value;
    emu_warp(0);
    return g->value[half][lane];
}

static void fiber_main(void)
{
    fiber *f = self->now;

    self->kernel(*self->argument);
    f->gone = true;
    self->live--;
    self->live_in_warp[f->index / 32]--;
    emu_yield();
}

/* Whoever waits is passed over until the gate has opened, and all go on in the round after that, in order; or, since
 * others may have gone, once in a while. */
static bool may_run(const fiber &f, unsigned round)
{
    if (f.gone) return false;
    if (!f.at) return true;
    return f.at->generation == f.generation ? round % 16 == 0 : f.at->opened != round;
}

static void run_fibers(block *b)
{
    for (b->round = 1; b->live; b->round++) {
        for (fiber &f : b->fibers) {
            if (!may_run(f, b->round)) continue;
            f.at = nullptr;
            b->now = &f;
            threadIdx.x = f.index;
            swapcontext(&b->scheduler, &f.context);
        }
        sched_yield();
    }
}

static void run_block(const void *kernel, unsigned index, unsigned grid, unsigned threads, const emu_blob *argument,
                      size_t shared)
{
    block b = {};
    size_t bytes = threads * stack_bytes + shared + 128;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *memory = (char *) mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    if (memory == MAP_FAILED) abort();
    self = &b;
    blockIdx.x = index;
    blockDim.x = threads;
    gridDim.x = grid;
    b.kernel = (void (*)(emu_blob)) kernel;
    b.argument = argument;
    b.fibers.resize(threads);
    b.warps.resize((threads + 31) / 32);
    b.live_in_warp.resize((threads + 31) / 32);
    b.live = threads;
    b.shared = memory + threads * stack_bytes;
    for (unsigned i = 0; i < threads; i++) {
        fiber &f = b.fibers[i];
        f.index = i;
        b.live_in_warp[i / 32]++;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = memory + i * stack_bytes;
        f.context.uc_stack.ss_size = stack_bytes;
        f.context.uc_link = &b.scheduler;
        makecontext(&f.context, fiber_main, 0);
    }
    run_fibers(&b);
    munmap(memory, bytes);
}

/* ---- streams ---- */

struct CUstream_st {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> work;
    bool busy, ends;
    std::thread worker;
};

static void serve(cudaStream_t s)
{
    std::unique_lock<std::mutex> lock(s->mutex);

    for (;;) {
        s->changed.wait(lock, [s] { return s->ends || !s->work.empty(); });
        if (s->work.empty()) return;
        auto job = s->work.front();
        s->work.pop_front();
        s->busy = true;
        lock.unlock();
        job();
        lock.lock();
        s->busy = false;
        s->changed.notify_all();
    }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = new CUstream_st();
    (*stream)->worker = std::thread(serve, *stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    std::lock_guard<std::mutex> lock(s->mutex);
    return s->busy || !s->work.empty() ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    std::unique_lock<std::mutex> lock(s->mutex);
    s->changed.wait(lock, [s] { return !s->busy && s->work.empty(); });
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    {
        std::lock_guard<std::mutex> lock(s->mutex);
        s->ends = true;
        s->changed.notify_all();
    }
    s->worker.join();
    delete s;
    return cudaSuccess;
}

static cudaError_t enqueue(cudaStream_t s, std::function<void()> job)
{
    std::lock_guard<std::mutex> lock(s->mutex);
    s->work.push_back(job);
    s->changed.notify_all();
    return cudaSuccess;
}

/* An event is passed when as many records of it have been reached as were made. */
struct CUevent_st {
    std::atomic<unsigned> made, reached;
};

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new CUevent_st();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
    unsigned record = ++event->made;
    return enqueue(s, [=] { event->reached = record; });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return event->reached == event->made ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned)
{
    unsigned record = event->made;
    return enqueue(s, [=] {
        while ((int) (event->reached - record) < 0) sched_yield();
    });
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **args, size_t shared, cudaStream_t s)
{
    emu_blob argument;

    memcpy(&argument, args[0], sizeof argument);
    return enqueue(s, [=] {
        std::vector<std::thread> blocks;
        for (unsigned i = 0; i < grid.x; i++) {
            blocks.emplace_back([=] { run_block(kernel, i, grid.x, threads.x, &argument, shared); });
        }
        for (std::thread &b : blocks) b.join();
    });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *kernel)
{
    *function = (cudaFunction_t) kernel;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind, cudaStream_t s)
{
    return enqueue(s, [=] { memmove(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t s)
{
    return enqueue(s, [=] { memset(at, value, bytes); });
}

/* ---- memory ---- */

static const size_t arena_bytes = (size_t) 4 << 30;
static char *arena; /* its first word: bytes given out */

__attribute__((constructor)) static void make_arena(void)
{
    arena = (char *) mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) abort();
    *(size_t *) arena = 4096;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    size_t at = __atomic_fetch_add((size_t *) arena, (bytes + 4095) & ~(size_t) 4095, __ATOMIC_SEQ_CST);

    if (at + bytes > arena_bytes) return cudaErrorMemoryAllocation;
    *p = arena + at;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *bytes_free, size_t *bytes_total)
{
    *bytes_total = arena_bytes;
    *bytes_free = arena_bytes - __atomic_load_n((size_t *) arena, __ATOMIC_SEQ_CST);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) { return cudaMalloc(p, bytes); }
cudaError_t cudaMallocHost(void **p, size_t bytes) { return cudaMalloc(p, bytes); }
cudaError_t cudaFree(void *) { return cudaSuccess; }
cudaError_t cudaFreeHost(void *) { return cudaSuccess; }

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p)
{
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &p, sizeof p);
    return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned)
{
    memcpy(p, &handle, sizeof *p);
    return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *) { return cudaSuccess; }

/* ---- devices: as many as there can be ranks, each of few multiprocessors ---- */

static const int devices = 8, multiprocessors = 3;
static int current; /* one a process */

const char *cudaGetErrorString(cudaError_t) { return "an error of the emulation"; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t emu_attributes(struct cudaFuncAttributes *) { return cudaSuccess; }

cudaError_t cudaSetDevice(int device)
{
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = devices;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    memset(prop, 0, sizeof *prop);
    prop->uuid.bytes[0] = (char) (device + 1);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int)
{
    *value = what == cudaDevAttrClockRate ? 1000000 : multiprocessors;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr, int, int)
{
    *value = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high)
{
    *low = *high = 0;
    return cudaSuccess;
}

/* The GPU's clock goes slowly, as its threads do here. */
uint64_t emu_now_ns(void)
{
    static const char *slow = getenv("CG_EMU_SLOW");
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t) t.tv_sec * 1000000000ull + (uint64_t) t.tv_nsec) / (uint64_t) (slow ? atoi(slow) : 500);
}

/* ---- kernels/cuda/detect.c ---- */

extern "C" {
int cg_primary_use(int) { return CG_OK; }
void cg_primary_drop(int) {}
int cg_cuda_ok(cudaError_t rc) { return rc == cudaSuccess; }

int cg_gpu_enter(int, struct cg_gpu_scope *scope)
{
    scope->active = 1;
    return CG_OK;
}

/* All is one allocation, opened by whoever wants. */
void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    mem->kind = p >= arena && p < arena + arena_bytes ? CG_MEM_DEVICE : CG_MEM_HOST;
    mem->device = mem->kind == CG_MEM_DEVICE ? current : -1;
    mem->id = mem->kind == CG_MEM_DEVICE;
}

int cg_gpu_launch(cudaFunction_t function, int blocks, int threads, unsigned shared, void *stream, void *arg)
{
    return cudaLaunchKernel((const void *) function, blocks, threads, &arg, shared, (cudaStream_t) stream);
}

/* Every rank has a GPU of its own. */
int cg_gpu_mps(void) { return 0; }

int cg_gpu_range(const void *, uint64_t *base, uint64_t *bytes)
{
    *base = (uint64_t) arena;
    *bytes = arena_bytes;
    return CG_OK;
}

void cg_gpu_leave(struct cg_gpu_scope *scope) { scope->active = 0; }
}
