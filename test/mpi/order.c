/* SPDX-License-Identifier: BSD-3-Clause
 * Orders that MPI allows: operations outstanding on two communicators and completed in an order of each rank's own,
 * nonblocking calls against blocking ones in the other order, a communicator freed before its operations end, and calls
 * on a communicator that is being duplicated. */
#include "test/mpi/mpi_test.h"

#include <stdlib.h>

#define OPS 24
#define COUNT 20000

static MPI_Comm comm[2];
static int *in[OPS], *out[OPS], count[OPS];
static unsigned mine = 1; /* state of this rank's own choices */

static unsigned draw(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static void prepare(int op, int n)
{
    count[op] = n;
    for (int i = 0; i < n; i++) {
        in[op][i] = test_rank + op + i;
        out[op][i] = -1;
    }
}

static void verify(int op, const char *what)
{
    for (int i = 0; i < count[op]; i++) {
        if (out[op][i] == test_size * (test_size - 1) / 2 + test_size * (op + i)) continue;
        CHECK(0, "%s: operation %d, element %d is %d", what, op, i, out[op][i]);
        return;
    }
}

static void post(int op, int c, MPI_Request *req)
{
    MPI_Iallreduce(in[op], out[op], count[op], MPI_INT, MPI_SUM, comm[c], req);
}

static void block(int op, int c) { MPI_Allreduce(in[op], out[op], count[op], MPI_INT, MPI_SUM, comm[c]); }

/* Sizes and communicators are the same on all ranks, the order of waiting and how to wait are not. */
static void outstanding(unsigned *shared)
{
    MPI_Request req[OPS];
    int order[OPS], flag;

    for (int i = 0; i < OPS; i++) {
        prepare(i, 1 + (int) draw(shared, draw(shared, 4) ? 300 : COUNT));
        post(i, (int) draw(shared, 2), &req[i]);
        order[i] = i;
    }
    for (int i = OPS - 1; i > 0; i--) {
        int j = (int) draw(&mine, (unsigned) i + 1), k = order[i];
        order[i] = order[j];
        order[j] = k;
    }
    for (int i = 0; i < OPS; i++) {
        for (flag = 0; draw(&mine, 2) && !flag;) MPI_Test(&req[order[i]], &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&req[order[i]], MPI_STATUS_IGNORE);
        verify(order[i], "outstanding");
    }
}

/* Iallreduce(c1), Iallreduce(c2), Waitall on even ranks; Allreduce(c2), Allreduce(c1) cannot match these, but an
 * Iallreduce that waits at once can: its rank blocks in c2 before it has come to c1. */
static void crossed(int n)
{
    MPI_Request req[2];

    prepare(0, n);
    prepare(1, n);
    post(0, test_rank % 2, &req[0]);
    if (test_rank % 2) MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    post(1, !(test_rank % 2), &req[1]);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n && test_size == 2; i++) {
        CHECK(out[0][i] == in[0][i] + (test_rank ? i + 1 : i + 2), "crossed: element %d is %d", i, out[0][i]);
    }
}

static void freed(void)
{
    MPI_Request req[3];
    MPI_Comm keep = comm[0];

    MPI_Comm_dup(keep, &comm[0]);
    for (int i = 0; i < 3; i++) {
        prepare(i, COUNT);
        post(i, 0, &req[i]);
    }
    MPI_Comm_free(&comm[0]);
    comm[0] = keep;
    prepare(3, 1000);
    block(3, 0);
    MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) verify(i, "freed");
}

/* The child's number is agreed on by nonblocking allreduces over the parent, from the call to the wait. (Two
 * duplications at once, or one beside a nonblocking collective of another component, mix up their tags in Open
 * MPI 4.1.) */
static void idup(unsigned *shared)
{
    MPI_Comm child, keep = comm[0];
    MPI_Request req[2];

    MPI_Comm_dup(keep, &comm[0]); /* fresh: set-up runs while the duplication is outstanding */
    MPI_Comm_idup(comm[0], &child, &req[0]);
    for (int i = 0, done; i < (int) draw(&mine, 200); i++) MPI_Test(&req[0], &done, MPI_STATUS_IGNORE);
    prepare(0, 2 + (int) draw(shared, 1000));
    block(0, 0);
    prepare(1, 2 + (int) draw(shared, 1000));
    post(1, 0, &req[1]);
    prepare(2, 2 + (int) draw(shared, 1000));
    block(2, 0);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    prepare(3, 10);
    MPI_Allreduce(in[3], out[3], 10, MPI_INT, MPI_SUM, child);
    for (int i = 0; i < 4; i++) verify(i, "idup");
    MPI_Comm_free(&child);
    MPI_Comm_free(&comm[0]);
    comm[0] = keep;
}

int main(int argc, char **argv)
{
    unsigned shared = 7;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    mine += (unsigned) test_rank;
    for (int i = 0; i < OPS; i++) {
        in[i] = malloc(COUNT * sizeof(int));
        out[i] = malloc(COUNT * sizeof(int));
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
    for (int n = 1; n <= COUNT; n *= 10) crossed(n); /* the first one crosses in set-up, too */
    for (int round = 0; round < 20; round++) outstanding(&shared);
    for (int round = 0; round < 5; round++) freed();
    for (int round = 0; round < 20; round++) idup(&shared);
    CHECK(test_counter("posts") > 500, "calls were not native");
    MPI_Comm_free(&comm[0]); /* the other one is left to MPI_Finalize */
    return test_end();
}
