/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective in every form, as data: what the programs call, with which layouts, in which memory. */
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

/* All arguments as bad as they can be, in one of several ways; those that count are filled in afterwards. */
void every_poison(struct call *c, int turn);
/* Blocking: from start to end. Otherwise request is under way, or (persistent) inactive. The call's result. */
int every_issue(const struct call *c, enum form form, MPI_Request *request);
/* By the functions with large counts, which every_issue uses where CG_TEST_COUNTS=large. */
int every_large(void);
int every_issue_large(const struct call *c, enum form form, MPI_Request *request);

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

/* ---- memory (every_memory.c, or on GPUs test/gpu/every_cuda.c) ---- */

#define GUARD 256
#define KINDS_MOST 8
/* A letter for each kind of memory that the program offers. */
extern const char every_kinds[];
/* Before MPI is used, and when it is not any more. 0, or an exit status. */
int every_memory_open(void);
/* Memory of a kind, a letter of every_kinds. *bytes becomes what there is. guarded: what goes beyond its end dies. */
char *every_alloc(size_t *bytes, char kind, int *guarded);
int every_on_gpu(char kind);
void every_copy(char *dst, const char *src, size_t bytes);

/* One direction's memory of all kinds, and what is, or should be, in it. The data lie GUARD bytes behind user. */
struct area {
    char *user, *image, *seen;
    size_t used, room[KINDS_MOST];
    char *at[KINDS_MOST];
    int guarded[KINDS_MOST];
};
void every_areas(struct area *send, struct area *recv, size_t bytes);
/* So many bytes of data in this kind of memory, between guard bytes or before a guard page; the image is poisoned. */
void every_begin(struct area *a, size_t used, char kind, int at_end);
/* The image into the area. */
void every_load(struct area *a);
/* The call from its begin to its end; a persistent one twice, recv loaded anew in between. what: its name in a line. */
void every_run(const struct call *c, enum form form, struct area *recv, const char *(*what)(void));
/* The area's data now; every_same: 1 if they are the image, but for bytes [from, to) of the data. */
char *every_look(struct area *a);
int every_same(struct area *a, size_t from, size_t to);

/* ---- sweeps (every.c) ---- */

struct size {
    ptrdiff_t count;
    size_t bytes; /* a threshold, from which it is count elements to here */
};
/* Which cases are run, and what was seen. */
struct sweep {
    struct size size[24];
    int nsizes, roots;
    int staged;         /* nothing is native */
    const char *kinds;  /* of this rank's send and receive buffers, or NULL: all mixtures, all types and operations */
    int counting;       /* run none */
    uint64_t seed, chance, total, cases, posts; /* chance: of 2^32; posts: native calls expected */
    unsigned char served[EVERY_COUNT][FORMS][2]; /* what world ranks of one group saw: staged, native */
};
/* Elements or units of so many bytes; the most bytes of all sizes with units of smallest to largest bytes. */
size_t every_count(const struct size *size, size_t unit);
size_t every_most(const struct sweep *s, size_t smallest, size_t largest);
/* How many mixtures of memory; this rank's send and receive kind in one of them. */
int every_mixtures(const struct sweep *s);
void every_mixture(const struct sweep *s, int mixture, char kind[2]);
/* The next case: is it run? */
int every_drawn(struct sweep *s);
/* TRACE=1: each case is told before it is run. */
void every_trace(const char *what);

/* Sweeps over the collectives that move, and those that reduce, of a world. */
void every_move(struct sweep *s, const struct world *w);
void every_reduce(struct sweep *s, const struct world *w);

#endif
