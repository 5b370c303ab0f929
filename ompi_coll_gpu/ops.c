/* SPDX-License-Identifier: BSD-3-Clause
 * Operations on 8- and 16-bit floating point that programs make with include/coll_gpu.h. To MPI they are the user's;
 * the header says through an MPI_T variable what its functions do, and an operation is known by its function. Functions
 * are static in the program, so there may be several that do the same. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "include/coll_gpu_floats.h"

#define VERSION 1 /* COLL_GPU_REGISTER_VERSION */
#define SIMPLE (OMPI_OP_FLAGS_ASSOC | OMPI_OP_FLAGS_FLOAT_ASSOC | OMPI_OP_FLAGS_COMMUTE)

void cg_ops_init(void) { OBJ_CONSTRUCT(&cg_state.ops.lock, opal_mutex_t); }
void cg_ops_fini(void) { OBJ_DESTRUCT(&cg_state.ops.lock); }

static const struct cg_known_op *find(MPI_User_function *function)
{
    const struct cg_ops *ops = &cg_state.ops;
    uint64_t n = cg_load_acquire(&ops->n);

    for (uint64_t i = 0; i < n; i++) {
        if (ops->known[i].function == function) return &ops->known[i];
    }
    return NULL;
}

static int add(MPI_User_function *function, int type, int redop)
{
    struct cg_ops *ops = &cg_state.ops;

    if (find(function)) return 0;
    if (ops->n == CG_KNOWN_OPS) {
        cg_log(0, "more than %d functions of coll_gpu.h: operations with further ones are staged", CG_KNOWN_OPS);
        return -1;
    }
    ops->known[ops->n] = (struct cg_known_op){function, type, redop};
    cg_store_release(&ops->n, ops->n + 1);
    return 0;
}

int cg_op_register(int version, int format, int what, MPI_User_function *function)
{
    static const int types[COLL_GPU_FORMATS] = {CG_TYPE_F16, CG_TYPE_BF16, CG_TYPE_E4M3, CG_TYPE_E5M2};
    static const int redops[] = {CG_REDOP_SUM, CG_REDOP_PROD, CG_REDOP_MIN, CG_REDOP_MAX};
    int rc;

    if (!cg_state.installed || version != VERSION || format < 0 || format >= COLL_GPU_FORMATS || what < 0 || what > 3)
        return -1;
    opal_mutex_lock(&cg_state.ops.lock);
    rc = add(function, types[format], redops[what]);
    opal_mutex_unlock(&cg_state.ops.lock);
    return rc;
}

int cg_op_known(const struct ompi_op_t *op, int *type, int *redop)
{
    const struct cg_known_op *k = op->o_flags & ~SIMPLE ? NULL : find((MPI_User_function *) op->o_func.c_fn);

    if (!k) return 0;
    *type = k->type;
    *redop = k->redop;
    return 1;
}
