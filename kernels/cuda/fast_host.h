/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor's host side among itself: fast_post.c and fast_host.c (operations), fast_copy.c
 * (those that the host drives), fast_window.c and fast_slab.c (memory). */
#ifndef CG_KERNELS_CUDA_FAST_HOST_H
#define CG_KERNELS_CUDA_FAST_HOST_H

#include "kernels/cuda/fast_flow.h"
#include "kernels/cuda/host.h"
#include "kernels/cuda/share.h"

#define CG_FAST_SHARED_SPIN_NS 20000 /* among ranks of one GPU: they wait for each other's time slice */

/* QUEUED waits for its turn; GIVEN is with the GPU; PARKED left unfinished and waits for its time;
 * COPYING is driven by the host, beside the others; ENDED for test. */
enum cg_fast_op_state { CG_FAST_FREE, CG_FAST_QUEUED, CG_FAST_GIVEN, CG_FAST_PARKED, CG_FAST_COPYING, CG_FAST_ENDED };

struct cg_fast_run {
    int state, status, cancelled;
    int coll, protocol, want_blocks;
    int blocks, threads, big;
    int needs, kernel; /* enum cg_fast_function: the least that serves it, and which has it */
    int seen; /* blocks known to have ended this dispatch */
    uint32_t n;
    struct cg_fast_window *window;
    struct cg_fast_cmd cmd; /* misc of big ones too */
    uint64_t bytes, first, end; /* of big ones */
    uint32_t chunk;
    int parked;                 /* a block has ended this dispatch unfinished */
    uint64_t now_ns;            /* when it was posted */
    uint64_t since_ns, due_ns;  /* unfinished since when, to be given again when */
    uint64_t turn; /* order among those that wait */
};

/* GPU memory in an allocation, slab, whose first piece owns it. */
struct cg_fast_piece {
    char *slab, *memory;
    uint64_t bytes;
};

struct cg_fast_window {
    struct cg_fast_window *next;
    struct cg_fast *fast;
    struct cg_fast_view view;
    struct cg_fast_lines lines;
    struct cg_fast_piece piece;
    char *memory;                /* the piece's */
    int index, big, shared, ll128, usable;
    uint32_t imported;           /* bit per rank */
    uint32_t seq;                /* of the last LL or LL128 operation */
    uint64_t group;              /* TWO_SHOT groups so far */
    int took;                    /* protocol of the last operation that ended */
    struct cg_fast_import *from[CG_FAST_RANKS];
    struct cg_fast_copy *copy;   /* NULL: none */
    struct cg_fast_lead *lead;   /* the same */
};

/* An allocation of another process, opened once. */
struct cg_fast_import {
    struct cg_fast_import *next;
    unsigned char handle[64];
    char *base;
    int users;
};

/* GPU memory that no window uses. */
struct cg_fast_spare {
    struct cg_fast_spare *next;
    struct cg_fast_piece piece;
};

struct cg_fast {
    int device, sms, lingers, max_blocks;
    cudaStream_t stream, setup, lead;
    void *lead_kernel[2];          /* the second one for half and bfloat16 */
    uint64_t led;                  /* launches of LEAD */
    struct cg_fast_ctl *ctl;
    struct cg_fast_state *state;
    uint64_t spin_ns;
    void *function[CG_FX_FUNCTIONS];
    uint32_t bulk;
    int narrow;                    /* cg_fx_load_narrow was there */
    uint32_t n;                    /* last dispatch number */
    struct cg_fast_launch launch;  /* the last one of a grid that may linger */
    int ringable, grid, threads;   /* it takes doorbells; its shape */
    int kernel, needed;            /* enum cg_fast_function; the largest that an operation needed of this grid */
    uint64_t launched_ns;          /* when it was launched, or launched ahead */
    uint32_t ahead_of;             /* the dispatch beside which it was launched ahead */
    int stray;                     /* one before it may still linger: it was leaving, and may have taken the doorbell */
    int current;                   /* index of the GIVEN run, -1 = none */
    int busy, copying, idle_polls; /* operations: all; those that the host drives */
    uint64_t turns;
    struct cg_fast_run run[CG_FAST_OPS];
    struct cg_fast_import *imports;
    struct cg_fast_spare *spares;
    struct cg_share share;         /* the application's buffers, for COPY and LEAD */
    struct cg_fast_window *windows; /* by index */
    unsigned char used[CG_FAST_WINDOWS];
    struct cg_fast_counters counters;
};

/* fast_post.c: blocks and threads; chunks of TWO_SHOT, which take their numbers of the window. */
void cg_fx_shape(const struct cg_fast *fast, struct cg_fast_run *run);
/* enum cg_fast_function: the least that serves an operation by LL, LL128 or TWO_SHOT. */
int cg_fx_kernel(int coll, int protocol, int type);
void cg_fx_split(struct cg_fast_run *run);
/* fast_open.c: what sums of half and bfloat16 need, loaded once. */
int cg_fx_load_narrow(struct cg_fast *fast);
/* fast_host.c: drive copies; see what ended, give the next one to the GPU. */
void cg_fx_advance(struct cg_fast *fast);
/* fast_copy.c: has the window all that COPY needs? */
int cg_copy_ready(const struct cg_fast_window *window);

/* fast_slab.c, with context: GPU memory of at least so many bytes, not cleared; CG_ERR_GPU_NOMEM. It is given back for
 * the next one of its size, and freed by close, when no piece is in use. */
int cg_fx_piece_get(struct cg_fast *fast, uint64_t bytes, struct cg_fast_piece *piece);
void cg_fx_piece_put(struct cg_fast *fast, const struct cg_fast_piece *piece);
void cg_fx_pieces_close(struct cg_fast *fast);
/* fast_window.c: give everything back; no kernel of ours runs. */
void cg_fx_free_windows(struct cg_fast *fast);

#endif
