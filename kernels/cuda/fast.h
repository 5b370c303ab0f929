/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor: allreduce among 2 to 8 GPUs of one host whose memory the ranks have opened for each other (CUDA
 * IPC over NVLink or PCIe peer access). One launch, or no launch at all while a kernel lingers for the next doorbell.
 *
 * Protocols
 *   LL        one-shot: every rank stores its data to every peer as lines of 8 bytes (4 data, 4 flag) pairs
 *   LL128     one-shot: lines of 128 bytes with an 8-byte flag
 *   TWO_SHOT  reduce-scatter + all-gather by pushing chunks through rings in the peer's GPU memory (bulk copies)
 *   COPY      the same by copy engines, driven by the hosts: for blocking operations (fast_copy.h); where a rank's dst
 *             cannot be opened by the others it is run as TWO_SHOT
 *   LEAD      one rank of each GPU does the work of all (lead.h), where ranks share a GPU without MPS; where a buffer
 *             cannot be opened it is run as TWO_SHOT
 * All reduce in rank order, so that results have the same bits on every rank, for every protocol and launch.
 *
 * A window is one communicator's memory: LL and LL128 double buffers and rings in this rank's GPU memory, written by
 * the peers, with its own counters, which never restart. The caller guarantees that all ranks run the same operations
 * on a window in the same order, and that it posts the next operation on a window only after the one before it ended
 * here. That is the reuse invariant (a) of docs/architecture.md for LL and LL128; rings have credits.
 *
 * Same thread rules as gpu.h: everything under the engine's lock, nothing waits for a kernel except open, close and
 * window_free. */
#ifndef CG_KERNELS_CUDA_FAST_H
#define CG_KERNELS_CUDA_FAST_H

#include "core/params.h"
#include "kernels/step.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CG_FAST_RANKS 8
#define CG_FAST_SHARED_BLOCKS 16 /* at most, among ranks of one GPU */
enum cg_fast_protocol {
#define CG_PROTOCOL(name, text) CG_FAST_##name,
#include "kernels/protocols.def"
#undef CG_PROTOCOL
    CG_FAST_PROTOCOLS
};

struct cg_fast;        /* one per device in use */
struct cg_fast_window; /* one per communicator */

/* Streams, control block, kernels loaded. CG_OK, CG_ERR_GPU, CG_ERR_GPU_NOMEM with a reason in why. */
int cg_fast_open(int device, const struct cg_params *params, struct cg_fast **fast, char *why, size_t len);
void cg_fast_close(struct cg_fast *fast);

/* What peers need to open a window: plain data that travels through shared memory. */
struct cg_fast_card {
    unsigned char handle[64]; /* cudaIpcMemHandle_t */
    unsigned char uuid[16];   /* of the GPU */
    uint64_t bytes, offset;   /* of the window in the allocation */
    uint64_t pid, address;    /* same process: used directly */
    uint64_t mps;             /* this process is a client of MPS */
};

/* GPU memory for one communicator of nranks ranks: big = 1: up to 64 MiB, sized so that LL128 reaches as far as it
 * pays; big = 0: at most 1 MiB. Fills *card. Equal arguments give an equal layout on every rank. CG_OK or an error. */
int cg_fast_window_alloc(struct cg_fast *fast, uint32_t nranks, uint32_t rank, int big, struct cg_fast_window **window,
                         struct cg_fast_card *card);
/* Open rank peer's window. CG_OK, or CG_ERR_GPU (no peer access, handle refused): then the caller uses other paths. A
 * window on the same GPU in another process is opened too, but *shared_gpu is set: such ranks must not spin for each
 * other unless under MPS. */
int cg_fast_window_import(struct cg_fast_window *window, uint32_t peer, const struct cg_fast_card *card,
                          int *shared_gpu);
/* Shared host memory for COPY and LEAD: CG_FAST_MEET_BYTES that rank peer writes, and as many that it reads. Before the
 * card is shown to that peer, which may then write; out is cleared. Without it there is no COPY and no LEAD. */
#define CG_COPY_MEET_BYTES 256
#define CG_LEAD_MEET_BYTES 448
#define CG_FAST_MEET_BYTES (CG_COPY_MEET_BYTES + CG_LEAD_MEET_BYTES)
void cg_fast_window_meet(struct cg_fast_window *window, uint32_t peer, const void *in, void *out);
/* Nothing of this window is running. Memory returns to a pool, to be used again by the next window of that size and the
 * same ranks' processes only through a fresh alloc and import. */
void cg_fast_window_free(struct cg_fast_window *window);

/* Largest message or block in bytes of a collective that a protocol can carry in this window (UINT64_MAX: no limit; 0:
 * not at all). */
uint64_t cg_fast_window_max(const struct cg_fast_window *window, int coll, int protocol);

/* May it be posted? What the kernels do not know, all ranks run another way. */
static inline int cg_fast_knows(int type, int redop)
{
    if (type < 0 || type > CG_TYPE_BF16 || redop < 0) return 0;
    return redop <= (type < CG_TYPE_F32 ? CG_REDOP_LXOR : CG_REDOP_MAX);
}

struct cg_fast_op {
    int coll;        /* enum cg_coll, one for which cg_fast_window_max is not 0 */
    uint32_t root;   /* where there is one */
    /* On this device, any alignment; in place and insignificant ones as struct cg_call has them. */
    const void *src;
    void *dst;
    uint64_t count;  /* elements, of the buffer or of a block */
    int type, redop, esize;
    int protocol;
    int blocks;      /* at most; 0: as many as there is work for */
    uint64_t now_us; /* by CLOCK_MONOTONIC, at most some microseconds ago */
    int expect_soon; /* the caller saw gaps shorter than linger: the kernel may linger for the next doorbell */
    /* Peers' announcements to await before anything is sent, or npeers_check = 0 if the caller has seen them already:
     * host words (registered memory) that must reach at least want[i]; then *kind[i]'s low byte must equal kind_want,
     * or the operation ends with CG_ERR_UNSUPPORTED untouched, to be run another way. Not with COPY and LEAD. */
    int ncheck;
    const uint64_t *posted[CG_FAST_RANKS - 1];
    uint64_t want[CG_FAST_RANKS - 1];
    const uint64_t *kind[CG_FAST_RANKS - 1];
    uint64_t kind_want;
};

/* The protocol that the last operation which ended on this window took. */
int cg_fast_window_took(const struct cg_fast_window *window);

/* An operation will be posted soon: fetches what that writes to. */
void cg_fast_expect_post(const struct cg_fast *fast);

/* Start an operation. CG_OK; CG_AGAIN: the device's queue is full (at most 16 operations on different windows). The
 * doorbell is rung, or a kernel launched, before this returns. *id names it for test. */
int cg_fast_post(struct cg_fast *fast, struct cg_fast_window *window, const struct cg_fast_op *op, int *id);
/* CG_AGAIN, CG_OK: the result is in memory, or an error. Reads host memory only; the id is free afterwards. */
int cg_fast_test(struct cg_fast *fast, int id);
/* Launch again what left without finishing (bounded wait), when a peer has kicked or a timer says so. */
int cg_fast_progress(struct cg_fast *fast);
/* Give up an operation (peer died): the kernel drops it. The window is unusable afterwards. */
void cg_fast_cancel(struct cg_fast *fast, int id);
int cg_fast_busy(const struct cg_fast *fast);

/* LL flags are 32 bits: true when this window's next LL operation would wrap. Then the caller runs one operation
 * another way after cg_fast_window_clean, on all ranks alike. */
int cg_fast_window_must_clean(const struct cg_fast_window *window);
int cg_fast_window_clean(struct cg_fast_window *window);

struct cg_fast_counters {
    uint64_t launches, doorbells, done, longest_ns, left_unfinished;
};
void cg_fast_get_counters(const struct cg_fast *fast, struct cg_fast_counters *c);

#ifdef __cplusplus
}
#endif
#endif
