/* SPDX-License-Identifier: BSD-3-Clause
 * The engine: queues of posted operations, set-up of communicators, progress. Free of MPI: the component hands it
 * members, a way to exchange a few messages, and calls; tests hand it a pretended MPI.
 *
 * Locking: every function takes the process's lock itself, except where it says otherwise; cg_proc_progress only tries
 * it. Callbacks run without the lock. Nothing waits while holding it. With threads = 0 there is no lock. */
#ifndef CG_ENGINE_ENGINE_H
#define CG_ENGINE_ENGINE_H

#include "core/params.h"
#include "kernels/flat.h"
#include "kernels/step.h"
#include "proxy/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cg_proc;  /* this process */
struct cg_group; /* a communicator's part in it */
struct cg_req;   /* one operation */
struct cg_table; /* plan/choose.h */

/* What every process publishes about itself (modex). Plain data. */
#define CG_CARD_VERSION 1
enum cg_card_flag { CG_CARD_GPU = 1, CG_CARD_NET = 2, CG_CARD_ALWAYS = 4, CG_CARD_NEVER = 8 };
struct cg_card {
    uint32_t version, flags;
    uint64_t host;               /* equal for processes that may share memory */
    uint64_t key;
    uint32_t local_rank, local_size; /* among the job's processes of that host */
    char socket[48];
};

/* The pretended host of a process (parameter virtual_nodes) among those of its host. */
static inline uint32_t cg_virtual_node(uint32_t local_rank, uint32_t local_size, int virtual_nodes)
{
    return virtual_nodes < 2 || local_size < 2 ? 0 : local_rank * (uint32_t) virtual_nodes / local_size;
}

struct cg_proc_config {
    struct cg_params params;
    uint64_t self;
    int threads;                 /* more than one application thread */
    const char *net_hint;        /* NULL: from what is near */
    uint32_t local_rank, local_size; /* among the job's processes of this host */
    const struct cg_net_ops *net; /* NULL: find params.transport in the table; none: no network */
    const struct cg_table *table; /* plan/choose.h; the caller keeps it until close; NULL: the built-in one */
};

/* Opens nothing that costs. Fills the card except local_rank and local_size. */
int cg_proc_open(const struct cg_proc_config *config, struct cg_proc **proc, struct cg_card *card);
/* All groups released or not: kernels leave, memory goes; no traffic. */
void cg_proc_close(struct cg_proc *proc);
/* Threads appeared after open (MPI_Init_thread decides late). */
void cg_proc_set_threads(struct cg_proc *proc, int threads);

/* Advance everything. Number of operations completed, never negative. Early out if nothing is outstanding. Any thread,
 * recursion included. */
int cg_proc_progress(struct cg_proc *proc);
/* Nothing outstanding: no operation, set-up or message. */
int cg_proc_idle(const struct cg_proc *proc);

/* How the members of a group exchange set-up messages. Nonblocking, ordered per (sender, receiver). Called under the
 * lock from post and progress. buf stays valid until test says so. */
struct cg_boot_ops {
    int (*isend)(void *ctx, uint32_t peer, const void *buf, size_t bytes, void **req);
    int (*irecv)(void *ctx, uint32_t peer, void *buf, size_t bytes, void **req);
    int (*test)(void *ctx, void *req); /* CG_AGAIN, CG_OK (req gone), or an error (req gone) */
};

struct cg_group_config {
    uint32_t rank, size;
    const uint64_t *names;        /* size, copied */
    const struct cg_card *cards;  /* size, copied */
    const char *label;            /* the communicator's name in messages, copied */
    const struct cg_boot_ops *boot;
    void *boot_ctx;
};

/* Is a group of these members served by coll/gpu natively? From the cards alone, so alike on all ranks: any has a GPU
 * or wants always, none is never, all have the same version, those on different hosts have a transport. why: static. */
int cg_group_wanted(const struct cg_card *cards, uint32_t size, const struct cg_params *params, const char **why);

int cg_group_open(struct cg_proc *proc, const struct cg_group_config *config, struct cg_group **group);
/* The communicator is gone. Operations in flight go on to their end; memory follows. Never blocks, no traffic here. */
void cg_group_release(struct cg_group *group);

/* Can the group run this collective natively? From the collective and the number of ranks: alike on all. */
int cg_group_serves(const struct cg_group *group, int coll);

/* Set-up: CG_AGAIN while it runs (post starts it; progress advances it), CG_OK, or the error that all agreed on. */
int cg_group_status(const struct cg_group *group);
/* Start set-up without an operation, for a blocking caller who wants to know the outcome first. */
int cg_group_start(struct cg_group *group);

struct cg_call {
    int coll;                /* enum cg_coll */
    int type, redop;         /* of collectives that reduce; the others move bytes: CG_TYPE_U8 */
    /* src == dst for in place; where only a block is sent (allgather, gather's root) in place means that src is that
     * block of dst, and for scatter's root that dst is its block of src. NULL where insignificant. bcast: both are the
     * buffer. */
    const void *src;
    void *dst;
    uint64_t count;          /* elements, of the buffer or of a block: struct cg_plan_request */
    uint32_t root;
    /* One entry per rank, in elements, copied; NULL where the collective has none or they are insignificant here.
     * Offsets of src_disp and dst_disp are from src and dst. */
    const uint64_t *src_len, *src_disp, *dst_len, *dst_disp;
    /* Packed on a GPU: pieces that are packed into src (in place: dst) before the operation, and unpacked from dst
     * after it. NULL: none. Both on one device; valid until the operation ended. */
    const struct cg_pieces *pack, *unpack;
    int blocking;            /* the caller waits at once: others may be awaited here instead of on the GPU */
};

/* GPU memory for packed data, for use by an operation with pack or unpack on that device. NULL: it cannot be had, and
 * nor can packing on that GPU. Opens the device. */
void *cg_proc_room(struct cg_proc *proc, int device, uint64_t bytes);
void cg_proc_room_free(struct cg_proc *proc, int device, void *room);

/* inout[i] = in[i] op inout[i], of a type and an operation that MPI allows together, by a kernel of the GPU that has
 * both buffers; waits. CG_ERR_UNSUPPORTED, and nothing happened: they are not on one GPU, or it cannot be used. Any
 * thread that may call MPI. */
int cg_proc_reduce_local(struct cg_proc *proc, int type, int redop, const void *in, void *inout, uint64_t count);

/* Called once when the operation has ended, without the lock, from post, progress or wait. status: cg_status. */
typedef void (*cg_complete_fn)(void *ctx, int status);

/* Queue an operation. In the order of the communicator's calls. CG_OK, or an error and nothing was queued. The request
 * is the engine's; it is gone when complete has been called, which may be before this returns if call is blocking. */
int cg_group_post(struct cg_group *group, const struct cg_call *call, cg_complete_fn complete, void *ctx);

/* For a caller who waits, in cg_proc_progress, until done: the same without a callback, and cheaper where the call is
 * on host buffers, is like the last one, and nothing else of the group is under way. status: cg_status, once done. */
struct cg_wait {
    uint64_t done; /* acquired */
    int status;
};
int cg_group_call(struct cg_group *group, const struct cg_call *call, struct cg_wait *wait);

/* Where an operation went, for verbose output and bench: text of the last finished operation of this group. */
struct cg_trace {
    const char *plan, *executor, *medium;
};
void cg_group_trace(const struct cg_group *group, struct cg_trace *trace);

/* Counters, summed over the process. */
struct cg_counters {
    uint64_t posts, native_host, native_gpu, native_fast, bounced, setups, setup_failures, errors, packed;
    uint64_t launches, doorbells, longest_ns, messages, chunks, chunk_bytes, links, tenants, descriptors;
    uint64_t gpu_messages, registrations, fifo_bytes, workers, connections;
};
void cg_proc_get_counters(struct cg_proc *proc, struct cg_counters *c);

#ifdef __cplusplus
}
#endif
#endif
