/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions on device memory: complex, value-and-index pairs with their gaps, and what the engine does not do itself:
 * the user's own operations (one that does not commute), derived types whose gaps must survive, two groups.
 * Blocking and nonblocking; device memory on all ranks, on some, or on one side. */
#include "test/gpu/gpu_test.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1 << 20)

/* What each case fills and expects: rank r's input, and the result over ranks 0 .. n - 1, as bytes. */
struct kase {
    const char *name;
    MPI_Datatype type; /* made by main where derived */
    MPI_Op op;
    size_t extent, count;
    void (*input)(void *buf, size_t count, int rank);
    void (*result)(void *buf, size_t count, int nranks);
};

/* Small whole numbers: exact in float, whatever the order. */
static int small(size_t i, int rank) { return (int) ((i * 7 + (size_t) rank * 13) % 11) - 5; }

static void complex_input(void *buf, size_t count, int rank)
{
    float complex *p = buf;
    for (size_t i = 0; i < count; i++) p[i] = CMPLXF((float) small(i, rank), (float) small(i + 3, rank));
}

static void complex_sum(void *buf, size_t count, int nranks)
{
    float complex *p = buf;
    for (size_t i = 0; i < count; i++) {
        p[i] = 0;
        for (int r = 0; r < nranks; r++) p[i] += CMPLXF((float) small(i, r), (float) small(i + 3, r));
    }
}

static void double_complex_input(void *buf, size_t count, int rank)
{
    double complex *p = buf;
    for (size_t i = 0; i < count; i++) p[i] = CMPLX(small(i, rank), small(i + 3, rank));
}

static void double_complex_product(void *buf, size_t count, int nranks)
{
    double complex *p = buf;
    for (size_t i = 0; i < count; i++) {
        p[i] = CMPLX(small(i, 0), small(i + 3, 0));
        for (int r = 1; r < nranks; r++) p[i] *= CMPLX(small(i, r), small(i + 3, r));
    }
}

struct double_int {
    double value;
    int index; /* 4 bytes of padding follow: not part of the type */
};

static void minloc_input(void *buf, size_t count, int rank)
{
    struct double_int *p = buf;
    for (size_t i = 0; i < count; i++) p[i].value = small(i, rank), p[i].index = rank;
}

static void minloc_result(void *buf, size_t count, int nranks)
{
    struct double_int *p = buf;
    minloc_input(buf, count, 0);
    for (size_t i = 0; i < count; i++) {
        for (int r = 1; r < nranks; r++) {
            if (small(i, r) < p[i].value) p[i].value = small(i, r), p[i].index = r;
        }
    }
}

struct int_int {
    int value, index;
};

static void maxloc_input(void *buf, size_t count, int rank)
{
    struct int_int *p = buf;
    for (size_t i = 0; i < count; i++) p[i] = (struct int_int){small(i, rank), rank};
}

static void maxloc_result(void *buf, size_t count, int nranks)
{
    struct int_int *p = buf;
    maxloc_input(buf, count, 0);
    for (size_t i = 0; i < count; i++) {
        for (int r = 1; r < nranks; r++) {
            if (small(i, r) > p[i].value) p[i] = (struct int_int){small(i, r), r};
        }
    }
}

/* Does not commute: the result is the rank order written down in base 17. */
static void append(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int64_t *a = in, *b = inout;

    (void) type;
    for (int i = 0; i < *count; i++) {
        int64_t shift = 1;
        while (shift <= b[i]) shift *= 17;
        b[i] += a[i] * shift;
    }
}

static void append_input(void *buf, size_t count, int rank)
{
    int64_t *p = buf;
    for (size_t i = 0; i < count; i++) p[i] = 1 + (small(i, rank) + 5 + rank) % 16;
}

static void append_result(void *buf, size_t count, int nranks)
{
    int64_t *p = buf, x;
    for (size_t i = 0; i < count; i++) {
        p[i] = 0;
        for (int r = 0; r < nranks; r++) {
            x = 1 + (small(i, r) + 5 + r) % 16;
            p[i] = p[i] * 17 + x;
        }
    }
}

/* MPI_Type_vector(2, 1, 2, MPI_INT), resized to 16 bytes: ints 0 and 2 of 4 are data, 1 and 3 a gap. */
static void vector_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void) type;
    for (int i = 0; i < *count; i++) b[4 * i] += a[4 * i], b[4 * i + 2] += a[4 * i + 2];
}

static void vector_input(void *buf, size_t count, int rank)
{
    int *p = buf;
    for (size_t i = 0; i < count; i++) p[4 * i] = small(i, rank), p[4 * i + 2] = small(i + 5, rank);
}

static void vector_result(void *buf, size_t count, int nranks)
{
    int *p = buf;
    vector_input(buf, count, 0);
    for (size_t i = 0; i < count; i++) {
        for (int r = 1; r < nranks; r++) p[4 * i] += small(i, r), p[4 * i + 2] += small(i + 5, r);
    }
}

struct state {
    struct cgt t;
    struct cg_buf send[2], recv[2]; /* device, host */
    char host[MAX_BYTES], want[MAX_BYTES];
};

/* Which ranks use device memory for what. */
enum { ALL_DEVICE, ODD_HOST, SEND_HOST, RECV_HOST, IN_PLACE, WAYS };

/* Gaps keep the receiver's bytes: the pattern that everything is filled with first. */
static void run(struct state *s, const struct kase *k, int way, int nonblocking)
{
    int odd = s->t.rank % 2, host_send = way == SEND_HOST || (way == ODD_HOST && odd);
    int host_recv = way == RECV_HOST || (way == ODD_HOST && odd);
    struct cg_buf *send = &s->send[host_send], *recv = &s->recv[host_recv];
    size_t bytes = k->extent * k->count;
    const void *src = way == IN_PLACE ? MPI_IN_PLACE : send->p;
    MPI_Request req;

    memset(s->host, 0x6d, bytes);
    cg_buf_write(recv, 0, s->host, bytes);
    k->input(s->host, k->count, s->t.rank);
    cg_buf_write(way == IN_PLACE ? recv : send, 0, s->host, bytes);
    memset(s->want, 0x6d, bytes);
    k->result(s->want, k->count, s->t.size);
    if (nonblocking) {
        MPI_Iallreduce(src, recv->p, (int) k->count, k->type, k->op, MPI_COMM_WORLD, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(src, recv->p, (int) k->count, k->type, k->op, MPI_COMM_WORLD);
    }
    cg_buf_read(recv, 0, s->host, bytes);
    cgt_check(&s->t, memcmp(s->host, s->want, bytes) == 0, "%s, %zu elements, way %d, %s: wrong", k->name, k->count,
              way, nonblocking ? "nonblocking" : "blocking");
}

static void all_cases(struct state *s)
{
    static const size_t counts[] = {1, 7, 1000, 20000};
    MPI_Datatype vector, spaced;
    MPI_Op appending, summing;

    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 16, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(append, 0, &appending);
    MPI_Op_create(vector_sum, 1, &summing);

    struct kase cases[] = {
        {"float complex sum", MPI_C_FLOAT_COMPLEX, MPI_SUM, 8, 0, complex_input, complex_sum},
        {"double complex product", MPI_C_DOUBLE_COMPLEX, MPI_PROD, 16, 0, double_complex_input, double_complex_product},
        {"minloc of double and int", MPI_DOUBLE_INT, MPI_MINLOC, 16, 0, minloc_input, minloc_result},
        {"maxloc of two ints", MPI_2INT, MPI_MAXLOC, 8, 0, maxloc_input, maxloc_result},
        {"operation that does not commute", MPI_INT64_T, appending, 8, 0, append_input, append_result},
        {"operation on a vector type", spaced, summing, 16, 0, vector_input, vector_result},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            cases[i].count = counts[c];
            for (int way = 0; way < WAYS; way++) run(s, &cases[i], way, 0), run(s, &cases[i], way, 1);
        }
    }
    MPI_Op_free(&appending);
    MPI_Op_free(&summing);
    MPI_Type_free(&spaced);
    MPI_Type_free(&vector);
}

/* Between two groups each gets the sum of the other. */
static void two_groups(struct state *s, int nonblocking)
{
    int odd = s->t.rank % 2, want = 0;
    MPI_Comm half, inter;
    MPI_Request req;

    if (s->t.size < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 5, &inter);
    cg_buf_write(&s->send[0], 0, &(int){s->t.rank + 1}, sizeof(int));
    cg_buf_set(&s->recv[0], 0, 0xa5, sizeof(int));
    if (nonblocking) {
        MPI_Iallreduce(s->send[0].p, s->recv[0].p, 1, MPI_INT, MPI_SUM, inter, &req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(s->send[0].p, s->recv[0].p, 1, MPI_INT, MPI_SUM, inter);
    }
    for (int r = 1 - odd; r < s->t.size; r += 2) want += r + 1;
    cg_buf_read(&s->recv[0], 0, s->host, sizeof(int));
    cgt_check(&s->t, memcmp(s->host, &want, sizeof(int)) == 0, "between two groups: %d instead of %d",
              *(int *) (void *) s->host, want);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    static struct state s;
    int rc = cgt_open(&s.t, "mpi_staged", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    for (int k = 0; k < 2; k++) {
        cgt_alloc(&s.t, &s.send[k], k ? CG_BUF_HOST : CG_BUF_DEVICE, MAX_BYTES);
        cgt_alloc(&s.t, &s.recv[k], k ? CG_BUF_HOST : CG_BUF_DEVICE, MAX_BYTES);
    }
    all_cases(&s);
    two_groups(&s, 0);
    two_groups(&s, 1);
    for (int k = 0; k < 2; k++) cg_buf_free(&s.send[k]), cg_buf_free(&s.recv[k]);
    if (!s.t.host_only) cgt_check(&s.t, cg_watch_read(s.t.watch, "staged") > 0, "coll/gpu staged no call");
    return cgt_close(&s.t);
}
