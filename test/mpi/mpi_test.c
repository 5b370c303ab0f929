/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/mpi/mpi_test.h"

#include "test/mpi/fake_memory.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int test_rank, test_size;
static int failures;
static MPI_T_pvar_session session;
static struct {
    const char *name;
    MPI_T_pvar_handle handle;
} counters[] = {{"posts", NULL}, {"native_host", NULL}, {"native_gpu", NULL}, {"bounced", NULL}, {"setups", NULL},
                {"packed", NULL}, {"setup_failures", NULL}, {"errors", NULL},      {"staged", NULL},  {"passed", NULL},
                {"links", NULL},          {"tenants", NULL},     {"messages", NULL}, {"chunk_bytes", NULL},
                {"chunks", NULL},         {"workers", NULL},     {"connections", NULL}, {"registrations", NULL}};
#define COUNTERS ((int) (sizeof(counters) / sizeof(counters[0])))

static void open_counters(int thread_level)
{
    char full[64];
    int index, count, provided;

    MPI_T_init_thread(thread_level, &provided);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < COUNTERS; i++) {
        snprintf(full, sizeof(full), "coll_gpu_%s", counters[i].name);
        if (MPI_T_pvar_get_index(full, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) continue;
        MPI_T_pvar_handle_alloc(session, index, NULL, &counters[i].handle, &count);
    }
}

void test_init(int *argc, char ***argv, int thread_level)
{
    int provided;

    MPI_Init_thread(argc, argv, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    CHECK(provided >= thread_level, "MPI provides thread level %d only", provided);
    open_counters(thread_level);
}

int test_end(void)
{
    int all = failures, theirs;

    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    /* not by a collective, which is what may be broken */
    if (test_rank) MPI_Send(&failures, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int r = 1; r < test_size && test_rank == 0; r++) {
        MPI_Recv(&theirs, 1, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all += theirs;
    }
    if (test_rank == 0) printf("%d failed checks on %d ranks\n", all, test_size);
    MPI_Finalize();
    return failures != 0;
}

uint64_t test_counter(const char *name)
{
    unsigned long long value = 0;
    int i = 0;

    while (i < COUNTERS && strcmp(counters[i].name, name)) i++;
    CHECK(i < COUNTERS, "%s is missing in the list of counters", name);
    if (i < COUNTERS && counters[i].handle) MPI_T_pvar_read(session, counters[i].handle, &value);
    return value;
}

long test_rss_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof(line), f)) sscanf(line, "VmRSS: %ld", &kib);
    if (f) fclose(f);
    return kib;
}

int test_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir && readdir(dir)) n++;
    if (dir) closedir(dir);
    return n;
}

void *test_alloc(size_t bytes, int device)
{
    static uint64_t next = FAKE_BASE;
    void *p;

    if (!device) return calloc(1, bytes + 1);
    p = fake_map(&next, bytes);
    CHECK(p != NULL, "no address space for the fake GPU");
    return p;
}

void test_copy(void *dst, const void *src, size_t bytes) { fake_copy(dst, src, bytes); }

void test_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    if (++failures > 10) return;
    va_start(ap, fmt);
    fprintf(stderr, "rank %d: %s:%d: ", test_rank, file, line);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
}
