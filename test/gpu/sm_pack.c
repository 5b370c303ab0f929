/* SPDX-License-Identifier: BSD-3-Clause
 * The packing kernel against the interpreter on the CPU: random descriptions, several pieces a call, every alignment;
 * beside a resident kernel; and how fast it is. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "test/gpu/sm_world.h"

#define CUDA(call) SM_CHECK((call) == cudaSuccess, "CUDA failed")
#define GAP_BYTE 0x6d

static void wait_for(struct cg_gpu *gpu, struct cg_gpu_copy *copy)
{
    uint64_t end = sm_now_ns() + 20000000000u;
    int rc;

    while ((rc = cg_gpu_copy_test(gpu, copy)) == CG_AGAIN) SM_CHECK(sm_now_ns() < end, "packing does not end");
    SM_CHECK(rc == CG_OK, "%s", cg_status_text(rc));
}

static uint64_t pack(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back)
{
    uint64_t start = sm_now_ns();
    struct cg_gpu_copy *copy;
    int rc = cg_gpu_pack_start(gpu, piece, n, packed, back, &copy);

    SM_CHECK(rc == CG_OK, "%s", cg_status_text(rc));
    wait_for(gpu, copy);
    return sm_now_ns() - start;
}

/* ---- random descriptions ---- */

/* From byte at on, in multiples of unit bytes. Where it ends. */
static int64_t grow(struct cg_flat_builder *b, int depth, int64_t at, uint32_t unit)
{
    uint32_t kind = depth == 0 ? sm_random(2) : 2 + sm_random(2), n = 1 + sm_random(5);
    int64_t end = at, bytes, stride, place[64];

    if (kind == 0) {
        bytes = (int64_t) (unit * (1 + sm_random(20)));
        stride = bytes + (int64_t) (unit * sm_random(8));
        cg_flat_leaf(b, at, (uint64_t) bytes, n, stride);
        return at + n * stride;
    }
    if (kind == 1) { /* equal slots, blocks of any length in them, in any order */
        n = 2 + sm_random(62);
        for (uint32_t i = 0; i < n; i++) place[i] = at + i * 24 * (int64_t) unit;
        for (uint32_t i = n - 1; i > 0; i--) {
            uint32_t k = sm_random(i + 1);
            int64_t p = place[i];
            place[i] = place[k], place[k] = p;
        }
        for (uint32_t i = 0; i < n; i++) cg_flat_leaf(b, place[i], unit * (1 + sm_random(24)), 1, 0);
        return at + n * 24 * (int64_t) unit;
    }
    cg_flat_loop(b);
    for (uint32_t i = 0; i < 1 + sm_random(3); i++) end = grow(b, depth - 1, end + unit * sm_random(3), unit);
    stride = end - at + (int64_t) (unit * sm_random(5));
    cg_flat_loop_end(b, n, stride);
    return at + n * stride;
}

/* At most most bytes from first to last. */
static struct cg_flat *random_flat(uint64_t id, int64_t most, int64_t *end)
{
    static const uint32_t units[] = {1, 2, 3, 4, 4, 8, 12, 16, 16};
    uint32_t unit = units[sm_random(sizeof units / sizeof *units)];
    struct cg_flat *flat = NULL;

    do {
        struct cg_flat_builder *b = cg_flat_begin();
        cg_flat_drop(flat);
        *end = grow(b, (int) sm_random(4), unit * sm_random(4), unit);
        flat = cg_flat_end(b, id, *end + (int64_t) (unit * sm_random(3)));
        SM_CHECK(flat != NULL, "no description");
    } while (*end > most);
    return flat;
}

/* ---- against the CPU ---- */

#define PIECES 40 /* more than one launch takes */

struct trial {
    uint32_t n;
    struct cg_flat *flat[PIECES];
    struct cg_flat_piece here[PIECES], there[PIECES]; /* in host memory, on the GPU */
    size_t span, bytes;
    char *image, *packed, *got;          /* host */
    char *user, *room;                   /* GPU */
};

static void make(struct trial *t, struct cg_gpu *gpu, uint64_t *id)
{
    size_t at[PIECES];

    memset(t, 0, sizeof *t);
    t->n = sm_random(4) ? 1 + sm_random(3) : PIECES;
    for (uint32_t i = 0; i < t->n; i++) {
        int64_t end, elements = 1 + sm_random(4);

        t->flat[i] = random_flat(++*id, t->n > 3 ? 10000 : 200000, &end);
        at[i] = t->span + sm_random(2) * sm_random(17); /* any alignment, often 16 */
        t->span = (at[i] + (size_t) (end + (elements - 1) * t->flat[i]->extent) + 31) / 16 * 16;
        t->here[i] = (struct cg_flat_piece){t->flat[i], NULL, (uint64_t) elements,
                                            t->flat[i]->size * (uint64_t) elements, t->bytes};
        t->bytes += t->here[i].bytes;
    }
    t->image = malloc(t->span);
    t->packed = malloc(t->bytes);
    t->got = malloc(t->span > t->bytes ? t->span : t->bytes);
    CUDA(cudaMalloc((void **) &t->user, t->span));
    t->room = cg_gpu_room(gpu, t->bytes);
    SM_CHECK(t->room != NULL, "no room");
    for (size_t i = 0; i < t->span; i++) t->image[i] = (char) (i * 131 + (i >> 8) * 7 + *id);
    CUDA(cudaMemcpy(t->user, t->image, t->span, cudaMemcpyHostToDevice));
    for (uint32_t i = 0; i < t->n; i++) {
        t->there[i] = t->here[i];
        t->here[i].at = t->image + at[i];
        t->there[i].at = t->user + at[i];
    }
}

static void compare(const struct trial *t, const char *want, const char *device, size_t bytes, const char *what)
{
    CUDA(cudaMemcpy(t->got, device, bytes, cudaMemcpyDeviceToHost));
    if (!memcmp(t->got, want, bytes)) return;
    for (size_t i = 0; i < bytes; i++)
        SM_CHECK(t->got[i] == want[i], "%s: byte %zu of %zu, %u pieces, first of %u nodes and %u blocks", what, i,
                 bytes, t->n, t->flat[0]->nnodes, t->flat[0]->nblocks);
}

static void one_trial(struct cg_gpu *gpu, uint64_t *id)
{
    struct trial t;

    make(&t, gpu, id);
    cg_flat_copy(t.here, t.n, t.packed, 0);
    pack(gpu, t.there, t.n, t.room, 0);
    compare(&t, t.packed, t.room, t.bytes, "packed");
    compare(&t, t.image, t.user, t.span, "what was packed");
    memset(t.image, GAP_BYTE, t.span);
    CUDA(cudaMemset(t.user, GAP_BYTE, t.span));
    CUDA(cudaDeviceSynchronize());
    cg_flat_copy(t.here, t.n, t.packed, 1);
    pack(gpu, t.there, t.n, t.room, 1);
    compare(&t, t.image, t.user, t.span, "unpacked");
    for (uint32_t i = 0; i < t.n; i++) cg_flat_drop(t.flat[i]);
    cg_gpu_room_free(gpu, t.room);
    CUDA(cudaFree(t.user));
    free(t.image);
    free(t.packed);
    free(t.got);
}

/* ---- beside a resident kernel ---- */

/* An operation whose peer is late keeps a kernel on the GPU for a tenth of a second. */
static void beside_resident(struct cg_params params)
{
    struct sm_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_F32, .redop = CG_REDOP_SUM, .count = 1 << 16};
    struct sm_job job[2], *jobs[] = {&job[0], &job[1]};
    float *buffer[2];
    struct sm_world w;
    uint64_t id = 1 << 20, start, ns;

    params.spin_us = 100000;
    params.age_us = 1000000;
    sm_open(&w, &params, 2, 1, 1, 0);
    CUDA(cudaMalloc((void **) &buffer[0], call.count * sizeof(float)));
    CUDA(cudaMemset(buffer[0], 0, call.count * sizeof(float)));
    CUDA(cudaDeviceSynchronize());
    buffer[1] = calloc(call.count, sizeof(float));
    sm_start(&w, &job[0], 0, 0, &call, buffer[0], buffer[0]);
    start = sm_now_ns();
    {
        struct cg_flat_builder *b = cg_flat_begin();
        struct cg_flat_piece piece = {.count = 1, .bytes = 1 << 20};
        char *room = cg_gpu_room(w.gpu[0], piece.bytes), *user;

        CUDA(cudaMalloc((void **) &user, 2 * piece.bytes + 64));
        cg_flat_leaf(b, 0, 4, 7, 8);
        cg_flat_leaf(b, 64, 4, (1 << 18) - 7, 8);
        piece.flat = cg_flat_end(b, id, 4 << 20);
        piece.at = user;
        pack(w.gpu[0], &piece, 1, room, 0);
        pack(w.gpu[0], &piece, 1, room, 1);
        ns = sm_now_ns() - start;
        SM_CHECK(ns < 50000000, "packing waited %llu us for a resident kernel", (unsigned long long) ns / 1000);
        cg_gpu_room_free(w.gpu[0], room);
        cg_flat_drop(piece.flat);
        sm_start(&w, &job[1], 0, 1, &call, buffer[1], buffer[1]);
        sm_wait(&w, jobs, 2);
        CUDA(cudaFree(user));
    }
    CUDA(cudaFree(buffer[0]));
    free(buffer[1]);
    sm_close(&w);
    printf("beside a resident kernel: packed and unpacked 1 MiB in %llu us\n", (unsigned long long) ns / 1000);
}

/* ---- speed ---- */

#define SPEED_BYTES (64u << 20)

static struct cg_flat *regular(uint64_t bytes, int64_t stride)
{
    struct cg_flat_builder *b = cg_flat_begin();

    cg_flat_leaf(b, 0, bytes, SPEED_BYTES / bytes, stride);
    return cg_flat_end(b, (uint64_t) stride << 32 | bytes, (int64_t) (SPEED_BYTES / bytes) * stride);
}

static struct cg_flat *irregular(void)
{
    struct cg_flat_builder *b = cg_flat_begin();
    uint64_t left = SPEED_BYTES;
    int64_t at = 0;

    while (left) {
        uint64_t bytes = cg_min_u64(4 * (1 + sm_random(63)), left);
        cg_flat_leaf(b, at, bytes, 1, 0);
        at += (int64_t) bytes + 4 * (1 + (int64_t) sm_random(30));
        left -= bytes;
    }
    return cg_flat_end(b, (uint64_t) 1 << 62, at);
}

static void time_one(struct cg_gpu *gpu, const char *what, struct cg_flat *flat, char *user, char *room)
{
    struct cg_flat_piece piece = {flat, user, 1, flat ? flat->size : SPEED_BYTES, 0};
    uint64_t best[2] = {~0ull, ~0ull};

    for (int i = 0; i < 10; i++) {
        for (int back = 0; back < 2; back++) best[back] = cg_min_u64(best[back], pack(gpu, &piece, 1, room, back));
    }
    printf("%-26s %7.0f %7.0f\n", what, (double) piece.bytes / (double) best[0],
           (double) piece.bytes / (double) best[1]);
    cg_flat_drop(flat);
}

static void speed(struct cg_gpu *gpu)
{
    static const struct {
        const char *what;
        uint64_t bytes;
        int64_t stride;
    } shapes[] = {{"4 bytes of 8", 4, 8},          {"8 bytes of 16", 8, 16},   {"16 bytes of 32", 16, 32},
                  {"8 bytes of 128", 8, 128},      {"7 bytes of 9", 7, 9},     {"256 bytes of 1 KiB", 256, 1024},
                  {"4 KiB of 8 KiB", 4096, 8192}, {"1 MiB of 2 MiB", 1 << 20, 2 << 20}};
    char *user, *room = cg_gpu_room(gpu, SPEED_BYTES);

    CUDA(cudaMalloc((void **) &user, (size_t) SPEED_BYTES * 16));
    SM_CHECK(room != NULL, "no room");
    printf("%-26s %7s %7s  GB/s of %u MiB packed, launch and wait included, best of 10\n", "", "pack", "unpack",
           SPEED_BYTES >> 20);
    time_one(gpu, "together", NULL, user, room);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        time_one(gpu, shapes[i].what, regular(shapes[i].bytes, shapes[i].stride), user, room);
    time_one(gpu, "irregular, 4 to 252 bytes", irregular(), user, room);
    CUDA(cudaFree(user));
    cg_gpu_room_free(gpu, room);
}

int main(void)
{
    struct cg_params params;
    struct cg_gpu *gpu;
    char why[256];
    uint64_t id = 0;
    int rc;

    sm_require_gpu();
    cg_params_default(&params);
    rc = cg_gpu_open(0, &params, &gpu, why, sizeof why);
    SM_CHECK(rc == CG_OK, "%s", why);
    for (int i = 0; i < 600; i++) one_trial(gpu, &id);
    printf("%llu descriptions\n", (unsigned long long) id);
    speed(gpu);
    cg_gpu_close(gpu);
    beside_resident(params);
    return 0;
}
