/* SPDX-License-Identifier: BSD-3-Clause
 * The GPU's executor against the host's: the same programs give the same bits, for all types and operations, sizes,
 * alignments, in place or not, several operations outstanding on several communicators, ranks on host and GPU mixed.
 * Usage: sm_exchange [rounds] */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "test/elements.h"
#include "test/gpu/sm_world.h"

#define PAD 64
#define OUTSTANDING 6
#define CUDA(call) SM_CHECK((call) == cudaSuccess, "CUDA failed")

struct buffer {
    char *mem, *copy; /* copy: what lies in mem, on the host */
    size_t bytes;
    int device;
};

struct exchange {
    struct sm_call call;
    int comm, in_place;
    size_t shift_src, shift_dst; /* bytes by which the buffers are off alignment */
    struct buffer src[SM_RANKS], dst[SM_RANKS];
    struct sm_job job[SM_RANKS];
    char *input[SM_RANKS], *want[SM_RANKS];
};

static void buffer_new(struct buffer *b, size_t bytes, int device)
{
    b->bytes = bytes + 2 * PAD + 32;
    b->device = device;
    b->copy = malloc(b->bytes);
    memset(b->copy, 0x5a, b->bytes);
    if (device) CUDA(cudaMalloc((void **) &b->mem, b->bytes));
    else b->mem = malloc(b->bytes);
}

static void buffer_put(struct buffer *b)
{
    if (b->device) CUDA(cudaMemcpy(b->mem, b->copy, b->bytes, cudaMemcpyHostToDevice));
    else memcpy(b->mem, b->copy, b->bytes);
}

static void buffer_get(struct buffer *b)
{
    if (b->device) CUDA(cudaMemcpy(b->copy, b->mem, b->bytes, cudaMemcpyDeviceToHost));
    else memcpy(b->copy, b->mem, b->bytes);
}

static void buffer_free(struct buffer *b)
{
    if (b->device) CUDA(cudaFree(b->mem));
    else free(b->mem);
    free(b->copy);
}

/* Any bits for integers; numbers of mixed size, and now and then a NaN, for floating point. */
static void random_input(char *p, int type, uint64_t count)
{
    size_t size = (size_t) cg_type_size(type);

    for (uint64_t i = 0; i < count; i++) {
        double x = ((int) sm_random(2001) - 1000) * (sm_random(4) ? 0.37 : 1e-5);
        uint32_t below = sm_random(4) ? 256 : 2;

        for (size_t b = 0; b < size; b++) p[i * size + b] = (char) sm_random(below);
        if (type >= CG_TYPE_F32) element_set(type, p + i * size, sm_random(500) ? x : 0.0 / 0.0, (int) sm_random(5));
    }
}

/* The same call on the host executor alone. */
static void compute_want(const struct sm_world *like, struct exchange *e)
{
    size_t bytes = e->call.count * (size_t) cg_type_size(e->call.type);
    struct sm_world w;
    struct sm_job *jobs[SM_RANKS], job[SM_RANKS];

    sm_open(&w, &like->params, like->nranks, 1, 0, 0);
    for (uint32_t r = 0; r < w.nranks; r++) {
        e->want[r] = malloc(bytes); /* gaps keep what was there */
        memset(e->want[r], 0x5a, bytes);
        if (e->in_place) memcpy(e->want[r], e->input[r], bytes);
        sm_start(&w, jobs[r] = &job[r], 0, (int) r, &e->call, e->input[r], e->want[r]);
    }
    sm_wait(&w, jobs, (int) w.nranks);
    sm_close(&w);
}

static int exact(const struct sm_call *c) /* independent of the order */
{
    return c->type < CG_TYPE_F32;
}

/* Not only the same as the host executor, but right. */
static void check_want(const struct sm_world *w, const struct exchange *e)
{
    size_t bytes = e->call.count * (size_t) cg_type_size(e->call.type);
    char *x = malloc(bytes);

    if (exact(&e->call)) {
        cg_reduce_fn reduce = cg_reduce_host(e->call.type, e->call.redop);

        memcpy(x, e->input[0], bytes);
        for (uint32_t r = 1; r < w->nranks; r++) reduce(x, x, e->input[r], e->call.count);
        SM_CHECK(memcmp(x, e->want[0], bytes) == 0, "host executor is wrong");
    }
    free(x);
}

static void exchange_new(struct sm_world *w, struct exchange *e, int comm, const struct sm_call *call)
{
    size_t bytes = call->count * (size_t) cg_type_size(call->type);

    memset(e, 0, sizeof *e);
    e->call = *call;
    e->comm = comm;
    e->in_place = (int) sm_random(2);
    e->shift_src = sm_random(3) ? 0 : sm_random(17);
    e->shift_dst = sm_random(3) ? 0 : sm_random(17);
    for (uint32_t r = 0; r < w->nranks; r++) {
        e->input[r] = malloc(bytes);
        random_input(e->input[r], call->type, call->count);
        buffer_new(&e->src[r], bytes, w->gpu[r] != NULL);
        buffer_new(&e->dst[r], bytes, w->gpu[r] != NULL);
        memcpy(e->src[r].copy + PAD + e->shift_src, e->input[r], bytes);
        if (e->in_place) memcpy(e->dst[r].copy + PAD + e->shift_dst, e->input[r], bytes);
        buffer_put(&e->src[r]);
        buffer_put(&e->dst[r]);
    }
    compute_want(w, e);
    check_want(w, e);
}

static void exchange_start(struct sm_world *w, struct exchange *e, int r)
{
    char *dst = e->dst[r].mem + PAD + e->shift_dst;

    sm_start(w, &e->job[r], e->comm, r, &e->call, e->in_place ? dst : e->src[r].mem + PAD + e->shift_src, dst);
}

static void exchange_check(const struct sm_world *w, struct exchange *e)
{
    size_t bytes = e->call.count * (size_t) cg_type_size(e->call.type);

    for (uint32_t r = 0; r < w->nranks; r++) {
        struct buffer *b = &e->dst[r];
        size_t at = PAD + e->shift_dst;

        SM_CHECK(e->job[r].status == CG_OK, "rank %u: %s", r, cg_status_text(e->job[r].status));
        buffer_get(b);
        for (size_t i = 0; i < b->bytes; i++) {
            char want = i < at || i >= at + bytes ? 0x5a : e->want[r][i - at];
            SM_CHECK(b->copy[i] == want,
                     "rank %u of %u, %s %s, %llu elements, shifts %zu %zu, in place %d: byte %zd is %02x, not %02x", r,
                     w->nranks, cg_type_name(e->call.type), cg_redop_name(e->call.redop),
                     (unsigned long long) e->call.count, e->shift_src, e->shift_dst, e->in_place, (ssize_t) (i - at),
                     b->copy[i] & 255, want & 255);
        }
    }
}

static void exchange_free(const struct sm_world *w, struct exchange *e)
{
    for (uint32_t r = 0; r < w->nranks; r++) {
        buffer_free(&e->src[r]);
        buffer_free(&e->dst[r]);
        free(e->input[r]);
        free(e->want[r]);
    }
}

/* Ranks post in the order of each communicator, but communicators in any order. */
static void run_together(struct sm_world *w, struct exchange *e, int n)
{
    struct sm_job *jobs[OUTSTANDING * SM_RANKS];
    int count = 0;

    for (uint32_t r = 0; r < w->nranks; r++) {
        int turn = (int) sm_random((uint32_t) w->ncomms);

        for (uint32_t k = 0; k < w->ncomms; k++) {
            for (int i = 0; i < n; i++) {
                if (e[i].comm == (turn + (int) k) % (int) w->ncomms) exchange_start(w, &e[i], (int) r);
            }
        }
        for (int i = 0; i < n; i++) jobs[count++] = &e[i].job[r];
        for (uint32_t k = sm_random(3); k > 0; k--) sm_advance(w, jobs, count);
    }
    sm_wait(w, jobs, count);
    for (int i = 0; i < n; i++) exchange_check(w, &e[i]);
}

static int valid(int type, int redop) { return cg_reduce_host(type, redop) != NULL; }

static uint64_t random_count(void)
{
    switch (sm_random(4)) {
    case 0: return 1 + sm_random(8);
    case 1: return 1 + sm_random(1000);
    case 2: return 1 + sm_random(20000);
    default: return 1 + sm_random(100000);
    }
}

static void every_type(struct sm_world *w)
{
    static struct exchange e;
    int pairs = 0;

    for (int type = 0; type < CG_TYPE_COUNT; type++) {
        for (int redop = 0; redop < CG_REDOP_COUNT; redop++) {
            if (!valid(type, redop)) continue;
            for (int k = 0; k < 2; k++) {
                struct sm_call call = {CG_COLL_ALLREDUCE, type, redop, k ? 3 + sm_random(9000) : 1 + sm_random(60)};

                exchange_new(w, &e, 0, &call);
                run_together(w, &e, 1);
                exchange_free(w, &e);
            }
            pairs++;
        }
    }
    printf("  %d pairs of type and operation\n", pairs);
}

static void random_rounds(struct sm_world *w, int rounds)
{
    static struct exchange e[OUTSTANDING];

    for (int round = 0; round < rounds; round++) {
        int n = 1 + (int) sm_random(OUTSTANDING);

        for (int i = 0; i < n; i++) {
            struct sm_call call = {.coll = CG_COLL_ALLREDUCE, .count = random_count()};

            do {
                call.type = (int) sm_random(CG_TYPE_COUNT);
                call.redop = (int) sm_random(CG_REDOP_COUNT);
            } while (!valid(call.type, call.redop));
            exchange_new(w, &e[i], (int) sm_random(w->ncomms), &call);
        }
        run_together(w, e, n);
        for (int i = 0; i < n; i++) exchange_free(w, &e[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        uint32_t nranks, gpus;
        int slot_bytes, slots, spread;
    } worlds[] = {{2, 3, 65536, 8, 0}, {2, 1, 4096, 4, 0}, {2, 2, 1024, 2, 0}, {3, 7, 1024, 2, 0}, {3, 5, 8192, 4, 0},
                  {4, 15, 4096, 4, 0}, {4, 6, 1024, 4, 0},  {1, 1, 4096, 2, 0}, {2, 3, 65536, 8, 1}};
    int rounds = argc > 1 ? atoi(argv[1]) : 15;

    sm_require_gpu();
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct cg_gpu_counters c;
        struct cg_params params;
        struct sm_world w;

        cg_params_default(&params);
        params.slot_bytes = worlds[i].slot_bytes;
        params.slots = worlds[i].slots;
        params.channel_bytes = 16384;
        if (i % 3 == 2) params.threads = 96;
        sm_open(&w, &params, worlds[i].nranks, 3, worlds[i].gpus, worlds[i].spread);
        printf("%u ranks, on the GPU 0x%x, slots %d x %d\n", w.nranks, worlds[i].gpus, params.slots, params.slot_bytes);
        fflush(stdout);
        if (i < 2) every_type(&w);
        random_rounds(&w, rounds);
        cg_gpu_get_counters(w.gpu[__builtin_ctz(worlds[i].gpus)], &c);
        printf("  %llu operations in %llu launches, longest %.0f us\n", (unsigned long long) c.done,
               (unsigned long long) c.launches, (double) c.longest_ns / 1e3);
        sm_close(&w);
    }
    return 0;
}
