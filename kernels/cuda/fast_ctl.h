/* SPDX-License-Identifier: BSD-3-Clause
 * What the host side of the fast executor and its kernels share: layout of a window, doorbell, words of completion.
 *
 * Dispatches are numbered from 1, one sequence per device over doorbells and launches alike; one operation at a time is
 * with the GPU. A lingering launch takes number n + 1 through the doorbell line or leaves:
 *   kernel: store LEAVING; fence.sc; read the line once more; n + 1 there: RUNNING and serve, else exit
 *   host:   store the line; fence.sc; load the state; RUNNING: it is served; else launch with CG_CMD_RETRY
 * One of the two sees the other's store, so no doorbell is lost. Both may see it: a kernel notes the last number that
 * it took (taken), and a launch with CG_CMD_RETRY, which the stream starts after the one before it has
 * ended, passes over a number that was taken; it does not linger, so that no number is offered to two. No word is
 * read-modify-written over PCIe.
 *
 * A launch that is about to be too old is asked to leave with the operation that it is given; while that runs, the host
 * launches the next one ahead, which starts when the stream's other has left, and waits for the doorbell. So an
 * operation seldom pays for a launch.
 *
 * Completion: each block that takes part stores number << 4 | how it ended in its own host word. Block 0 adds
 * CG_END_LAST if the launch takes no further number (too old, or not asked to linger): then nobody rings for it. */
#ifndef CG_KERNELS_CUDA_FAST_CTL_H
#define CG_KERNELS_CUDA_FAST_CTL_H

#include "core/port.h"
#include "kernels/cuda/fast.h"

#define CG_FAST_OPS 16
#define CG_FAST_BLOCKS 256
#define CG_FAST_WINDOWS 4096
#define CG_FAST_THREADS 512
#define CG_FAST_NUMBERS 0x07ffffffu /* dispatch numbers are 1 ... this */
#define CG_FAST_EXIT 0x80000000u    /* flag bit of a relayed line: the launch ends */

CG_HD uint32_t cg_fast_next(uint32_t n) { return n >= CG_FAST_NUMBERS ? 1 : n + 1; }
/* Does a come after b? Numbers in flight are close to each other. */
CG_HD int cg_fast_after(uint32_t a, uint32_t b) { return a != b && ((a - b) & CG_FAST_NUMBERS) < CG_FAST_NUMBERS / 2; }

/* ---- window ---- */

/* Offsets and sizes in bytes; the same on every rank. A source's part at its receiver has index (source < receiver ?
 * source : source - 1). ll and ll128: [half][source] of ll_slot and ll128_slot. raw and res: [source][ring][slot] of
 * chunk. words: [kind][source][ring], CG_FAST_WORD apart. */
struct cg_fast_layout {
    uint64_t positions, words, ll, ll128, raw, res, bytes;
    uint32_t ll_slot, ll128_slot, chunk, slots, rings, pad;
};
#define CG_FAST_WORD 32
enum cg_fast_word { CG_FAST_RAW_TAIL, CG_FAST_RAW_HEAD, CG_FAST_RES_TAIL, CG_FAST_RES_HEAD, CG_FAST_WORD_KINDS };

/* Where a block stands in the window's unfinished operation. LL and LL128: passes committed in operation seq, written
 * when the block parks and when it was resumed. TWO_SHOT: the walks of its roles. */
struct cg_fast_position {
    uint64_t at[3];
    uint32_t seq, passes;
};

/* A window as TWO_SHOT's kernel sees it. */
struct cg_fast_view {
    char *base[CG_FAST_RANKS]; /* of every rank's window, own included */
    uint64_t spin_ns;
    uint32_t nranks, rank;
    struct cg_fast_layout l;
};

/* A window as the kernel of LL and LL128 sees it: where this rank's lines go, next rank first, and where those of each
 * rank arrive. half: distance of the two halves. Index 0 is LL, 1 is LL128. */
struct cg_fast_lines {
    uint64_t spin_ns;
    struct cg_fast_position *positions;
    uint32_t nranks, rank;
    uint64_t half[2];
    char *out[2][CG_FAST_RANKS - 1];
    const char *in[2][CG_FAST_RANKS];
    const char *in_first[2]; /* of the lowest other rank */
};

CG_HD uint32_t cg_fast_part(uint32_t source, uint32_t receiver) { return source < receiver ? source : source - 1; }

/* ---- commands ---- */

/* Fields of a command's last word. */
#define CG_CMD_WINDOW(m) ((uint32_t) (m) & 0xfff)
#define CG_CMD_TYPE(m) ((uint32_t) ((m) >> 12) & 15)
#define CG_CMD_REDOP(m) ((uint32_t) ((m) >> 16) & 15)
#define CG_CMD_BLOCKS(m) (((uint32_t) ((m) >> 32) & 0xff) + 1)
#define CG_CMD_SLOT(m) ((uint32_t) ((m) >> 40) & 15) /* of the check record */
#define CG_CMD_LOG(m) ((uint32_t) ((m) >> 44) & 3)   /* of an element's bytes */
#define CG_CMD_ANSWER(m) ((uint32_t) ((m) >> 48) & 7) /* within block 0: what it answers for all */
#define CG_CMD(window, type, redop, blocks, slot, log)                                                            \
    ((uint64_t) (window) | (uint64_t) (type) << 12 | (uint64_t) (redop) << 16 | (uint64_t) ((blocks) - 1) << 32 | \
     (uint64_t) (slot) << 40 | (uint64_t) (log) << 44)
#define CG_CMD_LL128 (1ull << 20)
#define CG_CMD_LINGER (1ull << 21)
#define CG_CMD_CHECK (1ull << 22)
#define CG_CMD_RESUME (1ull << 23) /* positions are valid */
#define CG_CMD_EXIT (1ull << 24)
#define CG_CMD_RETRY (1ull << 25)  /* of a launch: pass over the number if it was taken */
#define CG_CMD_SKIP (1ull << 26)   /* relayed: block 0 has answered for all */
#define CG_CMD_AHEAD (1ull << 27)  /* of a launch: nothing to do yet, its number is the last one of the launch before */
/* Which way data flows; count is of the buffer, or of a block where there are blocks: one for each rank. */
#define CG_CMD_FROM_ROOT (1ull << 52)
#define CG_CMD_TO_ROOT (1ull << 53)
#define CG_CMD_OUT_BLOCKS (1ull << 54) /* the send buffer consists of blocks */
#define CG_CMD_IN_BLOCKS (1ull << 55)  /* the receive buffer does */
#define CG_CMD_REDUCES (1ull << 56)
#define CG_CMD_ROOT(m) ((uint32_t) ((m) >> 57) & 7)

/* LL and LL128. In the doorbell line word k of these four is {low, number, high, number}. */
struct cg_fast_cmd {
    uint64_t src, dst;
    uint32_t count; /* elements */
    uint32_t seq;   /* of the window, never 0: the flag of every line */
    uint64_t misc;
};
struct cg_fast_line {
    uint32_t w[16];
};
CG_STATIC_ASSERT(sizeof(struct cg_fast_cmd) == 32 && sizeof(struct cg_fast_line) == 64, "one line of the bus");

/* What peers must have announced before anything is sent. */
struct cg_fast_check {
    uint64_t n, kind_want;
    const uint64_t *posted[CG_FAST_RANKS - 1];
    const uint64_t *kind[CG_FAST_RANKS - 1];
    uint64_t want[CG_FAST_RANKS - 1];
};

enum cg_fast_end {
    CG_END_DONE = 1,
    CG_END_PARKED = 2,      /* this block has more to do */
    CG_END_REFUSED = 3,     /* block 0 alone answers: a peer announced another kind */
    CG_END_NOT_STARTED = 4, /* block 0 alone answers: a peer has announced nothing yet */
    CG_END_LAST = 8
};

/* In pinned host memory; a polled line each for what the host writes and what the kernel writes. */
struct cg_fast_ctl {
    struct cg_fast_line door;
    char pad0[64];
    uint32_t leaving[2]; /* written by the kernel: [id & 1] = id << 1 | leaving; set to id << 1 before a launch */
    uint64_t longest_ns; /* residency of a launch */
    uint64_t led;        /* LEAD: number of the last launch that has ended */
    char pad1[104];
    uint32_t end[CG_FAST_BLOCKS];
    struct cg_fast_check check[CG_FAST_OPS];
};

/* In GPU memory. */
struct cg_fast_state {
    struct cg_fast_line relay; /* block 0 to the others */
    uint32_t taken;
    uint32_t led; /* LEAD: blocks of the launch that have ended */
    uint64_t longest_ns;
    const struct cg_fast_lines *window[CG_FAST_WINDOWS];
};

/* ---- launches ---- */

struct cg_fast_launch {
    struct cg_fast_ctl *ctl;
    struct cg_fast_state *state;
    uint64_t linger_clocks, age_ns;
    uint32_t id, n; /* n: number of cmd */
    struct cg_fast_cmd cmd;
    struct cg_fast_lines lines; /* of cmd's window */
};

/* TWO_SHOT's threads of a role, one after the other; named barrier 1 + role. */
#define CG_TS_SENDERS 128
#define CG_TS_REDUCERS 256
#define CG_TS_RECEIVERS 128
#define CG_TS_THREADS (CG_TS_SENDERS + CG_TS_REDUCERS + CG_TS_RECEIVERS)

/* TWO_SHOT. Groups of nranks chunks are numbered over all operations of the window: group x travels in ring x % rings,
 * slot x / rings % slots. Of group x of this operation, chunk (x - first) * nranks + r is owned by rank r. */
struct cg_fast_big {
    struct cg_fast_ctl *ctl;
    struct cg_fast_state *state;
    uint64_t src, dst, bytes, first, end;
    uint64_t misc;
    uint32_t n, chunk;
    uint32_t bulk; /* bytes of shared memory for bulk copies, 0: plain stores */
    uint32_t pad;
    struct cg_fast_view view;
};

#ifdef __cplusplus
extern "C" {
#endif

/* In fast_kernel.cu: the functions as the current context knows them (CUfunction), by enum cg_fast_function: LL alone,
 * LL and LL128, those of all collectives, sums of half and bfloat16 too, each able to do what those before it do, and
 * larger; TWO_SHOT, and for those types. bulk: bytes of shared memory that bulk copies of TWO_SHOT may use, 0 if there
 * are none. Returns cudaError_t. */
enum cg_fast_function {
    CG_FX_LL, CG_FX_BOTH, CG_FX_MOVE, CG_FX_NARROW, CG_FX_BIG, CG_FX_BIG_NARROW, CG_FX_FUNCTIONS
};
const void *cg_fx_move(int narrow); /* in fast_move.cu */
int cg_fx_load(void *function[CG_FX_FUNCTIONS], uint32_t *bulk, int narrow); /* those, or the others */

#ifdef __cplusplus
}
#endif
#endif
