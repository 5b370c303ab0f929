/* SPDX-License-Identifier: BSD-3-Clause
 * The component's own declarations. How a call goes (docs/architecture.md):
 *
 *   entry point (entries.h, entries.c)   arguments into struct cg_args; everything else is the same for all collectives
 *   calls.c, persistent.c                native, or the next component
 *   sides.c                              which buffers count on this rank, and where in them data lie
 *   native.c                             arguments for the engine; packed where a type has gaps
 *   pieces.c, flatten.c                  types as a GPU packs them
 *   stage.c, pack.c                      copies of what the next component, or the engine, cannot take as it is
 *
 * A collective is one row of CG_COLLECTIVES (entries.h). */
#ifndef CG_OMPI_COLL_GPU_H
#define CG_OMPI_COLL_GPU_H

#include "ompi_coll_gpu/compat.h"
#include "ompi_coll_gpu/entries.h"

#include "core/log.h"
#include "core/status.h"
#include "engine/engine.h"

enum cg_enable { CG_ENABLE_AUTO, CG_ENABLE_ALWAYS, CG_ENABLE_NEVER };

/* ops.c: functions of operations that include/coll_gpu.h makes. Entries are never changed; n is stored behind them. */
#define CG_KNOWN_OPS 256 /* 16 for each translation unit that uses the header */
struct cg_known_op {
    MPI_User_function *function;
    int type, redop;
};
struct cg_ops {
    opal_mutex_t lock; /* to add */
    uint64_t n;
    struct cg_known_op known[CG_KNOWN_OPS];
};
void cg_ops_init(void);
void cg_ops_fini(void);
/* What the header calls (coll_gpu_register_fn). Any thread. 0 if the function is known from now on. */
int cg_op_register(int version, int format, int what, MPI_User_function *function);
/* 1 with type and redop if op is one of those. */
int cg_op_known(const struct ompi_op_t *op, int *type, int *redop);

/* What MPI forces to be global. Zeroed when the framework opens, apart from the parameters. */
struct cg_state {
    int installed;             /* on every communicator */
    struct cg_proc *proc;      /* NULL: unusable here; every call goes to the next component, staged where needed */
    struct cg_card card;       /* this process's; the engine refers to it */
    int output;                /* Open MPI's output stream */
    int threads;               /* as last told to proc */
    int gpu;                   /* this process may meet device pointers */
    opal_free_list_t requests;
    opal_list_t staged;        /* outer requests whose inner one runs */
    opal_mutex_t staged_lock;
    opal_hash_table_t cards;   /* process name -> struct cg_card *, or cg_no_card */
    opal_mutex_t cards_lock;
    int flats_made, flats_key; /* the attribute that keeps flat descriptions */
    uint64_t flats_id;
    opal_mutex_t flats_lock;
    uint64_t calls_staged, calls_passed; /* approximate with several threads */
    struct cg_ops ops;
};
extern struct cg_state cg_state;

/* Parameters: registered before the framework opens, kept by Open MPI. */
struct cg_settings {
    struct cg_params params;
    int priority, enable, verbose;
    char *transport, *table_file, *rows, *rows_in_use;
    struct cg_table *table; /* of choices, or NULL: the built-in one; table_error says why there is no other */
    char table_error[256];
};
extern struct cg_settings cg_settings;

OMPI_DECLSPEC extern mca_coll_base_component_t mca_coll_gpu_component;

/* settings.c: register parameters and counters. check: CG_OK, or CG_ERR_ARG after one line that says what is wrong. */
int cg_settings_register(void);
int cg_settings_check(void);
void cg_settings_close(void);

/* module.c: one per communicator. Not locked: MPI orders the calls on a communicator. */
enum cg_module_state {
    CG_MODULE_NEW,    /* members not looked at yet */
    CG_MODULE_DOWN,   /* for the next component */
    CG_MODULE_WANTED, /* native; set-up begun or to be begun by the first operation */
    CG_MODULE_READY,  /* native, set-up known to have succeeded */
};
/* Tags of set-up messages: the first is the communicator's own, those below it belong to persistent requests in the
 * order in which they are made, the same on all ranks. Not from Open MPI's counter of nonblocking tags: that also moves
 * from within progress (MPI_Comm_idup), in another order on each rank. So deep in that counter's range that a
 * communicator gets there after 8 million nonblocking calls; within the 24 bits that pml/ucx keeps. */
#define CG_BOOT_TAG (-8000000)

/* A group's messages of set-up: context of cg_boot_pml. */
struct cg_boot_at {
    ompi_communicator_t *comm;
    int tag;
};
/* memo.c: where a buffer of the engine lies in one of the user's. */
struct cg_spot {
    int which;
    ptrdiff_t offset;
};
struct cg_memo {
    int valid, places;     /* places: which buffers are MPI_IN_PLACE */
    int lists, n;          /* which of counts and displacements count, of so many ranks */
    uint64_t *arrays;      /* of call, and behind them those counts and displacements */
    struct cg_args args;
    size_t sent, received; /* bytes of buffers that must not overlap */
    struct cg_spot src, dst;
    struct cg_call call;
};
typedef struct cg_module { /* a typedef, as OBJ_NEW wants it */
    mca_coll_base_module_t super;
    mca_coll_base_comm_coll_t saved; /* the functions that this module displaced; their modules are retained */
    ompi_communicator_t *comm;       /* which owns this module */
    struct cg_group *group;
    struct cg_boot_at boot;
    int state;
    int groups;                      /* opened so far: for tags */
    struct cg_memo memo;
    unsigned calls;                  /* blocking ones that did not wait */
} cg_module_t;
OBJ_CLASS_DECLARATION(cg_module_t);
mca_coll_base_module_t *cg_module_query(ompi_communicator_t *comm, int *priority);
/* Who serves a call, the same answer on all ranks at the same call:
 *   NATIVE  the engine
 *   DOWN    the next component, after neighbours have been told of it: a rank whose call is native would wait for ever
 *   APART   the next component, and the engine does not hear of it */
enum cg_way { CG_WAY_APART, CG_WAY_DOWN, CG_WAY_NATIVE };
/* coll: the engine's, or CG_COLL_DOWN. wait: settle the outcome of set-up first; without it a failure of set-up becomes
 * the operation's. Success or an MPI error. */
int cg_module_way(cg_module_t *m, int coll, int wait, enum cg_way *way);
/* A group of the same members under a tag of its own, for a persistent request; at keeps the tag. Collective: waits for
 * set-up. NULL where it failed, on all ranks. Success or an MPI error. */
int cg_module_group(cg_module_t *m, struct cg_boot_at *at, struct cg_group **group);
/* One turn of a caller who waits; turn counts the calls. */
void cg_turn(unsigned *turn);

/* cards.c */
int cg_card_publish(struct cg_card *card);
uint64_t cg_name_of(opal_process_name_t name);
const struct cg_card *cg_card_find(opal_process_name_t name); /* NULL if that process has none */
void cg_cards_init(void);
void cg_cards_fini(void);

/* typemap.c: predefined type and intrinsic op, as MPI allows them together, or an operation of include/coll_gpu.h and a
 * type of its elements. 1 with type and redop, or 0. */
int cg_typemap(const struct ompi_datatype_t *dt, const struct ompi_op_t *op, int *type, int *redop);

/* boot.c: context is a struct cg_boot_at, needed for posting only. */
extern const struct cg_boot_ops cg_boot_pml;

/* sides.c: one rank's part in a call. */
struct cg_role {
    ompi_communicator_t *comm;
    int rank, size;      /* in the group that reduces */
    int nsend, nrecv;    /* peers: blocks, or entries of the arrays */
    int sends, recvs;    /* does it at all? 0 as well where the buffer is MPI_IN_PLACE */
    int in_place;        /* takes its input from rbuf, or (scatter's root) leaves its block in sbuf */
};
void cg_role_of(struct cg_role *role, ompi_communicator_t *comm, const struct cg_args *a);
/* What MPI forbids and this rank can see: a bad root, negative counts; a send and a receive buffer that overlap (not
 * looked for between neighbours). One line and the MPI error, or success. name: the call's; role->comm is NULL for
 * reduce_local. */
int cg_role_check(const struct cg_module *m, const struct cg_role *role, const struct cg_args *a, const char *name);
int cg_role_overlap(const struct cg_module *m, const struct cg_role *role, const struct cg_args *a, const char *name);

/* So many bytes at most from the buffers on, 0 if only one of them counts. 0: that takes a closer look.
 * apart: then they do not overlap. */
int cg_role_bytes(const struct cg_role *role, const struct cg_args *a, size_t *sent, size_t *received);
static inline int cg_apart(const struct cg_args *a, size_t sent, size_t received)
{
    uintptr_t s = (uintptr_t) a->sbuf, r = (uintptr_t) a->rbuf;

    return s < r ? r - s >= sent : s - r >= received;
}

struct cg_piece {
    char *at;            /* origin of the first element */
    size_t count;        /* 0: nothing here, and no type */
    struct ompi_datatype_t *type;
};
enum cg_copy_kind { CG_COPY_NONE, CG_COPY_IMAGE, CG_COPY_PACKED, CG_COPY_GPU };
/* What one direction of a call consists of, and the copy that stands for it. */
struct cg_side {
    void *arg;              /* what is called instead of the user's buffer */
    int n;                  /* pieces; 0: this rank has no part in this direction */
    int kind, fills, drains, device; /* device: -1 if all of it is host memory */
    struct cg_piece one, *list; /* list: one per peer, or NULL */
    int *peer;              /* among neighbours: whose pieces these are, ascending, several of one in their order */
    char *copy, *low;       /* IMAGE: copy is the same bytes as those from low on; PACKED: one piece after the other */
    size_t bytes;           /* of the copy */
    struct cg_pieces pieces; /* GPU: what the engine packs and unpacks there */
};
/* One call, from its start to its end; persistent ones many times. */
struct cg_job {
    struct cg_side send, recv;
    struct cg_call call;    /* native */
    uint64_t *arrays;       /* of call; from the pool */
};
/* Look at the arguments that count; the job is zeroed but for call. native: neighbours' pieces apart and sorted.
 * Success or an MPI error. close frees all of it. */
int cg_job_open(struct cg_job *job, const struct cg_role *role, const struct cg_args *a, int native);
void cg_job_close(struct cg_job *job);
static inline const struct cg_piece *cg_piece_of(const struct cg_side *s, int i)
{
    return s->list ? &s->list[i] : &s->one;
}
/* Hold the types of all pieces, or let them go. */
void cg_job_retain(struct cg_job *job);
void cg_job_release(struct cg_job *job);

/* topo.c: sources or destinations of this rank, sorted by peer and channel; slot: which block of the buffer. n: how
 * many there are. Success or an MPI error. */
struct cg_edge {
    int peer, channel, slot; /* peer: MPI_PROC_NULL at the border of a grid */
};
int cg_edges(ompi_communicator_t *comm, int sent, int n, struct cg_edge *edges);

/* pieces.c: a committed type's flat description, with a reference for the caller; NULL if there is none. */
struct cg_flat *cg_flat_of(struct ompi_datatype_t *type);
void cg_flats_init(void);
void cg_flats_fini(void);
/* Have the side, which is in GPU memory, packed there: 1, or 0 and nothing has changed. unpiece gives all back. */
int cg_side_pieces(struct cg_side *s);
void cg_side_unpiece(struct cg_side *s);

/* stage.c: image: copies of all that is in device memory. packed: of this side, whatever memory it is in; on a GPU
 * if the other side is not packed on another one. Both only allocate and set arg. fill copies in; drain, if rc is
 * success, copies received data back, but no gaps; where a GPU packs, the engine does both. Success or an MPI error. */
int cg_job_image(struct cg_job *job);
int cg_side_packed(struct cg_side *s, const struct cg_side *other);
int cg_job_fill(struct cg_job *job);
int cg_job_drain(struct cg_job *job, int rc);

/* pack.c: data of a piece in host memory, one byte after another. */
int cg_piece_dense(const struct cg_piece *p); /* it has no gaps */
size_t cg_piece_bytes(const struct cg_piece *p);
size_t cg_piece_span(const struct cg_piece *p, char **first); /* first to last byte of data */
/* Data at p's origin in host memory (at: another origin); success or an MPI error. */
int cg_pack(const struct cg_piece *p, const char *at, char *packed);
int cg_unpack(const struct cg_piece *p, char *at, const char *packed);

/* native.c: a row's name, for messages. */
const char *cg_row_name(int row);
/* Bytes that all ranks know to be moved, 0: the call is over; irregular ones are never 0. */
size_t cg_regular_bytes(const struct cg_role *role, const struct cg_args *a);
/* The engine's collective; CG_COLL_DOWN if it has none for the type and op; CG_COLL_NONE if the call may be missing on
 * some ranks, or come in another order there: nothing can be compared. */
int cg_native_coll(const struct cg_args *a, struct cg_call *call);
/* What neighbours are told of a call of the next component. init: 0, or CG_DOWN_INIT or CG_NATIVE_INIT. */
void cg_down_call(const struct cg_role *role, const struct cg_args *a, int init, struct cg_call *call);
/* Fills in the rest of job->call, with packed copies where they are needed. Success or an MPI error. */
int cg_native_job(struct cg_job *job, const struct cg_role *role, const struct cg_args *a);

/* memo.c: the engine's call for a blocking one like that which was kept last, or NULL. Valid until the next. */
const struct cg_call *cg_memo_call(cg_module_t *m, const struct cg_args *a);
void cg_memo_free(cg_module_t *m);
void cg_memo_keep(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, const struct cg_job *job);

/* entries.c: the next component's functions, by row. */
struct cg_next {
    int (*call)(const cg_module_t *m, const struct cg_args *a);
    int (*start)(const cg_module_t *m, const struct cg_args *a, ompi_request_t **request);
    int (*init)(const cg_module_t *m, const struct cg_args *a, struct ompi_info_t *info, ompi_request_t **request);
};
extern const struct cg_next cg_next[CG_ROWS];
/* Not 0 while this thread is in a blocking call of the next component. Open MPI's own make calls on the communicator
 * from there, some with buffers that overlap: in place, its Allgatherv gathers out of the receive buffer. */
extern _Thread_local int cg_below;

/* calls.c, persistent.c: what the entry points do. */
int cg_call_blocking(cg_module_t *m, const struct cg_args *a);
int cg_call_nonblocking(cg_module_t *m, const struct cg_args *a, ompi_request_t **request);
int cg_call_init(cg_module_t *m, const struct cg_args *a, struct ompi_info_t *info, ompi_request_t **request);
int cg_call_local(cg_module_t *m, const struct cg_args *a); /* reduce_local */
/* Between them. Nothing to do on any rank? */
int cg_empty(const cg_module_t *m, const struct cg_role *role, const struct cg_args *a);
/* Who serves it? Fills in call's collective, type and op. Success or an MPI error. */
int cg_choose(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, struct cg_call *call, int wait,
              enum cg_way *way);
/* Wait until the neighbours have told of the same call. init as for cg_down_call. Success or an MPI error. */
int cg_meet(cg_module_t *m, const struct cg_role *role, const struct cg_args *a, int init);
/* Nothing can be in device memory: the call goes down as it is, and is counted. */
int cg_pass(void);
/* Open the job, copy what is in device memory, count the call; down: arguments for the next component. */
int cg_stage(struct cg_job *job, const struct cg_role *role, const struct cg_args *a, struct cg_args *down);
void cg_follow_threads(void);

/* request.c: what nonblocking and persistent calls return. */
typedef struct cg_request {
    ompi_coll_base_nbc_request_t super; /* Open MPI writes behind ompi_request_t after our function returns */
    ompi_request_t *inner;              /* staged: the next component's */
    cg_module_t *module;                /* of comm, which the request holds */
    uint64_t met;                       /* staged: cg_status of telling the neighbours; CG_AGAIN meanwhile */
    struct cg_job job;
    /* persistent only: */
    struct cg_group *group;             /* native */
    struct cg_boot_at boot;
    struct ompi_op_t *op;               /* held, unless intrinsic */
    int held;                           /* so are the types */
} cg_request_t;
OBJ_CLASS_DECLARATION(cg_request_t);
void cg_requests_init(void);
void cg_requests_fini(void);
/* An active request, or an inactive persistent one, which holds the communicator until it is freed. The job is empty.
 * NULL without memory. */
cg_request_t *cg_request_get(ompi_communicator_t *comm, int persistent);
/* Back to the list with all that it holds, for a request that the user never saw or is done with. */
void cg_request_drop(cg_request_t *req);
/* A persistent one begins again. */
void cg_request_activate(cg_request_t *req);
/* The job ended with this MPI error: what is received goes to the user, the request is complete. */
void cg_request_complete(cg_request_t *req, int mpi_error);
/* Watch inner, which runs: when it completes and the neighbours have been told, the request does; or when a neighbour
 * turns out to be in another call, and then inner never ends. */
void cg_request_watch(cg_request_t *req);
/* Open MPI's progress callback: the engine and the watched requests. The number that completed. */
int cg_progress(void);

/* pool.c: host memory for staging. Any thread. */
void *cg_pool_get(size_t bytes);
void cg_pool_put(void *p);
void cg_pool_init(void);
void cg_pool_fini(void);

/* errors.c: cg_status as an MPI error class. */
int cg_mpi_error(int status);

static inline void cg_count(uint64_t *counter) { cg_store_relaxed(counter, cg_load_relaxed(counter) + 1); }

#endif
