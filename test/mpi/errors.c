/* SPDX-License-Identifier: BSD-3-Clause
 * Errors come back through the communicator's error handler; nothing hangs; other communicators go on. argv: what to do
 *   mismatch   ranks whose calls do not match, and calls that do not match themselves
 *   setup      the environment makes set-up fail: blocking calls are served by the next component, nonblocking ones
 *              fail until a blocking one has settled it, creation of communicators works all along
 *   served     the component serves nothing here: everything works, nothing is native
 *   native     everything is native
 *   forbidden  pairs of type and operation, roots and counts that MPI forbids
 *   overlap    send and receive buffers that overlap
 *   killed     rank 1, or the one that the third argument names, dies in the middle of an endless loop of both kinds
 *              of calls. Second argument: a file for the time of its death, by whose name processes can be found */
#include "test/mpi/mpi_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define ALLREDUCE_INIT MPI_Allreduce_init
#else
#include <mpi-ext.h>
#define ALLREDUCE_INIT MPIX_Allreduce_init
#endif

#define COUNT 5000

static int in[COUNT], out[COUNT], handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;

    (void) comm;
    MPI_Error_class(*code, &class);
    CHECK(class != MPI_SUCCESS, "the handler was called with success");
    handled++;
}

static MPI_Comm fresh(void)
{
    MPI_Errhandler mine;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    MPI_Errhandler_free(&mine);
    handled = 0;
    return comm;
}

/* The call's result, after checking the sum if it says success. */
static int reduce(MPI_Comm comm, int nonblocking, int count, MPI_Op op)
{
    MPI_Request req;
    int rc;

    for (int i = 0; i < count; i++) in[i] = test_rank + i;
    if (nonblocking) {
        rc = MPI_Iallreduce(in, out, count, MPI_INT, op, comm, &req);
        if (rc == MPI_SUCCESS) rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        rc = MPI_Allreduce(in, out, count, MPI_INT, op, comm);
    }
    for (int i = 0; rc == MPI_SUCCESS && i < count; i++) {
        if (out[i] == test_size * (test_size - 1) / 2 + test_size * i) continue;
        CHECK(0, "element %d of %d is %d", i, count, out[i]);
        break;
    }
    return rc;
}

static void mismatch(int nonblocking, int counts, const char *what)
{
    MPI_Comm comm = fresh(), other = fresh();
    int rc;

    CHECK(reduce(comm, nonblocking, 10, MPI_SUM) == MPI_SUCCESS, "%s: a good call failed", what);
    handled = 0;
    /* one rank differs from all others, so that every rank sees it */
    rc = reduce(comm, nonblocking, counts && test_rank == 0 ? 11 : 10, !counts && test_rank == 0 ? MPI_BXOR : MPI_SUM);
    CHECK(rc != MPI_SUCCESS && handled == 1, "%s: code %d, handler called %d times", what, rc, handled);
    rc = reduce(comm, nonblocking, 10, MPI_SUM);
    CHECK(rc != MPI_SUCCESS && handled == 2, "%s, next call: code %d, handler called %d times", what, rc, handled);
    CHECK(reduce(other, nonblocking, COUNT, MPI_SUM) == MPI_SUCCESS, "%s: another communicator failed, too", what);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    CHECK(reduce(MPI_COMM_WORLD, nonblocking, 10, MPI_SUM) == MPI_SUCCESS, "%s: the world failed, too", what);
}

static void other_collective(void)
{
    MPI_Comm comm = fresh();
    int rc;

    CHECK(reduce(comm, 0, 10, MPI_SUM) == MPI_SUCCESS, "a good call failed");
    if (test_rank == 0) rc = MPI_Allgather(in, 10, MPI_INT, out, 10, MPI_INT, comm);
    else rc = MPI_Allreduce(in, out, 10, MPI_INT, MPI_SUM, comm);
    CHECK(rc != MPI_SUCCESS && handled == 1, "another collective: code %d, handler called %d times", rc, handled);
    MPI_Comm_free(&comm);
}

static void plus(void *a, void *b, int *n, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *n; i++) ((double *) b)[i] += ((double *) a)[i];
}

static MPI_Op user_op; /* of the program: for the next component */

/* Rank 0's call is native, the others' is one of the next component. Both would wait for ever. */
static void native_and_staged(int nonblocking, int first, const char *what)
{
    static double from[COUNT], to[COUNT];
    MPI_Comm comm = fresh();
    MPI_Request req;
    int rc;

    if (!first) CHECK(reduce(comm, 0, 10, MPI_SUM) == MPI_SUCCESS, "%s: a good call failed", what);
    if (test_rank == 0) {
        rc = reduce(comm, nonblocking, 10, MPI_SUM);
    } else if (nonblocking) {
        rc = MPI_Iallreduce(from, to, 20, MPI_DOUBLE, user_op, comm, &req);
        if (rc == MPI_SUCCESS) rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        rc = MPI_Allreduce(from, to, 20, MPI_DOUBLE, user_op, comm);
    }
    CHECK(rc != MPI_SUCCESS && handled == 1, "%s: code %d, handler called %d times", what, rc, handled);
    MPI_Comm_free(&comm);
}

/* Two calls of the next component that differ, and two of which one makes a persistent request. */
static void staged_and_other(void)
{
    static double from[2], to[2];
    MPI_Comm comm = fresh();
    MPI_Request req;
    int rc;

    if (test_rank == 0) rc = MPI_Scan(from, to, 2, MPI_DOUBLE, user_op, comm);
    else rc = MPI_Allreduce(from, to, 2, MPI_DOUBLE, user_op, comm);
    CHECK(rc != MPI_SUCCESS && handled == 1, "scan and allreduce: code %d, handler called %d times", rc, handled);
    MPI_Comm_free(&comm);
    comm = fresh();
    if (test_rank == 0) rc = ALLREDUCE_INIT(from, to, 2, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &req);
    else rc = ALLREDUCE_INIT(from, to, 2, MPI_DOUBLE, user_op, comm, MPI_INFO_NULL, &req);
    CHECK(rc != MPI_SUCCESS && handled == 1, "persistent: code %d, handler called %d times", rc, handled);
    MPI_Comm_free(&comm);
}

/* Seen by every rank in its own arguments: nothing is sent, the communicator goes on. */
static void own_mismatch(void)
{
    MPI_Comm comm = fresh();
    int counts[64], disps[64], class;

    for (int i = 0; i < test_size; i++) counts[i] = disps[i] = 3;
    MPI_Error_class(MPI_Allgather(in, 2, MPI_INT, out, 3, MPI_INT, comm), &class);
    CHECK(class == MPI_ERR_TRUNCATE && handled == 1, "allgather: class %d, handler called %d times", class, handled);
    MPI_Error_class(MPI_Allgatherv(in, 2, MPI_INT, out, counts, disps, MPI_INT, comm), &class);
    CHECK(class == MPI_ERR_TRUNCATE && handled == 2, "allgatherv: class %d, handler called %d times", class, handled);
    MPI_Error_class(MPI_Alltoall(in, 3, MPI_INT, out, 3, MPI_DOUBLE, comm), &class);
    CHECK(class == MPI_ERR_TRUNCATE && handled == 3, "alltoall: class %d, handler called %d times", class, handled);
    CHECK(reduce(comm, 0, COUNT, MPI_SUM) == MPI_SUCCESS, "the communicator does not go on");
    MPI_Comm_free(&comm);
}

/* What MPI forbids, where MPI does not look (mpi_param_check 0). */
static void forbidden(void)
{
    MPI_Comm comm = fresh();
    MPI_Request req;
    float x[3] = {1, 2, 3}, y[3];
    int class;

    MPI_Error_class(MPI_Allreduce(x, y, 3, MPI_FLOAT, MPI_BAND, comm), &class);
    CHECK(class == MPI_ERR_OP && handled == 1, "allreduce: class %d, handler called %d times", class, handled);
    MPI_Error_class(MPI_Iscan(x, y, 3, MPI_FLOAT, MPI_MAXLOC, comm, &req), &class);
    CHECK(class == MPI_ERR_OP && handled == 2, "iscan: class %d, handler called %d times", class, handled);
    CHECK(reduce(comm, 0, COUNT, MPI_SUM) == MPI_SUCCESS, "the communicator does not go on");
    MPI_Comm_free(&comm);
}

/* One way of calling; nothing is sent, so the communicator goes on. */
static void refused(int rc, int want, const char *what)
{
    int class;

    MPI_Error_class(rc, &class);
    CHECK(class == want && handled == 1, "%s: class %d instead of %d, handler called %d times", what, class, want,
          handled);
    handled = 0;
}

/* Buffers that share bytes, where MPI wants MPI_IN_PLACE; and such as look as if they did. */
static void overlapping(void)
{
    MPI_Comm comm = fresh();
    MPI_Request req;
    MPI_Datatype column;
    int n = test_size, counts[64], disps[64];

    refused(MPI_Allreduce(in, in + 1, 10, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "allreduce");
    refused(MPI_Iallreduce(in, in + 9, 10, MPI_INT, MPI_SUM, comm, &req), MPI_ERR_BUFFER, "iallreduce");
    refused(ALLREDUCE_INIT(in + 9, in, 10, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &req), MPI_ERR_BUFFER, "init");
    refused(MPI_Allreduce(in, in + 4, 10, MPI_LONG_DOUBLE, MPI_SUM, comm), MPI_ERR_BUFFER, "what is staged");
    refused(MPI_Allgather(in, 2, MPI_INT, in, 2, MPI_INT, comm), MPI_ERR_BUFFER, "allgather");
    refused(MPI_Alltoall(in, 2, MPI_INT, in + 2 * n - 1, 2, MPI_INT, comm), MPI_ERR_BUFFER, "alltoall");
    for (int i = 0; i < n; i++) counts[i] = 2, disps[i] = 5 * i + 3;
    refused(MPI_Alltoallv(in, counts, disps, MPI_INT, in + 1, counts, disps, MPI_INT, comm), MPI_ERR_BUFFER, "v");
    refused(MPI_Reduce_scatter(in, in + 1, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "reduce_scatter");
    if (test_rank == 0)
        refused(MPI_Gatherv(in + 4, 2, MPI_INT, in, counts, disps, MPI_INT, 0, comm), MPI_ERR_BUFFER, "gatherv");
    handled = 0;
    /* side by side, between each other, and columns of one matrix */
    CHECK(MPI_Allreduce(in, in + 10, 10, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "side by side");
    CHECK(MPI_Alltoallv(in, counts, disps, MPI_INT, in + 2, counts, disps, MPI_INT, comm) == MPI_SUCCESS, "between");
    MPI_Type_vector(10, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    CHECK(MPI_Allreduce(in, in + 20, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "one int");
    CHECK(MPI_Bcast(in, 1, column, 0, comm) == MPI_SUCCESS, "bcast");
    CHECK(reduce(comm, 0, COUNT, MPI_SUM) == MPI_SUCCESS && handled == 0, "the communicator does not go on");
    MPI_Type_free(&column);
    MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    refused((handled = 1, MPI_Reduce_local(in, in + 9, 10, MPI_INT, MPI_SUM)), MPI_ERR_BUFFER, "reduce_local");
}

/* What MPI looks at itself unless it is told not to (mpi_param_check). The same on all ranks. */
static void roots_and_counts(void)
{
    MPI_Comm comm = fresh();
    MPI_Request req;
    int n = test_size, counts[64], disps[64];

    for (int i = 0; i < n; i++) counts[i] = i ? 2 : -2, disps[i] = 2 * i;
    refused(MPI_Allreduce(in, in, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "allreduce in place");
    refused(MPI_Bcast(in, 3, MPI_INT, n, comm), MPI_ERR_ROOT, "bcast");
    refused(MPI_Ireduce(in, out, 3, MPI_INT, MPI_SUM, -7, comm, &req), MPI_ERR_ROOT, "ireduce");
    refused(MPI_Scatter(in, 3, MPI_INT, out, 3, MPI_INT, n + 5, comm), MPI_ERR_ROOT, "scatter");
    refused(MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT, "allreduce");
    refused(MPI_Allgatherv(in, 2, MPI_INT, out, counts, disps, MPI_INT, comm), MPI_ERR_COUNT, "allgatherv");
    refused(MPI_Ialltoallv(in, counts, disps, MPI_INT, out, counts, disps, MPI_INT, comm, &req), MPI_ERR_COUNT, "v");
    refused(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT, "reduce_scatter");
    CHECK(reduce(comm, 0, COUNT, MPI_SUM) == MPI_SUCCESS, "the communicator does not go on");
    MPI_Comm_free(&comm);
}

static void setup(void)
{
    MPI_Comm comm = fresh();

    CHECK(reduce(comm, 0, 100, MPI_SUM) == MPI_SUCCESS, "blocking: not served by the next component");
    CHECK(reduce(comm, 0, COUNT, MPI_SUM) == MPI_SUCCESS, "blocking again");
    CHECK(reduce(comm, 1, COUNT, MPI_SUM) == MPI_SUCCESS, "nonblocking after blocking");
    CHECK(handled == 0, "handler called %d times for calls that the next component serves", handled);
    MPI_Comm_free(&comm);
    comm = fresh();
    CHECK(reduce(comm, 1, 100, MPI_SUM) != MPI_SUCCESS && handled == 1, "nonblocking: handler called %d times",
          handled);
    CHECK(reduce(comm, 1, 100, MPI_SUM) != MPI_SUCCESS && handled == 2, "nonblocking again: %d times", handled);
    CHECK(reduce(comm, 0, 100, MPI_SUM) == MPI_SUCCESS, "blocking after nonblocking");
    CHECK(reduce(comm, 1, 100, MPI_SUM) == MPI_SUCCESS, "nonblocking after that");
    CHECK(handled == 2, "handler called %d times in the end", handled);
    MPI_Comm_free(&comm);
    CHECK(test_counter("setup_failures") >= 2, "set-up did not fail");
    CHECK(test_counter("passed") >= 5, "calls were not passed down");
}

static void all_good(int native)
{
    MPI_Comm comm = fresh();

    for (int way = 0; way < 2; way++) CHECK(reduce(comm, way, COUNT, MPI_SUM) == MPI_SUCCESS, "way %d failed", way);
    MPI_Comm_free(&comm);
    CHECK(test_counter("posts") == (native ? 2u : 0u), "%llu operations were native",
          (unsigned long long) test_counter("posts"));
}

/* The time is in a file: what goes through mpirun may be lost with the rank. */
static void die(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file || fprintf(file, "%lld\n", (long long) time(NULL)) < 0 || fclose(file)) MPI_Abort(MPI_COMM_WORLD, 4);
    raise(SIGKILL);
}

static void killed(const char *path, int victim)
{
    MPI_Comm comm = fresh();

    for (int i = 0;; i++) {
        if (i == 500 && test_rank == victim) die(path);
        if (reduce(comm, i % 2, i % 7 ? 100 : COUNT, MPI_SUM) != MPI_SUCCESS) MPI_Abort(comm, 3);
    }
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (!strcmp(argv[1], "mismatch")) {
        mismatch(0, 1, "count");
        mismatch(1, 1, "count, nonblocking");
        mismatch(0, 0, "operation");
        mismatch(1, 0, "operation, nonblocking");
        other_collective();
        MPI_Op_create(plus, 1, &user_op);
        native_and_staged(0, 1, "native and staged, first call");
        native_and_staged(0, 0, "native and staged");
        native_and_staged(1, 1, "native and staged, first call, nonblocking");
        native_and_staged(1, 0, "native and staged, nonblocking");
        staged_and_other();
        MPI_Op_free(&user_op);
        own_mismatch();
    } else if (!strcmp(argv[1], "forbidden")) {
        forbidden();
        roots_and_counts();
    } else if (!strcmp(argv[1], "overlap")) {
        overlapping();
    } else if (!strcmp(argv[1], "setup")) {
        setup();
    } else if (!strcmp(argv[1], "killed")) {
        killed(argv[2], argc > 3 ? atoi(argv[3]) : 1);
    } else {
        all_good(!strcmp(argv[1], "native"));
    }
    return test_end();
}
