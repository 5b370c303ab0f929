/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/gpu/fast_world.h"

#include "core/status.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


struct fw_shared {
    struct {
        uint64_t arrived, pad[15];
    } at[CG_FAST_RANKS];
    double value[CG_FAST_RANKS];
    struct cg_fast_card card[FW_WINDOWS][CG_FAST_RANKS];
    char meet[FW_WINDOWS][CG_FAST_RANKS][CG_FAST_RANKS][CG_FAST_MEET_BYTES]; /* [writer][reader] */
};

double fw_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

void fw_pause(double us)
{
    double end = fw_us() + us;

    while (fw_us() < end) sched_yield();
}

void fw_die(struct fw *w, const char *why)
{
    fprintf(stderr, "%s: rank %d: %s\n", w->name, w->rank, why);
    _exit(1);
}

void fw_must(struct fw *w, int rc, const char *what)
{
    char line[256];

    if (rc == 0) return;
    snprintf(line, sizeof line, "%s failed: %s", what,
             rc < 0 ? cg_status_text(rc) : cudaGetErrorString((cudaError_t) rc));
    fw_die(w, line);
}

void fw_barrier(struct fw *w)
{
    uint64_t want = ++w->barriers;
    double start = 0;

    __atomic_store_n(&w->shared->at[w->rank].arrived, want, __ATOMIC_RELEASE);
    for (int r = 0; r < w->size; r++) {
        for (uint32_t spins = 1; __atomic_load_n(&w->shared->at[r].arrived, __ATOMIC_ACQUIRE) < want; spins++) {
            if (w->crowded) sched_yield();
            if (spins % 65536) continue;
            sched_yield();
            if (start == 0) start = fw_us();
            if (fw_us() - start > FW_PATIENCE) fw_die(w, "another rank is missing at a barrier");
        }
    }
}

double fw_mean(struct fw *w, double value)
{
    double sum = 0;

    w->shared->value[w->rank] = value;
    fw_barrier(w);
    for (int r = 0; r < w->size; r++) sum += w->shared->value[r];
    fw_barrier(w);
    return sum / w->size;
}

uint32_t fw_random(struct fw *w, uint32_t n)
{
    w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) ((w->random >> 33) % n);
}

int fw_check(struct fw *w, int ok, const char *fmt, ...)
{
    va_list args;

    w->checks++;
    if (ok) return 1;
    if (w->failed++ < 5) {
        fprintf(stderr, "%s: rank %d: ", w->name, w->rank);
        va_start(args, fmt);
        vfprintf(stderr, fmt, args);
        va_end(args);
        fputc('\n', stderr);
    }
    return 0;
}

/* ---- ranks ---- */

static void set_affinity(int rank)
{
    cpu_set_t set;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    CPU_ZERO(&set);
    CPU_SET((2 + 2 * rank) % cpus, &set);
    if (cpus >= 2 * CG_FAST_RANKS) (void) sched_setaffinity(0, sizeof set, &set);
}

static void open_windows(struct fw *w)
{
    char why[256];
    int rc = cg_fast_open(w->device, &w->params, &w->fast, why, sizeof why), shared;

    if (rc != CG_OK) fw_die(w, why);
    for (int i = 0; i < FW_WINDOWS; i++) {
        fw_must(w,
             cg_fast_window_alloc(w->fast, (uint32_t) w->size, (uint32_t) w->rank, i == 0, &w->window[i],
                                  &w->shared->card[i][w->rank]),
             "cg_fast_window_alloc");
        for (int r = 0; r < w->size; r++) {
            if (r == w->rank) continue;
            cg_fast_window_meet(w->window[i], (uint32_t) r, w->shared->meet[i][r][w->rank],
                                w->shared->meet[i][w->rank][r]);
        }
    }
    fw_barrier(w);
    for (int i = 0; i < FW_WINDOWS; i++) {
        for (int r = 0; r < w->size; r++) {
            if (r == w->rank) continue;
            fw_must(w, cg_fast_window_import(w->window[i], (uint32_t) r, &w->shared->card[i][r], &shared),
                 "cg_fast_window_import");
        }
    }
    w->shares = shared;
    fw_barrier(w);
}

static int rank_main(struct fw *w, fw_body body)
{
    cudaStream_t stream;
    double start;

    set_affinity(w->rank);
    w->crowded = sysconf(_SC_NPROCESSORS_ONLN) < 2 * w->size;
    w->device = w->rank % w->gpus;
    w->random = 12345;
    fw_must(w, cudaSetDevice(w->device), "cudaSetDevice");
    fw_must(w, cudaMalloc((void **) &w->src, w->bytes + (2 << 20)), "cudaMalloc");
    fw_must(w, cudaMalloc((void **) &w->dst, w->bytes + (2 << 20)), "cudaMalloc");
    fw_must(w, cudaMallocHost((void **) &w->host, w->bytes + 1024), "cudaMallocHost");
    fw_must(w, cudaMallocHost((void **) &w->ref, w->bytes + 1024), "cudaMallocHost");
    fw_must(w, cudaMallocHost((void **) &w->words, 4096), "cudaMallocHost");
    fw_must(w, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    w->stream = stream;
    w->src += 256;
    w->dst += 256;
    memset(w->words, 0, 4096);
    fw_barrier(w);
    start = fw_us();
    open_windows(w);
    if (w->rank == 0) {
        printf("%s: %d ranks on %d GPUs, set up in %.1f ms\n", w->name, w->size, w->gpus, (fw_us() - start) / 1e3);
    }
    body(w);
    fw_barrier(w);
    fw_check(w, cg_fast_busy(w->fast) == 0, "busy at the end");
    fw_check(w, cudaDeviceSynchronize() == cudaSuccess, "a CUDA error at the end");
    fw_barrier(w);
    for (int i = 0; i < FW_WINDOWS; i++) cg_fast_window_free(w->window[i]);
    cg_fast_close(w->fast);
    printf("%s: rank %d of %d: %llu checks, %llu failed\n", w->name, w->rank, w->size, (unsigned long long) w->checks,
           (unsigned long long) w->failed);
    return w->failed != 0;
}

/* In a process of its own: the ranks are forked before CUDA is touched. */
static int count_gpus(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int n = 0;
        _exit(cudaGetDeviceCount(&n) == cudaSuccess ? n : 0);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int fw_run(const char *name, int size, size_t bytes, const struct cg_params *params, fw_body body)
{
    struct fw w = {.name = name, .size = size, .bytes = bytes, .params = *params, .gpus = count_gpus()};
    int bad = 0, status;

    if (w.gpus == 0) {
        printf("%s: no GPU\n", name);
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    w.shared = mmap(NULL, sizeof *w.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.shared == MAP_FAILED) return 1;
    for (w.rank = 0; w.rank < size; w.rank++) {
        if (fork() == 0) _exit(rank_main(&w, body));
    }
    while (wait(&status) > 0) bad |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return bad;
}
