/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of complex numbers, value-and-index pairs with their gaps, and the types of coll_gpu.h on device memory
 * have the same bits as on host memory, where test/mpi/types and test/mpi/every check them. Gaps survive. Collectives
 * that reduce, in place and not; MPI_Reduce_local. */
#include "include/coll_gpu.h"
#include "test/gpu/gpu_test.h"

#include <stdlib.h>
#include <string.h>

#define MOST (1 << 20)

/* The numbers of an element: letter and offset. c, C: float, double; s, i, l: short, int, long; h, b, 4, 5: those of
 * coll_gpu.h. */
static struct kind {
    const char *name, *numbers;
    size_t extent;
    MPI_Datatype type;
    MPI_Op op[4];
} kinds[] = {
    {"complex", "c0c4", 8, MPI_C_FLOAT_COMPLEX, {MPI_SUM, MPI_PROD}},
    {"double complex", "C0C8", 16, MPI_C_DOUBLE_COMPLEX, {MPI_SUM, MPI_PROD}},
    {"float, int", "c0i4", 8, MPI_FLOAT_INT, {MPI_MINLOC, MPI_MAXLOC}},
    {"double, int", "C0i8", 16, MPI_DOUBLE_INT, {MPI_MINLOC, MPI_MAXLOC}},
    {"short, int", "s0i4", 8, MPI_SHORT_INT, {MPI_MINLOC, MPI_MAXLOC}},
    {"long, int", "l0i8", 16, MPI_LONG_INT, {MPI_MINLOC, MPI_MAXLOC}},
    {"two ints", "i0i4", 8, MPI_2INT, {MPI_MINLOC, MPI_MAXLOC}},
    {"half", "h0", 2, MPI_DATATYPE_NULL, {0}},
    {"bfloat16", "b0", 2, MPI_DATATYPE_NULL, {0}},
    {"fp8 e4m3", "40", 1, MPI_DATATYPE_NULL, {0}},
    {"fp8 e5m2", "50", 1, MPI_DATATYPE_NULL, {0}},
};
#define KINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))
#define FIRST_NARROW 7

static struct cgt t;
static struct cg_buf send, recv; /* device */
static char host_in[MOST], host_out[MOST], got[MOST];

static void put(char *p, char letter, int v)
{
    static const char narrow[] = "hb45";
    double fraction = v / 4.0;

    switch (letter) {
    case 'c': memcpy(p, &(float){(float) fraction}, 4); break;
    case 'C': memcpy(p, &fraction, 8); break;
    case 's': memcpy(p, &(short){(short) v}, 2); break;
    case 'i': memcpy(p, &v, 4); break;
    case 'l': memcpy(p, &(long){v}, sizeof(long)); break;
    default: {
        enum coll_gpu_format f = (enum coll_gpu_format) (strchr(narrow, letter) - narrow);
        uint16_t bits = coll_gpu_from_float(f, (float) fraction);
        memcpy(p, &bits, (size_t) coll_gpu_format_bytes(f));
    }
    }
}

/* Sums of these round in the narrow types; of the pairs' values many are equal. */
static void fill(const struct kind *k, char *p, size_t count)
{
    for (size_t i = 0; i < count; i++, p += k->extent) {
        for (const char *n = k->numbers; *n; n += 2)
            put(p + (n[1] - '0'), n[0], (int) cgt_random(&t, 23) - 11 + t.rank);
    }
}

enum { ALLREDUCE, REDUCE, SCAN, EXSCAN, REDUCE_SCATTER_BLOCK, LOCAL, CALLS };

static void call(int what, const struct kind *k, MPI_Op op, int count, int in_place, const void *in, void *out)
{
    const void *src = in_place ? MPI_IN_PLACE : in;
    MPI_Request req = MPI_REQUEST_NULL;
    int block = count / t.size, last = t.size - 1;

    switch (what) {
    case ALLREDUCE: MPI_Iallreduce(src, out, count, k->type, op, MPI_COMM_WORLD, &req); break;
    case REDUCE:
        MPI_Reduce(t.rank == last ? src : in, t.rank == last ? out : NULL, count, k->type, op, last, MPI_COMM_WORLD);
        break;
    case SCAN: MPI_Scan(src, out, count, k->type, op, MPI_COMM_WORLD); break;
    case EXSCAN: MPI_Exscan(src, out, count, k->type, op, MPI_COMM_WORLD); break;
    case REDUCE_SCATTER_BLOCK: MPI_Reduce_scatter_block(src, out, block, k->type, op, MPI_COMM_WORLD); break;
    default: MPI_Reduce_local(in, out, count, k->type, op);
    }
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void check(const struct kind *k, int which, int what, int count, int in_place)
{
    size_t bytes = k->extent * (size_t) count;

    memset(host_in, 0x11, bytes);
    memset(host_out, 0x22, bytes);
    fill(k, host_in, (size_t) count);
    if (in_place || what == LOCAL) fill(k, host_out, (size_t) count);
    cg_buf_write(&send, 0, host_in, bytes);
    cg_buf_write(&recv, 0, host_out, bytes);
    call(what, k, k->op[which], count, in_place, host_in, host_out);
    call(what, k, k->op[which], count, in_place, send.p, recv.p);
    cg_buf_read(&recv, 0, got, bytes);
    if (what == REDUCE_SCATTER_BLOCK) bytes = k->extent * (size_t) (count / t.size); /* behind it: anything, in place */
    cgt_check(&t, !memcmp(got, host_out, bytes), "%s, operation %d, call %d, %d elements, in place %d", k->name, which,
              what, count, in_place);
    cg_buf_read(&send, 0, got, k->extent * (size_t) count);
    cgt_check(&t, !memcmp(got, host_in, k->extent * (size_t) count), "%s, call %d: send buffer", k->name, what);
}

static void make_narrow(void)
{
    static MPI_Op like[4];

    like[0] = MPI_SUM, like[1] = MPI_PROD, like[2] = MPI_MIN, like[3] = MPI_MAX;
    for (int f = 0; f < COLL_GPU_FORMATS; f++) {
        coll_gpu_type_create(f, &kinds[FIRST_NARROW + f].type);
        for (int i = 0; i < 4; i++) coll_gpu_op_create(f, like[i], &kinds[FIRST_NARROW + f].op[i]);
    }
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 7, 1000, 30000};
    int rc = cgt_open(&t, "mpi_types", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    make_narrow();
    cgt_alloc(&t, &send, CG_BUF_DEVICE, MOST);
    cgt_alloc(&t, &recv, CG_BUF_DEVICE, MOST);
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < 4 * CALLS * 4; i++) {
            int which = i % 4, what = i / 4 % CALLS, count = counts[i / 4 / CALLS];
            if (which >= (k < FIRST_NARROW ? 2 : 4)) continue;
            for (int in_place = 0; in_place < (what == LOCAL ? 1 : 2); in_place++)
                check(&kinds[k], which, what, count, in_place);
        }
    }
    cg_buf_free(&send);
    cg_buf_free(&recv);
    if (!t.host_only) cgt_check_gpu(&t);
    return cgt_close(&t);
}
