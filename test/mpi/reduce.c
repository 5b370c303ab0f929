/* SPDX-License-Identifier: BSD-3-Clause
 * Every reduction in every form, in place and not, with every root, with operations of MPI's own, on pairs, and with
 * the user's: 2 x 2 matrix products, whose order shows, and sums over a type with gaps. */
#include "include/coll_gpu.h"
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENT 16 /* bytes, at least, of any type's extent */

struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    size_t extent, bytes;     /* bytes: of an element that are compared; the rest are gaps */
    void (*fill)(void *p, int rank, size_t i);
    void (*combine)(void *acc, const void *x); /* acc = acc op x */
    void (*store)(void *to, const void *x);    /* where an element in memory is not what is computed with */
};

static struct world w;

static struct test {
    enum every coll;
    enum form form;
    int in_place, root, count;
    const struct kind *kind;
} t;
static struct area send, recv;
static int rcounts[MOST];
static uint64_t cases, posts;
static int staged;

/* ---- kinds ---- */

static void int_fill(void *p, int rank, size_t i) { *(int *) p = (rank + 1) * 1000 + (int) i; }
static void int_sum(void *acc, const void *x) { *(int *) acc += *(const int *) x; }
static void double_fill(void *p, int rank, size_t i) { *(double *) p = (double) ((rank * 7 + (int) i * 5) % 11) - 5; }
static void double_max(void *acc, const void *x)
{
    if (*(const double *) x > *(double *) acc) *(double *) acc = *(const double *) x;
}

/* 2 x 2 matrices modulo 251, row by row. */
static void matrix_fill(void *p, int rank, size_t i)
{
    for (int j = 0; j < 4; j++) ((int *) p)[j] = (rank * 31 + (int) i * 17 + j * j * 5 + 1) % 251;
}
static void matrix_product(void *acc, const void *x)
{
    const int *b = x;
    int a[4], *c = acc;

    memcpy(a, acc, sizeof(a));
    for (int r = 0; r < 2; r++) {
        for (int k = 0; k < 2; k++) c[2 * r + k] = (a[2 * r] * b[k] + a[2 * r + 1] * b[2 + k]) % 251;
    }
}
static void matrix_function(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++) {
        int a[4], *b = (int *) inout + 4 * i;
        memcpy(a, (int *) in + 4 * i, sizeof(a));
        matrix_product(a, b);
        memcpy(b, a, sizeof(a));
    }
}

struct pair {
    double value;
    int index;
};
static void pair_fill(void *p, int rank, size_t i)
{
    ((struct pair *) p)->value = (rank * 5 + (int) i) % 3;
    ((struct pair *) p)->index = rank + 10 * (int) i;
}
static void pair_minloc(void *acc, const void *x)
{
    struct pair *a = acc;
    const struct pair *b = x;

    if (b->value > a->value || (b->value == a->value && b->index > a->index)) return;
    a->value = b->value;
    a->index = b->index;
}

/* Exact in float in any order, while 512 + 0.5 in bfloat16 is 512: partial sums must not be rounded. */
static void bf16_fill(void *p, int rank, size_t i) { *(float *) p = rank ? 0.5f + (float) ((i + 1) % 3) : 512; }
static void bf16_sum(void *acc, const void *x) { *(float *) acc += *(const float *) x; }
static void bf16_store(void *to, const void *x)
{
    uint16_t bits = coll_gpu_from_float(COLL_GPU_BFLOAT16, *(const float *) x);

    memcpy(to, &bits, sizeof(bits));
}

/* An int, then a gap. */
static void gap_function(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++) int_sum((char *) inout + ELEMENT * i, (char *) in + ELEMENT * i);
}

/* ---- what a reduction is ---- */

static int at_root(void) { return w.inter ? t.root == MPI_ROOT : t.root == w.rank; }
static int sends(void) { return t.coll != Reduce || !w.inter || t.root >= 0; }
static int recvs(void) { return t.coll == Reduce ? at_root() : t.coll != Exscan || w.rank > 0; }
static int scatters(void) { return t.coll == Reduce_scatter || t.coll == Reduce_scatter_block; }

/* Elements that rank r gets of what is scattered. Between groups the sums must be equal. */
static int share(int r)
{
    if (w.inter) return t.count * w.peers;
    return t.coll == Reduce_scatter_block ? t.count : t.count * (r % 3);
}

static size_t before(int r)
{
    size_t n = 0;

    for (int i = 0; i < r; i++) n += (size_t) share(i);
    return n;
}

static size_t contributed(void) { return scatters() ? before(w.size) : (size_t) t.count; }
static size_t received(void) { return scatters() ? (size_t) share(w.rank) : (size_t) t.count; }

static void put(struct area *a, size_t i, const void *element)
{
    char *to = a->image + GUARD + i * t.kind->extent;

    if (t.kind->store) t.kind->store(to, element);
    else memcpy(to, element, t.kind->bytes);
}

static void put_input(struct area *a)
{
    double element[4] = {0};

    for (size_t i = 0; i < contributed(); i++) {
        t.kind->fill(element, w.me, i);
        put(a, i, element);
    }
}

static void put_result(void)
{
    size_t offset = scatters() ? before(w.rank) : 0;
    int n = t.coll == Scan ? w.rank + 1 : t.coll == Exscan ? w.rank : w.peers;
    double acc[4] = {0}, x[4] = {0};

    for (size_t i = 0; i < received(); i++) {
        t.kind->fill(acc, w.peer[0], offset + i);
        for (int c = 1; c < n; c++) {
            t.kind->fill(x, w.peer[c], offset + i);
            t.kind->combine(acc, x);
        }
        put(&recv, i, acc);
    }
}

/* ---- one case ---- */

static void arguments(struct call *c)
{
    every_poison(c);
    c->rcounts = rcounts;
    for (int r = 0; r < w.size; r++) rcounts[r] = scatters() ? share(r) : -1;
    c->rcount = t.coll == Reduce_scatter_block ? share(w.rank) : t.count;
    c->rtype = t.kind->type;
    c->op = t.kind->op;
    if (sends()) c->sbuf = contributed() ? send.user + GUARD : NULL;
    if (recvs()) c->rbuf = recv.user + GUARD;
    if (!t.in_place || (t.coll == Reduce && !at_root())) return;
    c->sbuf = MPI_IN_PLACE;
    c->rbuf = recv.user + GUARD;
    put_input(&recv);
}

static void run(const struct call *c)
{
    MPI_Request request;
    int rc = every_issue(c, t.form, &request);

    CHECK(rc == MPI_SUCCESS, "%s: code %d", every_name[t.coll], rc);
    for (int round = 0; round < (t.form == PERSISTENT ? 2 : 1) && t.form != BLOCKING; round++) {
        if (round) every_load(&recv);
        if (t.form == PERSISTENT) MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (t.form == PERSISTENT) MPI_Request_free(&request);
}

static void verdict(const char *what, int good)
{
    CHECK(good, "%s of %s: %s, form %d, in place %d, root %d, count %d, inter %d", what, every_name[t.coll],
          t.kind->name, t.form, t.in_place, t.root, t.count, w.inter);
}

static uint64_t expected_posts(void)
{
    if (contributed() == 0) return 0;
    return t.form == PERSISTENT ? 2 : 1;
}

static void one_case(void)
{
    struct call c = {.coll = t.coll, .comm = w.comm, .root = t.root};
    size_t extent = t.kind->extent, held = contributed() > received() ? contributed() : received(), end;

    every_begin(&send, contributed() * extent);
    every_begin(&recv, held * extent);
    put_input(&send);
    arguments(&c);
    every_load(&send);
    every_load(&recv);
    run(&c);
    if (recvs()) put_result();
    /* in place, what stands behind the result is nobody's */
    end = t.in_place && scatters() ? held * extent : received() * extent;
    verdict("result", every_same(&recv, received() * extent, end));
    verdict("send buffer", every_same(&send, 0, 0));
    cases++;
    posts += expected_posts();
}

/* ---- all cases ---- */

static void sweep(const struct kind *kinds, int nkinds, const int *sizes, int nsizes, int roots)
{
    for (int i = 0; i < (Exscan + 1) * nkinds * nsizes; i++) {
        t.coll = (enum every) (i % (Exscan + 1));
        t.kind = &kinds[i / (Exscan + 1) % nkinds];
        t.count = sizes[i / (Exscan + 1) / nkinds];
        if (w.inter && (t.coll == Scan || t.coll == Exscan)) continue;
        for (int way = 0; way < FORMS * (w.inter ? 1 : 2); way++) {
            t.form = (enum form) (way % FORMS);
            t.in_place = way / FORMS;
            for (int root = 0; root < (t.coll == Reduce ? roots : 1); root++) {
                t.root = every_root(&w, root);
                one_case();
            }
        }
    }
}

static MPI_Datatype gappy(void)
{
    MPI_Datatype type;

    MPI_Type_create_resized(MPI_INT, 0, ELEMENT, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype four(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* argv: as every.c. */
int main(int argc, char **argv)
{
    int sizes[8], n = 0, most = 0, skip;
    MPI_Op product, sum, bf16_op;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Op_create(matrix_function, 0, &product);
    MPI_Op_create(gap_function, 1, &sum);
    MPI_Datatype bf16;
    coll_gpu_type_create(COLL_GPU_BFLOAT16, &bf16);
    coll_gpu_op_create(COLL_GPU_BFLOAT16, MPI_SUM, &bf16_op);
    const struct kind kinds[] = {
        /* native, and not with the plans for several nodes of more than 8 ranks, which round between nodes */
        {"bfloat16 sum", bf16, bf16_op, 2, 2, bf16_fill, bf16_sum, bf16_store},
        {"int sum", MPI_INT, MPI_SUM, 4, 4, int_fill, int_sum, NULL},
        {"double max", MPI_DOUBLE, MPI_MAX, 8, 8, double_fill, double_max, NULL},
        {"minloc", MPI_DOUBLE_INT, MPI_MINLOC, 16, 12, pair_fill, pair_minloc, NULL},
        {"matrix product", four(), product, 16, 16, matrix_fill, matrix_product, NULL},
        {"sum over gaps", gappy(), sum, ELEMENT, 4, int_fill, int_sum, NULL},
    };
    staged = !strcmp(argv[3], "staged");
    for (; n < argc - 4 && n < 8; n++) {
        sizes[n] = atoi(argv[4 + n]);
        if (sizes[n] > most) most = sizes[n];
    }
    every_areas(&send, &recv, (size_t) test_size * (size_t) test_size * (size_t) (most + 1) * 16,
                argv[1 + test_rank % 2]);
    every_one_group(&w);
    skip = staged || test_size > 8;
    sweep(kinds + skip, 4 - skip, sizes, n, test_size < 3 ? test_size : 3);
    if (staged) posts = 0;
    CHECK(test_counter("posts") == posts, "%llu calls were native instead of %llu",
          (unsigned long long) test_counter("posts"), (unsigned long long) posts);
    /* what goes down may come back as other calls */
    sweep(kinds + 4, 2, sizes, n, test_size < 3 ? test_size : 3);
    if (test_size > 1) {
        every_two_groups(&w);
        sweep(kinds + 1, 5, sizes, n, 1);
        MPI_Comm_free(&w.comm);
    }
    if (test_rank == 0) printf("%llu cases\n", (unsigned long long) cases);
    return test_end();
}
