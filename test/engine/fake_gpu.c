/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/engine/fake_gpu.h"

#include "core/status.h"
#include "kernels/cuda/gpu.h"
#include "kernels/cuda/survey.h"
#include "kernels/host/host.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 32
#define BLOCKS 256

int fake_no_memory, fake_flushes, fake_flush_kind = CG_FLUSH_NONE, fake_packs, fake_pack_fails, fake_reductions;
int fake_no_gpu, fake_no_peer, fake_overruns, fake_fast_done, fake_gpu_done, fake_copies;
unsigned fake_seed = 1;

static struct block {
    char *at;
    size_t bytes;
    int device;
} blocks[BLOCKS];

void *fake_alloc(int device, size_t bytes)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at) continue;
        blocks[i] = (struct block){malloc(bytes), bytes, device};
        return blocks[i].at;
    }
    return NULL;
}

int fake_free(void *p)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].at != p) continue;
        free(p);
        blocks[i].at = NULL;
        return 1;
    }
    return 0;
}

int cg_gpu_present(void) { return 1; }
int cg_gpu_built(void) { return 1; }

void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    *mem = (struct cg_mem){.kind = CG_MEM_HOST, .device = -1};
    for (int i = 0; i < BLOCKS; i++) {
        const char *at = blocks[i].at;
        if (!at || (const char *) p < at || (const char *) p >= at + blocks[i].bytes) continue;
        *mem = (struct cg_mem){CG_MEM_DEVICE, blocks[i].device, (uint64_t) i};
    }
}

int fake_current = -1;
int cg_gpu_current(void) { return fake_current; }

/* GPUs of test/topo/machines/dgx.xml */
int cg_gpu_bus_of(int device, char id[16])
{
    static const char *const ids[] = {"1b", "43", "52", "61", "9d", "c3", "d1", "df"};

    snprintf(id, 16, "0000:%s:00.0", ids[device & 7]);
    return CG_OK;
}

int cg_gpu_enter(int device, struct cg_gpu_scope *scope)
{
    (void) device;
    scope->active = 1;
    return CG_OK;
}

void cg_gpu_leave(struct cg_gpu_scope *scope) { scope->active = 0; }

int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes)
{
    (void) device;
    memcpy(dst, src, bytes);
    fake_copies++;
    return CG_OK;
}

/* ---- general executor ---- */

#define FIFOS 8

struct cg_gpu {
    /* FIFO memory: at its address only kernels may touch it, all others have the descriptor */
    struct fifo {
        char *at;
        size_t bytes;
        int fd;
    } fifo[FIFOS];
    int device;
    struct slot {
        int used, after;
        uint64_t after_id;
        int status;
        struct cg_fault fault;
        struct cg_pos pos[CG_MAX_CHAN];
        _Alignas(16) char op[CG_OP_BYTES];
    } slot[SLOTS];
    int busy;
    uint64_t ids;
};

int cg_gpu_open(int device, const struct cg_params *params, struct cg_gpu **gpu, char *why, size_t len)
{
    (void) params;
    snprintf(why, len, "pretended");
    if (fake_no_gpu) return CG_ERR_GPU;
    *gpu = calloc(1, sizeof(**gpu));
    (*gpu)->device = device;
    return CG_OK;
}

void *cg_gpu_mem_alloc(struct cg_gpu *gpu, size_t bytes)
{
    for (int i = 0; i < FIFOS && !fake_no_memory; i++) {
        struct fifo *f = &gpu->fifo[i];
        if (f->at) continue;
        *f = (struct fifo){.bytes = bytes, .fd = memfd_create("fake_gpu", 0)};
        if (ftruncate(f->fd, (off_t) bytes)) abort();
        f->at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, f->fd, 0);
        if (MAP_FAILED == f->at) abort();
        return f->at;
    }
    return NULL;
}

void cg_gpu_mem_free(struct cg_gpu *gpu, void *addr)
{
    for (int i = 0; i < FIFOS; i++) {
        struct fifo *f = &gpu->fifo[i];
        if (!f->at || f->at != addr) continue;
        munmap(f->at, f->bytes);
        close(f->fd);
        f->at = NULL;
    }
}

int cg_gpu_dmabuf(struct cg_gpu *gpu, void *addr, size_t bytes)
{
    for (int i = 0; i < FIFOS; i++) {
        if (gpu->fifo[i].at == addr && bytes <= gpu->fifo[i].bytes) return dup(gpu->fifo[i].fd);
    }
    return -1;
}

static void kernels_see_fifos(struct cg_gpu *gpu, int access)
{
    for (int i = 0; i < FIFOS; i++) {
        if (gpu->fifo[i].at && mprotect(gpu->fifo[i].at, gpu->fifo[i].bytes, access)) abort();
    }
}

int cg_gpu_flush_kind(struct cg_gpu *gpu)
{
    (void) gpu;
    return fake_flush_kind;
}

int cg_gpu_flush(struct cg_gpu *gpu)
{
    (void) gpu;
    fake_flushes++;
    return CG_OK;
}

int cg_gpu_device(const struct cg_gpu *gpu) { return gpu->device; }

void cg_gpu_close(struct cg_gpu *gpu)
{
    for (int i = 0; i < FIFOS; i++) cg_gpu_mem_free(gpu, gpu->fifo[i].at);
    free(gpu);
}

int cg_gpu_register(struct cg_gpu *gpu, void *addr, size_t bytes)
{
    (void) gpu;
    return addr && bytes ? CG_OK : CG_ERR_GPU;
}

void cg_gpu_unregister(struct cg_gpu *gpu, void *addr)
{
    (void) gpu;
    (void) addr;
}

static struct cg_op *op_of(struct slot *s) { return (struct cg_op *) s->op; }

int cg_gpu_post(struct cg_gpu *gpu, const struct cg_op *op, int after, int *slot)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &gpu->slot[i];
        if (s->used) continue;
        memset(s, 0, sizeof(*s));
        memcpy(s->op, op, op->size);
        s->used = 1;
        s->status = CG_AGAIN;
        s->after = after;
        s->after_id = op->prev_id;
        gpu->busy++;
        *slot = i;
        return CG_OK;
    }
    return CG_AGAIN;
}

/* May channel c run, given the one that goes before? */
static int eligible(struct cg_gpu *gpu, const struct slot *s, uint32_t c)
{
    struct slot *before = s->after >= 0 ? &gpu->slot[s->after] : NULL;

    if (NULL == before || !before->used || op_of(before)->id != s->after_id) return 1;
    return c < op_of(before)->nchan && before->pos[c].done;
}

static void run_slots(struct cg_gpu *gpu)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &gpu->slot[i];
        uint32_t done = 0;
        if (!s->used || CG_AGAIN != s->status) continue;
        for (uint32_t c = 0; c < op_of(s)->nchan; c++) {
            if (rand_r(&fake_seed) % 3 && eligible(gpu, s, c)) {
                int rc = cg_host_step(op_of(s), c, &s->pos[c], 0, &s->fault);
                if (rc < 0) s->status = rc;
            }
            done += s->pos[c].done;
        }
        if (CG_AGAIN == s->status && done == op_of(s)->nchan) {
            s->status = CG_OK;
            fake_gpu_done++;
        }
    }
}

int cg_gpu_progress(struct cg_gpu *gpu)
{
    kernels_see_fifos(gpu, PROT_READ | PROT_WRITE);
    run_slots(gpu);
    kernels_see_fifos(gpu, PROT_NONE);
    return 0;
}

int cg_gpu_test(struct cg_gpu *gpu, int slot, struct cg_fault *fault)
{
    if (gpu->slot[slot].status < 0) *fault = gpu->slot[slot].fault;
    return gpu->slot[slot].status;
}

void cg_gpu_release(struct cg_gpu *gpu, int slot)
{
    gpu->slot[slot].used = 0;
    gpu->busy--;
}

int cg_gpu_busy(const struct cg_gpu *gpu) { return gpu->busy; }

struct cg_gpu_copy {
    void *dst;
    const void *src;
    size_t bytes;
    int wait;
    struct cg_flat_piece *piece; /* of a pack */
    uint32_t n;
    int back, fails;
    cg_reduce_fn reduce;         /* of src and dst */
};

int cg_gpu_copy_start(struct cg_gpu *gpu, void *dst, const void *src, size_t bytes, struct cg_gpu_copy **copy)
{
    (void) gpu;
    *copy = malloc(sizeof(**copy));
    **copy = (struct cg_gpu_copy){.dst = dst, .src = src, .bytes = bytes, .wait = rand_r(&fake_seed) % 5};
    return CG_OK;
}

int cg_gpu_pack_start(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back,
                      struct cg_gpu_copy **copy)
{
    *copy = malloc(sizeof(**copy));
    **copy = (struct cg_gpu_copy){.dst = packed, .wait = rand_r(&fake_seed) % 5, .n = n, .back = back};
    (*copy)->piece = malloc((n + 1) * sizeof(*piece));
    if (n) memcpy((*copy)->piece, piece, n * sizeof(*piece));
    (*copy)->fails = 0 == gpu->device && n > 0 && fake_pack_fails > 0 && 0 == --fake_pack_fails;
    fake_packs += n > 0;
    return CG_OK;
}

int cg_gpu_reduce_start(struct cg_gpu *gpu, int type, int redop, const void *in, void *inout, uint64_t count,
                        struct cg_gpu_copy **copy)
{
    (void) gpu;
    *copy = malloc(sizeof(**copy));
    **copy = (struct cg_gpu_copy){.dst = inout, .src = in, .wait = rand_r(&fake_seed) % 5,
                                  .reduce = cg_reduce_host(type, redop), .n = (uint32_t) count};
    fake_reductions++;
    return CG_OK;
}

void *cg_gpu_room(struct cg_gpu *gpu, size_t bytes) { return fake_alloc(gpu->device, bytes); }

void cg_gpu_room_free(struct cg_gpu *gpu, void *room)
{
    (void) gpu;
    fake_free(room);
}

int cg_gpu_copy_test(struct cg_gpu *gpu, struct cg_gpu_copy *copy)
{
    int rc = copy->fails ? CG_ERR_GPU : CG_OK;

    (void) gpu;
    if (copy->wait-- > 0) return CG_AGAIN;
    if (copy->reduce) copy->reduce(copy->dst, copy->src, copy->dst, copy->n);
    else if (copy->bytes) memcpy(copy->dst, copy->src, copy->bytes);
    else if (CG_OK == rc) cg_flat_copy(copy->piece, copy->n, copy->dst, copy->back);
    fake_copies += copy->bytes > 0;
    free(copy->piece);
    free(copy);
    return rc;
}

void *cg_gpu_host_alloc(struct cg_gpu *gpu, size_t bytes)
{
    (void) gpu;
    return malloc(bytes);
}

void cg_gpu_host_free(struct cg_gpu *gpu, void *p)
{
    (void) gpu;
    free(p);
}

void cg_gpu_get_counters(const struct cg_gpu *gpu, struct cg_gpu_counters *c)
{
    (void) gpu;
    memset(c, 0, sizeof(*c));
}

void cg_gpu_bus_id(const struct cg_gpu *gpu, char *id)
{
    (void) gpu;
    id[0] = 0;
}
