/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Alltoall of vectors beside the same data packed: Open MPI copies vectors in GPU memory element by element
 * (#8720). Prints both times; from 256 KiB for a rank on, vectors may take 3 times as long. argv: largest block in
 * bytes. */
#include "test/gpu/gpu_test.h"

#include <stdio.h>
#include <stdlib.h>

#define FROM (256 << 10)
#define TIMES 3.0
#define RUNS 20

static const struct shape {
    const char *name;
    int floats, stride;
} shapes[] = {{"4 of 8 bytes", 1, 2}, {"64 of 256 bytes", 16, 64}, {"4 KiB of 6 KiB", 1024, 1536}};

struct state {
    struct cgt t;
    struct cg_buf send, recv;
    size_t most; /* bytes of data for a rank */
};

static int earlier(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Median of this rank, then the slowest rank's, in microseconds. */
static double timed(struct state *s, int count, MPI_Datatype type)
{
    double us[RUNS], mine, all[64];

    for (int i = -3; i < RUNS; i++) {
        double start;
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPI_Alltoall(s->send.p, count, type, s->recv.p, count, type, MPI_COMM_WORLD);
        if (i >= 0) us[i] = (MPI_Wtime() - start) * 1e6;
    }
    qsort(us, RUNS, sizeof(us[0]), earlier);
    mine = us[RUNS / 2];
    MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int r = 0; r < s->t.size; r++) mine = all[r] > mine ? all[r] : mine;
    return mine;
}

static void one_shape(struct state *s, const struct shape *shape, size_t bytes)
{
    int blocks = (int) (bytes / ((size_t) shape->floats * sizeof(float)));
    MPI_Datatype vector, type;
    double apart, packed;

    MPI_Type_vector(blocks, shape->floats, shape->stride, MPI_FLOAT, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint) blocks * shape->stride * 4, &type);
    MPI_Type_commit(&type);
    packed = timed(s, (int) (bytes / sizeof(float)), MPI_FLOAT);
    apart = timed(s, 1, type);
    if (s->t.rank == 0)
        printf("%-16s %10zu bytes: %9.1f us, packed %9.1f us, %4.2f times\n", shape->name, bytes, apart, packed,
               apart / packed);
    if (bytes >= FROM && !s->t.host_only)
        cgt_check(&s->t, apart <= TIMES * packed, "%s, %zu bytes: %.1f us, but packed %.1f", shape->name, bytes, apart,
                  packed);
    MPI_Type_free(&type);
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    static struct state s;
    int rc = cgt_open(&s.t, "mpi_vectors", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    s.most = argc > 1 ? strtoull(argv[1], NULL, 0) : 16u << 20;
    cgt_alloc(&s.t, &s.send, CG_BUF_DEVICE, 4 * s.most * (size_t) s.t.size);
    cgt_alloc(&s.t, &s.recv, CG_BUF_DEVICE, 4 * s.most * (size_t) s.t.size);
    cg_buf_set(&s.send, 0, 1, s.send.bytes);
    cgt_check(&s.t, s.t.size <= 64, "too many ranks");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (size_t bytes = 4096; bytes <= s.most; bytes *= 4) one_shape(&s, &shapes[i], bytes);
    }
    cg_buf_free(&s.send);
    cg_buf_free(&s.recv);
    if (!s.t.host_only) cgt_check(&s.t, cg_watch_read(s.t.watch, "packed") > 0, "nothing was packed by a GPU");
    return cgt_close(&s.t);
}
