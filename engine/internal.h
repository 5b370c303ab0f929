/* SPDX-License-Identifier: BSD-3-Clause
 * Inside the engine. Everything here is guarded by the process's lock, except what says otherwise. */
#ifndef CG_ENGINE_INTERNAL_H
#define CG_ENGINE_INTERNAL_H

#include "core/log.h"
#include "core/status.h"
#include "engine/engine.h"
#include "engine/soon.h"
#include "kernels/cuda/fast.h"
#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"
#include "links/links.h"
#include "plan/nodes.h"
#include "plan/plan.h"
#include "topo/topo.h"

#include <pthread.h>

#define CG_MAX_GPUS 16
#define CG_MAX_NEIGHBORS 32
#define CG_MAX_INFLIGHT 16 /* dispatched operations of one group */

/* States of an operation, in order; each is left only for a later one.
 *   QUEUED    waits for its group's set-up and for the operations before it
 *   PACKING   a kernel packs what does not lie together (call.pack)
 *   COPYING   src is being copied into dst, because it is another kind of memory; then in place
 *   STAGED    ready to be dispatched, waits for the operations before it
 *   ANNOUNCED neighbours have been told; the path follows from what all ranks announced
 *   RUNNING   an executor has it
 *   RETURNING (bounced only) result on its way back to device memory
 *   UNPACKING a kernel unpacks what was received (call.unpack)
 *   DRAINING  finished here, its network messages still being handed over
 *   ENDED     status is final, complete is called next */
#define CG_REQ_STATES(X) X(QUEUED) X(PACKING) X(COPYING) X(STAGED) \
    X(ANNOUNCED) X(RUNNING) X(RETURNING) X(UNPACKING) X(DRAINING) X(ENDED)
enum cg_req_state {
#define CG_REQ_STATE(name) CG_REQ_##name,
    CG_REQ_STATES(CG_REQ_STATE)
#undef CG_REQ_STATE
};

struct cg_req {
    struct cg_req *next;          /* in the group's queue, or the free list, or the ended list */
    struct cg_group *group;
    struct cg_call call;
    cg_complete_fn complete;
    void *ctx;
    int state, status, executor;  /* enum cg_executor */
    uint32_t opno;
    uint64_t bytes;               /* of the buffer, or of a block; 0 if not known to every rank */
    uint64_t *arrays;             /* copies of the call's */
    uint64_t posted_at;           /* us */
    uint64_t moved_at;            /* when it last went forward, for the report of a stuck one */
    struct cg_mem smem, dmem;
    struct cg_gpu *gpu;
    struct cg_gpu_copy *copy;
    struct cg_gpu *pack_gpu;
    struct cg_gpu_copy *pack;     /* in PACKING and UNPACKING */
    int gpu_slot, nchan, bounced;
    struct cg_wait *wait;         /* of the group's own request: who waits for it, or NULL */
    int kept;                     /* of that one: descriptor and arrays serve the next call like this one */
    int fast, fast_id;            /* fast: announced for the fast executor, and not refused since */
    int fast_coll;                /* there: the collective, bytes of the buffer or of a block */
    uint64_t fast_bytes;
    char *bounce_src, *bounce_dst; /* host copies of device buffers where the GPU executor cannot be had, or NULL */
    const char *src;              /* what the executor works on */
    char *dst;
    char nothing[8];              /* what neighbours send each other where only headers count */
    uint64_t links;               /* bit per neighbour that takes part */
    uint32_t gpu_recv;            /* bit per link of the plan on which it receives in GPU memory */
    uint32_t near;                /* bit per link of the plan that is shared memory, for cg_host_step */
    uint32_t peer[CG_MAX_LINKS];  /* ranks behind the descriptor's links */
    struct cg_link_end *end[CG_MAX_LINKS]; /* and the links */
    const char *plan;             /* or the fast executor's protocol */
    const struct cg_row *row;     /* of the table, that chose it; NULL: none did */
    struct cg_fault fault;
    struct cg_pos pos[CG_MAX_CHAN];
    _Alignas(64) char op[CG_OP_BYTES]; /* struct cg_op and what follows it */
};

enum cg_group_state { CG_GROUP_NEW, CG_GROUP_SETUP, CG_GROUP_READY, CG_GROUP_FAILED };

struct cg_boot; /* boot.c */

/* A group's share of the fast executor: OFF until it pays; OFFERED: said whether the big window is free here; EXPORTED
 * while neighbours' windows are awaited; READY when all are open; or FAILED for good. READY here is announced; an
 * operation takes the fast path if all ranks announce it. */
enum cg_fast_state { CG_FAST_OFF, CG_FAST_OFFERED, CG_FAST_EXPORTED, CG_FAST_READY, CG_FAST_FAILED };
struct cg_fast_part {
    int state, device, big;
    struct cg_soon soon;
    int shared;                   /* some ranks share a GPU */
    int kind;                     /* as announced: CG_EXEC_FAST, or CG_EXEC_FAST_LL where LL128 cannot be had */
    struct cg_fast *exec;
    struct cg_fast_window *window;
    uint64_t imported;            /* bit per neighbour */
    uint64_t ended_at;            /* us, of the last operation */
    const struct cg_row *row;     /* the last choice, and what for */
    uint64_t row_bytes;
    int row_coll, row_blocking;
};

/* A window whose group is gone, until no neighbour can write into it any more. */
struct cg_fast_grave {
    struct cg_fast_grave *next;
    struct cg_fast_window *window;
    int n, big;
    const struct cg_line *line[CG_FAST_RANKS - 1];
    uint64_t closed[CG_FAST_RANKS - 1];
};

struct cg_group {
    struct cg_group *next;        /* in the process's list */
    struct cg_proc *proc;
    uint32_t rank, size;
    uint64_t *names;
    struct cg_card *cards;
    char label[64];
    const struct cg_boot_ops *boot_ops;
    void *boot_ctx;
    struct cg_params params;      /* agreed: rank 0's */
    const struct cg_table *table; /* the process's, or the built-in one where ranks have others */
    int at, via;                  /* facts for the choice: where ranks are, what joins them; alike on all ranks */
    struct cg_nodes *nodes;       /* who shares a (pretended) host; from the hello of set-up on */
    uint32_t stream;              /* rank 0's choice, in slot headers */
    int state, status;            /* status: the agreed outcome of set-up */
    int reach, reach_failed;      /* of the links that are set up (CG_COLL_TABLE); reach_failed: why there is no more */
    int broken;                   /* an error after set-up: lanes are out of step, every later operation fails alike */
    int released;
    int nneighbors;
    uint32_t neighbor[CG_MAX_NEIGHBORS];
    struct cg_link_end *link[CG_MAX_NEIGHBORS];
    uint64_t serves;              /* bit per collective for which there is a plan */
    uint32_t opno, passed, told;  /* operations dispatched; all up to passed have ended; neighbours know up to told */
    struct cg_req *head, *tail;   /* in the order of the calls */
    struct cg_req *own;           /* again.c: of calls that need no queue; NULL until there was one */
    int inflight;                 /* dispatched, not ended */
    int resting;                  /* no operation: its network links need no progress */
    struct cg_boot *boot;
    int boot_busy;                /* a thread is in boot.c, without the lock */
    uint32_t ticks;
    struct cg_fast_part fast;
    struct cg_trace trace;
    const struct cg_req *traced;  /* whose it is, if the group's own */
    int proxied;                  /* links over the network */
    int on_host;                  /* so were the buffers of the last call: to ask the driver takes time */
    const struct cg_row *shown[CG_COLL_COUNT]; /* the rows that verbose output has told of last */
    int plan_kept;                /* the last plan may serve again, for the following (0 elements are a call, too) */
    uint64_t plan_count;
    uint32_t plan_root;
    int plan_coll, plan_esize, plan_wide;
    struct cg_plan plan;
};

struct cg_proc {
    struct cg_params params;
    const struct cg_table *table;
    uint64_t table_hash, builtin_hash;
    int tables_differ;            /* said so often */
    uint64_t self;
    int threads, inside;          /* inside: the lock's stand-in when there are no threads */
    pthread_mutex_t lock;
    const struct cg_net_ops *net;
    struct cg_links *links;
    struct cg_topo *topo;         /* taken with the first chunk of shared memory or the transport */
    int topo_tried;
    uint32_t local_rank, local_size;
    struct cg_gpu *gpu[CG_MAX_GPUS];
    int ndevices; /* of these are looked at: behind the last that was opened */
    struct cg_fast *fast[CG_MAX_GPUS];
    struct cg_fast_grave *graves;
    int fast_big;                 /* the one big window of this process is spoken for */
    int gpu_failed[CG_MAX_GPUS];
    int fifo_device;              /* whose memory the network moves, as far as it is known yet, or -1 */
    unsigned gpu_regions[CG_MAX_GPUS]; /* of the links' regions, registered so far */
    struct cg_group *groups;
    struct cg_req *free, *ended, **ended_tail;
    uint64_t outstanding;         /* operations and set-ups; read without the lock */
    uint32_t next_stream;
    uint64_t next_op;
    const char *told_differ;      /* the parameter that was last said to differ from another rank's */
    char net_hint[512];           /* the caller's, or found */
    struct cg_counters counters;
};

/* proc.c */
void cg_proc_lock(struct cg_proc *proc);
/* Take the list of ended operations (with the lock), and call back (without). */
struct cg_req *cg_proc_take_ended(struct cg_proc *proc);
void cg_proc_call_ended(struct cg_proc *proc, struct cg_req *list);
int cg_proc_trylock(struct cg_proc *proc);
int cg_proc_links(struct cg_proc *proc); /* progress of links alone */
void cg_proc_unlock(struct cg_proc *proc);
uint64_t cg_now_us(void);
void cg_proc_outstanding(struct cg_proc *proc, int delta);
/* The engine for a device, opened on first use; NULL if it cannot be had (said once). Registers all regions so far. */
struct cg_gpu *cg_proc_gpu(struct cg_proc *proc, int device);

/* place.c: what is near this process; both are asked by the links, ctx is the process. */
void cg_place_chunk(void *addr, size_t bytes, void *ctx);
const char *cg_place_hint(void *ctx); /* for the transport, NULL: none */

/* group.c */
void cg_group_free_if_unused(struct cg_group *group);
void cg_group_free(struct cg_group *group); /* its memory, whatever is under way; links are left alone */
void cg_group_break(struct cg_group *group, int status, uint32_t opno); /* opno: the operation that failed */
/* Set-up for collectives of that reach, if it is not there or under way. */
int cg_group_reach(struct cg_group *group, int reach);
void cg_group_boot_ended(struct cg_group *group, int status);

/* talk.c: a number that is equal for ranks on one (pretended) host, 64 bits of it */
uint64_t cg_talk_host(const struct cg_card *card, const struct cg_params *params);

/* boot.c: without the lock, one thread at a time per group. CG_AGAIN, or the agreed outcome. */
int cg_boot_open(struct cg_group *group, int reach);
int cg_boot_step(struct cg_group *group);
void cg_boot_close(struct cg_group *group);

/* call.c: what follows from the arguments of a call. */
int cg_call_reach(int coll);
int cg_call_reduces(int coll);
int cg_call_known(int coll);
int cg_call_check(const struct cg_group *group, const struct cg_call *call);
int cg_call_copy(struct cg_req *req, const struct cg_call *call); /* with its arrays */
/* Bytes from src and dst that the call may touch on this rank; 0 where the buffer is insignificant. */
void cg_call_spans(const struct cg_group *group, const struct cg_call *call, uint64_t *src, uint64_t *dst);

/* op.c: move every operation of the group that can move. Returns how many ended. */
int cg_group_advance(struct cg_group *group);
/* The operation gets its number, and the neighbours learn of it; may they? */
void cg_group_announce(struct cg_req *req);
int cg_group_may_announce(const struct cg_group *group);
int cg_group_drained(const struct cg_req *req); /* its messages were handed over: CG_OK, CG_AGAIN, or an error */
void cg_group_passed(struct cg_group *group);   /* operations have ended: neighbours hear of it */
void cg_group_trace_of(const struct cg_req *req);
void cg_group_rest(struct cg_group *group, int rest); /* are there no operations? */
void cg_group_tell_passed(struct cg_group *group); /* to all neighbours */

/* build.c: the descriptor of an operation that has its number; nothing outside it changes. Commit when it has been
 * dispatched: the lanes' numbers go on. */
int cg_op_build(struct cg_req *req);
void cg_op_commit(struct cg_req *req);
/* Both again for a request that has run on the host: other buffers, the next numbers. */
void cg_op_renew(struct cg_req *req);

/* packing.c: before the executor is chosen, and after it ran. Started: CG_OK or an error; then test until not AGAIN. */
int cg_pack_begin(struct cg_req *req);
int cg_pack_finish(struct cg_req *req);
int cg_pack_test(struct cg_req *req);

/* exec.c: what differs between executors. */
int cg_exec_choose(struct cg_req *req);              /* classify buffers, choose executor; may start a copy */
int cg_exec_on_host(struct cg_req *req);             /* it is the host's, and nothing has to be copied: 1, and is so */
/* CG_OK, CG_AGAIN (no room), or an error. before: the last running one of the group, or NULL. */
int cg_exec_dispatch(struct cg_req *req, const struct cg_req *before);
/* May req run beside before, which uses the same lanes? */
int cg_exec_may_follow(const struct cg_req *req, const struct cg_req *before);
void cg_exec_forget(struct cg_req *req);             /* what was allocated for it */
int cg_exec_return(struct cg_req *req);              /* after it ran: bring a bounced result back */
/* CG_AGAIN, CG_OK, error; taken: channels that earlier ones use */
int cg_exec_test(struct cg_req *req, uint32_t taken);
void cg_exec_drop(struct cg_req *req);               /* the executor forgets it */
uint32_t cg_exec_channels(const struct cg_req *req); /* channels that it still uses */

/* fast.c */
void cg_fast_expect(const struct cg_group *group);   /* an operation will be announced: fetch what it writes to */
/* fast_shape.c: sets fast_coll and fast_bytes; 0: as this rank sees it, the call has none that the executor carries. */
int cg_fast_shape(struct cg_req *req);
void cg_fast_prepare(struct cg_req *req);            /* before the announcement; sets req->fast */
/* The path of an announced operation: CG_OK posted there; CG_AGAIN not known yet; CG_ERR_UNSUPPORTED: not this one. */
int cg_fast_dispatch(struct cg_req *req);
int cg_fast_finish(struct cg_req *req);              /* CG_AGAIN, CG_OK, CG_ERR_UNSUPPORTED (untouched), or an error */
void cg_fast_bury(struct cg_group *group);           /* before its links are released */
void cg_fast_reap(struct cg_proc *proc, int all);

/* again.c: the group's own request has ended. */
void cg_again_ended(struct cg_req *req);

/* report.c: lines that explain. */
void cg_report_fault(const struct cg_req *req);
void cg_report_stuck(const struct cg_req *req);
/* What was chosen for an operation and by which row, where that is news. */
void cg_report_choice(const struct cg_req *req);

#endif
