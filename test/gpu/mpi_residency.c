/* SPDX-License-Identifier: BSD-3-Clause
 * One thread runs collectives in a loop, another sits in cudaDeviceSynchronize: it must keep returning, and no kernel
 * of coll/gpu may stay on the GPU longer than set, measured by the kernel itself (coll_gpu_longest_ns). */
#include "test/gpu/gpu_test.h"
#include "test/gpu/spin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Beyond the age limit a launch finishes what it has: at most one operation that keeps moving, then the spin budget
 * after its last progress. SLACK_US is for the operation: 1 MiB over shared host memory takes some 100 us. */
#define SLACK_US 1000
#define SYNC_LIMIT 0.1 /* seconds in cudaDeviceSynchronize */

struct syncer {
    int device;
    atomic_int stop;
    long calls, failures;
    double longest;
};

static void *sync_thread(void *arg)
{
    struct syncer *y = arg;

    y->failures += cudaSetDevice(y->device) != cudaSuccess;
    while (!atomic_load(&y->stop)) {
        double start = MPI_Wtime(), took;
        y->failures += cudaDeviceSynchronize() != cudaSuccess;
        took = MPI_Wtime() - start;
        y->longest = took > y->longest ? took : y->longest;
        y->calls++;
    }
    return NULL;
}

/* Collectives until the time is over on rank 0, who tells the others through the result. */
static long loop(struct cgt *t, struct cg_buf *send, struct cg_buf *recv, double seconds)
{
    const struct cg_data_type *type = cg_data_type_find("int32");
    const struct cg_data_op *max = cg_data_op_find("max");
    double end = MPI_Wtime() + seconds;
    long calls = 0;
    int go = 1;

    while (go) {
        for (int i = 0; i < 200; i++, calls++) {
            size_t count = i % 10 == 9 ? 1 << 18 : 1u << (i % 10);
            MPI_Allreduce(send->p, recv->p, (int) count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        }
        go = MPI_Wtime() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    cgt_check(t, cgt_wrong(recv, 0, type, max, 1 << 18, 3, t->size) == 0, "wrong result after %ld calls", calls);
    return calls;
}

static void report(struct cgt *t, const struct syncer *y, long calls)
{
    double longest = (double) cg_watch_read(t->watch, "longest_ns") / 1000;
    long limit = cg_watch_param("age_us", 200) + cg_watch_param("spin_us", 50) + SLACK_US;

    cgt_check(t, y->failures == 0, "%ld failures of cudaDeviceSynchronize", y->failures);
    cgt_check(t, y->calls > 0 && y->longest < SYNC_LIMIT, "cudaDeviceSynchronize took %.0f us", y->longest * 1e6);
    cgt_check_gpu(t);
    cgt_check(t, longest > 0 && longest <= (double) limit, "a kernel stayed for %.0f us, limit %ld us", longest, limit);
    printf("rank %d: %ld collectives, %llu launches, longest residency %.0f us (limit %ld us); %ld times "
           "cudaDeviceSynchronize, at most %.0f us\n", t->rank, calls,
           (unsigned long long) cg_watch_read(t->watch, "launches"), longest, limit, y->calls, y->longest * 1e6);
}

int main(int argc, char **argv)
{
    struct cgt t;
    struct cg_buf send, recv;
    struct syncer y = {0};
    pthread_t thread;
    long calls;
    int rc = cgt_open(&t, "mpi_residency", &argc, &argv, MPI_THREAD_MULTIPLE);

    if (rc != 0) return rc;
    cgt_alloc(&t, &send, CG_BUF_DEVICE, 1 << 20);
    cgt_alloc(&t, &recv, CG_BUF_DEVICE, 1 << 20);
    cgt_fill(&send, 0, cg_data_type_find("int32"), cg_data_op_find("max"), 1 << 18, 3, t.rank);
    cudaGetDevice(&y.device);
    if (cgt_check(&t, pthread_create(&thread, NULL, sync_thread, &y) == 0, "no thread")) {
        calls = loop(&t, &send, &recv, argc > 1 ? atof(argv[1]) : 5);
        atomic_store(&y.stop, 1);
        pthread_join(thread, NULL);
        report(&t, &y, calls);
    }
    cg_buf_free(&send);
    cg_buf_free(&recv);
    return cgt_close(&t);
}
