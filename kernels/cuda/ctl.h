/* SPDX-License-Identifier: BSD-3-Clause
 * What the host side of the GPU engine and its kernel share: layout and hand-shakes.
 *
 * Posting. The host writes slot's struct cg_post, then the entry of the next doorbell number with release. Numbers are
 * consecutive from 1; an entry is valid if it carries the number that the reader expects. The polling warp copies the
 * post into GPU memory, and the entry after it (live): from then on worker c may run channel c < nchan.
 *
 * State word: launch id << 2 | RUNNING, LEAVING or GONE. The host sets RUNNING before it launches. The poller stores
 * LEAVING, fence.sc, looks at the next entry once more and either goes on (RUNNING) or leaves; the last block out
 * stores GONE. The host posts, fence.sc, and looks at the state: RUNNING serves the entry or, too old, leaves it for
 * the launch that the host makes when it sees GONE and an entry that was not taken.
 *
 * Finishing. Each channel counts itself off (left); the last one stores the doorbell number in finished, for the
 * poller, and in done, for the host, after a fault if there was one. Only then does the host use the slot again. To
 * cancel, the host stores the number in cancel and raises cancels; channels drop the operation and count themselves
 * off. */
#ifndef CG_KERNELS_CUDA_CTL_H
#define CG_KERNELS_CUDA_CTL_H

#include "kernels/interp.h"

#define CG_POSTS 32 /* slots; one lane of the polling warp each */

enum cg_launch_state { CG_LAUNCH_RUNNING = 1, CG_LAUNCH_LEAVING = 2, CG_LAUNCH_GONE = 3 };

/* Words of one line of host memory (line), relayed here: links of the operation read chan as their own line. */
struct cg_watch {
    struct cg_words chan[CG_MAX_CHAN];
    const struct cg_line *line;
    uint64_t pad;
};
CG_STATIC_ASSERT(sizeof(struct cg_watch) == 80, "copied in units of 16 bytes");

/* A posted operation: the descriptor, its links' mine pointing to the watches behind it in GPU memory. */
struct cg_post {
    uint64_t n;     /* doorbell number */
    uint64_t chain; /* operations of one chain run in order in each channel */
    uint16_t kind;  /* see cg_reduce_kind */
    uint16_t data;  /* see cg_type_data */
    uint8_t pad[12];
    struct cg_op op;
    char rest[CG_OP_BYTES - sizeof(struct cg_op) + CG_MAX_LINKS * sizeof(struct cg_watch)];
};
CG_STATIC_ASSERT(offsetof(struct cg_post, op) == 32 && sizeof(struct cg_post) % 16 == 0, "copied in units of 16 bytes");

CG_HD size_t cg_post_watch_offset(const struct cg_op *op)
{
    return offsetof(struct cg_post, op) + ((op->size + 15u) & ~15u);
}

/* Which reduction: pairs that do the same to the bits share one. */
CG_HD uint16_t cg_reduce_kind(int type, int redop)
{
    int integer = type < CG_TYPE_F32, minmax = redop == CG_REDOP_MIN || redop == CG_REDOP_MAX;

    if (redop == CG_REDOP_SUM && (type == CG_TYPE_C32 || type == CG_TYPE_C64)) type += CG_TYPE_F32 - CG_TYPE_C32;
    else if (redop == CG_REDOP_BAND || redop == CG_REDOP_BOR || redop == CG_REDOP_BXOR) type = CG_TYPE_U64;
    else if (integer && !minmax) type |= 1; /* the unsigned one of its width follows the signed one */
    return (uint16_t) (redop * CG_TYPE_COUNT + type);
}
CG_STATIC_ASSERT(CG_TYPE_U8 == (CG_TYPE_I8 | 1) && CG_TYPE_U16 == (CG_TYPE_I16 | 1) &&
                     CG_TYPE_U32 == (CG_TYPE_I32 | 1) && CG_TYPE_U64 == (CG_TYPE_I64 | 1) &&
                     CG_TYPE_F32 > CG_TYPE_U64 && CG_TYPE_F64 == CG_TYPE_F32 + 1 && CG_TYPE_C64 == CG_TYPE_C32 + 1,
                 "order of types.def");

/* Entry of the doorbell: number, channels and warps that the operation wants, units of 16 bytes to copy, slot. */
CG_HD uint64_t cg_entry(uint64_t n, uint32_t nchan, uint32_t warps, uint32_t units, uint32_t slot)
{
    return n << 24 | (uint64_t) nchan << 20 | (uint64_t) units << 10 | (uint64_t) (warps - 1) << 5 | slot;
}
CG_HD uint64_t cg_entry_n(uint64_t e) { return e >> 24; }
CG_HD uint32_t cg_entry_nchan(uint64_t e) { return (e >> 20) & 15; }
CG_HD uint32_t cg_entry_units(uint64_t e) { return (e >> 10) & 1023; }
CG_HD uint32_t cg_entry_warps(uint64_t e) { return ((e >> 5) & 31) + 1; }
CG_HD uint32_t cg_entry_slot(uint64_t e) { return e & 31; }
CG_STATIC_ASSERT(CG_POSTS == 32 && sizeof(struct cg_post) / 16 < 1024 && CG_MAX_CHAN < 16, "fields of an entry");

/* In pinned host memory. */
struct cg_ctl {
    /* the host writes */
    uint64_t entry[CG_POSTS]; /* indexed by doorbell number modulo CG_POSTS */
    uint64_t cancel[CG_POSTS];
    uint64_t cancels, pad0[15];
    /* the kernel writes */
    uint64_t state, taken, longest_ns, pad1[13];
    uint64_t done[CG_POSTS];
    struct cg_fault fault[CG_POSTS];
    struct cg_words seen[CG_POSTS][CG_MAX_LINKS][CG_MAX_CHAN]; /* at GONE: what the unfinished operations knew */
    struct cg_post post[CG_POSTS];
};

/* What worker c keeps of a slot between launches; valid for the operation n. */
struct cg_saved {
    uint64_t n;
    struct cg_pos pos;
};

/* In GPU memory; zero at the start. */
struct cg_state {
    uint64_t taken;             /* operations up to this number have been copied; their live words are valid */
    uint64_t orders;            /* counts changes of leave and cancel */
    /* the poller writes */
    uint64_t leave;             /* launch id that is asked to leave */
    uint64_t beat, cancels, pad0;
    uint64_t live[CG_POSTS];    /* entries */
    uint64_t cancel[CG_POSTS];  /* numbers; also written by a worker that found a fault */
    uint32_t left[CG_POSTS];    /* channels that have not finished; counted down by the workers if there are several */
    /* the workers write */
    uint64_t finished[CG_POSTS]; /* number of the last operation that all channels finished */
    uint64_t faulted[CG_POSTS]; /* number of the last operation that failed: who sets it reports */
    uint64_t progress[CG_MAX_CHAN]; /* steps * 2 + moving */
    uint64_t start_ns;          /* of this launch, ~0 between launches */
    uint64_t longest_ns;
    uint32_t exited, pad[3];
    struct cg_saved saved[CG_POSTS][CG_MAX_CHAN];
    struct cg_post post[CG_POSTS];
};

CG_STATIC_ASSERT(offsetof(struct cg_ctl, state) % 128 == 0 && offsetof(struct cg_ctl, cancels) % 16 == 0 &&
                     offsetof(struct cg_ctl, seen) % 16 == 0 && offsetof(struct cg_ctl, post) % 16 == 0,
                 "read and written in 16 bytes, what host and kernel write on lines apart");
CG_STATIC_ASSERT(offsetof(struct cg_state, post) % 16 == 0 && sizeof(struct cg_saved) % 16 == 0, "copied in 16 bytes");

struct cg_launch {
    struct cg_ctl *ctl;
    struct cg_state *state;
    uint64_t id, spin_ns, age_ns;
    uint64_t entry;   /* the next one, if something was posted */
    uint32_t workers; /* 0: leave at once (warm-up) */
};

#ifdef __cplusplus
extern "C" {
#endif

/* In kernel.cu; return cudaError_t. threads: largest block that the kernel can have on the current device. */
int cg_kernel_load(int *threads);
int cg_kernel_launch(const struct cg_launch *launch, int threads, void *stream);

#ifdef __cplusplus
}
#endif
#endif
