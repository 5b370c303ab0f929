/* SPDX-License-Identifier: BSD-3-Clause
 * Entry points with Open MPI's signatures, and calls of the next component: nothing but packing and unpacking of
 * arguments. The next component is called inside the user's call only: it takes its tags in the order of the calls. */
#include "ompi_coll_gpu/coll_gpu.h"

#define FILL(field) .field = field,
#define PASS(field) a->field,

_Thread_local int cg_below;

#define FUNCTIONS(name, sig, flow, sent, received, coll)                                                              \
    int cg_##name(CG_SIG_##sig(CG_DECLARE) struct ompi_communicator_t *comm, mca_coll_base_module_t *module)          \
    {                                                                                                                 \
        (void) comm;                                                                                                  \
        return cg_call_blocking((cg_module_t *) module, &(struct cg_args){CG_SIG_##sig(FILL).row = CG_ROW_##name});   \
    }                                                                                                                 \
    int cg_i##name(CG_SIG_##sig(CG_DECLARE) struct ompi_communicator_t *comm, ompi_request_t **request,               \
                   mca_coll_base_module_t *module)                                                                    \
    {                                                                                                                 \
        (void) comm;                                                                                                  \
        return cg_call_nonblocking((cg_module_t *) module, &(struct cg_args){CG_SIG_##sig(FILL).row = CG_ROW_##name}, \
                                   request);                                                                          \
    }                                                                                                                 \
    int cg_##name##_init(CG_SIG_##sig(CG_DECLARE) struct ompi_communicator_t *comm, struct ompi_info_t *info,         \
                         ompi_request_t **request, mca_coll_base_module_t *module)                                    \
    {                                                                                                                 \
        (void) comm;                                                                                                  \
        return cg_call_init((cg_module_t *) module, &(struct cg_args){CG_SIG_##sig(FILL).row = CG_ROW_##name}, info,  \
                            request);                                                                                 \
    }                                                                                                                 \
    static int next_##name(const cg_module_t *m, const struct cg_args *a)                                             \
    {                                                                                                                 \
        int rc;                                                                                                       \
        cg_below++;                                                                                                   \
        rc = m->saved.coll_##name(CG_SIG_##sig(PASS) m->comm, m->saved.coll_##name##_module);                         \
        cg_below--;                                                                                                   \
        return rc;                                                                                                    \
    }                                                                                                                 \
    static int next_i##name(const cg_module_t *m, const struct cg_args *a, ompi_request_t **request)                  \
    {                                                                                                                 \
        return m->saved.coll_i##name(CG_SIG_##sig(PASS) m->comm, request, m->saved.coll_i##name##_module);            \
    }                                                                                                                 \
    static int next_##name##_init(const cg_module_t *m, const struct cg_args *a, struct ompi_info_t *info,            \
                                  ompi_request_t **request)                                                           \
    {                                                                                                                 \
        return m->saved.coll_##name##_init(CG_SIG_##sig(PASS) m->comm, info, request,                                 \
                                           m->saved.coll_##name##_init_module);                                       \
    }
CG_COLLECTIVES(FUNCTIONS)

#define NEXT(name, sig, flow, sent, received, coll) [CG_ROW_##name] = {next_##name, next_i##name, next_##name##_init},
const struct cg_next cg_next[CG_ROWS] = {CG_COLLECTIVES(NEXT)};

/* Open MPI calls it on MPI_COMM_SELF. */
int cg_reduce_local(const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                    mca_coll_base_module_t *module)
{
    return cg_call_local((cg_module_t *) module,
                         &(struct cg_args){.row = CG_ROW_allreduce, .sbuf = sbuf, .rbuf = rbuf, .rcount = count,
                                           .rtype = type, .op = op});
}
