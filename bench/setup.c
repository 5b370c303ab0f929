/* SPDX-License-Identifier: BSD-3-Clause
 * The first communicator is MPI_COMM_WORLD: nothing but point-to-point messages precedes its first collective. GPU
 * memory is the difference in what the driver says is free, shared equally among the ranks of a GPU; all figures are
 * the worst rank's. The CUDA context and the buffers exist before. CALLS of each size, since a communicator may change
 * its path after the first ones. */
#include "bench/setup.h"
#include "bench/buffer.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8 };

struct cost {
    double first_us, all_us, bytes;
};

struct side {
    int rank, size, sharers; /* ranks on this rank's GPU */
    size_t small, large;
    struct cg_buf send, recv;
};

/* All ranks get here before any leaves; no collective, since those are measured. */
static void meet(const struct side *s)
{
    char token = 0;

    for (int r = 1; s->rank == 0 && r < s->size; r++) {
        MPI_Recv(&token, 1, MPI_CHAR, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int r = 1; s->rank == 0 && r < s->size; r++) MPI_Send(&token, 1, MPI_CHAR, r, 2, MPI_COMM_WORLD);
    if (s->rank == 0) return;
    MPI_Send(&token, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double gpu_free(const struct side *s)
{
    double bytes;

    meet(s);
    bytes = s->send.kind == CG_BUF_HOST ? 0 : (double) cg_buf_gpu_free();
    meet(s);
    return bytes;
}

static void calls(const struct side *s, MPI_Comm comm, struct cost *c)
{
    double before = gpu_free(s), start = MPI_Wtime();

    for (int i = 0; i < 2 * CALLS; i++) {
        size_t bytes = i < CALLS ? s->small : s->large;
        MPI_Allreduce(s->send.p, s->recv.p, (int) (bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, comm);
        if (i == 0) c->first_us = (MPI_Wtime() - start) * 1e6;
    }
    c->all_us = (MPI_Wtime() - start) * 1e6;
    c->bytes = (before - gpu_free(s)) / s->sharers;
}

/* n further communicators, all alive at the end: their mean. */
static void further(const struct side *s, int n, MPI_Comm *comm, struct cost *mean)
{
    double before = gpu_free(s);

    for (int i = 0; i < n; i++) {
        struct cost c;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        calls(s, comm[i], &c);
        mean->first_us += c.first_us / n;
        mean->all_us += c.all_us / n;
    }
    mean->bytes = (before - gpu_free(s)) / s->sharers / n;
    for (int i = 0; i < n; i++) MPI_Comm_free(&comm[i]);
}

static void print(const struct side *s, const char *which, const struct cost *mine)
{
    double worst[3], value[3] = {mine->first_us, mine->all_us, mine->bytes};

    MPI_Reduce(value, worst, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (s->rank != 0) return;
    printf("%s_first_call_us,%.1f\n%s_all_calls_us,%.1f\n%s_gpu_bytes,%.0f\n", which, worst[0], which, worst[1], which,
           worst[2]);
}

static int open_side(struct side *s, const struct cg_options *o)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    int kind = cg_buf_kind_find(strcmp(o->memory, "mixed") == 0 ? "device" : o->memory), gpus = cg_buf_gpus();

    s->small = o->begin, s->large = o->end;
    s->sharers = gpus > 0 && s->size > gpus ? (s->size + gpus - 1) / gpus : 1;
    if (kind != CG_BUF_HOST && cg_buf_select_gpu(local != NULL ? atoi(local) : s->rank) != 0) return 77;
    if (cg_buf_alloc(&s->send, kind, o->end) != 0 || cg_buf_alloc(&s->recv, kind, o->end) != 0) return 1;
    return cg_buf_set(&s->send, 0, 0, o->end) == 0 && cg_buf_set(&s->recv, 0, 0, o->end) == 0 ? 0 : 1;
}

int cg_setup_report(const struct cg_options *o, int rank, int size)
{
    struct side s = {.rank = rank, .size = size};
    struct cost first = {0}, more = {0};
    MPI_Comm *comm = calloc((size_t) o->setup + 1, sizeof(*comm));
    int rc = comm != NULL ? open_side(&s, o) : 1;

    if (rc != 0) {
        fprintf(stderr, "coll_gpu_perf --setup: rank %d has no %s memory\n", rank, o->memory);
        MPI_Abort(MPI_COMM_WORLD, rc); /* the others wait in meet() */
    }
    calls(&s, MPI_COMM_WORLD, &first);
    if (o->setup > 0) further(&s, o->setup, comm, &more);
    if (rank == 0) {
        printf("# coll_gpu_perf --setup: %d ranks, -m %s, %d calls of %zu bytes, then of %zu\nwhat,value\n", size,
               o->memory, CALLS, s.small, s.large);
    }
    print(&s, "first", &first);
    if (o->setup > 0) print(&s, "further", &more);
    cg_buf_free(&s.send);
    cg_buf_free(&s.recv);
    free(comm);
    return 0;
}
