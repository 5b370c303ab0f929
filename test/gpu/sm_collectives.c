/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective on the GPU's executor against the host's: the same bytes in all buffers of all ranks, those that
 * nobody may touch included; uneven and empty blocks, every root, in place or not, any alignment, several operations
 * outstanding on several communicators, ranks on host and GPU mixed.
 * Usage: sm_collectives [rounds] */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "test/elements.h"
#include "test/gpu/sm_world.h"
#include "test/sim/shape.h"

#define PAD 64
#define OUTSTANDING 6
#define NOWHERE ((char *) 1) /* insignificant */
#define CUDA(call) SM_CHECK((call) == cudaSuccess, "CUDA failed")

/* A rank's src or dst, twice: where the test's executor can address it, and for the host's. Begins PAD + shift bytes
 * into the memory. */
struct buffer {
    char *mem, *host;
    size_t bytes, shift;
    int device;
};

struct part {
    struct buffer src, dst;
    ptrdiff_t inner; /* in place: what the one lies behind the start of the other */
    int in_place;
    struct sm_job job;
};

struct exchange {
    struct sm_call call;
    struct shape shape;
    uint64_t bytes;
    int comm;
    struct part part[SM_RANKS];
};

static uint64_t rng = 20261130;

/* Numbers of mixed size for floating point, any bytes for the rest. */
static void random_bytes(struct buffer *b, int type)
{
    size_t size = (size_t) cg_type_size(type);
    char *p = b->host + PAD + b->shift;

    for (size_t i = 0; i < b->bytes; i++) b->host[i] = (char) sm_random(256);
    for (size_t i = 0; type >= CG_TYPE_F32 && p + (i + 1) * size <= b->host + b->bytes - PAD; i++) {
        element_set(type, p + i * size, ((int) sm_random(2001) - 1000) * (sm_random(4) ? 0.37 : 1e-5),
                    (int) sm_random(5));
    }
}

static void buffer_new(struct buffer *b, size_t bytes, int device, int type)
{
    b->shift = sm_random(3) ? 0 : sm_random(17);
    b->bytes = bytes + 2 * PAD + 32;
    b->device = device;
    b->host = malloc(b->bytes);
    SM_CHECK(b->host, "out of memory");
    random_bytes(b, type);
    if (device) CUDA(cudaMalloc((void **) &b->mem, b->bytes));
    else b->mem = malloc(b->bytes);
    if (device) CUDA(cudaMemcpy(b->mem, b->host, b->bytes, cudaMemcpyHostToDevice));
    else memcpy(b->mem, b->host, b->bytes);
}

static void buffer_check(const struct exchange *e, uint32_t rank, const struct buffer *b, const char *name)
{
    char *got = malloc(b->bytes);

    SM_CHECK(got, "out of memory");
    if (b->device) CUDA(cudaMemcpy(got, b->mem, b->bytes, cudaMemcpyDeviceToHost));
    else memcpy(got, b->mem, b->bytes);
    for (size_t i = 0; i < b->bytes; i++) {
        SM_CHECK(got[i] == b->host[i], "%s %s %s, rank %u of %u, root %u, in place %d, %s at %zd: %02x, not %02x",
                 cg_coll_name(e->call.coll), cg_type_name(e->call.type), cg_redop_name(e->call.redop), rank,
                 e->shape.reqs->nranks, e->shape.reqs->root, e->part[rank].in_place, name,
                 (ssize_t) (i - PAD - b->shift), got[i] & 255, b->host[i] & 255);
    }
    free(got);
}

static void buffer_free(struct buffer *b)
{
    if (b->device) CUDA(cudaFree(b->mem));
    else free(b->mem);
    free(b->host);
    memset(b, 0, sizeof *b);
}

static char *address(char *mem, const struct buffer *b, ptrdiff_t inner)
{
    return mem ? mem + PAD + b->shift + inner : NOWHERE;
}

static void part_new(const struct sm_world *w, struct exchange *e, uint32_t rank)
{
    struct part *p = &e->part[rank];
    const struct cg_plan_request *reqs = e->shape.reqs;
    size_t esize = (size_t) reqs->esize, src = cg_spec_src(reqs, rank) * esize, dst = cg_spec_dst(reqs, rank) * esize;
    int device = w->gpu[rank] != NULL;
    int64_t shift;
    enum cg_in_place may = cg_spec_in_place(reqs, rank, &shift);

    memset(p, 0, sizeof *p);
    p->inner = (ptrdiff_t) (shift * (int64_t) esize);
    p->in_place = may == CG_PLACE_ALWAYS || (may == CG_PLACE_MAY && sm_random(2));
    if (p->in_place) {
        buffer_new(&p->dst, src > dst ? src : dst, device, e->call.type);
        return;
    }
    if (src) buffer_new(&p->src, src, device, e->call.type);
    if (dst) buffer_new(&p->dst, dst, device, e->call.type);
}

/* The rank's part in a world: on the executor's memory, or on the host's copy. */
static void part_start(struct sm_world *w, struct exchange *e, int comm, uint32_t rank, int host, struct sm_job *job)
{
    struct part *p = &e->part[rank];
    char *dst = host ? p->dst.host : p->dst.mem, *src = host ? p->src.host : p->src.mem;

    if (p->in_place) src = address(dst, &p->dst, p->inner > 0 ? p->inner : 0);
    else src = address(src, &p->src, 0);
    dst = address(dst, &p->dst, p->in_place && p->inner < 0 ? -p->inner : 0);
    sm_start_request(w, job, comm, &e->shape.reqs[rank], &e->call, e->bytes, src, dst);
}

static void compute_want(const struct sm_world *like, struct exchange *e)
{
    static struct sm_job job[SM_RANKS];
    struct sm_job *jobs[SM_RANKS];
    struct sm_world w;

    sm_open(&w, &like->params, like->nranks, 1, 0, 0);
    for (uint32_t r = 0; r < w.nranks; r++) part_start(&w, e, 0, r, 1, jobs[r] = &job[r]);
    sm_wait(&w, jobs, (int) w.nranks);
    sm_close(&w);
}

static void exchange_new(struct sm_world *w, struct exchange *e, int coll, uint64_t most)
{
    struct cg_plan_request req = {
        .coll = coll, .nranks = w->nranks, .root = sm_random(w->nranks), .params = &w->params};

    e->call = (struct sm_call){.coll = coll, .type = CG_TYPE_U8};
    e->comm = (int) sm_random(w->ncomms);
    e->bytes = 4711; /* alike on all ranks */
    while (cg_coll_reduces(coll)) {
        e->call.type = (int) sm_random(CG_TYPE_COUNT);
        e->call.redop = (int) sm_random(CG_REDOP_COUNT);
        if (cg_reduce_host(e->call.type, e->call.redop)) break;
    }
    req.esize = cg_type_size(e->call.type);
    req.wide = cg_coll_reduces(coll) ? cg_type_wide(e->call.type) : 0;
    shape_make(&e->shape, &req, most, (int) sm_random(2), &rng);
    for (uint32_t r = 0; r < w->nranks; r++) part_new(w, e, r);
    compute_want(w, e);
}

static void exchange_end(struct sm_world *w, struct exchange *e)
{
    for (uint32_t r = 0; r < w->nranks; r++) {
        struct part *p = &e->part[r];

        SM_CHECK(p->job.status == CG_OK, "%s, rank %u: %s", cg_coll_name(e->call.coll), r,
                 cg_status_text(p->job.status));
        if (p->src.host) buffer_check(e, r, &p->src, "src");
        if (p->dst.host) buffer_check(e, r, &p->dst, "dst");
        buffer_free(&p->src);
        buffer_free(&p->dst);
    }
    shape_free(&e->shape);
}

/* Ranks post in the order of each communicator, but communicators in any order. */
static void run_together(struct sm_world *w, struct exchange *e, int n)
{
    struct sm_job *jobs[OUTSTANDING * SM_RANKS];
    int count = 0;

    for (uint32_t r = 0; r < w->nranks; r++) {
        int turn = (int) sm_random(w->ncomms);

        for (uint32_t k = 0; k < w->ncomms; k++) {
            for (int i = 0; i < n; i++) {
                if (e[i].comm == (turn + (int) k) % (int) w->ncomms)
                    part_start(w, &e[i], e[i].comm, r, 0, &e[i].part[r].job);
            }
        }
        for (int i = 0; i < n; i++) jobs[count++] = &e[i].part[r].job;
        for (uint32_t k = sm_random(3); k > 0; k--) sm_advance(w, jobs, count);
    }
    sm_wait(w, jobs, count);
    for (int i = 0; i < n; i++) exchange_end(w, &e[i]);
}

static uint64_t random_most(void)
{
    static const uint32_t most[] = {8, 1000, 20000, 60000};

    return 1 + sm_random(most[sm_random(4)]);
}

/* Each collective alone, then mixtures. */
static void run_world(struct sm_world *w, int rounds)
{
    static struct exchange e[OUTSTANDING];

    for (int coll = 1; coll < CG_COLL_COUNT; coll++) {
        for (int k = 0; k < rounds; k++) {
            exchange_new(w, &e[0], coll, random_most());
            run_together(w, e, 1);
        }
    }
    for (int round = 0; round < 2 * rounds; round++) {
        int n = 1 + (int) sm_random(OUTSTANDING);

        for (int i = 0; i < n; i++) exchange_new(w, &e[i], 1 + (int) sm_random(CG_COLL_COUNT - 1), random_most());
        run_together(w, e, n);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        uint32_t nranks, gpus;
        int slot_bytes, slots, exchange_max, spread;
    } worlds[] = {{2, 3, 65536, 8, 8192, 0}, {2, 1, 4096, 4, 0, 0},  {2, 2, 1024, 2, 0, 0},   {3, 7, 1024, 2, 1024, 0},
                  {3, 5, 8192, 4, 0, 0},     {4, 15, 4096, 4, 0, 0}, {4, 6, 1024, 4, 512, 0}, {1, 1, 4096, 2, 0, 0},
                  {2, 3, 65536, 8, 0, 1}};
    int rounds = argc > 1 ? atoi(argv[1]) : 6;

    sm_require_gpu();
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct cg_params params;
        struct sm_world w;

        cg_params_default(&params);
        params.slot_bytes = worlds[i].slot_bytes;
        params.slots = worlds[i].slots;
        params.exchange_max = worlds[i].exchange_max;
        params.channel_bytes = 16384;
        if (i % 3 == 2) params.threads = 96;
        sm_open(&w, &params, worlds[i].nranks, 3, worlds[i].gpus, worlds[i].spread);
        printf("%u ranks, on the GPU 0x%x, slots %d x %d\n", w.nranks, worlds[i].gpus, params.slots, params.slot_bytes);
        fflush(stdout);
        run_world(&w, rounds);
        sm_close(&w);
    }
    return 0;
}
