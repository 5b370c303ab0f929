/* SPDX-License-Identifier: BSD-3-Clause
 * Built without CUDA: there is no GPU, all memory is host memory. */
#include "kernels/cuda/gpu.h"

#include <stdio.h>
#include <string.h>

#include "core/status.h"

int cg_gpu_present(void) { return 0; }

int cg_gpu_built(void) { return 0; }

void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    (void) p;
    mem->kind = CG_MEM_HOST;
    mem->device = -1;
    mem->id = 0;
}

int cg_gpu_enter(int device, struct cg_gpu_scope *scope)
{
    (void) device;
    memset(scope, 0, sizeof *scope);
    return CG_ERR_GPU;
}

void cg_gpu_leave(struct cg_gpu_scope *scope) { (void) scope; }

int cg_gpu_open(int device, const struct cg_params *params, struct cg_gpu **gpu, char *why, size_t len)
{
    (void) device;
    (void) params;
    *gpu = NULL;
    snprintf(why, len, "built without CUDA; configure with --with-cuda");
    return CG_ERR_UNSUPPORTED;
}

void cg_gpu_close(struct cg_gpu *gpu) { (void) gpu; }

int cg_gpu_register(struct cg_gpu *gpu, void *addr, size_t bytes)
{
    (void) gpu;
    (void) addr;
    (void) bytes;
    return CG_ERR_UNSUPPORTED;
}

void cg_gpu_unregister(struct cg_gpu *gpu, void *addr)
{
    (void) gpu;
    (void) addr;
}

int cg_gpu_post(struct cg_gpu *gpu, const struct cg_op *op, int after, int *slot)
{
    (void) gpu;
    (void) op;
    (void) after;
    *slot = -1;
    return CG_ERR_UNSUPPORTED;
}

int cg_gpu_progress(struct cg_gpu *gpu)
{
    (void) gpu;
    return 0;
}

int cg_gpu_test(struct cg_gpu *gpu, int slot, struct cg_fault *fault)
{
    (void) gpu;
    (void) slot;
    memset(fault, 0, sizeof *fault);
    return fault->status = CG_ERR_UNSUPPORTED;
}

void cg_gpu_release(struct cg_gpu *gpu, int slot)
{
    (void) gpu;
    (void) slot;
}

int cg_gpu_busy(const struct cg_gpu *gpu)
{
    (void) gpu;
    return 0;
}

int cg_gpu_copy_start(struct cg_gpu *gpu, void *dst, const void *src, size_t bytes, struct cg_gpu_copy **copy)
{
    (void) gpu;
    (void) dst;
    (void) src;
    (void) bytes;
    *copy = NULL;
    return CG_ERR_UNSUPPORTED;
}

int cg_gpu_copy_test(struct cg_gpu *gpu, struct cg_gpu_copy *copy)
{
    (void) gpu;
    (void) copy;
    return CG_ERR_UNSUPPORTED;
}

int cg_gpu_pack_start(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back,
                      struct cg_gpu_copy **copy)
{
    (void) gpu;
    (void) piece;
    (void) n;
    (void) packed;
    (void) back;
    *copy = NULL;
    return CG_ERR_UNSUPPORTED;
}

int cg_gpu_reduce_start(struct cg_gpu *gpu, int type, int redop, const void *in, void *inout, uint64_t count,
                        struct cg_gpu_copy **copy)
{
    (void) gpu;
    (void) type;
    (void) redop;
    (void) in;
    (void) inout;
    (void) count;
    *copy = NULL;
    return CG_ERR_UNSUPPORTED;
}

void *cg_gpu_room(struct cg_gpu *gpu, size_t bytes)
{
    (void) gpu;
    (void) bytes;
    return NULL;
}

void cg_gpu_room_free(struct cg_gpu *gpu, void *room)
{
    (void) gpu;
    (void) room;
}

int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes)
{
    (void) device;
    memcpy(dst, src, bytes);
    return CG_OK;
}

void *cg_gpu_host_alloc(struct cg_gpu *gpu, size_t bytes)
{
    (void) gpu;
    (void) bytes;
    return NULL;
}

void cg_gpu_host_free(struct cg_gpu *gpu, void *p)
{
    (void) gpu;
    (void) p;
}

void *cg_gpu_mem_alloc(struct cg_gpu *gpu, size_t bytes)
{
    (void) gpu;
    (void) bytes;
    return NULL;
}

void cg_gpu_mem_free(struct cg_gpu *gpu, void *addr)
{
    (void) gpu;
    (void) addr;
}

int cg_gpu_dmabuf(struct cg_gpu *gpu, void *addr, size_t bytes)
{
    (void) gpu;
    (void) addr;
    (void) bytes;
    return -1;
}

int cg_gpu_flush_kind(struct cg_gpu *gpu)
{
    (void) gpu;
    return CG_FLUSH_NONE;
}

int cg_gpu_flush(struct cg_gpu *gpu)
{
    (void) gpu;
    return CG_OK;
}

int cg_gpu_device(const struct cg_gpu *gpu)
{
    (void) gpu;
    return -1;
}

void cg_gpu_get_counters(const struct cg_gpu *gpu, struct cg_gpu_counters *c)
{
    (void) gpu;
    memset(c, 0, sizeof *c);
}

void cg_gpu_bus_id(const struct cg_gpu *gpu, char *id)
{
    (void) gpu;
    id[0] = '\0';
}
