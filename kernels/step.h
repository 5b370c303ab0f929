/* SPDX-License-Identifier: BSD-3-Clause
 * Step programs: plain data that every executor runs (docs/architecture.md).
 *
 * A program splits the elements of an operation into channels; each channel belongs to one thread block (or is
 * swept by the host executor) and has its own lanes. A channel's range is cut into iters iterations of nchunks
 * chunks; in each iteration the steps run in order, each on one chunk. A step on an empty chunk is skipped by both
 * sides of a link, since ranges follow from facts equal on all ranks.
 *
 * A step waits until all that it reads has arrived and all that it writes has room (its commit point), then moves
 * the data, then publishes: slot header and payload before the tail, the reads before the head. It never waits
 * after its first write, so it may be parked and tried again at any time before. */
#ifndef CG_KERNELS_STEP_H
#define CG_KERNELS_STEP_H

#include "kernels/arith.h"

#define CG_MAX_CHAN 4
#define CG_MAX_LINKS 16
#define CG_MAX_STEPS 256
#define CG_MAX_BLOCKS 130
#define CG_MAX_WALKS 32
#define CG_LINK_NONE 0xff
#define CG_OP_BYTES 4096 /* a descriptor with everything behind it fits */

/* CG_COLL(NAME, text, reduces, known, reach)
 *   reduces  type and redop matter; otherwise elements are bytes
 *   known    its size is known to every rank, so that it can be compared
 *   reach    1: neighbours of ring, doubling and exchange suffice; 2: everybody talks to everybody */
#define CG_COLL_TABLE(X)                                                \
    X(ALLREDUCE, "allreduce", 1, 1, 1)                                  \
    X(BCAST, "bcast", 0, 1, 1)                                          \
    X(REDUCE, "reduce", 1, 1, 1)                                        \
    X(ALLGATHER, "allgather", 0, 1, 1)                                  \
    X(ALLGATHERV, "allgatherv", 0, 1, 1)                                \
    X(GATHER, "gather", 0, 1, 1)                                        \
    X(SCATTER, "scatter", 0, 1, 1)                                      \
    X(GATHERV, "gatherv", 0, 0, 2)                                      \
    X(SCATTERV, "scatterv", 0, 0, 2)                                    \
    X(ALLTOALL, "alltoall", 0, 1, 2)                                    \
    X(ALLTOALLV, "alltoallv", 0, 0, 2)                                  \
    X(REDUCE_SCATTER, "reduce_scatter", 1, 1, 1)                        \
    X(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", 1, 1, 1)            \
    X(SCAN, "scan", 1, 1, 1)                                            \
    X(EXSCAN, "exscan", 1, 1, 1)

enum cg_coll {
    CG_COLL_NONE,
#define CG_COLL_ENUM(name, text, reduces, known, reach) CG_COLL_##name,
    CG_COLL_TABLE(CG_COLL_ENUM)
#undef CG_COLL_ENUM
    CG_COLL_COUNT,
    /* Not a collective of the engine: a call that the next component serves. It takes a number like all others, and
     * neighbours tell each other of it, so that a rank whose call is another one hears of it. redop: which (enum
     * cg_coll), plus one of the following for the making of a persistent request. */
    CG_COLL_DOWN = CG_COLL_COUNT
};
#define CG_DOWN_INIT 64    /* of the next component */
#define CG_NATIVE_INIT 128 /* of the engine, with a group of its own */
CG_STATIC_ASSERT(CG_COLL_COUNT < CG_DOWN_INIT, "both fit in a byte");

enum cg_type {
#define CG_TYPE(name, T, U, cls) CG_TYPE_##name,
#include "kernels/types.def"
#undef CG_TYPE
    CG_TYPE_COUNT
};

enum cg_redop {
#define CG_REDOP_NAME(name) CG_REDOP_##name,
#include "kernels/types.def"
#undef CG_REDOP_NAME
    CG_REDOP_COUNT
};

/* Floating point of 8 or 16 bits? Bytes of its partial sums on a link; 0 for other types: as many as an element. */
CG_HD int cg_type_narrow(int type) { return type >= CG_TYPE_F16 && type <= CG_TYPE_E5M2; }
CG_HD int cg_type_wide(int type) { return cg_type_narrow(type) ? 4 : 0; }
CG_STATIC_ASSERT(CG_TYPE_E5M2 == CG_TYPE_F16 + 3 && CG_TYPE_F16 == CG_TYPE_F64 + 1, "the narrow ones are together");

/* Which of 16 bytes are data; the others are gaps, which are never written in a user's buffer. */
#define CG_NO_GAPS 0xffffu
CG_HD uint32_t cg_type_data(int type)
{
    return type == CG_TYPE_LOC_F64 || type == CG_TYPE_LOC_I64 ? 0x0fff : type == CG_TYPE_LOC_I16 ? 0xf3f3 : CG_NO_GAPS;
}
CG_STATIC_ASSERT(offsetof(cg_loc_f64, gap) == 12 && offsetof(cg_loc_i64, gap) == 12 && offsetof(cg_loc_i16, gap) == 2,
                 "where the gaps are");

/* CG_STEP(NAME, recv, operand, write, send, text)
 *   recv     waits for a slot on rlink (ALL steps: on each of the links from rlink to the last of op.nall) and reads it
 *   operand  reads the operand buffer: src, or dst with CG_F_DST_OPERAND
 *   write    writes dst
 *   send     waits for room on slink (SEND_ALL: on each of the links from rlink on), fills a slot and publishes it */
#define CG_STEP_TABLE(X)                                                             \
    X(COPY, 0, 1, 1, 0, "operand to dst")                                            \
    X(SEND, 0, 1, 0, 1, "operand to slot")                                           \
    X(RECV, 1, 0, 1, 0, "slot to dst")                                               \
    X(RECV_SEND, 1, 0, 1, 1, "slot to dst and to the next slot")                     \
    X(RECV_REDUCE, 1, 1, 1, 0, "slot op operand to dst")                             \
    X(RECV_REDUCE_SEND, 1, 1, 0, 1, "slot op operand to the next slot")              \
    X(RECV_REDUCE_COPY_SEND, 1, 1, 1, 1, "slot op operand to dst and the next slot") \
    X(FORWARD, 1, 0, 0, 1, "slot to the next slot")                                  \
    X(SEND_ALL, 0, 1, 0, 1, "operand to a slot of every link")                       \
    X(REDUCE_ALL, 1, 1, 1, 0, "x0 op x1 op ... in the order of links to dst")        \
    X(REDUCE_ALL_SEND, 1, 1, 0, 1, "x0 op x1 op ... to the next slot")

enum cg_opcode {
#define CG_STEP_ENUM(name, recv, operand, write, send, text) CG_STEP_##name,
    CG_STEP_TABLE(CG_STEP_ENUM)
#undef CG_STEP_ENUM
    CG_STEP_COUNT
};

enum cg_step_flag {
    CG_F_DST_OPERAND = 1, /* the operand is dst instead of src */
    CG_F_SLOT_FIRST = 2,  /* the slot's value is the left operand */
    CG_F_KEEP = 4,        /* the slot that is read is not given back: the next step on that link reads it again */
    CG_F_INTO_SLOT = 8,   /* with KEEP: what would be written to dst replaces the payload of the slot that is read */
};

struct cg_step {
    uint8_t opcode, flags, rlink, slink; /* links index cg_op's links; CG_LINK_NONE where unused */
    uint16_t chunk; /* blocked: the block of dst, and of the message, or the walk that says which */
    uint16_t from;  /* blocked: the block of the operand, or its walk; equally long */
};
CG_STATIC_ASSERT(sizeof(struct cg_step) == 8, "step layout");

/* Blocked programs (nblocks > 0): a step moves a slice of a block. Slice u of a block are the elements
 * [u * chunk, (u + 1) * chunk) of it, as far as there are any; channel c has the slices u = iter * nchan + c. Offsets
 * and lengths count elements; offsets are from src where the block is an operand, from dst where it is written. */
struct cg_block {
    uint64_t offset, len;
};

/* Walks (nwalks > 0): for each slice the steps are run reps times, in iterations slice * reps + rep, and a step names
 * walks instead of blocks. In reps [from, to) a walk is at block base + x * stride (modulo 2^16), where x begins with
 * at and goes up by one each time, round wrap. In other reps the step is skipped. So a program's length does not
 * depend on the number of blocks; and where these are all equal they are not listed: block i is block_len elements
 * from i * block_len on. */
struct cg_walk {
    uint16_t base, stride, at, wrap, from, to; /* to - from <= wrap, unless stride is 0 */
};

/* Elements [begin, end) of one channel, in iters iterations of nchunks chunks of chunk elements. */
struct cg_range {
    uint64_t begin, end;
    uint32_t chunk, iters;
};
CG_STATIC_ASSERT(sizeof(struct cg_range) == 24, "range layout");

struct cg_line; /* kernels/ring.h */

/* One neighbour as an executor sees it. mine and recv_slots are read here, peer and send_slots written here; peer
 * is the neighbour's own line (shm) or the proxy's (net). Sequence numbers of the operation's first messages.
 * send_headers: where send_slots lie in GPU memory, the slots in host memory with the same numbers: each header is
 * written there as well, for the proxy, which does not read GPU memory. Else NULL. */
struct cg_link {
    struct cg_line *mine, *peer;
    char *recv_slots, *send_slots, *send_headers;
    uint64_t send_base[CG_MAX_CHAN], recv_base[CG_MAX_CHAN];
};
CG_STATIC_ASSERT(sizeof(struct cg_link) == 104, "link layout");

/* One operation ready to run, followed by nlinks links, nsteps steps, nblocks blocks (none, if block_len says what they
 * are) and nwalks walks. Buffers are the executor's own to address; src == dst for in place. */
struct cg_op {
    uint64_t id;          /* never 0, unique within the executor */
    uint64_t prev_id;     /* operation of the same communicator that goes first in each channel, 0 = none */
    const char *src;
    char *dst;
    uint64_t total_bytes; /* of the whole operation, for the slot header */
    uint32_t opno;        /* the communicator's operation number, from 1 */
    uint32_t stream;      /* the communicator's tag in slot headers */
    uint8_t coll, type, redop;
    uint8_t esize;        /* bytes of an element in a slot */
    uint16_t nsteps, nlinks, nchunks, nchan;
    uint16_t self_pos;    /* ALL steps: links before this one go before the own operand */
    uint16_t nblocks;     /* 0: chunks of ranges; else blocked, and ranges say chunk and iters only */
    uint32_t slot_bytes;  /* payload of a slot */
    uint32_t slots;       /* of a lane, a power of two */
    uint32_t size;        /* bytes of descriptor and all that follows it */
    uint16_t nall;        /* ALL steps take links before this one */
    uint16_t usize;       /* bytes of an element in src and dst; if not esize, slots hold floats of a narrow type */
    uint64_t block_len;   /* of equal blocks; 0: they are listed */
    uint32_t reps;        /* 0 without walks */
    uint16_t nwalks, pad;
    struct cg_range range[CG_MAX_CHAN];
};

CG_HD int cg_op_wide(const struct cg_op *op) { return op->esize != op->usize; }

CG_HD struct cg_link *cg_op_links(const struct cg_op *op) { return (struct cg_link *) (op + 1); }

CG_HD struct cg_step *cg_op_steps(const struct cg_op *op)
{
    return (struct cg_step *) (cg_op_links(op) + op->nlinks);
}

CG_HD struct cg_block *cg_op_blocks(const struct cg_op *op)
{
    return (struct cg_block *) (cg_op_steps(op) + op->nsteps);
}

CG_HD struct cg_walk *cg_op_walks(const struct cg_op *op)
{
    return (struct cg_walk *) (cg_op_blocks(op) + (op->block_len ? 0 : op->nblocks));
}

CG_STATIC_ASSERT(sizeof(struct cg_op) % 16 == 0, "links stay aligned");
CG_STATIC_ASSERT(sizeof(struct cg_op) + CG_MAX_LINKS * 104 + CG_MAX_STEPS * 8 <= CG_OP_BYTES, "descriptor fits");

/* Where a channel of an operation stands. Zero at the start; survives parking. */
struct cg_pos {
    uint32_t iter;
    uint16_t step, done;
    uint32_t sent[CG_MAX_LINKS], rcvd[CG_MAX_LINKS];
};

/* What is known when an operation fails. */
struct cg_fault {
    int32_t status;      /* cg_status, CG_OK if none */
    uint32_t link;
    uint64_t want_bytes, got_bytes;
    uint32_t want_opno, got_opno;
    uint8_t want_coll, want_type, want_redop, got_coll, got_type, got_redop, pad[2];
};

#endif
