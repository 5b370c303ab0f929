/* SPDX-License-Identifier: BSD-3-Clause
 * Every kind of memory as send and as receive buffer, mixed between ranks; in place; interior and unaligned addresses;
 * count 0 with NULL; communicators of one rank. Around each result lie guard bytes that must survive. */
#include "test/gpu/gpu_test.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 64
#define GUARD_BYTE 0x5b

/* Byte offsets of the two buffers, and the type that is put there. */
static const struct place {
    size_t send, recv;
    const char *type;
} places[] = {{0, 0, "float"}, {4, 0, "float"}, {0, 12, "int32"}, {1, 2, "int8"}, {1, 3, "double"}};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static const size_t counts[] = {1, 3, 1000, 30001, 400001};
enum { COUNTS = sizeof(counts) / sizeof(counts[0]), LARGE = COUNTS - 1 };

struct trial {
    int send_kind, recv_kind; /* this rank's */
    const struct place *place;
    size_t count;
    int in_place, nonblocking;
    uint64_t seed;
};

struct state {
    struct cgt t;
    struct cg_buf send[CG_BUF_KINDS], recv[CG_BUF_KINDS];
    size_t bytes;
    uint64_t seed;
};

static void call(const struct trial *w, const void *src, void *dst, MPI_Datatype type, MPI_Comm comm)
{
    MPI_Request req;

    if (!w->nonblocking) {
        MPI_Allreduce(w->in_place ? MPI_IN_PLACE : src, dst, (int) w->count, type, MPI_SUM, comm);
        return;
    }
    MPI_Iallreduce(w->in_place ? MPI_IN_PLACE : src, dst, (int) w->count, type, MPI_SUM, comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static int guards_hold(const struct cg_buf *b, size_t from, size_t to)
{
    unsigned char before[GUARD], after[GUARD];
    int good = 1;

    cg_buf_read(b, from - GUARD, before, GUARD);
    cg_buf_read(b, to, after, GUARD);
    for (int i = 0; i < GUARD; i++) good &= before[i] == GUARD_BYTE && after[i] == GUARD_BYTE;
    return good;
}

static void run(struct state *s, const struct trial *w, MPI_Comm comm, int nranks, int rank)
{
    const struct cg_data_type *type = cg_data_type_find(w->place->type);
    const struct cg_data_op *sum = cg_data_op_find("sum");
    struct cg_buf *send = &s->send[w->send_kind], *recv = &s->recv[w->recv_kind];
    size_t bytes = w->count * (size_t) type->size, from = GUARD + w->place->send, to = GUARD + w->place->recv;
    uint64_t wrong, before = 0;
    const char *how = w->in_place ? "in place" : cg_buf_kind_name(w->send_kind);

    cg_buf_set(recv, to - GUARD, GUARD_BYTE, bytes + 2 * GUARD);
    cgt_fill(w->in_place ? recv : send, w->in_place ? to : from, type, sum, w->count, w->seed, rank);
    if (!w->in_place) before = cgt_hash(send, from, bytes);
    call(w, send->p + from, recv->p + to, type->mpi, comm);

    wrong = cgt_wrong(recv, to, type, sum, w->count, w->seed, nranks);
    cgt_check(&s->t, wrong == 0, "%llu of %zu %s wrong: %s to %s, offsets %zu and %zu, %s", (unsigned long long) wrong,
              w->count, type->name, how, cg_buf_kind_name(w->recv_kind), w->place->send, w->place->recv,
              w->nonblocking ? "nonblocking" : "blocking");
    cgt_check(&s->t, guards_hold(recv, to, to + bytes), "wrote beyond %zu %s: %s to %s", w->count, type->name, how,
              cg_buf_kind_name(w->recv_kind));
    if (w->in_place) return;
    cgt_check(&s->t, cgt_hash(send, from, bytes) == before, "send buffer changed: %zu %s: %s to %s", w->count,
              type->name, how, cg_buf_kind_name(w->recv_kind));
}

/* The kinds of this rank in one of the mixtures of (a, b). */
enum { SAME, CROSSED, ODD_HOST, EVEN_HOST, MIXTURES };
static void mix(const struct cgt *t, int mixture, int a, int b, struct trial *w)
{
    int odd = t->rank % 2;

    w->send_kind = mixture == CROSSED && odd ? b : a;
    w->recv_kind = mixture == CROSSED && odd ? a : b;
    if ((mixture == ODD_HOST && odd) || (mixture == EVEN_HOST && !odd)) w->send_kind = w->recv_kind = CG_BUF_HOST;
}

/* turn: the same on all ranks; spreads the places over the largest count. */
static void all_places(struct state *s, struct trial *w, int turn)
{
    for (int p = 0; p < PLACES; p++) {
        for (int c = 0; c < COUNTS; c++) {
            if (c == LARGE && p != turn % PLACES) continue;
            w->place = &places[p];
            w->count = counts[c];
            w->seed = ++s->seed;
            w->nonblocking = (int) (w->seed % 2);
            run(s, w, MPI_COMM_WORLD, s->t.size, s->t.rank);
        }
    }
}

static void all_kinds(struct state *s)
{
    struct trial w = {0};

    for (int a = 0; a < CG_BUF_KINDS; a++) {
        for (int b = 0; b < CG_BUF_KINDS; b++) {
            for (int mixture = 0; mixture < MIXTURES; mixture++) {
                w.in_place = 0;
                mix(&s->t, mixture, a, b, &w);
                all_places(s, &w, a + b + mixture);
            }
            w.in_place = 1; /* a on even ranks, b on odd ones */
            w.recv_kind = s->t.rank % 2 ? b : a;
            all_places(s, &w, a + b);
        }
    }
}

static void one_rank(struct state *s)
{
    for (int k = 0; k < CG_BUF_KINDS; k++) {
        struct trial w = {.send_kind = k, .recv_kind = CG_BUF_KINDS - 1 - k, .place = &places[1], .count = 30001};
        for (w.nonblocking = 0; w.nonblocking < 2; w.nonblocking++) {
            w.seed = ++s->seed;
            run(s, &w, MPI_COMM_SELF, 1, 0);
        }
    }
}

static void nothing(struct state *s)
{
    MPI_Request req;

    cgt_check(&s->t, MPI_Allreduce(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS, "count 0, NULL");
    cgt_check(&s->t, MPI_Allreduce(MPI_IN_PLACE, NULL, 0, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS,
              "count 0 in place, NULL");
    MPI_Iallreduce(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &req);
    cgt_check(&s->t, MPI_Wait(&req, MPI_STATUS_IGNORE) == MPI_SUCCESS, "count 0, NULL, nonblocking");
}

int main(int argc, char **argv)
{
    struct state s = {0};
    int rc = cgt_open(&s.t, "mpi_memory", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    s.bytes = counts[LARGE] * 8 + 2 * GUARD + 64;
    for (int k = 0; k < CG_BUF_KINDS; k++) {
        cgt_alloc(&s.t, &s.send[k], k, s.bytes);
        cgt_alloc(&s.t, &s.recv[k], k, s.bytes);
    }
    nothing(&s);
    all_kinds(&s);
    one_rank(&s);
    for (int k = 0; k < CG_BUF_KINDS; k++) cg_buf_free(&s.send[k]), cg_buf_free(&s.recv[k]);
    cgt_check_gpu(&s.t);
    return cgt_close(&s.t);
}
