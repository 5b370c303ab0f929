/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective that moves data, in every form, in place and not, with every root, over types with and without gaps
 * that differ between ranks, against what its definition says. What is insignificant is poisoned; guards, gaps, what is
 * not received and the send buffer must survive. (Reductions: reduce.c.) */
#include "test/mpi/every.h"

#include <string.h>

static struct world w;
static struct sweep *sweep;

/* One direction of a call on this rank. */
struct side {
    int on, blocks;
    struct block {
        const struct layout *layout;
        size_t units;
        ptrdiff_t at;             /* origin of unit 0, from the buffer */
        int from, key;            /* of the data */
    } block[MOST];
    size_t end;                   /* of all blocks */
};

static struct test {
    enum every coll;
    enum form form;
    int in_place, root, family, mixed, mixture; /* mixed: layouts differ between ranks */
    int count; /* units */
} t;
static struct area send, recv;
static struct side out, in;
static int counts[2][MOST], disps[2][MOST];
static MPI_Aint wdisps[2][MOST];
static MPI_Datatype types[2][MOST];

/* ---- what a collective is ---- */

enum { PARTS = 1, TYPED = 2 };
static int sends_parts(void) { return t.coll == Scatterv || t.coll == Alltoallv || t.coll == Neighbor_alltoallv; }
static int typed(void) { return t.coll == Alltoallw || t.coll == Neighbor_alltoallw; }
static int recvs_parts(void)
{
    return t.coll == Allgatherv || t.coll == Gatherv || t.coll == Alltoallv || t.coll == Neighbor_allgatherv ||
           t.coll == Neighbor_alltoallv;
}
static int irregular(void) { return sends_parts() || recvs_parts() || typed(); }
static int to_root(void) { return t.coll == Gather || t.coll == Gatherv; }
static int from_root(void) { return t.coll == Bcast || t.coll == Scatter || t.coll == Scatterv; }
static int rooted(void) { return to_root() || from_root(); }
static int neighbors(void) { return t.coll >= Neighbor_allgather; }
static int to_each(void) /* sends different data to different ranks */
{
    return t.coll == Scatter || t.coll == Scatterv || (t.coll >= Alltoall && t.coll <= Alltoallw) ||
           t.coll >= Neighbor_alltoall;
}

/* Units from one rank to another: equal on both; for alltoall in place the same in both directions. */
static size_t units(int from, int to)
{
    if (!irregular() || from < 0 || to < 0) return (size_t) t.count;
    if (!to_each()) to = 0;
    return (size_t) (t.count * ((from + to) % 3) + (from + to + 1) % 2) * (t.count > 0);
}

static int at_root(void) { return w.inter ? t.root == MPI_ROOT : t.root == w.rank; }
static int beside_root(void) { return w.inter && t.root == MPI_PROC_NULL; }

static const struct layout *layout(int direction, int peer)
{
    int which = t.mixed ? w.me + 2 * direction + (typed() ? peer : 0) : 0;

    /* between groups Open MPI's own Scatterv and Gatherv want types of equal counts */
    if (w.inter) which = 2 * t.mixed;
    return every_layout(t.family, which % LAYOUTS);
}

/* ---- blocks ---- */

static void add(struct side *s, const struct layout *l, size_t n, int from, int key)
{
    s->on = 1;
    s->block[s->blocks++] = (struct block){l, n, 0, from, key};
}

static void define_sent(void)
{
    int n = w.topo ? w.nout : w.peers;

    memset(&out, 0, sizeof(out));
    if ((from_root() && !at_root()) || (to_root() && (beside_root() || (w.inter && at_root())))) return;
    if (!to_each()) add(&out, layout(0, 0), units(w.me, 0), w.me, 0);
    for (int i = 0; i < n && to_each(); i++) {
        int to = w.topo ? w.out[i] : w.peer[i];
        add(&out, layout(0, i), units(w.me, to), w.me, w.topo ? i : to);
    }
    out.on = 1;
}

static void define_received(void)
{
    int n = w.topo ? w.nin : w.peers, key = to_each() ? w.me : 0;

    memset(&in, 0, sizeof(in));
    if ((to_root() && !at_root()) || (from_root() && (beside_root() || (w.inter && at_root())))) return;
    if (t.coll == Bcast && at_root()) return;
    for (int i = 0; i < n && !from_root(); i++) {
        int from = w.topo ? w.in[i] : w.peer[i];
        add(&in, layout(1, i), units(from, w.me), from, w.topo && to_each() ? w.in_edge[i] : key);
    }
    if (from_root()) {
        int from = w.inter ? w.peer[t.root] : t.root;
        add(&in, layout(1, 0), units(from, w.me), from, key);
    }
    in.on = 1;
}

/* Blocks one after another; in parts backwards, with holes between them. */
static void place(struct side *s, int d, int parts)
{
    ptrdiff_t at = 0;

    for (int k = 0; k < s->blocks; k++) {
        int i = parts || typed() ? s->blocks - 1 - k : k;
        struct block *b = &s->block[i];
        if (parts) at += 3 * b->layout->extent;
        if (typed()) at += 24;
        b->at = at;
        at += (ptrdiff_t) b->units * b->layout->extent;
        counts[d][i] = (int) b->units * b->layout->per_unit;
        disps[d][i] = (int) (typed() ? b->at : b->at / b->layout->extent * b->layout->per_unit);
        wdisps[d][i] = b->at;
        types[d][i] = b->units ? b->layout->type : (MPI_Datatype) MPI_BYTE;
    }
    s->end = (size_t) at;
}

/* Beyond a border there is nobody to receive from. */
static void put_block(struct area *a, const struct block *b)
{
    if (b->from < 0) return;
    for (size_t i = 0; i < b->units; i++) every_put(a->image + GUARD + b->at, b->layout, i, b->from, b->key);
}

static void put_all(struct area *a, const struct side *s)
{
    for (int i = 0; i < s->blocks; i++) put_block(a, &s->block[i]);
}

/* ---- one case ---- */

static int one_buffer(void) { return t.coll == Bcast; }

static void set_sent(struct call *c)
{
    if (one_buffer() && beside_root()) { /* Open MPI looks at them there, too */
        c->rbuf = NULL;
        c->rcount = t.count;
        c->rtype = MPI_INT;
    }
    if (!out.on) return;
    c->sbuf = out.end || out.blocks == 0 ? send.user + GUARD : NULL;
    if (one_buffer()) c->rbuf = send.user + GUARD;
    if (sends_parts() || typed()) {
        c->scounts = counts[0];
        c->sdisps = disps[0];
        c->swdisps = wdisps[0];
        c->stypes = types[0];
        c->stype = layout(0, 0)->type;
    } else {
        c->scount = t.count;
        if (out.blocks) c->scount = (int) out.block[0].units;
        c->scount *= layout(0, 0)->per_unit;
        c->stype = layout(0, 0)->type;
    }
    if (one_buffer()) c->rcount = c->scount, c->rtype = c->stype;
}

static void set_received(struct call *c)
{
    if (!in.on) return;
    c->rbuf = in.end || in.blocks == 0 ? recv.user + GUARD : NULL;
    if (recvs_parts() || typed()) {
        c->rcounts = counts[1];
        c->rdisps = disps[1];
        c->rwdisps = wdisps[1];
        c->rtypes = types[1];
        c->rtype = layout(1, 0)->type;
    } else {
        c->rcount = t.count;
        if (in.blocks) c->rcount = (int) in.block[0].units;
        c->rcount *= layout(1, 0)->per_unit;
        c->rtype = layout(1, 0)->type;
    }
}

/* In place: what this rank would send lies where it would receive it, or stays where it would send it from. */
static void set_in_place(struct call *c)
{
    if (!t.in_place) return;
    if (from_root() && at_root()) c->rbuf = MPI_IN_PLACE, in.on = 0;
    if (from_root() || (to_root() && !at_root())) return;
    c->sbuf = MPI_IN_PLACE;
    out.on = 0;
    if (to_each()) {
        for (int i = 0; i < in.blocks; i++) {
            struct block b = in.block[i];
            b.from = w.me;
            b.key = w.peer[i];
            put_block(&recv, &b);
        }
    } else {
        put_block(&recv, &in.block[w.rank]);
    }
}

static const char *what(void)
{
    static char text[128];

    snprintf(text, sizeof(text), "%s: family %d, mixed %d, form %d, in place %d, root %d, mixture %d, "
             "count %d, inter %d", every_name[t.coll], t.family, t.mixed, t.form, t.in_place, t.root, t.mixture,
             t.count, w.inter);
    return text;
}

/* Links of every rank to every other (CG_COLL_TABLE). */
static int all_links(void) { return t.coll == Gatherv || t.coll >= Scatterv; }

/* Of what all ranks know to be nothing, nothing is made; a broadcast to oneself ends in MPI_Bcast. */
static uint64_t expected_posts(void)
{
    if (all_links() && w.size > 17) return 0;
    if ((t.coll == Neighbor_allgather || t.coll == Neighbor_alltoall) && t.form == BLOCKING) return 0;
    if (neighbors()) return t.form == PERSISTENT ? 2 : 1;
    if (t.count == 0 && (!irregular() || t.coll == Allgatherv)) return 0;
    if (t.coll == Bcast && w.size == 1 && t.form != PERSISTENT) return 0;
    return t.form == PERSISTENT ? 2 : 1;
}

/* Calls between groups come back as others within them. */
static void check_posts(uint64_t were)
{
    uint64_t posts = test_counter("posts") - were, want = sweep->staged ? 0 : expected_posts();

    if (w.inter) return;
    CHECK(posts == want, "%llu operations were native instead of %llu: %s", (unsigned long long) posts,
          (unsigned long long) want, what());
    sweep->posts += want;
    if (t.count) sweep->served[t.coll][t.form][posts > 0] = 1;
}

static void one_case(void)
{
    struct call c = {.coll = t.coll, .comm = w.comm, .root = t.root};
    uint64_t posts = test_counter("posts");
    char kind[2];

    every_mixture(sweep, t.mixture, kind);
    /* between groups Open MPI looks for MPI_IN_PLACE everywhere */
    every_poison(&c, (int) (sweep->total % (w.inter ? 2 : 3)));
    define_sent();
    define_received();
    place(&out, 0, sends_parts());
    place(&in, 1, recvs_parts());
    every_begin(&send, out.end, kind[0], sweep->total % 2);
    every_begin(&recv, in.end, kind[1], sweep->total % 2);
    put_all(&send, &out);
    set_sent(&c);
    set_received(&c);
    set_in_place(&c);
    every_load(&send);
    every_load(&recv);
    every_trace(what());
    every_run(&c, t.form, &recv, what);
    if (in.on) put_all(&recv, &in);
    every_look(&recv);
    CHECK(every_same(&recv, 0, 0), "result of %s", what());
    every_look(&send);
    CHECK(every_same(&send, 0, 0), "send buffer of %s", what());
    check_posts(posts);
}

/* ---- all cases ---- */

static int may_be_in_place(void) { return !w.inter && t.coll != Bcast && !neighbors(); }

static void forms(void)
{
    int ways = FORMS * (1 + may_be_in_place());

    for (int way = 0; way < ways * every_mixtures(sweep); way++) {
        t.form = (enum form) (way % FORMS);
        t.in_place = way % ways / FORMS;
        t.mixture = way / ways;
        if (every_drawn(sweep)) one_case();
    }
}

/* What Open MPI's own do not survive. */
static int beyond_open_mpi(void)
{
    /* takes its displacements for elements on one rank */
    if (t.coll == Alltoallw && test_size == 1 && sweep->staged) return 1;
    /* Bruck's algorithm, in Alltoall for many ranks, wants one layout */
    if (t.mixed && all_links() && w.size > 17) return 1;
    /* Allgatherv multiplies received counts with the size of the sent type, which differs */
    return t.mixed && t.coll == Allgatherv && sweep->staged;
}

void every_move(struct sweep *s, const struct world *world)
{
    int roots = world->inter || world->topo ? 1 : s->roots;

    sweep = s;
    w = *world;
    if (!send.image)
        every_areas(&send, &recv, (size_t) (test_size + 3) * (2 * (every_most(s, 12, 12) / 12) + 5) * 40);
    for (int coll = Bcast; coll < EVERY_COUNT; coll++) {
        t.coll = (enum every) coll;
        if (neighbors() != w.topo) continue;
        for (int i = 0; i < s->nsizes * FAMILIES * 2; i++) {
            t.mixed = i / s->nsizes % 2;
            t.family = i / s->nsizes / 2;
            t.count = (int) every_count(&s->size[i % s->nsizes], t.family == 2 ? 12 : 16);
            if (beyond_open_mpi()) continue;
            for (int root = 0; root < (rooted() ? roots : 1); root++) {
                t.root = every_root(&w, root);
                forms();
            }
        }
    }
}
