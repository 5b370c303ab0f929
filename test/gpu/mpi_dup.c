/* SPDX-License-Identifier: BSD-3-Clause
 * 2,000 times MPI_Comm_dup, MPI_Allreduce on device memory, MPI_Comm_free: host memory, GPU memory, descriptors and the
 * windows of coll/gpu stay flat. Measured between the 500th and the last time, when every pool has its size. */
#include "test/gpu/gpu_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct usage {
    long rss_kb, fds;
    long long gpu_free;
    uint64_t chunks, links, descriptors;
};

static long resident_kb(void)
{
    long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL) return 0;
    if (fscanf(f, "%ld %ld", &size, &pages) != 2) pages = 0;
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    long n = 0;

    if (d == NULL) return 0;
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

static void measure(const struct cgt *t, struct usage *u)
{
    MPI_Barrier(MPI_COMM_WORLD); /* both processes of a GPU see the same free memory */
    u->rss_kb = resident_kb();
    u->fds = descriptors();
    u->gpu_free = t->host_only ? 0 : (long long) cg_buf_gpu_free();
    u->chunks = cg_watch_read(t->watch, "chunks");
    u->links = cg_watch_read(t->watch, "links");
    u->descriptors = cg_watch_read(t->watch, "descriptors");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void once(struct cgt *t, struct cg_buf *send, struct cg_buf *recv, const struct cg_data_type *type, int i)
{
    const struct cg_data_op *sum = cg_data_op_find("sum");
    size_t count = i % 2 ? 16 : 20000; /* both plans */
    uint64_t wrong;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    cgt_fill(send, 0, type, sum, count, (uint64_t) i, t->rank);
    MPI_Allreduce(send->p, recv->p, (int) count, type->mpi, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    wrong = cgt_wrong(recv, 0, type, sum, count, (uint64_t) i, t->size);
    cgt_check(t, wrong == 0, "%llu of %zu wrong on communicator %d", (unsigned long long) wrong, count, i);
}

/* Allowed growth: Open MPI 4.1 itself keeps some bytes for each communicator that ever was, hence 1 KiB each. */
static void compare(struct cgt *t, const struct usage *a, const struct usage *b, int times)
{
    cgt_check(t, b->rss_kb - a->rss_kb <= times + 1024, "host memory grew by %ld KiB", b->rss_kb - a->rss_kb);
    cgt_check(t, b->fds <= a->fds, "descriptors: %ld, then %ld", a->fds, b->fds);
    cgt_check(t, a->gpu_free - b->gpu_free <= 2 << 20, "GPU memory grew by %lld bytes", a->gpu_free - b->gpu_free);
    cgt_check(t, b->chunks <= a->chunks, "chunks of shared memory: %llu, then %llu", (unsigned long long) a->chunks,
              (unsigned long long) b->chunks);
    cgt_check(t, b->links <= a->links, "links: %llu, then %llu", (unsigned long long) a->links,
              (unsigned long long) b->links);
    cgt_check(t, b->descriptors <= a->descriptors, "descriptors of links: %llu, then %llu",
              (unsigned long long) a->descriptors, (unsigned long long) b->descriptors);
    if (t->rank != 0) return;
    printf("from the %d communicators: host memory %+ld KiB, GPU memory %+lld bytes, descriptors %+ld, links %llu\n",
           times, b->rss_kb - a->rss_kb, a->gpu_free - b->gpu_free, b->fds - a->fds, (unsigned long long) b->links);
}

int main(int argc, char **argv)
{
    struct cgt t;
    struct cg_buf send, recv;
    struct usage early, late;
    int times, rc = cgt_open(&t, "mpi_dup", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    times = argc > 1 ? atoi(argv[1]) : 2000;
    cgt_alloc(&t, &send, CG_BUF_DEVICE, 20000 * 4);
    cgt_alloc(&t, &recv, CG_BUF_DEVICE, 20000 * 4);
    for (int i = 0; i < times; i++) {
        if (i == times / 4) measure(&t, &early);
        once(&t, &send, &recv, cg_data_type_find("int32"), i);
    }
    measure(&t, &late);
    compare(&t, &early, &late, times - times / 4);
    cg_buf_free(&send);
    cg_buf_free(&recv);
    cgt_check_gpu(&t);
    return cgt_close(&t);
}
