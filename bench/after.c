/* SPDX-License-Identifier: BSD-3-Clause
 * Each iteration runs a kernel twice: alone, when nothing has been on the GPU for a while, and right after CALLS
 * allreduces in a row, which is when a kernel of coll/gpu may linger for another. Times are the GPU's own, from an
 * event that is recorded before the launch; of each iteration the slowest rank's, of those the median. */
#include "bench/after.h"
#include "bench/buffer.h"
#ifdef HAVE_CUDA
#include "bench/work.h"
#endif

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_CUDA

int cg_after_report(const struct cg_options *o, int rank, int size)
{
    (void) o;
    (void) size;
    if (rank == 0) printf("coll_gpu_perf --kernels: built without CUDA\n");
    return 77;
}

#else

enum { CALLS = 8, IDLE_US = 300 };

struct side {
    const struct cg_options *o;
    int rank, size;
    struct cg_buf send, recv;
    struct cg_work *work;
    double *alone, *after; /* iters each */
};

static void idle(void)
{
    for (double end = MPI_Wtime() + IDLE_US * 1e-6; MPI_Wtime() < end;) {}
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* At rank 0. A failed one (< 0) makes it 0. */
static double median(const struct side *s, double *us)
{
    int n = s->o->iters;
    double worst[n], least, least_of_all;

    least = us[0];
    for (int i = 1; i < n; i++) least = us[i] < least ? us[i] : least;
    MPI_Reduce(&least, &least_of_all, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(us, worst, n, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (s->rank != 0 || least_of_all < 0) return 0;
    qsort(worst, (size_t) n, sizeof(*worst), by_value);
    return (worst[(n - 1) / 2] + worst[n / 2]) / 2;
}

static int run(const struct side *s, int kind, size_t bytes)
{
    double alone, after;

    for (int i = -s->o->warmup; i < s->o->iters; i++) {
        int at = i < 0 ? 0 : i;
        MPI_Barrier(MPI_COMM_WORLD);
        idle();
        s->alone[at] = cg_work_run(s->work, kind);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < CALLS; k++) {
            MPI_Allreduce(s->send.p, s->recv.p, (int) (bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        s->after[at] = cg_work_run(s->work, kind);
    }
    alone = median(s, s->alone);
    after = median(s, s->after);
    if (s->rank != 0) return 0;
    if (alone <= 0 || after <= 0) return 1;
    printf("%s,%zu,%.2f,%.2f,%.4f\n", cg_work_name(kind), bytes, alone, after, after / alone);
    fflush(stdout);
    return 0;
}

static int open_side(struct side *s)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    int kind = cg_buf_kind_find(s->o->memory);

    if (kind == CG_BUF_HOST || kind < 0 || cg_buf_select_gpu(local != NULL ? atoi(local) : s->rank) != 0) return 77;
    if (cg_buf_alloc(&s->send, kind, s->o->end) != 0 || cg_buf_alloc(&s->recv, kind, s->o->end) != 0) return 1;
    if (cg_buf_set(&s->send, 0, 0, s->o->end) != 0 || cg_buf_set(&s->recv, 0, 0, s->o->end) != 0) return 1;
    s->alone = calloc((size_t) s->o->iters, sizeof(double));
    s->after = calloc((size_t) s->o->iters, sizeof(double));
    s->work = cg_work_open();
    return s->alone && s->after && s->work ? 0 : 1;
}

int cg_after_report(const struct cg_options *o, int rank, int size)
{
    struct side s = {.o = o, .rank = rank, .size = size};
    int rc = open_side(&s), worst;

    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (worst != 0) {
        if (rc != 0) fprintf(stderr, "coll_gpu_perf --kernels: rank %d has no GPU or no %s memory\n", rank, o->memory);
    } else if (rank == 0) {
        printf("# coll_gpu_perf --kernels: %d ranks, -m %s, after %d calls, %d warm-up and %d timed iterations\n"
               "kernel,bytes,alone_us,after_us,ratio\n", size, o->memory, CALLS, o->warmup, o->iters);
    }
    for (size_t bytes = 0; worst == 0 && (bytes = cg_options_next(o, bytes)) > 0;) {
        for (int kind = 0; kind < CG_WORK_KINDS; kind++) rc |= run(&s, kind, bytes);
    }
    if (s.work) cg_work_close(s.work);
    if (s.send.p) cg_buf_free(&s.send);
    if (s.recv.p) cg_buf_free(&s.recv);
    free(s.alone);
    free(s.after);
    MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return worst != 0 ? worst : rc;
}

#endif
