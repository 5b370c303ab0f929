/* SPDX-License-Identifier: BSD-3-Clause
 * coll_gpu_pipeline [BYTES [ROUNDS [LEAST]]]: how much of what its parts allow a large allreduce over the network
 * reaches, 2 ranks, host buffers. One thread does everything, so times add up:
 *
 *     ceiling of busbw = 1 / (1 / transport + PASSES / memcpy)
 *
 * transport: bytes per second in each direction at once when the transport moves messages of a FIFO's slot and nothing
 * else, with a receive posted for every slot of the FIFOs. A rank sends message n when n - half of that many have come:
 * the peer then has a receive ready for it, as the proxy's credit sees to. memcpy: while both ranks copy. Each round
 * measures the three in turn; the shares' median counts. Exit status: 0, 1 for an error or a share under LEAST
 * percent. */
#include "core/params.h"
#include "core/status.h"
#include "kernels/ring.h"
#include "proxy/net.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of S bytes, with 2 ranks: S/2 are copied into slots, S/2 are reduced from a slot and the operand into the result and
 * a slot (2 reads and 2 writes: twice a copy), S/2 are copied out of slots. */
#define PASSES 2
#define MOST_ROUNDS 99

struct wire {
    const struct cg_net_ops *ops;
    struct cg_net *net;
    struct cg_net_ep *ep;
    struct cg_net_mem *mem;
    char *slots; /* to send, to receive */
    size_t message, bytes;
    int window; /* messages of each direction that lie in slots */
};

static int rank;

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "coll_gpu_pipeline: rank %d: %s: %s\n", rank, what, why);
    return 1;
}

/* ---- the transport alone ---- */

static int join(struct wire *w, const char *handle, size_t len)
{
    int rc;

    while (CG_AGAIN == (rc = (rank ? w->ops->accept : w->ops->connect)(w->net, handle, len, 0, &w->ep)))
        w->ops->progress(w->net);
    return rc;
}

static int wire_open(struct wire *w, const struct cg_params *params)
{
    char mine[CG_NET_HANDLE_MAX + sizeof(size_t)] = "", theirs[sizeof(mine)], hint[256] = "", why[256];
    size_t len = 0;

    w->ops = cg_transport_find(params->transport);
    if (!w->ops) return failed("network", "no transport: build with UCX");
    if (w->ops->hint) w->ops->hint("", 0, 0, hint, sizeof(hint));
    if (w->ops->open(params, hint[0] ? hint : NULL, &w->net, why, sizeof(why)) != CG_OK) return failed("open", why);
    if (w->ops->listen(w->net, mine, &len) != CG_OK) return failed("listen", w->ops->name);
    memcpy(mine + CG_NET_HANDLE_MAX, &len, sizeof(len));
    MPI_Sendrecv(mine, sizeof(mine), MPI_BYTE, !rank, 0, theirs, sizeof(theirs), MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    memcpy(&len, theirs + CG_NET_HANDLE_MAX, sizeof(len));
    if (join(w, theirs, len) != CG_OK) return failed("connect", w->ops->name);
    w->message = cg_slot_stride((uint32_t) params->slot_bytes);
    w->window = params->slots * params->channels;
    w->bytes = (2 * (size_t) w->window * w->message + 4095) / 4096 * 4096;
    w->slots = aligned_alloc(4096, w->bytes);
    if (!w->slots) return failed("slots", "no memory");
    memset(w->slots, rank, w->bytes);
    if (w->ops->reg) {
        struct cg_net_region region = {w->slots, w->bytes, CG_NET_HOST, -1};
        if (w->ops->reg(w->net, &region, &w->mem) != CG_OK) return failed("reg", w->ops->name);
    }
    return 0;
}

static int post(struct wire *w, int sends, long n, struct cg_net_req **req)
{
    char *slot = w->slots + (size_t) (n % w->window + (sends ? 0 : w->window)) * w->message;
    uint64_t tag = 1000 + (uint64_t) (sends ? !rank : rank);

    return sends ? w->ops->isend(w->net, w->ep, tag, slot, w->message, w->mem, req)
                 : w->ops->irecv(w->net, tag, slot, w->message, w->mem, req);
}

/* Messages of one direction: posted up to number end, ended in order. Returns an error or 0. */
static int advance(struct wire *w, int sends, long end, long *posted, long *ended, struct cg_net_req **req)
{
    size_t bytes;
    int rc = CG_OK;

    while (*posted < end && *posted < *ended + w->window && rc == CG_OK) {
        rc = post(w, sends, *posted, &req[*posted % w->window]);
        *posted += rc == CG_OK;
    }
    if (rc < 0) return rc;
    for (rc = CG_OK; *ended < *posted && rc == CG_OK;) {
        rc = w->ops->test(w->net, req[*ended % w->window], &bytes);
        *ended += rc == CG_OK;
    }
    return rc < 0 ? rc : 0;
}

/* Bytes per second in each direction, or a negative status. */
static double wire_rate(struct wire *w, long messages)
{
    struct cg_net_req *req[2][1024];
    long posted[2] = {0}, ended[2] = {0};
    double start;

    if (w->window > 1024) return CG_ERR_LIMIT;
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    while (ended[0] < messages || ended[1] < messages) {
        for (int sends = 0; sends < 2; sends++) {
            long end = sends && messages > ended[0] + w->window / 2 ? ended[0] + w->window / 2 : messages;
            int rc = advance(w, sends, end, &posted[sends], &ended[sends], req[sends]);
            if (rc < 0) return rc;
        }
        w->ops->progress(w->net);
    }
    return (double) messages * (double) w->message / (MPI_Wtime() - start);
}

/* A peer may still need its progress. */
static void wire_rest(struct wire *w)
{
    MPI_Request barrier;
    int done = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    while (!done) {
        w->ops->progress(w->net);
        MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
    }
}

static void wire_close(struct wire *w)
{
    if (w->ep) w->ops->disconnect(w->net, w->ep);
    if (w->mem) w->ops->dereg(w->net, w->mem);
    w->ops->close(w->net);
    free(w->slots);
}

/* ---- the rest ---- */

static double copy_rate(char *dst, const char *src, size_t bytes)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    memcpy(dst, src, bytes);
    return (double) bytes / (MPI_Wtime() - start);
}

static double allreduce_rate(char *dst, const char *src, size_t bytes)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    MPI_Allreduce(src, dst, (int) (bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return (double) bytes / (MPI_Wtime() - start); /* 2 ranks: busbw is algbw */
}

/* The slower rank's. */
static double slower(double rate)
{
    MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return rate;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static int rounds(struct wire *w, size_t bytes, int n, double least)
{
    char *src = aligned_alloc(4096, bytes), *dst = aligned_alloc(4096, bytes);
    double share[MOST_ROUNDS];

    if (!src || !dst) return failed("buffers", "no memory");
    memset(src, 0, bytes);
    memset(dst, 0, bytes);
    for (int i = -1; i < n; i++) { /* the first one warms up */
        double wire = slower(wire_rate(w, (long) (bytes / w->message)));
        if (wire < 0) return failed("transport", cg_status_text((int) wire));
        wire_rest(w);
        double copy = slower(copy_rate(dst, src, bytes)), sum = slower(allreduce_rate(dst, src, bytes));
        double ceiling = 1 / (1 / wire + PASSES / copy);
        if (i < 0) continue;
        share[i] = sum / ceiling;
        if (rank == 0)
            printf("%d,%.3f,%.3f,%.3f,%.3f,%.1f\n", i, wire * 1e-9, copy * 1e-9, ceiling * 1e-9, sum * 1e-9,
                   100 * share[i]);
    }
    free(src);
    free(dst);
    qsort(share, (size_t) n, sizeof(share[0]), ascending);
    if (rank == 0)
        printf("# median share of the ceiling: %.1f %%, best %.1f %%\n", 100 * share[n / 2], 100 * share[n - 1]);
    return 100 * share[n / 2] < least;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) / 4096 * 4096 : 16 << 20;
    int n = argc > 2 ? atoi(argv[2]) : 9, size, rc;
    double least = argc > 3 ? atof(argv[3]) : 0;
    struct cg_params params;
    struct wire w = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cg_params_default(&params);
    if (size != 2 || n < 1 || n > MOST_ROUNDS || bytes < 1 << 20) {
        rc = failed("usage", "2 ranks, BYTES of 1048576 and more, 1 to 99 ROUNDS");
    } else {
        rc = wire_open(&w, &params);
        if (rank == 0 && rc == 0)
            printf("# %zu bytes, messages of %zu bytes, %d under way, %s; GB/s\nround,transport,memcpy,ceiling,busbw,"
                   "share_percent\n", bytes, w.message, w.window, w.ops->name);
        if (rc == 0) rc = rounds(&w, bytes, n, least);
        if (w.net) wire_close(&w);
    }
    MPI_Finalize();
    return rc;
}
