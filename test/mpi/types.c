/* SPDX-License-Identifier: BSD-3-Clause
 * Every native type with every operation that MPI allows on it, blocking and nonblocking, in place and not, at aligned
 * and odd addresses, for counts around the thresholds. Input values keep floating-point results exact in any order. */
#include "test/mpi/mpi_test.h"
#include "test/mpi/type_rows.h"

#include <stdlib.h>
#include <string.h>

struct call {
    const struct type_row *type;
    int op;
    size_t count, shift;
    int in_place, nonblocking;
};

#define GUARD 64
#define MOST 64
static int everyone[MOST];
static size_t area_bytes;
static unsigned char *send_area, *recv_area, *send_image, *recv_image; /* images: what is, or should be, in the areas */

static void run(const struct call *c, const void *sbuf, void *rbuf)
{
    MPI_Request req;

    if (!c->nonblocking) {
        MPI_Allreduce(sbuf, rbuf, (int) c->count, c->type->mpi, type_op(c->type, c->op), MPI_COMM_WORLD);
        return;
    }
    MPI_Iallreduce(sbuf, rbuf, (int) c->count, c->type->mpi, type_op(c->type, c->op), MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    size_t i = 0;

    if (!memcmp(a, b, bytes)) return bytes;
    while (a[i] == b[i]) i++;
    return i;
}

/* One call between guard bytes. Neither these nor the send buffer may change. */
static void check(const struct call *c)
{
    const char *op_name = op_rows[c->op].name;
    static unsigned char *got;
    size_t head = GUARD + c->shift, bytes = c->type->bytes, area = head + c->count * bytes + GUARD, at;
    unsigned char *in = (c->in_place ? recv_image : send_image) + head;

    if (!got) got = malloc(area_bytes);
    memset(send_image, 0xa5, area);
    memset(recv_image, 0xa5, area);
    for (size_t i = 0; i < c->count; i++) type_put(c->type, in + i * bytes, i, c->op, test_rank);
    test_copy(send_area, send_image, area);
    test_copy(recv_area, recv_image, area);
    run(c, c->in_place ? MPI_IN_PLACE : send_area + head, recv_area + head);
    for (size_t i = 0; i < c->count; i++)
        type_expect(c->type, recv_image + head + i * bytes, i, c->op, test_size, everyone);
    test_copy(got, recv_area, area);
    at = first_difference(got, recv_image, area);
    CHECK(at == area, "%s %s, %zu elements, shift %zu, in place %d, nonblocking %d: result differs at byte %zd",
          c->type->name, op_name, c->count, c->shift, c->in_place, c->nonblocking, (ssize_t) (at - head));
    test_copy(got, send_area, area);
    CHECK(first_difference(got, send_image, area) == area, "%s %s: the send buffer changed", c->type->name, op_name);
}

/* All four ways of calling; returns the number of calls. */
static int all_ways(const struct type_row *t, int op, size_t count, size_t shift)
{
    for (int way = 0; way < 4; way++) {
        struct call c = {t, op, count, shift, way & 1, way >> 1};
        check(&c);
    }
    return 4;
}

static int sweep_op(int class)
{
    return class == LOGICAL ? OP_LXOR : class == PAIR ? OP_MAXLOC : class == BYTES ? OP_BXOR : OP_SUM;
}

/* All operations on few elements. Returns how many calls should be native. */
static uint64_t small_counts(const struct type_row *t)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 33};
    uint64_t calls = 0;

    for (int op = 0; op < OP_USER; op++) {
        for (size_t i = 0; type_allows(t, op) && i < sizeof(counts) / sizeof(counts[0]); i++) {
            int n = all_ways(t, op, counts[i], i % 2 ? t->bytes : i + 1);
            if (counts[i]) calls += (uint64_t) (type_like_comm_creation(t, op, counts[i]) ? n / 2 : n);
        }
    }
    return calls;
}

/* Around a threshold in bytes. */
static uint64_t around(const struct type_row *t, size_t bytes)
{
    size_t count = bytes / t->bytes;
    int op = sweep_op(t->class);

    return (uint64_t) all_ways(t, op, count - 1, 0) + (uint64_t) all_ways(t, op, count, 3) +
           (uint64_t) all_ways(t, op, count + 1, t->bytes);
}

static void check_counters(uint64_t calls, const char *executor)
{
    uint64_t posts = test_counter("posts"), where = test_counter(executor);

    CHECK(posts == calls, "%llu of %llu calls were native", (unsigned long long) posts, (unsigned long long) calls);
    CHECK(where == calls, "%llu of %llu calls were %s", (unsigned long long) where, (unsigned long long) calls,
          executor);
}

/* argv: h or d for the send and the receive buffer of even ranks (hd: send on the host, receive on the fake GPU), the
 * same for odd ranks, the largest message in bytes, thresholds in bytes to go around. */
int main(int argc, char **argv)
{
    const char *kind;
    uint64_t calls = 0;
    size_t big;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    type_rows_make();
    for (int i = 0; i < test_size; i++) everyone[i] = i;
    kind = argv[1 + test_rank % 2];
    big = strtoull(argv[3], NULL, 0);
    area_bytes = big + 4096;
    send_area = test_alloc(area_bytes, kind[0] == 'd');
    recv_area = test_alloc(area_bytes, kind[1] == 'd');
    send_image = test_alloc(area_bytes, 0);
    recv_image = test_alloc(area_bytes, 0);
    for (const struct type_row *t = type_rows; t < type_rows + ntype_rows; t++) {
        if (t->class & STAGED) continue;
        calls += small_counts(t);
        for (int i = 4; i < argc; i++) calls += around(t, strtoull(argv[i], NULL, 0));
        if ((t->class & (INT | FINT)) && t->bytes != 2) continue;
        calls += (uint64_t) all_ways(t, sweep_op(t->class), big / t->bytes, 0);
    }
    check_counters(calls, kind[1] == 'd' ? "bounced" : "native_host");
    return test_end();
}
