/* SPDX-License-Identifier: BSD-3-Clause
 * The GPU side as seen by C code without CUDA headers. Built with nvcc, or as stubs (gpu_none.c) that say "no GPU".
 *
 * Thread rules: classify, enter and leave: any thread. Everything that takes a struct cg_gpu: under that engine's lock.
 * No function here waits for a kernel, except open and close, which are for set-up and tear-down. */
#ifndef CG_KERNELS_CUDA_GPU_H
#define CG_KERNELS_CUDA_GPU_H

#include "core/params.h"
#include "kernels/flat.h"
#include "kernels/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- detection ---- */

/* Does this machine have an NVIDIA GPU that this process may see? Looks at device nodes and CUDA_VISIBLE_DEVICES, loads
 * nothing, makes no context, cannot fail. A hint for the modex; opening may still fail. */
int cg_gpu_present(void);

/* Was this built with CUDA? */
int cg_gpu_built(void);

enum cg_mem_kind { CG_MEM_HOST, CG_MEM_PINNED, CG_MEM_DEVICE, CG_MEM_MANAGED };
struct cg_mem {
    int kind;      /* enum cg_mem_kind; HOST also when CUDA was never initialised in this process */
    int device;    /* ordinal of the GPU for DEVICE and MANAGED, else -1 */
    uint64_t id;   /* CUDA's buffer id, changes with every allocation */
};
/* Classify the memory at p; NULL is HOST. About 100 ns; never makes a context, never initialises CUDA. */
void cg_gpu_classify(const void *p, struct cg_mem *mem);

/* ---- manners: around every CUDA use ---- */

struct cg_gpu_scope {
    void *context; /* the caller's, restored */
    int capture, active;
};
/* Make device's primary context current in this thread and set its stream capture mode to relaxed, so that a capture
 * elsewhere is not invalidated. CG_OK or CG_ERR_GPU (then nothing changed, no leave). */
int cg_gpu_enter(int device, struct cg_gpu_scope *scope);
void cg_gpu_leave(struct cg_gpu_scope *scope);

/* ---- engine: one per device in use ---- */

struct cg_gpu;

/* Stream, state in GPU memory (under 1 MiB), control block in host memory, kernels loaded. The device's primary context
 * is made if there is none. CG_OK, CG_ERR_GPU or CG_ERR_GPU_NOMEM, with one line of reason and remedy in why. */
int cg_gpu_open(int device, const struct cg_params *params, struct cg_gpu **gpu, char *why, size_t len);
/* Waits until no kernel of ours is resident (bounded), frees everything. Tolerates a destroyed context. */
void cg_gpu_close(struct cg_gpu *gpu);

/* Make host memory (a shared chunk) addressable by the GPU at its own address. Once per region; forgotten at close, or
 * by unregister at a quiet point. CG_OK or CG_ERR_GPU. */
int cg_gpu_register(struct cg_gpu *gpu, void *addr, size_t bytes);
void cg_gpu_unregister(struct cg_gpu *gpu, void *addr);

/* Queue an operation for the kernel. src and dst are GPU addressable, all lines and slots registered. The descriptor is
 * copied. after: slot of the operation of the same communicator posted before on this engine, or -1. On CG_OK *slot
 * names it until cg_gpu_release. CG_AGAIN if all slots are in use. Launches if no kernel serves the queue. */
int cg_gpu_post(struct cg_gpu *gpu, const struct cg_op *op, int after, int *slot);
/* Launch again if a kernel left and words that its operations wait for have moved since, or something was posted.
 * Only launches, queries and reads memory. Returns launches made, or a CG_ERR. */
int cg_gpu_progress(struct cg_gpu *gpu);
/* CG_AGAIN, CG_OK when the result is in memory, or an error with *fault. */
int cg_gpu_test(struct cg_gpu *gpu, int slot, struct cg_fault *fault);
/* Give the slot back: after OK, or after an error (then the operation is cancelled: the kernel drops it). */
void cg_gpu_release(struct cg_gpu *gpu, int slot);
/* Operations posted and not yet released. */
int cg_gpu_busy(const struct cg_gpu *gpu);

/* Asynchronous copy between any two kinds of memory, on its own stream, never behind a live kernel. Handle for test;
 * CG_AGAIN / CG_OK / CG_ERR_GPU; the handle is gone after OK or an error. */
struct cg_gpu_copy;
int cg_gpu_copy_start(struct cg_gpu *gpu, void *dst, const void *src, size_t bytes, struct cg_gpu_copy **copy);
int cg_gpu_copy_test(struct cg_gpu *gpu, struct cg_gpu_copy *copy);

/* Data that do not lie together (kernels/flat.h): packed by a kernel on the stream of the copies, or back; user and
 * packed memory are this GPU's, or managed, or registered. Any number of pieces, also none: then the handle tells when
 * room allocated before exists. Handles and results as for copies. The descriptions must stay until then. */
int cg_gpu_pack_start(struct cg_gpu *gpu, const struct cg_flat_piece *piece, uint32_t n, char *packed, int back,
                      struct cg_gpu_copy **copy);
/* Memory of this GPU for packed data, to be used once the stream of the copies has come to it. NULL if there is none.
 * Neither waits; what is given back is kept up to CG_ROOM_KEEP bytes. */
#define CG_ROOM_KEEP (256u << 20)
void *cg_gpu_room(struct cg_gpu *gpu, size_t bytes);
void cg_gpu_room_free(struct cg_gpu *gpu, void *room);

/* inout[i] = in[i] op inout[i] for count elements of enum cg_type and cg_redop, a pair that MPI allows: by a kernel on
 * the stream of the copies. Both are this GPU's memory, or managed, or registered, at any address; they do not overlap.
 * Handles and results as for copies. */
int cg_gpu_reduce_start(struct cg_gpu *gpu, int type, int redop, const void *in, void *inout, uint64_t count,
                        struct cg_gpu_copy **copy);

/* Synchronous copy between any two kinds of memory, manners included, without an engine: for staging. device: the GPU
 * whose memory takes part. Any thread. CG_OK or CG_ERR_GPU. */
int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes);

/* Pinned host memory for staging. NULL if there is none. Free waits for a resident kernel: quiet points only. */
void *cg_gpu_host_alloc(struct cg_gpu *gpu, size_t bytes);
void cg_gpu_host_free(struct cg_gpu *gpu, void *p);

/* Memory of this GPU that networks and other processes' GPUs may read and write. NULL if there is none. Freed at close
 * at the latest; free waits for a resident kernel: quiet points only. */
void *cg_gpu_mem_alloc(struct cg_gpu *gpu, size_t bytes);
void cg_gpu_mem_free(struct cg_gpu *gpu, void *addr);
/* A descriptor of the dma-buf of whole pages of that memory, to be closed by the caller; -1: the driver has none. */
int cg_gpu_dmabuf(struct cg_gpu *gpu, void *addr, size_t bytes);

/* What it takes until this GPU's kernels see what a network device wrote into its memory, once the CPU knows of it:
 * nothing; cg_gpu_flush (microseconds, returns when done); or a flush by the transport. */
enum cg_flush_kind { CG_FLUSH_NONE = 1, CG_FLUSH_HOST, CG_FLUSH_NET };
int cg_gpu_flush_kind(struct cg_gpu *gpu);
int cg_gpu_flush(struct cg_gpu *gpu); /* CG_OK or CG_ERR_GPU */

int cg_gpu_device(const struct cg_gpu *gpu); /* its ordinal */

struct cg_gpu_counters {
    uint64_t launches, posts, done, registrations;
    uint64_t longest_ns; /* residency of one launch, from the GPU's timer */
};
void cg_gpu_get_counters(const struct cg_gpu *gpu, struct cg_gpu_counters *c);
/* NUL-terminated PCI bus id "dddd:bb:dd.f" of the device into id[32], "" if unknown. */
void cg_gpu_bus_id(const struct cg_gpu *gpu, char *id);

#ifdef __cplusplus
}
#endif
#endif
