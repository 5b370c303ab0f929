/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective in every form, as data: what the programs every.c and reduce.c call, and with which layouts. */
#ifndef CG_TEST_MPI_EVERY_H
#define CG_TEST_MPI_EVERY_H

#include "test/mpi/mpi_test.h"

#include <stddef.h>

/* X(name, nonblocking name, arguments) */
#define EVERY_BLOCKS(c) c->sbuf, c->scount, c->stype, c->rbuf, c->rcount, c->rtype
#define EVERY_REDUCE(c) c->sbuf, c->rbuf, c->rcount, c->rtype, c->op
#define EVERY(X)                                                                                                       \
    X(Allreduce, Iallreduce, EVERY_REDUCE(c))                                                                          \
    X(Reduce, Ireduce, EVERY_REDUCE(c), c->root)                                                                       \
    X(Reduce_scatter, Ireduce_scatter, c->sbuf, c->rbuf, c->rcounts, c->rtype, c->op)                                  \
    X(Reduce_scatter_block, Ireduce_scatter_block, EVERY_REDUCE(c))                                                    \
    X(Scan, Iscan, EVERY_REDUCE(c))                                                                                    \
    X(Exscan, Iexscan, EVERY_REDUCE(c))                                                                                \
    X(Bcast, Ibcast, c->rbuf, c->rcount, c->rtype, c->root)                                                            \
    X(Allgather, Iallgather, EVERY_BLOCKS(c))                                                                          \
    X(Allgatherv, Iallgatherv, c->sbuf, c->scount, c->stype, c->rbuf, c->rcounts, c->rdisps, c->rtype)                 \
    X(Gather, Igather, EVERY_BLOCKS(c), c->root)                                                                       \
    X(Gatherv, Igatherv, c->sbuf, c->scount, c->stype, c->rbuf, c->rcounts, c->rdisps, c->rtype, c->root)              \
    X(Scatter, Iscatter, EVERY_BLOCKS(c), c->root)                                                                     \
    X(Scatterv, Iscatterv, c->sbuf, c->scounts, c->sdisps, c->stype, c->rbuf, c->rcount, c->rtype, c->root)            \
    X(Alltoall, Ialltoall, EVERY_BLOCKS(c))                                                                            \
    X(Alltoallv, Ialltoallv, c->sbuf, c->scounts, c->sdisps, c->stype, c->rbuf, c->rcounts, c->rdisps, c->rtype)       \
    X(Alltoallw, Ialltoallw, c->sbuf, c->scounts, c->sdisps, c->stypes, c->rbuf, c->rcounts, c->rdisps, c->rtypes)     \
    X(Neighbor_allgather, Ineighbor_allgather, EVERY_BLOCKS(c))                                                        \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, c->sbuf, c->scount, c->stype, c->rbuf, c->rcounts, c->rdisps,         \
      c->rtype)                                                                                                        \
    X(Neighbor_alltoall, Ineighbor_alltoall, EVERY_BLOCKS(c))                                                          \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, c->sbuf, c->scounts, c->sdisps, c->stype, c->rbuf, c->rcounts,          \
      c->rdisps, c->rtype)                                                                                             \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, c->sbuf, c->scounts, c->swdisps, c->stypes, c->rbuf, c->rcounts,        \
      c->rwdisps, c->rtypes)

enum every {
#define EVERY_NAME(name, iname, ...) name,
    EVERY(EVERY_NAME)
#undef EVERY_NAME
    EVERY_COUNT
};
extern const char *const every_name[EVERY_COUNT];

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

#define MOST 32 /* ranks */

struct call {
    enum every coll;
    MPI_Comm comm;
    const void *sbuf;
    void *rbuf;
    int scount, rcount, root;
    MPI_Datatype stype, rtype;
    MPI_Op op;
    const int *scounts, *sdisps, *rcounts, *rdisps;
    const MPI_Aint *swdisps, *rwdisps;
    const MPI_Datatype *stypes, *rtypes;
};

/* All arguments as bad as they can be; those that count are filled in afterwards. */
void every_poison(struct call *c);
/* Blocking: from start to end. Otherwise request is under way, or (persistent) inactive. The call's result. */
int every_issue(const struct call *c, enum form form, MPI_Request *request);

/* Who takes part in a call: one group, two groups, or the neighbours of a topology. */
struct world {
    MPI_Comm comm;
    int inter, topo, rank, size; /* here; inter: 1 in the first group, 2 in the second */
    int me, peers;               /* number among all ranks; length of arrays between all */
    int peer[MOST];              /* number among all ranks of peer i, in the order of reduction */
    int nin, nout, in[4], out[4]; /* neighbours, -1 beyond a border */
    int in_edge[4];              /* which of its out this rank is */
};
void every_one_group(struct world *w);
void every_two_groups(struct world *w);
/* Everyone sends to the next rank, even ranks also to the one after it. */
void every_graph(struct world *w);
/* A ring, and beside it a second dimension in which nobody has a neighbour. */
void every_ring(struct world *w);
/* As a root of the first group is named here. */
int every_root(const struct world *w, int root);

/* A type and its place in memory: units of the same basic elements, whatever the layout. */
struct layout {
    const char *name;
    MPI_Datatype type;
    int per_unit;        /* elements of type */
    ptrdiff_t extent;    /* of a unit */
    int basics;
    struct {
        ptrdiff_t at;
        int bytes;       /* 4: int, 8: double */
    } basic[4];
};
#define FAMILIES 3
#define LAYOUTS 5
/* In each family all layouts have the same signature; the first has no gaps. */
const struct layout *every_layout(int family, int which);
/* Write, into an image of memory whose unit 0 has its origin at p, unit i as sent by from under key. */
void every_put(char *p, const struct layout *l, size_t i, int from, int key);

/* Two areas in memory of the kind asked for, and what should be in them. */
struct area {
    char *user, *image;
    size_t used;
};
#define GUARD 256
void every_areas(struct area *send, struct area *recv, size_t bytes, const char *kinds);
/* Poison used bytes of the image; its content into the area; compare. */
void every_begin(struct area *a, size_t used);
void every_load(struct area *a);
/* 1 if they are equal, but for bytes [from, to) of the data. */
int every_same(const struct area *a, size_t from, size_t to);

#endif
