/* SPDX-License-Identifier: BSD-3-Clause
 * A GPU that there is not: memory of test/mpi/fake_memory.h is device memory, and copies work. With FAKE_KERNELS=1 it
 * has the executor of test/engine/fake_gpu.c, otherwise opening it fails. Linked in front of the library's own layer
 * into the component of test/mpi/fake. FAKE_GPU=0: no GPU on this rank. */
#define _GNU_SOURCE
#include "test/mpi/fake_memory.h"

#define cg_gpu_present engines_present
#define cg_gpu_classify engines_classify
#define cg_gpu_memcpy engines_memcpy
#define cg_gpu_open engines_open
#define cg_gpu_post engines_post
#define cg_gpu_copy_start engines_copy_start
#define cg_gpu_pack_start engines_pack_start
#define cg_gpu_reduce_start engines_reduce_start
#define cg_gpu_room engines_room
#define cg_gpu_room_free engines_room_free
#include "test/engine/fake_gpu.c"
#undef cg_gpu_present
#undef cg_gpu_classify
#undef cg_gpu_memcpy
#undef cg_gpu_open
#undef cg_gpu_post
#undef cg_gpu_copy_start
#undef cg_gpu_pack_start
#undef cg_gpu_reduce_start
#undef cg_gpu_room
#undef cg_gpu_room_free

static int is_set(const char *name, int otherwise)
{
    const char *env = getenv(name);

    return env ? strcmp(env, "0") != 0 : otherwise;
}

int cg_gpu_present(void) { return is_set("FAKE_GPU", 1); }

void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    *mem = (struct cg_mem){.kind = CG_MEM_HOST, .device = -1};
    if (fake_is_device(p)) *mem = (struct cg_mem){CG_MEM_DEVICE, 0, 1};
}

int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes)
{
    (void) device;
    fake_copy(dst, src, bytes);
    return CG_OK;
}

int cg_gpu_open(int device, const struct cg_params *params, struct cg_gpu **gpu, char *why, size_t len)
{
    fake_no_gpu = !is_set("FAKE_KERNELS", 0);
    fake_no_memory = 1; /* FIFOs stay on the host */
    return engines_open(device, params, gpu, why, len);
}

int cg_gpu_post(struct cg_gpu *gpu, const struct cg_op *op, int after, int *slot)
{
    _Alignas(16) char copy[CG_OP_BYTES];
    struct cg_op *mine = (struct cg_op *) copy;

    memcpy(copy, op, op->size);
    mine->src = fake_open(op->src);
    mine->dst = fake_open(op->dst);
    return engines_post(gpu, mine, after, slot);
}

int cg_gpu_copy_start(struct cg_gpu *gpu, void *dst, const void *src, size_t bytes, struct cg_gpu_copy **copy)
{
    return engines_copy_start(gpu, fake_open(dst), fake_open(src), bytes, copy);
}

int cg_gpu_pack_start(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back,
                      struct cg_gpu_copy **copy)
{
    struct cg_flat_piece *mine = malloc((n + 1) * sizeof(*mine));
    int rc;

    for (uint32_t i = 0; i < n; i++) {
        mine[i] = piece[i];
        mine[i].at = fake_open(piece[i].at);
    }
    rc = engines_pack_start(gpu, mine, n, fake_open(packed), back, copy);
    free(mine);
    return rc;
}

int cg_gpu_reduce_start(struct cg_gpu *gpu, int type, int redop, const void *in, void *inout, uint64_t count,
                        struct cg_gpu_copy **copy)
{
    return engines_reduce_start(gpu, type, redop, fake_open(in), fake_open(inout), count, copy);
}

/* Rooms are used again, so that addresses do not run out. */
static struct room {
    void *at;
    size_t bytes;
    int used;
} rooms[64];

void *cg_gpu_room(struct cg_gpu *gpu, size_t bytes)
{
    static uint64_t next = FAKE_ROOM;

    (void) gpu;
    for (int i = 0; i < 64; i++) {
        struct room *r = &rooms[i];
        if (r->used || (r->at && r->bytes < bytes)) continue;
        if (!r->at) *r = (struct room){fake_map(&next, bytes), bytes, 0};
        r->used = r->at != NULL;
        return r->at;
    }
    return NULL;
}

void cg_gpu_room_free(struct cg_gpu *gpu, void *room)
{
    (void) gpu;
    for (int i = 0; i < 64; i++) {
        if (rooms[i].at == room) rooms[i].used = 0;
    }
}
