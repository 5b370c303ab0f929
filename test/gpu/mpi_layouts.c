/* SPDX-License-Identifier: BSD-3-Clause
 * Ints in layouts that differ between ranks and between the two sides of a call, through every collective that moves
 * data, in every form. What is received, what lies between, and the send buffer are compared byte for byte with what
 * MPI_Unpack makes on the host. argv: number of random calls, seed. */
#include "test/gpu/gpu_test.h"
#include "test/gpu/layouts.h"
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

#define PATTERN 0x6d

static const enum every colls[] = {Bcast,  Allgather, Allgatherv, Gather,    Gatherv,
                                   Scatter, Scatterv,  Alltoall,   Alltoallv, Alltoallw};
enum { COLLS = sizeof(colls) / sizeof(colls[0]) };

static const int kinds[] = {CG_BUF_DEVICE, CG_BUF_DEVICE, CG_BUF_DEVICE, CG_BUF_MANAGED, CG_BUF_HOST};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* One direction on this rank: blocks of whole elements. */
struct half {
    int on, n;
    struct block {
        struct layout_of l;
        MPI_Aint at;
        int count, from, to;
    } block[MOST];
    int counts[MOST], disps[MOST];
    MPI_Datatype types[MOST];
    MPI_Aint end;
    struct cg_buf buf;
    char *image, *got; /* what should be there; what is */
};

static struct {
    struct cgt t;
    uint64_t seed;
    enum every coll;
    enum form form;
    enum layouts layouts;
    int root, n; /* ints of a block */
    struct half send, recv;
    struct cg_buf pool[2][KINDS];
} s;

/* ---- what a collective is ---- */

static int to_root(void) { return s.coll == Gather || s.coll == Gatherv; }
static int from_root(void) { return s.coll == Bcast || s.coll == Scatter || s.coll == Scatterv; }
static int to_each(void) { return s.coll == Scatter || s.coll == Scatterv || s.coll >= Alltoall; }
static int typed(void) { return s.coll == Alltoallw; }
static int sends_parts(void) { return s.coll == Scatterv || s.coll == Alltoallv || typed(); }
static int recvs_parts(void)
{
    return s.coll == Allgatherv || s.coll == Gatherv || s.coll == Alltoallv || typed();
}

/* Ints from one rank to another. */
static int ints(int from, int to)
{
    int v = sends_parts() || recvs_parts(), key = to_each() ? to : 0;

    return v ? s.n * ((from + 2 * key + (int) (s.seed % 3)) % 3) : s.n;
}

static int value(int from, int to, int k)
{
    return (int) ((uint32_t) s.seed * 40503u + (uint32_t) from * 1000003u + (to_each() ? (uint32_t) to * 7919u : 0) +
                  (uint32_t) k * 2654435761u);
}

/* ---- one side ---- */

static void define(struct half *h, int sent)
{
    int me = s.t.rank, many = sent ? to_each() : !from_root(), at_root = me == s.root;
    struct layout_of l;

    h->on = sent ? !from_root() || at_root : (!to_root() || at_root) && !(s.coll == Bcast && at_root);
    h->n = !h->on ? 0 : many ? s.t.size : 1;
    h->end = 0;
    for (int i = 0; i < h->n; i++) {
        struct block *b = &h->block[i];
        if (i == 0 || typed()) l = layout_make(s.layouts, s.seed * 64 + (uint64_t) (2 * me + sent), s.n, me, i);
        b->l = l;
        b->from = sent ? me : many ? i : s.root;
        b->to = sent ? (many ? i : s.root) : me;
        b->count = ints(b->from, b->to) / s.n * l.count;
    }
}

/* One after another; in parts backwards with holes. */
static void place(struct half *h, int parts)
{
    for (int k = 0; k < h->n; k++) {
        int i = parts ? h->n - 1 - k : k;
        struct block *b = &h->block[i];
        if (parts) h->end += b->l.extent;
        b->at = h->end - (typed() ? b->l.low : 0); /* other types begin elsewhere */
        h->end += b->count * b->l.extent;
        h->counts[i] = b->count;
        h->disps[i] = (int) (typed() ? b->at : b->at / b->l.extent);
        h->types[i] = b->l.type;
    }
}

static void put(const struct half *h)
{
    for (int i = 0; i < h->n; i++) {
        const struct block *b = &h->block[i];
        int n = ints(b->from, b->to), position = 0, *packed = malloc((size_t) n * sizeof(int) + 1);
        for (int k = 0; k < n; k++) packed[k] = value(b->from, b->to, k);
        if (n)
            MPI_Unpack(packed, 4 * n, &position, h->image + GUARD + b->at, b->count, b->l.type, MPI_COMM_SELF);
        free(packed);
    }
}

static void prepare(struct half *h, int sent)
{
    size_t bytes;
    int kind = (int) cgt_draw(&(uint64_t){s.seed * 97 + (uint64_t) (2 * s.t.rank + sent)}, KINDS);
    struct cg_buf *b = &s.pool[sent][kind];

    define(h, sent);
    place(h, sent ? sends_parts() : recvs_parts());
    bytes = (size_t) h->end + 2 * GUARD;
    if (!b->p || b->bytes < bytes) {
        if (b->p) cg_buf_free(b);
        cgt_alloc(&s.t, b, kinds[kind], 2 * bytes);
    }
    h->buf = *b;
    h->image = malloc(bytes);
    h->got = malloc(bytes);
    memset(h->image, PATTERN, bytes);
    if (sent) put(h);
    cg_buf_write(&h->buf, 0, h->image, bytes);
    if (!sent) put(h);
}

static void compare(struct half *h, const char *what)
{
    size_t bytes = (size_t) h->end + 2 * GUARD, i = 0;

    if (h->on) {
        cg_buf_read(&h->buf, 0, h->got, bytes);
        while (i < bytes && h->got[i] == h->image[i]) i++;
        cgt_check(&s.t, i == bytes, "%s of %s, form %d, root %d, %d ints, layouts %d, seed %llu, %s: byte %td of %zu",
                  what, every_name[s.coll], s.form, s.root, s.n, s.layouts, (unsigned long long) s.seed,
                  cg_buf_kind_name(h->buf.kind), (ptrdiff_t) i - GUARD, bytes);
    }
    for (int k = 0; k < (typed() ? h->n : h->n > 0); k++) layout_free(&h->block[k].l);
    free(h->image);
    free(h->got);
}

/* ---- the call ---- */

static void arguments(struct call *c)
{
    const struct block *out = &s.send.block[0], *in = &s.recv.block[0];
    char *sbuf = s.send.buf.p + GUARD, *rbuf = s.recv.buf.p + GUARD;

    every_poison(c, 0);
    c->coll = s.coll;
    c->comm = MPI_COMM_WORLD;
    c->root = s.root;
    if (s.send.on) {
        c->sbuf = sbuf;
        c->scounts = s.send.counts, c->sdisps = s.send.disps, c->stypes = s.send.types;
        c->scount = out->count, c->stype = out->l.type;
    }
    if (s.recv.on) {
        c->rbuf = rbuf;
        c->rcounts = s.recv.counts, c->rdisps = s.recv.disps, c->rtypes = s.recv.types;
        c->rcount = in->count, c->rtype = in->l.type;
    }
    if (s.coll == Bcast && s.send.on) c->rbuf = sbuf, c->rcount = out->count, c->rtype = out->l.type;
}

static void one_call(enum every coll, enum form form, enum layouts layouts, int root, int n)
{
    MPI_Request request;
    struct call c;

    s.seed++;
    s.coll = coll, s.form = form, s.layouts = layouts, s.root = root, s.n = n;
    prepare(&s.send, 1);
    prepare(&s.recv, 0);
    arguments(&c);
    every_issue(&c, form, &request);
    if (form == PERSISTENT) MPI_Start(&request);
    if (form != BLOCKING) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == PERSISTENT) MPI_Request_free(&request);
    compare(&s.recv, "result");
    compare(&s.send, "send buffer");
}

static void random_calls(int n)
{
    uint64_t seed = s.seed * 977;

    for (int i = 0; i < n; i++) {
        uint32_t most = cgt_draw(&seed, 10), size = 1 + cgt_draw(&seed, most < 3 ? 64 : most < 8 ? 2000 : 20000);
        enum form form = (enum form) (cgt_draw(&seed, 20) ? cgt_draw(&seed, 2) : PERSISTENT);

        one_call(colls[cgt_draw(&seed, COLLS)], form, LAYOUTS_RANDOM, (int) cgt_draw(&seed, (uint32_t) s.t.size),
                 (int) size);
    }
}

/* Ranks whose types differ took different ways, and waited for each other for ever or got wrong data: contiguous(4) at
 * rank 0 and four times as many ints elsewhere (Open MPI PR 13656, UCC PR 1300); vectors of other strides on each rank
 * (Open MPI #1907, MPICH #6555). Around the sizes where ways change. */
static void known_faults(void)
{
    static const int sizes[] = {4, 64, 1024, 4096, 16384, 65536};

    for (enum layouts l = LAYOUTS_FOURS; l <= LAYOUTS_STRIDES; l++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (int c = 0; c < COLLS; c++) {
                one_call(colls[c], BLOCKING, l, (int) i % s.t.size, sizes[i]);
                one_call(colls[c], NONBLOCKING, l, 0, sizes[i]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int rc = cgt_open(&s.t, "mpi_layouts", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    s.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    known_faults();
    random_calls(argc > 1 ? atoi(argv[1]) : 500);
    for (int i = 0; i < 2 * KINDS; i++) {
        if (s.pool[i / KINDS][i % KINDS].p) cg_buf_free(&s.pool[i / KINDS][i % KINDS]);
    }
    if (!s.t.host_only) cgt_check(&s.t, cg_watch_read(s.t.watch, "packed") > 0, "nothing was packed by a GPU");
    return cgt_close(&s.t);
}
