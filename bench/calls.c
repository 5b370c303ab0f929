/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/calls.h"

#include <mpi-ext.h>
#include <string.h>

#if MPI_VERSION >= 4 || !defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define INIT(name) MPI_##name##_init
#else
#define INIT(name) MPIX_##name##_init
#endif

/* X(NAME, MPI's name, that of the nonblocking one, arguments before the communicator) */
#define REDUCES c->src, c->dst, c->count, t, c->op->mpi
#define BLOCKS c->src, c->count, t, c->dst, c->count, t
#define CALLS(X)                                                                          \
    X(ALLREDUCE, Allreduce, Iallreduce, REDUCES)                                          \
    X(REDUCE, Reduce, Ireduce, REDUCES, 0)                                                \
    X(BCAST, Bcast, Ibcast, c->dst, c->count, t, 0)                                       \
    X(ALLGATHER, Allgather, Iallgather, BLOCKS)                                           \
    X(GATHER, Gather, Igather, BLOCKS, 0)                                                 \
    X(SCATTER, Scatter, Iscatter, BLOCKS, 0)                                              \
    X(ALLTOALL, Alltoall, Ialltoall, BLOCKS)                                              \
    X(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block, REDUCES)
#define NAME(NAME, ...) NAME,
enum { CALLS(NAME) BARRIER, COUNT };
#undef NAME

/* source: whose data a received block holds. ALL: the reduction of all ranks'; ROOT: rank 0's; EACH: block r that of
 * rank r, which sent one; OWN: what that rank sent in the block for this one; NONE: nothing is received. */
enum source { ALL, ROOT, EACH, OWN, NONE };
static const struct {
    const char *name;
    int sblocks, rblocks; /* one for each rank? */
    enum source source;
    int to_root;          /* only the root receives */
} rows[COUNT] = {
    [ALLREDUCE] = {"allreduce", 0, 0, ALL, 0},     [REDUCE] = {"reduce", 0, 0, ALL, 1},
    [BCAST] = {"bcast", 0, 0, ROOT, 0},            [ALLGATHER] = {"allgather", 0, 1, EACH, 0},
    [GATHER] = {"gather", 0, 1, EACH, 1},          [SCATTER] = {"scatter", 1, 0, ROOT, 0},
    [ALLTOALL] = {"alltoall", 1, 1, OWN, 0},       [REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", 1, 0, ALL, 0},
    [BARRIER] = {"barrier", 0, 0, NONE, 0},
};

const char *const cg_call_kinds[] = {"blocking", "nonblocking", "persistent"};

int cg_calls_find(const char *name)
{
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0) return i;
    }
    return -1;
}

const char *cg_calls_name(int coll) { return rows[coll].name; }
int cg_calls_send_blocks(int coll, int nranks) { return rows[coll].sblocks ? nranks : 1; }
int cg_calls_recv_blocks(int coll, int nranks) { return rows[coll].rblocks ? nranks : 1; }
int cg_calls_same(int coll) { return coll == ALLREDUCE || coll == BCAST || coll == ALLGATHER; }

/* As nccl-tests count it, from the bytes of one block. */
double cg_calls_traffic(int coll, int nranks)
{
    if (coll == ALLREDUCE) return 2.0 * (nranks - 1) / nranks;
    return rows[coll].sblocks || rows[coll].rblocks ? nranks - 1 : 1;
}

static void run_nonblocking(const struct cg_coll_call *c, MPI_Request *req)
{
    MPI_Datatype t = c->type->mpi;

    switch (c->coll) {
#define CASE(NAME, name, iname, ...) \
    case NAME: MPI_##iname(__VA_ARGS__, MPI_COMM_WORLD, req); break;
        CALLS(CASE)
    case BARRIER: MPI_Ibarrier(MPI_COMM_WORLD, req); break;
#undef CASE
    }
}

static void run_blocking(const struct cg_coll_call *c)
{
    MPI_Datatype t = c->type->mpi;

    switch (c->coll) {
#define CASE(NAME, name, iname, ...) \
    case NAME: MPI_##name(__VA_ARGS__, MPI_COMM_WORLD); break;
        CALLS(CASE)
    case BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
#undef CASE
    }
}

void cg_calls_init(const struct cg_coll_call *c, MPI_Request *persistent)
{
    MPI_Datatype t = c->type->mpi;

    switch (c->coll) {
#define CASE(NAME, name, iname, ...) \
    case NAME: INIT(name)(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, persistent); break;
        CALLS(CASE)
    case BARRIER: INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, persistent); break;
#undef CASE
    }
}

void cg_calls_run(const struct cg_coll_call *c, int kind, MPI_Request *persistent)
{
    MPI_Request req = MPI_REQUEST_NULL;

    if (kind == CG_CALL_BLOCKING) {
        run_blocking(c);
    } else if (kind == CG_CALL_NONBLOCKING) {
        run_nonblocking(c, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Start(persistent);
        MPI_Wait(persistent, MPI_STATUS_IGNORE);
    }
}

int cg_calls_from_dst(const struct cg_coll_call *c, int rank)
{
    return c->src == MPI_IN_PLACE || (c->coll == BCAST && rank == 0);
}

/* Block b of a rank has data of its own. */
static uint64_t seed_of(uint64_t seed, int block) { return seed * 4096 + (uint64_t) block; }

void cg_calls_fill(const struct cg_coll_call *c, void *host, uint64_t seed, int rank, int nranks)
{
    size_t bytes = (size_t) c->count * (size_t) c->type->size;

    for (int b = 0; b < cg_calls_send_blocks(c->coll, nranks); b++) {
        cg_data_fill((char *) host + (size_t) b * bytes, c->type, c->op, (size_t) c->count, seed_of(seed, b), rank);
    }
}

static uint64_t differ(const char *a, const char *b, size_t count, size_t size)
{
    uint64_t wrong = 0;

    for (size_t i = 0; i < count; i++) wrong += memcmp(a + i * size, b + i * size, size) != 0;
    return wrong;
}

uint64_t cg_calls_check(const struct cg_coll_call *c, const void *host, void *scratch, uint64_t seed, int rank,
                        int nranks)
{
    size_t count = (size_t) c->count, size = (size_t) c->type->size;
    int mine = rows[c->coll].sblocks ? rank : 0; /* the block of a send buffer that is for this rank */
    uint64_t wrong = 0;

    if (rows[c->coll].source == NONE || (rows[c->coll].to_root && rank != 0)) return 0;
    if (rows[c->coll].source == ALL) return cg_data_check(host, c->type, c->op, count, seed_of(seed, mine), nranks);
    for (int b = 0; b < cg_calls_recv_blocks(c->coll, nranks); b++) {
        cg_data_fill(scratch, c->type, c->op, count, seed_of(seed, mine), rows[c->coll].source == ROOT ? 0 : b);
        wrong += differ((const char *) host + (size_t) b * count * size, scratch, count, size);
    }
    return wrong;
}
