/* SPDX-License-Identifier: BSD-3-Clause
 * Several processes in one: communicators with links of their own, laid out as shared memory lays them out, and
 * operations of all ranks. Everything that changes while operations run lies in one block of memory, so that a state
 * can be saved, restored and compared. */
#ifndef CG_TEST_WORLD_H
#define CG_TEST_WORLD_H

#include "core/params.h"
#include "kernels/host/host.h"
#include "plan/nodes.h"
#include "plan/plan.h"
#include "test/sim/shape.h"

#define WORLD_RANKS 16
#define WORLD_COMMS 4
#define WORLD_OPS 32
#define WORLD_FILL 0xa5
#define WORLD_GUARD 64 /* bytes before and behind each buffer that nobody may touch */

/* One end of a link in one communicator. */
struct end {
    uint32_t peer; /* rank in the communicator */
    struct cg_line *line;
    char *slots; /* of messages to this end */
    uint64_t send_next[CG_MAX_CHAN], recv_next[CG_MAX_CHAN];
};

struct comm {
    uint32_t size, member[WORLD_RANKS]; /* processes, by rank */
    struct cg_nodes *nodes;             /* or NULL */
    int nends[WORLD_RANKS];
    struct end end[WORLD_RANKS][CG_MAX_LINKS];
    int nops, op[WORLD_OPS]; /* in call order */
};

/* Memory of a rank's src or dst, in the block, and what has to be in it at the end. */
struct buffer {
    char *p, *want; /* NULL if the rank has none of its own */
    uint64_t bytes;
};

/* One rank's part of an operation. Insignificant buffers are an address that nobody can touch. */
struct part {
    struct cg_op *op;   /* CG_OP_BYTES; NULL until posted */
    struct cg_pos *pos; /* CG_MAX_CHAN of them, in the block */
    struct buffer src_mem, dst_mem; /* one of them when in place */
    char *src, *dst, *input;        /* input: src as it was */
    int posted, finished;
};

struct operation {
    int comm, index; /* index: among the communicator's operations */
    int coll, type, redop;
    uint64_t bytes;  /* for the slot header: 0 where not all ranks know it */
    struct shape shape;
    struct part part[WORLD_RANKS]; /* by rank of the communicator */
};

struct world {
    struct cg_params params;
    uint32_t nprocs;
    int ncomms, nops;
    struct comm comm[WORLD_COMMS];
    struct operation op[WORLD_OPS];
    char *block; /* all that changes */
    size_t used, size;
    int guard_slots; /* slots may only be touched by a step that owns them (AddressSanitizer) */
};

/* The parameters must allow the plans; slot_bytes may be smaller than users may set it. */
struct world *world_new(const struct cg_params *params, uint32_t nprocs, size_t block_bytes);
void world_free(struct world *w);

/* Memory of the block. */
void *world_take(struct world *w, size_t bytes);

/* Sequence numbers of its lanes begin at base. hosts: of each rank; NULL: all on one. */
int world_add_comm(struct world *w, uint32_t size, const uint32_t *members, uint64_t base, const uint64_t *hosts);

/* type and redop matter where the collective reduces; else elements are bytes. count: exact where blocks are equal,
 * else that of the largest block. */
struct call {
    int coll, type, redop;
    uint32_t root;
    uint64_t count;
};
/* Buffers of all ranks with inputs from rng, some in place (in_place: 0 never, 1 where MPI has it, 2 at random), any
 * alignment. */
int world_add_op(struct world *w, int comm, const struct call *call, int in_place, uint64_t *rng);

/* A world with communicators and operations, to be posted. At most 9 processes. */
struct world *world_random(uint64_t *rng, uint32_t most_procs, uint32_t most_ops);
/* The process's rank in a communicator, -1 if it is no member. */
int comm_rank(const struct comm *c, uint32_t proc);

/* The rank calls the operation: plan, sequence numbers, descriptor. In the order of the communicator's operations. */
void world_post(struct world *w, int op, uint32_t rank);
/* May channel chan of a posted part run now, as far as earlier operations of its communicator are concerned? */
int world_turn(const struct world *w, int op, uint32_t rank, uint32_t chan);
/* Run one step; checks lanes and poisons slots that were given back. CG_RUN_STEP, CG_AGAIN or CG_DONE; fails the test
 * on anything else. */
int world_step(struct world *w, int op, uint32_t rank, uint32_t chan);
/* Move the descriptor elsewhere, as another executor would have it. */
void world_move(struct world *w, int op, uint32_t rank);
int world_part_done(const struct world *w, int op, uint32_t rank);
int world_done(const struct world *w); /* all parts of all operations */
/* Results, guards and lanes' counters at the end. */
void world_check(const struct world *w);

#endif
