/* SPDX-License-Identifier: BSD-3-Clause
 * Outstanding operations: ten on two communicators, completed in an order of its own on every rank; nonblocking calls
 * on two communicators against blocking ones in the other order; more than any queue holds on one communicator. */
#include "test/gpu/gpu_test.h"

#include <stdlib.h>

#define MANY 200
#define MAX_COUNT (1 << 20)

struct op {
    struct cg_buf *send, *recv;
    size_t count;
    uint64_t seed;
    MPI_Comm comm;
    MPI_Request req;
    int done;
};

struct state {
    struct cgt t;
    MPI_Comm comm[2];
    const struct cg_data_type *type;
    const struct cg_data_op *sum;
    uint64_t seed, own; /* own: state of this rank's choices */
};

static void prepare(struct state *s, struct op *op, size_t count, MPI_Comm comm)
{
    op->count = count;
    op->seed = ++s->seed;
    op->comm = comm;
    op->done = 0;
    cgt_fill(op->send, 0, s->type, s->sum, count, op->seed, s->t.rank);
    cg_buf_set(op->recv, 0, 0xa5, count * 4);
}

static void post(struct state *s, struct op *op)
{
    MPI_Iallreduce(op->send->p, op->recv->p, (int) op->count, s->type->mpi, MPI_SUM, op->comm, &op->req);
}

static void block(struct state *s, struct op *op)
{
    MPI_Allreduce(op->send->p, op->recv->p, (int) op->count, s->type->mpi, MPI_SUM, op->comm);
}

static void verify(struct state *s, const struct op *op, const char *what)
{
    uint64_t wrong = cgt_wrong(op->recv, 0, s->type, s->sum, op->count, op->seed, s->t.size);

    cgt_check(&s->t, wrong == 0, "%s: %llu of %zu wrong, %s to %s", what, (unsigned long long) wrong, op->count,
              cg_buf_kind_name(op->send->kind), cg_buf_kind_name(op->recv->kind));
}

/* From one element to max, every magnitude equally often; the same on all ranks. */
static size_t any_count(struct state *s, size_t max)
{
    size_t limit = 1;

    for (uint32_t bits = cgt_random(&s->t, 21); bits > 0 && limit < max; bits--) limit *= 2;
    return 1 + cgt_random(&s->t, (uint32_t) (limit < max ? limit : max - 1));
}

static void shuffle(struct state *s, int *order, int n)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int) cgt_draw(&s->own, (uint32_t) i + 1), k = order[i];
        order[i] = order[j];
        order[j] = k;
    }
}

static void ten(struct state *s, struct op *op, int rounds)
{
    int order[10];

    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 10; i++) prepare(s, &op[i], any_count(s, MAX_COUNT), s->comm[cgt_random(&s->t, 2)]);
        for (int i = 0; i < 10; i++) post(s, &op[i]);
        shuffle(s, order, 10);
        for (int i = 0; i < 10; i++) MPI_Wait(&op[order[i]].req, MPI_STATUS_IGNORE);
        for (int i = 0; i < 10; i++) verify(s, &op[i], "ten outstanding");
    }
}

/* A deadlock wherever two communicators share order or credit: even ranks have both operations outstanding, odd ones
 * do the second first. MPI promises this for nonblocking calls on both sides. coll/gpu, whose blocking calls are the
 * nonblocking ones and a wait, also lets one side block: blocking = 1, without coll/gpu a hang. */
static void crossed(struct state *s, struct op *op, int rounds, int blocking)
{
    for (int round = 0; round < rounds; round++) {
        size_t count = any_count(s, MAX_COUNT);
        MPI_Request req[2];

        for (int i = 0; i < 2; i++) prepare(s, &op[i], count, s->comm[i]);
        if (s->t.rank % 2 == 0) {
            for (int i = 0; i < 2; i++) post(s, &op[i]), req[i] = op[i].req;
            MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
        } else {
            for (int i = 1; i >= 0; i--) {
                if (blocking) block(s, &op[i]);
                else post(s, &op[i]), MPI_Wait(&op[i].req, MPI_STATUS_IGNORE);
            }
        }
        for (int i = 0; i < 2; i++) verify(s, &op[i], blocking ? "crossed with blocking calls" : "crossed");
    }
}

static void many(struct state *s, struct op *op)
{
    int left = MANY;

    for (int i = 0; i < MANY; i++) prepare(s, &op[i], any_count(s, 4096), s->comm[0]);
    for (int i = 0; i < MANY; i++) post(s, &op[i]);
    while (left > 0) {
        struct op *p = &op[cgt_draw(&s->own, MANY)];
        if (p->done) continue;
        MPI_Test(&p->req, &p->done, MPI_STATUS_IGNORE);
        left -= p->done;
    }
    for (int i = 0; i < MANY; i++) verify(s, &op[i], "many outstanding");
}

/* Device or host for each buffer, as this rank draws. */
static void allocate(struct state *s, struct op *op, struct cg_buf *buf, int n, size_t bytes)
{
    for (int i = 0; i < n; i++) {
        op[i].send = &buf[2 * i];
        op[i].recv = &buf[2 * i + 1];
        cgt_alloc(&s->t, op[i].send, cgt_draw(&s->own, 3) ? CG_BUF_DEVICE : CG_BUF_HOST, bytes);
        cgt_alloc(&s->t, op[i].recv, cgt_draw(&s->own, 3) ? CG_BUF_DEVICE : CG_BUF_HOST, bytes);
    }
}

int main(int argc, char **argv)
{
    struct state s = {0};
    struct op op[MANY];
    struct cg_buf buf[2 * MANY];
    int rounds, rc = cgt_open(&s.t, "mpi_order", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    rounds = argc > 1 ? atoi(argv[1]) : 20;
    s.own = (uint64_t) s.t.rank + 77;
    s.type = cg_data_type_find("int32");
    s.sum = cg_data_op_find("sum");
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &s.comm[i]);

    allocate(&s, op, buf, 10, MAX_COUNT * 4);
    ten(&s, op, rounds);
    crossed(&s, op, rounds * 5, 0);
    if (cg_watch_count(s.t.watch) > 0) crossed(&s, op, rounds * 5, 1);
    for (int i = 0; i < 20; i++) cg_buf_free(&buf[i]);

    allocate(&s, op, buf, MANY, 4096 * 4);
    many(&s, op);
    for (int i = 0; i < 2 * MANY; i++) cg_buf_free(&buf[i]);

    for (int i = 0; i < 2; i++) MPI_Comm_free(&s.comm[i]);
    cgt_check_gpu(&s.t);
    return cgt_close(&s.t);
}
