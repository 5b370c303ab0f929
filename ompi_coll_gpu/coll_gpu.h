/* SPDX-License-Identifier: BSD-3-Clause
 * The component's own declarations. How a call goes (docs/architecture.md):
 *
 *   entry point (calls.c)   type and op known, group wanted (cards.c) and set up: engine, with or without a request
 *                           else, a buffer in device memory: staged (stage.c), then the next component
 *                           else: the next component, untouched
 *
 * To serve one more collective: a row in CG_ENTRY_TABLE, its entry point in calls.c. */
#ifndef CG_OMPI_COLL_GPU_H
#define CG_OMPI_COLL_GPU_H

#include "ompi_coll_gpu/compat.h"

#include "core/log.h"
#include "core/status.h"
#include "engine/engine.h"

/* Collectives that this component takes: blocking ones and their nonblocking twins. */
#define CG_ENTRY_TABLE(X) X(allreduce) X(iallreduce)

enum cg_enable { CG_ENABLE_AUTO, CG_ENABLE_ALWAYS, CG_ENABLE_NEVER };

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
    uint64_t calls_staged, calls_passed; /* approximate with several threads */
};
extern struct cg_state cg_state;

/* Parameters: registered before the framework opens, kept by Open MPI. */
struct cg_settings {
    struct cg_params params;
    int priority, enable, verbose;
    char *transport;
};
extern struct cg_settings cg_settings;

OMPI_DECLSPEC extern mca_coll_base_component_t mca_coll_gpu_component;

/* settings.c: register parameters and counters. check: CG_OK, or CG_ERR_ARG after one line that says what is wrong. */
int cg_settings_register(void);
int cg_settings_check(void);

/* module.c: one per communicator. Not locked: MPI orders the calls on a communicator. */
enum cg_module_state {
    CG_MODULE_NEW,    /* members not looked at yet */
    CG_MODULE_DOWN,   /* for the next component */
    CG_MODULE_WANTED, /* native; set-up begun or to be begun by the first operation */
    CG_MODULE_READY,  /* native, set-up known to have succeeded */
};
typedef struct cg_module { /* a typedef, as OBJ_NEW wants it */
    mca_coll_base_module_t super;
    mca_coll_base_comm_coll_t saved; /* the functions that this module displaced; their modules are retained */
    ompi_communicator_t *comm;       /* which owns this module */
    struct cg_group *group;
    int state, tag;
} cg_module_t;
OBJ_CLASS_DECLARATION(cg_module_t);
mca_coll_base_module_t *cg_module_query(ompi_communicator_t *comm, int *priority);
/* May a native operation be posted? The same answer on all ranks at the same call. wait: settle the outcome of set-up
 * first; without it a failure of set-up becomes the operation's. Success or an MPI error. */
int cg_module_native(cg_module_t *m, int wait, int *native);
/* One turn of a caller who waits; turn counts the calls. */
void cg_turn(unsigned *turn);

/* cards.c */
int cg_card_publish(struct cg_card *card);
uint64_t cg_name_of(opal_process_name_t name);
const struct cg_card *cg_card_find(opal_process_name_t name); /* NULL if that process has none */
void cg_cards_init(void);
void cg_cards_fini(void);

/* typemap.c: predefined type and intrinsic op, as MPI allows them together. 1 with type and redop, or 0. */
int cg_typemap(const struct ompi_datatype_t *dt, const struct ompi_op_t *op, int *type, int *redop);

/* boot.c: context is the module. */
extern const struct cg_boot_ops cg_boot_pml;

/* calls.c: the entry points, with Open MPI's signatures. */
int cg_allreduce(const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *dt, struct ompi_op_t *op,
                 struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int cg_iallreduce(const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *dt, struct ompi_op_t *op,
                  struct ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);

/* stage.c: host copies of one side of a call. */
struct cg_side {
    void *arg;    /* what the next component gets instead of user */
    void *user;   /* first byte of the span in device memory */
    void *copy;   /* of the span; NULL: nothing is staged */
    size_t bytes; /* of the span */
    int device;
};
struct cg_stage {
    struct cg_side send, recv;
};
/* Copies send data and the receive span (its gaps and what is not received survive) of buffers in device memory; leaves
 * all others alone. 0: nothing staged, 1: staged, or an MPI error. */
int cg_stage_begin(struct cg_stage *stage, const void *sbuf, size_t scount, struct ompi_datatype_t *sdt, void *rbuf,
                   size_t rcount, struct ompi_datatype_t *rdt);
/* Copies the receive span back if rc is success, frees the copies. rc or an MPI error. */
int cg_stage_end(struct cg_stage *stage, int rc);

/* request.c: what nonblocking calls return. */
typedef struct cg_request {
    ompi_coll_base_nbc_request_t super; /* Open MPI writes behind ompi_request_t after our function returns */
    ompi_request_t *inner;              /* staged: the next component's */
    struct cg_stage stage;
} cg_request_t;
OBJ_CLASS_DECLARATION(cg_request_t);
void cg_requests_init(void);
void cg_requests_fini(void);
/* An active request, which holds the communicator until it is freed. NULL without memory. */
cg_request_t *cg_request_get(ompi_communicator_t *comm);
/* Back to the list, for a request that the user never saw. */
void cg_request_drop(cg_request_t *req);
void cg_request_complete(cg_request_t *req, int mpi_error);
/* Watch inner: when it completes, copy back and complete. */
void cg_request_watch(cg_request_t *req, ompi_request_t *inner);
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
