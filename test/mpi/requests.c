/* SPDX-License-Identifier: BSD-3-Clause
 * Requests and lifetimes: collectives completed in reverse order; persistent ones started in another order on each
 * rank, several times and beside other calls; a communicator, types and operations freed while they are in use; columns
 * of one buffer received by several calls at once; MPI_Reduce_local; a collective in an attribute's callback in
 * MPI_Finalize. */
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

#define N 500
#define MANY 6

static char *send[MANY], *recv[MANY];
static int image[N * MOST];

static void load(int k, int seed)
{
    for (int i = 0; i < N; i++) image[i] = test_rank * 100 + seed + i;
    test_copy(send[k], image, N * sizeof(int));
    memset(image, 0xa5, N * (size_t) test_size * sizeof(int));
    test_copy(recv[k], image, N * (size_t) test_size * sizeof(int));
}

static void expect_sum(int k, int seed, const char *what)
{
    test_copy(image, recv[k], N * sizeof(int));
    for (int i = 0; i < N; i++) {
        int want = test_size * (test_size - 1) / 2 * 100 + test_size * (seed + i);
        if (image[i] == want) continue;
        CHECK(0, "%s: element %d of the sum %d is %d, not %d", what, i, k, image[i], want);
        return;
    }
}

static void expect_all(int k, int seed, const char *what)
{
    test_copy(image, recv[k], N * (size_t) test_size * sizeof(int));
    for (int i = 0; i < N * test_size; i++) {
        int want = i / N * 100 + seed + i % N;
        if (image[i] == want) continue;
        CHECK(0, "%s: element %d of the blocks %d is %d, not %d", what, i, k, image[i], want);
        return;
    }
}

/* Even ones reduce, odd ones gather. */
static void expect(int k, int seed, const char *what)
{
    if (k % 2) expect_all(k, seed, what);
    else expect_sum(k, seed, what);
}

static void begin(int k, enum form form, MPI_Comm comm, MPI_Datatype type, MPI_Op op, MPI_Request *request)
{
    struct call c = {.coll = k % 2 ? Allgather : Allreduce, .comm = comm, .op = op, .sbuf = send[k], .rbuf = recv[k],
                     .scount = N, .rcount = N, .stype = type, .rtype = type};

    CHECK(every_issue(&c, form, request) == MPI_SUCCESS, "cannot begin");
}

static void backward(void)
{
    MPI_Request request[MANY];

    for (int k = 0; k < MANY; k++) {
        load(k, k);
        begin(k, NONBLOCKING, MPI_COMM_WORLD, MPI_INT, MPI_SUM, &request[k]);
    }
    for (int k = MANY - 1; k >= 0; k--) {
        MPI_Wait(&request[k], MPI_STATUS_IGNORE);
        expect(k, k, "backward");
    }
}

/* Every rank starts them from another one on, some by MPI_Startall, with other calls in between. */
static void any_order(void)
{
    MPI_Request request[MANY];
    int sum = 1, all;

    for (int k = 0; k < MANY; k++) begin(k, PERSISTENT, MPI_COMM_WORLD, MPI_INT, MPI_SUM, &request[k]);
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < MANY; k++) load(k, k + round);
        for (int i = 0; i < MANY - 2; i++) MPI_Start(&request[(i + test_rank + round) % MANY]);
        MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == test_size, "a call beside persistent ones: %d", all);
        for (int i = MANY - 2; i < MANY; i++) MPI_Startall(1, &request[(i + test_rank + round) % MANY]);
        if (round % 2) MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
        for (int k = MANY - 1; k >= 0; k--) {
            MPI_Wait(&request[k], MPI_STATUS_IGNORE);
            expect(k, k + round, "any order");
        }
    }
    for (int k = 0; k < MANY; k++) MPI_Request_free(&request[(k + test_rank) % MANY]);
}

static void sum_function(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++) ((int *) inout)[i] += ((int *) in)[i];
}

/* All that a request uses is freed between its making and its start, or its end. Where nothing is staged, the user's
 * operation would go to Open MPI's own functions, which do not survive this. */
static void freed(enum form form, int staged)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request[MANY];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(1, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(sum_function, 1, &op);
    for (int k = 0; k < MANY; k++) {
        load(k, k);
        if (staged || k % 2) begin(k, form, comm, type, op, &request[k]);
        else begin(k, form, comm, MPI_INT, MPI_SUM, &request[k]);
    }
    MPI_Comm_free(&comm);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* another one in its place */
    if (form == PERSISTENT) MPI_Startall(MANY, request);
    load(0, 0);
    MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
    for (int k = 1; k < MANY; k++) expect(k, k, form == PERSISTENT ? "freed, persistent" : "freed, nonblocking");
    for (int k = 0; k < MANY && form == PERSISTENT; k++) MPI_Request_free(&request[k]);
    MPI_Comm_free(&comm);
}

/* Calls that receive different columns of one matrix, all under way at once: what lies between belongs to others. */
static void columns(enum form form, int wide)
{
    MPI_Request request[MANY];
    MPI_Datatype column, block;
    int rows = N / MANY * MANY / MANY;

    MPI_Type_vector(rows, 1, MANY, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint) (MANY * rows) * (MPI_Aint) sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int k = 0; k < MANY; k++) load(k, k);
    for (int k = 0; k < MANY; k++) {
        struct call c = {.coll = wide ? Gather : Allgather, .comm = MPI_COMM_WORLD, .sbuf = send[k], .scount = rows,
                         .stype = MPI_INT, .rbuf = recv[0] + (size_t) k * sizeof(int), .rcount = 1, .rtype = column};
        every_issue(&c, form, &request[k]);
        if (form == PERSISTENT) MPI_Start(&request[k]);
    }
    for (int k = 0; k < MANY; k++) {
        int at = (k + test_rank) % MANY;
        MPI_Wait(&request[at], MPI_STATUS_IGNORE);
        if (form == PERSISTENT) MPI_Request_free(&request[at]);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&block);
    test_copy(image, recv[0], (size_t) (rows * MANY * test_size) * sizeof(int));
    for (int i = 0; i < rows * MANY * test_size && (!wide || test_rank == 0); i++) {
        int rank = i / (rows * MANY), row = i / MANY % rows, k = i % MANY, want = rank * 100 + k + row;
        if (image[i] == want) continue;
        CHECK(0, "columns: rank %d, row %d, column %d is %d, not %d", rank, row, k, image[i], want);
        return;
    }
}

/* Single ints at changing distances: a list of blocks. */
static int place(int i, int k) { return k * (2 + i % 6) + k % 2; }

static MPI_Datatype some_type(int i, int n)
{
    MPI_Datatype type, copy;
    int disp[70];

    for (int k = 0; k < n; k++) disp[k] = place(i, k);
    MPI_Type_create_indexed_block(n, 1, disp, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (i % 3) return type;
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    return copy;
}

/* Types that come and go, each in the place of the one before, freed while a call uses them: what was kept of a type
 * serves its call to the end, and never another type. */
static void other_types(void)
{
    long rss = 0;

    for (int i = 0; i < 3000; i++) {
        enum form form = i % 50 ? NONBLOCKING : PERSISTENT;
        int n = 1 + i % 70, good = 1;
        MPI_Datatype type = some_type(i, n);
        MPI_Request request;
        struct call c = {.coll = Allgather, .comm = MPI_COMM_WORLD, .sbuf = send[0], .scount = 1, .stype = type,
                         .rbuf = recv[0], .rcount = n, .rtype = MPI_INT};

        if (i == 1000) rss = test_rss_kib();
        load(0, i);
        every_issue(&c, form, &request);
        MPI_Type_free(&type);
        if (form == PERSISTENT) MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (form == PERSISTENT) MPI_Request_free(&request);
        test_copy(image, recv[0], (size_t) (n * test_size) * sizeof(int));
        for (int k = 0; k < n * test_size; k++) good &= image[k] == k / n * 100 + i + place(i, k % n);
        CHECK(good, "type %d, %d ints, form %d: wrong data", i, n, form);
    }
    CHECK(test_rss_kib() < rss + 512, "resident memory grew from %ld KiB to %ld KiB", rss, test_rss_kib());
}

/* Persistent requests that come and go leave nothing behind. (Open MPI's own do.) */
static void many(void)
{
    MPI_Request request;
    uint64_t shm = 0;
    long rss = 0;

    for (int i = 0; i < 600; i++) {
        if (i == 200) {
            rss = test_rss_kib();
            shm = test_counter("chunk_bytes");
        }
        begin(i % MANY, PERSISTENT, MPI_COMM_WORLD, MPI_INT, MPI_SUM, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    CHECK(test_rss_kib() < rss + 1024, "resident memory grew from %ld KiB to %ld KiB", rss, test_rss_kib());
    CHECK(test_counter("chunk_bytes") == shm, "shared memory grew from %llu to %llu bytes", (unsigned long long) shm,
          (unsigned long long) test_counter("chunk_bytes"));
}

/* Where the GPU has both buffers, by its kernel. */
static void local(int device)
{
    uint64_t kernels = test_counter("native_gpu");

    load(0, 1);
    load(1, 2);
    MPI_Reduce_local(send[0], send[1], N, MPI_INT, MPI_SUM);
    CHECK(test_counter("native_gpu") == kernels + (uint64_t) device, "not by the GPU, or by it");
    test_copy(image, send[1], N * sizeof(int));
    for (int i = 0; i < N; i++) {
        if (image[i] == 2 * (test_rank * 100 + i) + 3) continue;
        CHECK(0, "MPI_Reduce_local: element %d is %d", i, image[i]);
        return;
    }
}

/* Zero rows: no buffer, and counts of 0 all over. */
static void nothing(void)
{
    int zero[MOST] = {0};
    MPI_Datatype types[MOST];

    for (int i = 0; i < MOST; i++) types[i] = MPI_INT;
    MPI_Alltoallv(NULL, zero, zero, MPI_INT, NULL, zero, zero, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallw(NULL, zero, zero, types, NULL, zero, zero, types, MPI_COMM_WORLD);
    MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zero, zero, MPI_INT, MPI_COMM_WORLD);
    MPI_Gatherv(NULL, 0, MPI_INT, NULL, zero, zero, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* In MPI_Finalize, where nothing can be checked any more but by the exit status. */
static int last_words(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int rank, size, sum = 0;

    (void) keyval;
    (void) value;
    (void) extra;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2) _Exit(3);
    MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
    if (rank == 0) printf("last words\n");
    fflush(stdout);
    return MPI_SUCCESS;
}

/* argv: h or d for send and receive buffers of even ranks, then of odd ranks; "scarce": memory for a few persistent
 * requests only. */
int main(int argc, char **argv)
{
    const char *kind;
    int keyval, one = 1, sum;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    kind = argv[1 + test_rank % 2];
    for (int k = 0; k < MANY; k++) {
        send[k] = test_alloc(N * sizeof(int), kind[0] == 'd');
        recv[k] = test_alloc(N * sizeof(int) * MOST, kind[1] == 'd');
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    any_order();
    if (argc > 3) return test_end();
    backward();
    freed(NONBLOCKING, strchr(argv[1], 'd') && strchr(argv[2], 'd'));
    freed(PERSISTENT, strchr(argv[1], 'd') && strchr(argv[2], 'd'));
    columns(NONBLOCKING, 0);
    columns(PERSISTENT, 0);
    columns(NONBLOCKING, 1);
    other_types();
    local(kind[0] == 'd' && getenv("FAKE_KERNELS") && atoi(getenv("FAKE_KERNELS")));
    nothing();
    if (test_counter("posts")) many();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_words, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    return test_end();
}
