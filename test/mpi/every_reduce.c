/* SPDX-License-Identifier: BSD-3-Clause
 * Every reduction in every form, in place and not, with every root, of every type with every operation, and with the
 * user's: 2 x 2 matrix products, whose order shows, and sums over a type with gaps. MPI_Reduce_local likewise. */
#include "test/mpi/every.h"
#include "test/mpi/type_rows.h"

#include <string.h>

static struct world w;
static struct sweep *sweep;

static struct test {
    enum every coll;
    enum form form;
    int in_place, root, mixture, op;
    int count;
    const struct type_row *type;
} t;
static struct area send, recv;
static int rcounts[MOST];

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

static void put_input(struct area *a, int rank)
{
    for (size_t i = 0; i < contributed(); i++)
        type_put(t.type, a->image + GUARD + i * t.type->bytes, i, t.op, rank);
}

static void put_result(void)
{
    size_t offset = scatters() ? before(w.rank) : 0;
    int n = t.coll == Scan ? w.rank + 1 : t.coll == Exscan ? w.rank : w.peers;

    for (size_t i = 0; i < received(); i++)
        type_expect(t.type, recv.image + GUARD + i * t.type->bytes, offset + i, t.op, n, w.peer);
}

/* ---- one case ---- */

static void arguments(struct call *c)
{
    every_poison(c, (int) (sweep->total % (w.inter ? 2 : 3)));
    c->rcounts = rcounts;
    for (int r = 0; r < w.size; r++) rcounts[r] = scatters() ? share(r) : -1;
    c->rcount = t.coll == Reduce_scatter_block ? share(w.rank) : t.count;
    c->rtype = t.type->mpi;
    c->op = type_op(t.type, t.op);
    if (recvs()) c->rbuf = recv.user + GUARD;
    else if (t.coll == Exscan && c->rbuf == MPI_IN_PLACE) c->rbuf = NULL; /* Open MPI looks at it on rank 0, too */
    if (sends()) c->sbuf = contributed() || !c->rbuf ? send.user + GUARD : NULL;
    if (!t.in_place || (t.coll == Reduce && !at_root())) return;
    c->sbuf = MPI_IN_PLACE;
    c->rbuf = recv.user + GUARD;
    put_input(&recv, w.me);
}

static const char *what(void)
{
    static char text[128];

    snprintf(text, sizeof(text), "%s: %s %s, form %d, in place %d, root %d, mixture %d, count %d, inter %d",
             t.coll < EVERY_COUNT ? every_name[t.coll] : "Reduce_local", t.type->name, op_rows[t.op].name, t.form,
             t.in_place, t.root, t.mixture, t.count, w.inter);
    return text;
}

static uint64_t expected_posts(void)
{
    if (contributed() == 0 || sweep->staged) return 0;
    if (t.coll == Allreduce && t.form != BLOCKING && type_like_comm_creation(t.type, t.op, (size_t) t.count)) return 0;
    return t.form == PERSISTENT ? 2 : 1;
}

/* What goes down may come back as other calls. */
static void check_posts(uint64_t were)
{
    uint64_t posts = test_counter("posts") - were;

    if (w.inter || t.type->class & STAGED) return;
    CHECK(posts == expected_posts(), "%llu operations were native instead of %llu: %s", (unsigned long long) posts,
          (unsigned long long) expected_posts(), what());
    sweep->posts += posts;
    if (t.count > 1) sweep->served[t.coll][t.form][posts > 0] = 1;
}

/* What of the result may be anything is made equal. */
static void compare(size_t elements, size_t from, size_t to)
{
    char *data = every_look(&recv);

    for (size_t i = 0; i < elements && t.type->clean; i++) {
        t.type->clean(data + i * t.type->bytes);
        t.type->clean(recv.image + GUARD + i * t.type->bytes);
    }
    CHECK(every_same(&recv, from, to), "result of %s", what());
    every_look(&send);
    CHECK(every_same(&send, 0, 0), "send buffer of %s", what());
}

static void one_case(void)
{
    struct call c = {.coll = t.coll, .comm = w.comm, .root = t.root};
    size_t extent = t.type->bytes, held = contributed() > received() ? contributed() : received(), end;
    uint64_t posts = test_counter("posts");
    char kind[2];

    every_mixture(sweep, t.mixture, kind);
    every_begin(&send, contributed() * extent, kind[0], sweep->total % 2);
    every_begin(&recv, held * extent, kind[1], sweep->total % 2);
    put_input(&send, w.me);
    arguments(&c);
    every_load(&send);
    every_load(&recv);
    every_trace(what());
    every_run(&c, t.form, &recv, what);
    if (recvs()) put_result();
    /* in place, what stands behind the result is nobody's */
    end = t.in_place && scatters() ? held * extent : received() * extent;
    compare(held, received() * extent, end);
    check_posts(posts);
}

/* Into the receive buffer, from the left. */
static void local_case(void)
{
    int two[2] = {w.me, w.me + 1};
    char kind[2];

    every_mixture(sweep, t.mixture, kind);
    every_begin(&send, (size_t) t.count * t.type->bytes, kind[0], sweep->total % 2);
    every_begin(&recv, (size_t) t.count * t.type->bytes, kind[1], sweep->total % 2);
    put_input(&send, two[0]);
    put_input(&recv, two[1]);
    every_load(&send);
    every_load(&recv);
    every_trace(what());
    CHECK(MPI_SUCCESS == MPI_Reduce_local(send.user + GUARD, recv.user + GUARD, t.count, t.type->mpi,
                                          type_op(t.type, t.op)), "MPI_Reduce_local failed");
    for (size_t i = 0; i < (size_t) t.count; i++)
        type_expect(t.type, recv.image + GUARD + i * t.type->bytes, i, t.op, 2, two);
    compare((size_t) t.count, 0, 0);
}

/* ---- all cases ---- */

static void forms(void)
{
    int ways = FORMS * (w.inter ? 1 : 2);

    for (int way = 0; way < ways * every_mixtures(sweep); way++) {
        t.form = (enum form) (way % FORMS);
        t.in_place = way % ways / FORMS;
        t.mixture = way / ways;
        if (every_drawn(sweep)) one_case();
    }
}

/* Open MPI 4.1's own take an unsigned long for a signed one and an MPI_Offset for an unsigned one in minima and maxima,
 * and on CPUs with AVX sums and products of 8 and 16 bits saturate. */
static int right_in_open_mpi(void)
{
    if (t.op == OP_MIN || t.op == OP_MAX) return t.type->mpi != MPI_UNSIGNED_LONG && t.type->mpi != MPI_OFFSET;
    return t.op > OP_PROD || !(t.type->class & (INT | FINT)) || t.type->bytes > 2;
}

/* Operations of coll_gpu.h round at every step, as do plans for several nodes of more than 8 ranks between nodes. */
static int comparable(void)
{
    int next = sweep->staged || w.inter;

    if (t.type->class & NARROW) return !next && w.size <= 8;
    return !next || right_in_open_mpi();
}

static void locals(void)
{
    char kind[2];

    t.coll = EVERY_COUNT;
    for (t.mixture = 0; t.mixture < every_mixtures(sweep) && !w.inter; t.mixture++) {
        every_mixture(sweep, t.mixture, kind);
        if (!right_in_open_mpi() && !every_on_gpu(kind[0]) && !every_on_gpu(kind[1])) continue;
        if (every_drawn(sweep)) local_case();
    }
}

static void collectives(void)
{
    for (int coll = 0; coll <= Exscan; coll++) {
        t.coll = (enum every) coll;
        if (w.inter && (t.coll == Scan || t.coll == Exscan)) continue;
        for (int root = 0; root < (t.coll == Reduce && !w.inter ? sweep->roots : 1); root++) {
            t.root = every_root(&w, root);
            forms();
        }
    }
    locals();
}

/* Without all types and operations: these. */
static int among_few(void)
{
    static const struct {
        const char *name;
        int op;
    } few[] = {{"bfloat16_partial", OP_SUM}, {"sint", OP_SUM}, {"f64", OP_MAX}, {"double_int", OP_MINLOC},
               {"matrix", OP_USER}, {"gappy", OP_USER}};

    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        if (t.op == few[i].op && !strcmp(t.type->name, few[i].name)) return 1;
    }
    return 0;
}

void every_reduce(struct sweep *s, const struct world *world)
{
    sweep = s;
    w = *world;
    if (ntype_rows == 0) type_rows_make();
    if (!send.image) every_areas(&send, &recv, (size_t) (test_size * test_size) * every_most(s, 1, TYPE_MOST));
    for (int row = 0; row < ntype_rows * (OP_USER + 1); row++) {
        t.type = &type_rows[row / (OP_USER + 1)];
        t.op = row % (OP_USER + 1);
        if (!type_allows(t.type, t.op) || !comparable() || (s->kinds && !among_few())) continue;
        for (int i = 0; i < s->nsizes; i++) {
            t.count = (int) every_count(&s->size[i], t.type->bytes);
            collectives();
        }
    }
}
