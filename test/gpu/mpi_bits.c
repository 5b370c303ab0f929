/* SPDX-License-Identifier: BSD-3-Clause
 * The same bits: float SUM, 100 runs for each of several sizes. Each run draws, on each rank for itself, device or host
 * memory for both buffers; in place or not, and blocking or not, are drawn for all. More than two ranks, or there is
 * nothing to find: two floats have one sum. */
#include "test/gpu/gpu_test.h"

#include <stdio.h>

#define RUNS 100
static const size_t counts[] = {1, 5, 1000, 5003, 20011, 1000003}; /* 4 bytes to 4 MB: every plan of the table */
enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

struct state {
    struct cgt t;
    struct cg_buf send[2], recv[2]; /* device, host */
    uint64_t own;
};

/* One run, one hash. */
static uint64_t run(struct state *s, size_t count)
{
    const struct cg_data_type *type = cg_data_type_find("float");
    const struct cg_data_op *sum = cg_data_op_find("sum");
    struct cg_buf *send = &s->send[cgt_draw(&s->own, 2)], *recv = &s->recv[cgt_draw(&s->own, 2)];
    int in_place = (int) cgt_random(&s->t, 2), nonblocking = (int) cgt_random(&s->t, 2); /* alike: MPI wants it */
    const void *src = in_place ? MPI_IN_PLACE : send->p;
    MPI_Request req;

    cg_buf_set(recv, 0, 0xa5, count * 4);
    cgt_fill(in_place ? recv : send, 0, type, sum, count, 42, s->t.rank);
    if (nonblocking) {
        MPI_Iallreduce(src, recv->p, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(src, recv->p, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    return cgt_hash(recv, 0, count * 4);
}

static void repeat(struct state *s, size_t count)
{
    const struct cg_data_type *type = cg_data_type_find("float");
    uint64_t first = 0, hash, wrong;

    for (int i = 0; i < RUNS; i++) {
        hash = run(s, count);
        if (i == 0) {
            wrong = cgt_wrong(&s->recv[0], 0, type, cg_data_op_find("sum"), count, 42, s->t.size);
            if (wrong > 0) wrong = cgt_wrong(&s->recv[1], 0, type, cg_data_op_find("sum"), count, 42, s->t.size);
            cgt_check(&s->t, wrong == 0, "%llu of %zu wrong", (unsigned long long) wrong, count);
            first = hash;
            MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        }
        cgt_check(&s->t, hash == first, "run %d of %zu floats has other bits than rank 0's first", i, count);
    }
    if (s->t.rank == 0) printf("bits %zu floats %d ranks: %016llx\n", count, s->t.size, (unsigned long long) first);
}

int main(int argc, char **argv)
{
    struct state s = {0};
    int rc = cgt_open(&s.t, "mpi_bits", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    s.own = (uint64_t) s.t.rank + 7;
    for (int k = 0; k < 2; k++) {
        cgt_alloc(&s.t, &s.send[k], k ? CG_BUF_HOST : CG_BUF_DEVICE, counts[COUNTS - 1] * 4);
        cgt_alloc(&s.t, &s.recv[k], k ? CG_BUF_HOST : CG_BUF_DEVICE, counts[COUNTS - 1] * 4);
    }
    for (int i = 0; i < COUNTS; i++) repeat(&s, counts[i]);
    for (int k = 0; k < 2; k++) cg_buf_free(&s.send[k]), cg_buf_free(&s.recv[k]);
    cgt_check_gpu(&s.t);
    return cgt_close(&s.t);
}
