/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators: thousands that come and go without growth, splits, one rank, two groups, processes spawned later. */
#include "test/mpi/mpi_test.h"

#include <stdlib.h>
#include <string.h>

#define COUNT 1000

static int in[COUNT], out[COUNT];

/* Sum over the ranks of comm (or of its remote group), blocking and not. */
static void sums(MPI_Comm comm, int rank, int expect0, int members, const char *what)
{
    MPI_Request req;

    for (int way = 0; way < 2; way++) {
        for (int i = 0; i < COUNT; i++) in[i] = rank + i;
        memset(out, -1, sizeof(out));
        if (way) {
            MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm, &req);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
        } else {
            MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
        }
        for (int i = 0; i < COUNT; i++) {
            if (out[i] == expect0 + members * i) continue;
            CHECK(0, "%s, way %d: element %d is %d, not %d", what, way, i, out[i], expect0 + members * i);
            break;
        }
    }
}

static void intra(MPI_Comm comm, const char *what)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    sums(comm, rank, size * (size - 1) / 2, size, what);
}

static void come_and_go(int n)
{
    long rss = 0, late;
    int fds = 0;
    uint64_t shm = 0;

    for (int i = 0; i < n; i++) {
        MPI_Comm dup;
        if (i == n / 2) {
            rss = test_rss_kib();
            fds = test_descriptors();
            shm = test_counter("chunk_bytes");
        }
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        if (i % 2) intra(dup, "dup");
        MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, dup);
        MPI_Comm_free(&dup);
    }
    late = test_rss_kib();
    /* Open MPI 5.0 and 6.0 grow by a megabyte and a half, once, over some hundred communicators. */
    CHECK(late < rss + (OMPI_MAJOR_VERSION < 5 ? 1024 : 2048), "resident memory grew from %ld KiB to %ld KiB",
          rss, late);
    CHECK(test_descriptors() <= fds, "descriptors grew from %d to %d", fds, test_descriptors());
    CHECK(test_counter("chunk_bytes") == shm, "shared memory grew from %llu to %llu bytes", (unsigned long long) shm,
          (unsigned long long) test_counter("chunk_bytes"));
}

/* So many at once: one worker, a connection to each neighbour, a registration for each chunk of memory, as after the
 * first of them; and the same once more when all have gone and come again. */
static void at_once(int n)
{
    MPI_Comm *dup = malloc((size_t) n * sizeof(*dup));
    uint64_t connections = 0, registrations = 0;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) {
            MPI_Comm_dup(MPI_COMM_WORLD, &dup[i]);
            MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, dup[i]);
            if (i == 0 && round == 0) connections = test_counter("connections");
        }
        for (int i = 0; i < n; i += n / 50 + 1) intra(dup[i], "one of many");
        CHECK(test_counter("workers") == 1, "%llu workers", (unsigned long long) test_counter("workers"));
        CHECK(connections > 0 && test_counter("connections") == connections, "%llu connections instead of %llu",
              (unsigned long long) test_counter("connections"), (unsigned long long) connections);
        CHECK(test_counter("registrations") <= test_counter("chunks"), "%llu registrations of %llu chunks",
              (unsigned long long) test_counter("registrations"), (unsigned long long) test_counter("chunks"));
        CHECK(round == 0 || test_counter("registrations") == registrations, "registrations grew from %llu to %llu",
              (unsigned long long) registrations, (unsigned long long) test_counter("registrations"));
        registrations = test_counter("registrations");
        for (int i = 0; i < n; i++) MPI_Comm_free(&dup[i]);
    }
    CHECK(test_counter("links") >= (uint64_t) n, "%llu links: the calls were not native",
          (unsigned long long) test_counter("links"));
    if (test_rank == 0)
        printf("%d communicators: %llu workers, %llu connections, %llu registrations\n", n,
               (unsigned long long) test_counter("workers"), (unsigned long long) connections,
               (unsigned long long) registrations);
    free(dup);
}

static void split(void)
{
    MPI_Comm half, again;

    MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, -test_rank, &half);
    intra(half, "split");
    MPI_Comm_dup(half, &again);
    MPI_Comm_free(&half);
    intra(again, "dup of split");
    MPI_Comm_free(&again);
    intra(MPI_COMM_SELF, "self");
}

static void between_groups(void)
{
    MPI_Comm half, inter, all;
    int color = test_rank % 2, local, evens = (test_size + 1) / 2, odds = test_size / 2, remote = color ? evens : odds;

    if (test_size < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, color, test_rank, &half);
    MPI_Comm_rank(half, &local);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !color, 5, &inter);
    sums(inter, local, remote * (remote - 1) / 2, remote, "between groups");
    MPI_Intercomm_merge(inter, color, &all);
    intra(all, "merged");
    MPI_Comm_free(&all);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Parents and children in one communicator: other jobs, whose ranks have the same numbers in MPI_COMM_WORLD. */
static void with_relatives(MPI_Comm inter, int high)
{
    MPI_Comm all;
    uint64_t posts;
    int local, remote;

    MPI_Comm_rank(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    sums(inter, local, remote * (remote - 1) / 2, remote, "spawn's intercommunicator");
    MPI_Intercomm_merge(inter, high, &all);
    posts = test_counter("posts");
    intra(all, "parents and children");
    CHECK(test_counter("posts") == posts + 2, "not native with spawned processes");
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

/* Made by its members alone, while the others do something else. */
static void create_group(void)
{
    MPI_Group world, most;
    MPI_Comm comm;
    int last = test_size - 1;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, test_size > 1, &last, &most);
    if (test_rank < last || test_size == 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, most, 3, &comm);
        intra(comm, "create_group");
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&most);
    MPI_Group_free(&world);
    intra(MPI_COMM_WORLD, "world after create_group");
}

static void idup(void)
{
    MPI_Comm comm;
    MPI_Request req;

    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &req);
    intra(MPI_COMM_WORLD, "world beside idup");
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    intra(comm, "idup");
    MPI_Comm_free(&comm);
}

static void spawn(char *program)
{
    MPI_Comm inter;
    char *args[] = {"child", NULL};

    MPI_Comm_spawn(program, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    with_relatives(inter, 0);
}

/* argv: how many communicators; "spawn" to spawn, "at_once" for so many at once and nothing else. */
int main(int argc, char **argv)
{
    MPI_Comm parent;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        with_relatives(parent, 1);
        return test_end();
    }
    if (argc > 2 && !strcmp(argv[2], "at_once")) {
        at_once(atoi(argv[1]));
        return test_end();
    }
    intra(MPI_COMM_WORLD, "world");
    split();
    create_group();
    idup();
    between_groups();
    come_and_go(atoi(argv[1]));
    if (argc > 2) spawn(argv[0]);
    CHECK(test_counter("posts") > 0, "calls were not native");
    return test_end();
}
