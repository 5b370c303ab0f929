/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/gpu/fast_world.h"

#include "core/status.h"
#include "kernels/host/host.h"

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

#define FW_PATIENCE 60e6 /* us */
#define FW_POISON 0xa5

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

static void die(struct fw *w, const char *why)
{
    fprintf(stderr, "%s: rank %d: %s\n", w->name, w->rank, why);
    _exit(1);
}

static void must(struct fw *w, int rc, const char *what)
{
    char line[256];

    if (rc == 0) return;
    snprintf(line, sizeof line, "%s failed: %s", what,
             rc < 0 ? cg_status_text(rc) : cudaGetErrorString((cudaError_t) rc));
    die(w, line);
}

void fw_barrier(struct fw *w)
{
    uint64_t want = ++w->barriers;
    double start = 0;

    __atomic_store_n(&w->shared->at[w->rank].arrived, want, __ATOMIC_RELEASE);
    for (int r = 0; r < w->size; r++) {
        for (uint32_t spins = 1; __atomic_load_n(&w->shared->at[r].arrived, __ATOMIC_ACQUIRE) < want; spins++) {
            if (spins % 65536) continue;
            sched_yield();
            if (start == 0) start = fw_us();
            if (fw_us() - start > FW_PATIENCE) die(w, "another rank is missing at a barrier");
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

/* ---- one operation ---- */

static uint32_t hash(uint64_t seed, int rank, uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull + (uint64_t) rank * 0x94d049bb133111ebull;

    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93ull;
    return (uint32_t) (x >> 32);
}

/* Floats of moderate size whose sums round, so that the order shows. */
static void generate(char *to, const struct fw_case *c, int rank)
{
    for (uint64_t i = 0; i < c->count; i++) {
        uint32_t h = hash(c->seed, rank, i);
        if (c->type == CG_TYPE_F32) ((float *) to)[i] = (float) ((int) (h & 0xffffff) - 0x800000) * 0x1p-20f;
        else if (c->type == CG_TYPE_F64) ((double *) to)[i] = (double) (int) h * 0x1p-28 / 3;
        else if (cg_type_size(c->type) == 8) ((uint64_t *) to)[i] = (uint64_t) h << 32 | (h * 2654435761u);
        else if (cg_type_size(c->type) == 4) ((uint32_t *) to)[i] = h % 5 ? h : 0;
        else if (cg_type_size(c->type) == 2) ((uint16_t *) to)[i] = (uint16_t) (h % 5 ? h >> 9 : 0);
        else ((uint8_t *) to)[i] = (uint8_t) (h % 5 ? h >> 9 : 0);
    }
}

static uint64_t bytes_of(const struct fw_case *c) { return c->count * (uint64_t) cg_type_size(c->type); }

static void copy(struct fw *w, void *to, const void *from, size_t bytes)
{
    must(w, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, w->stream), "cudaMemcpyAsync");
    must(w, cudaStreamSynchronize(w->stream), "cudaStreamSynchronize");
}

/* The area that a case touches, with 128 bytes before and after. */
static char *output(struct fw *w, const struct fw_case *c)
{
    return c->inplace ? w->src + c->shift_in : w->dst + c->shift_out;
}

void fw_fill(struct fw *w, const struct fw_case *c)
{
    uint64_t bytes = bytes_of(c);

    memset(w->host, FW_POISON, bytes + 256);
    copy(w, output(w, c) - 128, w->host, bytes + 256);
    generate(w->host, c, w->rank);
    copy(w, w->src + c->shift_in, w->host, bytes);
}

int fw_post(struct fw *w, const struct fw_case *c)
{
    struct cg_fast_op op = {.src = w->src + c->shift_in, .dst = output(w, c), .count = c->count, .type = c->type,
                            .redop = c->redop, .esize = cg_type_size(c->type), .protocol = c->protocol,
                            .blocks = c->blocks, .expect_soon = c->soon};
    int id = -1;

    must(w, cg_fast_post(w->fast, w->window[c->window], &op, &id), "cg_fast_post");
    return id;
}

int fw_wait(struct fw *w, int id)
{
    double start = 0;
    int rc;

    for (uint32_t spins = 1; (rc = cg_fast_test(w->fast, id)) == CG_AGAIN; spins++) {
        cg_fast_progress(w->fast);
        if (spins % 65536) continue;
        if (w->shares) sched_yield();
        if (start == 0) start = fw_us();
        if (fw_us() - start > FW_PATIENCE) die(w, "an operation does not end");
    }
    return rc;
}

static void reference(struct fw *w, const struct fw_case *c)
{
    cg_reduce_fn reduce = cg_reduce_host(c->type, c->redop);
    char *operand = malloc(bytes_of(c) + 1);

    generate(w->ref, c, 0);
    for (int r = 1; r < w->size; r++) {
        generate(operand, c, r);
        reduce(w->ref, w->ref, operand, c->count);
    }
    free(operand);
}

void fw_verify(struct fw *w, const struct fw_case *c)
{
    uint64_t bytes = bytes_of(c), bad = 0, first = 0, around = 0;
    const char *got = w->host + 128;

    reference(w, c);
    copy(w, w->host, output(w, c) - 128, bytes + 256);
    for (uint64_t i = 0; i < bytes; i++) {
        if (got[i] == w->ref[i]) continue;
        if (bad++ == 0) first = i;
    }
    for (int i = 0; i < 128; i++) around += (uint8_t) got[-1 - i] != FW_POISON || (uint8_t) got[bytes + i] != FW_POISON;
    fw_check(w, !bad && !around,
             "protocol %d window %d %s %s count %llu shifts %u %u in place %d soon %d blocks %d: "
             "%llu bytes wrong from %llu, %llu around",
             c->protocol, c->window, cg_type_name(c->type), cg_redop_name(c->redop), (unsigned long long) c->count,
             c->shift_in, c->shift_out, c->inplace, c->soon, c->blocks, (unsigned long long) bad,
             (unsigned long long) first, (unsigned long long) around);
}

void fw_do(struct fw *w, const struct fw_case *c)
{
    fw_fill(w, c);
    must(w, fw_wait(w, fw_post(w, c)), "an operation");
    w->took = cg_fast_window_took(w->window[c->window]);
    fw_verify(w, c);
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

    if (rc != CG_OK) die(w, why);
    for (int i = 0; i < FW_WINDOWS; i++) {
        must(w,
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
            must(w, cg_fast_window_import(w->window[i], (uint32_t) r, &w->shared->card[i][r], &shared),
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
    w->device = w->rank % w->gpus;
    w->random = 12345;
    must(w, cudaSetDevice(w->device), "cudaSetDevice");
    must(w, cudaMalloc((void **) &w->src, w->bytes + (2 << 20)), "cudaMalloc");
    must(w, cudaMalloc((void **) &w->dst, w->bytes + (2 << 20)), "cudaMalloc");
    must(w, cudaMallocHost((void **) &w->host, w->bytes + 1024), "cudaMallocHost");
    must(w, cudaMallocHost((void **) &w->ref, w->bytes + 1024), "cudaMallocHost");
    must(w, cudaMallocHost((void **) &w->words, 4096), "cudaMallocHost");
    must(w, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
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
