/* SPDX-License-Identifier: BSD-3-Clause
 * The collectives: what they are called with, which of it counts where, and under which names Open MPI calls them. */
#ifndef CG_OMPI_ENTRIES_H
#define CG_OMPI_ENTRIES_H

#include "ompi_coll_gpu/compat.h"

struct ompi_info_t;

/* X(argument, its type). Of those with one count or type for both directions these are rcount and rtype; bcast's buffer
 * is rbuf. */
#define CG_ARGUMENTS(X)                         \
    X(sbuf, const void *)                       \
    X(rbuf, void *)                             \
    X(scount, cg_count_t)                       \
    X(rcount, cg_count_t)                       \
    X(stype, struct ompi_datatype_t *)          \
    X(rtype, struct ompi_datatype_t *)          \
    X(scounts, cg_counts_t)                     \
    X(rcounts, cg_counts_t)                     \
    X(sdisps, cg_disps_t)                       \
    X(rdisps, cg_disps_t)                       \
    X(swdisps, cg_wdisps_t)                     \
    X(rwdisps, cg_wdisps_t)                     \
    X(stypes, struct ompi_datatype_t *const *)  \
    X(rtypes, struct ompi_datatype_t *const *)  \
    X(op, struct ompi_op_t *)                   \
    X(root, int)

/* Arguments in the order of Open MPI's functions. */
#define CG_SIG_REDUCE(X) X(sbuf) X(rbuf) X(rcount) X(rtype) X(op)
#define CG_SIG_REDUCE_ROOT(X) CG_SIG_REDUCE(X) X(root)
#define CG_SIG_REDUCE_SCATTER(X) X(sbuf) X(rbuf) X(rcounts) X(rtype) X(op)
#define CG_SIG_BCAST(X) X(rbuf) X(rcount) X(rtype) X(root)
#define CG_SIG_BLOCKS(X) X(sbuf) X(scount) X(stype) X(rbuf) X(rcount) X(rtype)
#define CG_SIG_BLOCKS_ROOT(X) CG_SIG_BLOCKS(X) X(root)
#define CG_SIG_ALLGATHERV(X) X(sbuf) X(scount) X(stype) X(rbuf) X(rcounts) X(rdisps) X(rtype)
#define CG_SIG_GATHERV(X) CG_SIG_ALLGATHERV(X) X(root)
#define CG_SIG_SCATTERV(X) X(sbuf) X(scounts) X(sdisps) X(stype) X(rbuf) X(rcount) X(rtype) X(root)
#define CG_SIG_ALLTOALLV(X) X(sbuf) X(scounts) X(sdisps) X(stype) X(rbuf) X(rcounts) X(rdisps) X(rtype)
#define CG_SIG_ALLTOALLW(X) X(sbuf) X(scounts) X(sdisps) X(stypes) X(rbuf) X(rcounts) X(rdisps) X(rtypes)
#define CG_SIG_NEIGHBORW(X) X(sbuf) X(scounts) X(swdisps) X(stypes) X(rbuf) X(rcounts) X(rwdisps) X(rtypes)

/* How the data of one direction lie in the buffer. */
enum cg_layout {
    CG_ONE,   /* count elements */
    CG_EACH,  /* count elements for each peer, one block after another */
    CG_SUM,   /* counts[i] elements for each rank i, one block after another */
    CG_OWN,   /* counts[rank] elements */
    CG_PARTS, /* counts[i] elements at disps[i] elements for each peer i */
    CG_TYPED, /* counts[i] elements of types[i] at disps[i] bytes for each peer i */
};

/* Who sends, who receives. */
enum cg_flow { CG_ALL, CG_TO_ROOT, CG_FROM_ROOT, CG_BCAST, CG_NEIGHBORS };

/* X(name, signature, flow, layout sent, layout received, the engine's collective). In place a reduction takes its input
 * from rbuf in the layout sent. */
#define CG_COLLECTIVES(X)                                                 \
    X(allreduce, REDUCE, ALL, ONE, ONE, ALLREDUCE)                        \
    X(reduce, REDUCE_ROOT, TO_ROOT, ONE, ONE, REDUCE)                     \
    X(reduce_scatter, REDUCE_SCATTER, ALL, SUM, OWN, REDUCE_SCATTER)      \
    X(reduce_scatter_block, REDUCE, ALL, EACH, ONE, REDUCE_SCATTER_BLOCK) \
    X(scan, REDUCE, ALL, ONE, ONE, SCAN)                                  \
    X(exscan, REDUCE, ALL, ONE, ONE, EXSCAN)                              \
    X(bcast, BCAST, BCAST, ONE, ONE, BCAST)                               \
    X(allgather, BLOCKS, ALL, ONE, EACH, ALLGATHER)                       \
    X(allgatherv, ALLGATHERV, ALL, ONE, PARTS, ALLGATHERV)                \
    X(gather, BLOCKS_ROOT, TO_ROOT, ONE, EACH, GATHER)                    \
    X(gatherv, GATHERV, TO_ROOT, ONE, PARTS, GATHERV)                     \
    X(scatter, BLOCKS_ROOT, FROM_ROOT, EACH, ONE, SCATTER)                \
    X(scatterv, SCATTERV, FROM_ROOT, PARTS, ONE, SCATTERV)                \
    X(alltoall, BLOCKS, ALL, EACH, EACH, ALLTOALL)                        \
    X(alltoallv, ALLTOALLV, ALL, PARTS, PARTS, ALLTOALLV)                 \
    X(alltoallw, ALLTOALLW, ALL, TYPED, TYPED, ALLTOALLV)                 \
    X(neighbor_allgather, BLOCKS, NEIGHBORS, ONE, EACH, ALLTOALLV)        \
    X(neighbor_allgatherv, ALLGATHERV, NEIGHBORS, ONE, PARTS, ALLTOALLV)  \
    X(neighbor_alltoall, BLOCKS, NEIGHBORS, EACH, EACH, ALLTOALLV)        \
    X(neighbor_alltoallv, ALLTOALLV, NEIGHBORS, PARTS, PARTS, ALLTOALLV)  \
    X(neighbor_alltoallw, NEIGHBORW, NEIGHBORS, TYPED, TYPED, ALLTOALLV)

enum cg_row_index {
#define CG_ROW(name, sig, flow, sent, received, coll) CG_ROW_##name,
    CG_COLLECTIVES(CG_ROW)
#undef CG_ROW
    CG_ROWS
};

/* All functions of Open MPI's table that this component takes: define CG_ENTRY(function) first. */
#define CG_ENTRIES_OF(name, sig, flow, sent, received, coll) CG_ENTRY(name) CG_ENTRY(i##name) CG_ENTRY(name##_init)
#define CG_ENTRY_TABLE CG_COLLECTIVES(CG_ENTRIES_OF) CG_ENTRY(reduce_local)

#define CG_TYPEDEF(field, type) typedef type cg_arg_##field;
CG_ARGUMENTS(CG_TYPEDEF)
#undef CG_TYPEDEF

/* One call's arguments. What is insignificant on this rank is handed on, never read. */
struct cg_args {
    int row;
#define CG_FIELD(field, type) type field;
    CG_ARGUMENTS(CG_FIELD)
#undef CG_FIELD
};

#define CG_DECLARE(field) cg_arg_##field field,
#define CG_PROTOTYPES(name, sig, flow, sent, received, coll)                                                        \
    int cg_##name(CG_SIG_##sig(CG_DECLARE) struct ompi_communicator_t *comm, mca_coll_base_module_t *module);       \
    int cg_i##name(CG_SIG_##sig(CG_DECLARE) struct ompi_communicator_t *comm, ompi_request_t **request,             \
                   mca_coll_base_module_t *module);                                                                 \
    int cg_##name##_init(CG_SIG_##sig(CG_DECLARE) struct ompi_communicator_t *comm, struct ompi_info_t *info,       \
                         ompi_request_t **request, mca_coll_base_module_t *module);
CG_COLLECTIVES(CG_PROTOTYPES)
#undef CG_PROTOTYPES
int cg_reduce_local(const void *sbuf, void *rbuf, cg_count_t count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                    mca_coll_base_module_t *module);

#endif
