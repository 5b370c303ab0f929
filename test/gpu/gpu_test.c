/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/gpu/gpu_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0, or 1 on every rank if it failed on any. Not through the calls under test. */
static int any_failed(const struct cgt *t, int failed)
{
    int all[t->size];

    MPI_Allgather(&failed, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < t->size; r++) failed |= all[r];
    return failed;
}

static int skip(const struct cgt *t, const char *why)
{
    if (t->rank == 0) printf("%s: skipped, %s\n", t->name, why);
    MPI_Finalize();
    return 77;
}

static int local_rank(void)
{
    MPI_Comm local;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &rank);
    MPI_Comm_free(&local);
    return rank;
}

int cgt_open(struct cgt *t, const char *name, int *argc, char ***argv, int thread_level)
{
    const char *host = getenv("CG_TEST_HOST");
    int provided;

    *t = (struct cgt){.name = name, .random = 1, .host_only = host != NULL && strcmp(host, "1") == 0};
    MPI_Init_thread(argc, argv, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t->size);
    if (provided < thread_level) return skip(t, "this MPI lacks the thread level");
    if (!t->host_only && any_failed(t, cg_buf_select_gpu(local_rank()) != 0)) return skip(t, "no GPU for every rank");
    t->watch = cg_watch_open();
    return 0;
}

int cgt_close(struct cgt *t)
{
    uint64_t mine[2] = {t->checks, t->failed}, all[2 * t->size], checks = 0, failed = 0;
    char exec[32];
    int bits = 0;

    MPI_Allgather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < t->size; r++) checks += all[2 * r], failed += all[2 * r + 1];
    if (t->watch != NULL) bits = cg_watch_since(t->watch, &(struct cg_watch_mark){0});
    if (checks == 0) failed = 1;
    if (t->rank == 0) {
        printf("%s: %s, %llu of %llu checks failed, %d ranks, rank 0 was served by %s\n", t->name,
               failed ? "FAILED" : "ok", (unsigned long long) failed, (unsigned long long) checks, t->size,
               cg_watch_executor(bits, exec, sizeof(exec)));
    }
    cg_watch_close(t->watch);
    MPI_Finalize();
    return failed != 0;
}

int cgt_check(struct cgt *t, int ok, const char *fmt, ...)
{
    char text[512];
    va_list args;

    t->checks++;
    if (ok) return 1;
    if (t->failed++ >= 10) return 0;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "%s: rank %d: %s\n", t->name, t->rank, text);
    return 0;
}

void cgt_check_gpu(struct cgt *t)
{
    uint64_t served = cg_watch_read(t->watch, "native_gpu") + cg_watch_read(t->watch, "native_fast");

    if (!t->host_only) cgt_check(t, served > 0, "no call was served by a kernel of coll/gpu");
}

uint32_t cgt_draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) ((*state >> 33) % n);
}

uint32_t cgt_random(struct cgt *t, uint32_t n) { return cgt_draw(&t->random, n); }

void cgt_alloc(struct cgt *t, struct cg_buf *b, int kind, size_t bytes)
{
    if (cg_buf_alloc(b, t->host_only ? CG_BUF_HOST : kind, bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
}

static char *scratch(size_t bytes)
{
    char *p = malloc(bytes > 0 ? bytes : 1);

    if (p == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

void cgt_fill(const struct cg_buf *b, size_t at, const struct cg_data_type *type, const struct cg_data_op *op,
              size_t count, uint64_t seed, int rank)
{
    size_t bytes = count * (size_t) type->size;
    char *p = scratch(bytes);

    cg_data_fill(p, type, op, count, seed, rank);
    cg_buf_write(b, at, p, bytes);
    free(p);
}

uint64_t cgt_wrong(const struct cg_buf *b, size_t at, const struct cg_data_type *type, const struct cg_data_op *op,
                   size_t count, uint64_t seed, int nranks)
{
    size_t bytes = count * (size_t) type->size;
    char *p = scratch(bytes);
    uint64_t wrong;

    cg_buf_read(b, at, p, bytes);
    wrong = cg_data_check(p, type, op, count, seed, nranks);
    free(p);
    return wrong;
}

uint64_t cgt_hash(const struct cg_buf *b, size_t at, size_t bytes)
{
    char *p = scratch(bytes);
    uint64_t hash;

    cg_buf_read(b, at, p, bytes);
    hash = cg_data_hash(p, bytes);
    free(p);
    return hash;
}

int cgt_poke(MPI_Request *req, double seconds)
{
    double end = MPI_Wtime() + seconds;
    int flag;

    do {
        MPI_Test(req, &flag, MPI_STATUS_IGNORE);
    } while (!flag && MPI_Wtime() < end);
    return flag;
}
