/* SPDX-License-Identifier: BSD-3-Clause
 * Packing on the GPU: memory for it, tables of the descriptions, launches. All of it is in the order of the copies'
 * stream, so nothing here waits, and what is given back may still be in use by what was issued before. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/pack.h"

#define TABLES 64              /* kept at most, */
#define TABLE_BYTES (64u << 20) /* and so many bytes of them */

/* ---- memory ---- */

static int open_pool(struct cg_gpu *gpu)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = gpu->device}};
    uint64_t keep = CG_ROOM_KEEP;

    if (gpu->pool) return 1;
    if (!cg_cuda_ok(cudaMemPoolCreate(&gpu->pool, &props))) {
        gpu->pool = NULL;
        return 0;
    }
    (void) cg_cuda_ok(cudaMemPoolSetAttribute(gpu->pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return 1;
}

static void *take(struct cg_gpu *gpu, size_t bytes)
{
    void *p = NULL;

    if (!open_pool(gpu) || !cg_cuda_ok(cudaMallocFromPoolAsync(&p, bytes, gpu->pool, gpu->copy_stream))) return NULL;
    return p;
}

/* Few different sizes, so that what one call gave back serves the next. */
static size_t rounded(size_t bytes)
{
    size_t size = 64 << 10;

    while (size < bytes && size < (16u << 20)) size *= 2;
    return bytes <= size ? size : (bytes + (2u << 20) - 1) & ~(size_t) ((2u << 20) - 1);
}

static void drop_room(struct cg_gpu *gpu, struct cg_room **at)
{
    struct cg_room *r = *at;

    *at = r->next;
    (void) cg_cuda_ok(cudaFreeAsync(r->at, gpu->copy_stream));
    free(r);
}

/* Rooms that are not in use. */
static void drop_kept(struct cg_gpu *gpu)
{
    for (struct cg_room **at = &gpu->rooms; *at;) {
        if ((*at)->used) at = &(*at)->next;
        else drop_room(gpu, at);
    }
    gpu->rooms_kept = 0;
}

static struct cg_room *kept_room(struct cg_gpu *gpu, size_t size)
{
    struct cg_room *r = gpu->rooms;

    while (r && (r->used || r->bytes != size)) r = r->next;
    if (r) gpu->rooms_kept -= size;
    return r;
}

static struct cg_room *new_room(struct cg_gpu *gpu, size_t size)
{
    struct cg_room *r = calloc(1, sizeof *r);

    if (!r) return NULL;
    r->at = take(gpu, size);
    if (!r->at && gpu->rooms_kept) {
        drop_kept(gpu);
        r->at = take(gpu, size);
    }
    if (!r->at) {
        free(r);
        return NULL;
    }
    r->bytes = size;
    r->next = gpu->rooms;
    return gpu->rooms = r;
}

void *cg_gpu_room(struct cg_gpu *gpu, size_t bytes)
{
    struct cg_gpu_scope scope;
    struct cg_room *r = gpu->broken ? NULL : kept_room(gpu, rounded(bytes));

    if (!r && !gpu->broken && cg_gpu_enter(gpu->device, &scope) == CG_OK) {
        r = new_room(gpu, rounded(bytes));
        cg_gpu_leave(&scope);
    }
    if (!r) return NULL;
    r->used = 1;
    return r->at;
}

void cg_gpu_room_free(struct cg_gpu *gpu, void *room)
{
    struct cg_room **at = &gpu->rooms;
    struct cg_gpu_scope scope;

    while (*at && (*at)->at != room) at = &(*at)->next;
    if (!*at) return;
    if (gpu->rooms_kept + (*at)->bytes <= CG_ROOM_KEEP) {
        (*at)->used = 0;
        gpu->rooms_kept += (*at)->bytes;
    } else if (cg_gpu_enter(gpu->device, &scope) == CG_OK) {
        drop_room(gpu, at);
        cg_gpu_leave(&scope);
    }
}

/* ---- tables ---- */

static void drop_table(struct cg_gpu *gpu, struct cg_table **at)
{
    struct cg_table *t = *at;

    *at = t->next;
    (void) cg_cuda_ok(cudaFreeAsync(t->mem, gpu->copy_stream));
    free(t);
}

static struct cg_table *upload(struct cg_gpu *gpu, const struct cg_flat *flat)
{
    struct cg_table *t = calloc(1, sizeof *t);

    if (!t) return NULL;
    t->id = flat->id;
    t->bytes = cg_flat_bytes(flat);
    t->mem = take(gpu, t->bytes);
    if (!t->mem) {
        free(t);
        return NULL;
    }
    t->next = gpu->tables;
    gpu->tables = t;
    if (cg_cuda_ok(cudaMemcpyAsync(t->mem, flat->nodes, t->bytes, cudaMemcpyHostToDevice, gpu->copy_stream))) return t;
    drop_table(gpu, &gpu->tables);
    return NULL;
}

static struct cg_table *table_of(struct cg_gpu *gpu, const struct cg_flat *flat)
{
    struct cg_table **at = &gpu->tables, *t;

    while (*at && (*at)->id != flat->id) at = &(*at)->next;
    t = *at;
    if (!t) return upload(gpu, flat);
    *at = t->next;
    t->next = gpu->tables;
    gpu->tables = t;
    return t;
}

/* Types come and go: the oldest tables make room. After the launch that uses the newest. */
static void trim(struct cg_gpu *gpu)
{
    struct cg_table **at = &gpu->tables;
    uint64_t bytes = 0;

    for (int n = 0; *at;) {
        bytes += (*at)->bytes;
        if (n > 0 && (n >= TABLES || bytes > TABLE_BYTES)) {
            drop_table(gpu, at);
        } else {
            at = &(*at)->next;
            n++;
        }
    }
}

void cg_pack_free(struct cg_gpu *gpu)
{
    while (gpu->tables) drop_table(gpu, &gpu->tables);
    while (gpu->rooms) drop_room(gpu, &gpu->rooms);
    gpu->rooms_kept = 0;
    if (gpu->copy_stream) (void) cg_cuda_ok(cudaStreamSynchronize(gpu->copy_stream));
    if (gpu->pool) (void) cg_cuda_ok(cudaMemPoolDestroy(gpu->pool));
    gpu->pool = NULL;
}

/* ---- launches ---- */

static int describe(struct cg_gpu *gpu, const struct cg_flat_piece *p, char *packed, struct cg_pack_piece *out)
{
    uint32_t unit = cg_flat_unit(p, packed);
    struct cg_table *table;

    *out = (struct cg_pack_piece){.top = cg_flat_top(p), .at = p->at, .packed = packed + p->offset,
                                  .units = p->bytes / unit, .unit = unit};
    if (out->top.count == 0) return CG_OK;
    table = table_of(gpu, p->flat);
    if (!table) return CG_ERR_GPU_NOMEM;
    out->nodes = (const struct cg_flat_node *) table->mem;
    out->blocks = (const struct cg_flat_block *) (out->nodes + p->flat->nnodes);
    return CG_OK;
}

/* Enough blocks for the largest piece, and no more than keep the GPU busy. */
static uint32_t width_of(const struct cg_gpu *gpu, const struct cg_pack_args *args, uint32_t n)
{
    uint64_t units = 0, most = (uint64_t) gpu->processors * 8 / n, width;

    for (uint32_t i = 0; i < n; i++) {
        if (args->piece[i].units > units) units = args->piece[i].units;
    }
    width = (units + CG_PACK_THREADS * CG_PACK_DEEP - 1) / (CG_PACK_THREADS * CG_PACK_DEEP);
    if (most < 1) most = 1;
    return (uint32_t) (width < 1 ? 1 : cg_min_u64(width, most));
}

static int launch(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back)
{
    struct cg_pack_args args = {.back = back};

    for (uint32_t i = 0; i < n; i++) {
        int rc = describe(gpu, &piece[i], packed, &args.piece[i]);
        if (rc != CG_OK) return rc;
    }
    if (cg_cuda_ok(cg_pack_launch(&args, n, width_of(gpu, &args, n), gpu->copy_stream))) return CG_OK;
    return CG_ERR_GPU;
}

int cg_gpu_pack_start(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back,
                      struct cg_gpu_copy **handle)
{
    struct cg_gpu_scope scope;
    int rc = gpu->broken ? gpu->broken : cg_gpu_enter(gpu->device, &scope);

    *handle = NULL;
    if (rc != CG_OK) return rc;
    for (uint32_t i = 0; i < n && rc == CG_OK; i += CG_PACK_PIECES) {
        rc = launch(gpu, piece + i, n - i < CG_PACK_PIECES ? n - i : CG_PACK_PIECES, packed, back);
    }
    trim(gpu);
    if (rc == CG_OK) *handle = cg_copy_mark(gpu);
    if (rc == CG_OK && !*handle) rc = CG_ERR_GPU;
    cg_gpu_leave(&scope);
    return rc;
}
