/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective in every form, over types with and without gaps, of every type with every operation, in place and
 * not, with every root, in every mixture of memory, against what its definition says: all of it, or cases drawn.
 * What is insignificant is poisoned; guards, gaps, what is not received and the send buffer must survive. */
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

/* ---- areas ---- */

static void allocate(struct area *a, size_t bytes)
{
    for (int k = 0; every_kinds[k]; k++) {
        a->room[k] = bytes;
        a->at[k] = every_alloc(&a->room[k], every_kinds[k], &a->guarded[k]);
    }
    a->image = malloc(bytes);
    a->seen = malloc(bytes);
}

void every_areas(struct area *send, struct area *recv, size_t bytes)
{
    allocate(send, bytes + 2 * GUARD);
    allocate(recv, bytes + 2 * GUARD);
}

void every_begin(struct area *a, size_t used, char kind, int at_end)
{
    int k = (int) (strchr(every_kinds, kind) - every_kinds), last = at_end && a->guarded[k];

    a->used = GUARD + used + (last ? 0 : GUARD);
    a->user = a->at[k] + (last ? a->room[k] - a->used : 0);
    memset(a->image, 0xa5, a->used);
}

void every_load(struct area *a) { every_copy(a->user, a->image, a->used); }

void every_run(const struct call *c, enum form form, struct area *recv, const char *(*what)(void))
{
    MPI_Request request;
    int rc = every_issue(c, form, &request);

    CHECK(rc == MPI_SUCCESS, "code %d of %s", rc, what());
    for (int round = 0; round < (form == PERSISTENT ? 2 : 1) && form != BLOCKING; round++) {
        if (round) every_load(recv);
        if (form == PERSISTENT) MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (form == PERSISTENT) MPI_Request_free(&request);
}

char *every_look(struct area *a)
{
    every_copy(a->seen, a->user, a->used);
    return a->seen + GUARD;
}

int every_same(struct area *a, size_t from, size_t to)
{
    return !memcmp(a->seen, a->image, GUARD + from) &&
           !memcmp(a->seen + GUARD + to, a->image + GUARD + to, a->used - GUARD - to);
}

/* ---- sizes, mixtures, drawing ---- */

size_t every_count(const struct size *size, size_t unit)
{
    ptrdiff_t n = (ptrdiff_t) (size->bytes / unit) + size->count;

    return n > 0 ? (size_t) n : 0;
}

size_t every_most(const struct sweep *s, size_t smallest, size_t largest)
{
    size_t most = 0;

    for (int i = 0; i < s->nsizes; i++) {
        for (size_t unit = smallest; unit <= largest; unit *= 2) {
            size_t bytes = every_count(&s->size[i], unit) * unit;
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

/* "300": so many; "256B": so many bytes, one element less, one more. */
static void add_sizes(struct sweep *s, const char *text)
{
    char *end;
    size_t n = strtoull(text, &end, 0);

    if (*end != 'B') {
        s->size[s->nsizes++] = (struct size){(ptrdiff_t) n, 0};
        return;
    }
    for (int d = -1; d <= 1; d++) s->size[s->nsizes++] = (struct size){d, n};
}

int every_mixtures(const struct sweep *s)
{
    int kinds = (int) strlen(every_kinds);

    return s->kinds ? 1 : kinds > 1 ? 2 * kinds * kinds : 1;
}

/* In the second half odd ranks have it the other way round. */
void every_mixture(const struct sweep *s, int mixture, char kind[2])
{
    int kinds = (int) strlen(every_kinds), swap = mixture >= kinds * kinds && test_rank % 2;

    for (int d = 0; d < 2; d++) {
        int k = d != swap ? mixture / kinds % kinds : mixture % kinds;
        kind[d] = s->kinds ? s->kinds[d] : every_kinds[k];
    }
}

int every_drawn(struct sweep *s)
{
    uint64_t x = s->seed + ++s->total * UINT64_C(0x9e3779b97f4a7c15);

    if (s->counting) return 0;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    if ((x ^ x >> 31) >> 32 >= s->chance) return 0;
    s->cases++;
    return 1;
}

void every_trace(const char *what)
{
    if (getenv("TRACE")) fprintf(stderr, "rank %d: %s\n", test_rank, what);
}

/* ---- all of it ---- */

/* The fake GPU has an executor: types with gaps are packed there. */
static int kernels(void)
{
    const char *env = getenv("FAKE_KERNELS");

    return env && strcmp(env, "0");
}

static void check_counters(const struct sweep *s)
{
    int device = s->kinds && !strcmp(s->kinds, "dd");

    CHECK(!kernels() || s->staged || !device || test_counter("packed") > s->posts / 10,
          "a GPU packed for %llu of %llu calls only", (unsigned long long) test_counter("packed"),
          (unsigned long long) s->posts);
    CHECK(!kernels() || !device || test_counter("bounced") == 0, "host copies of device buffers");
    CHECK(!s->staged || test_counter("staged") > 0 || !device, "no call was staged");
}

static void all(struct sweep *s)
{
    struct world w;

    s->total = 0;
    every_one_group(&w);
    every_move(s, &w);
    every_graph(&w);
    every_move(s, &w);
    MPI_Comm_free(&w.comm);
    if (!s->staged || test_size > 2) { /* Open MPI's own nonblocking ones mix up two edges between two ranks */
        every_ring(&w);
        every_move(s, &w);
        MPI_Comm_free(&w.comm);
    }
    if (!s->counting) check_counters(s);
    every_one_group(&w);
    every_reduce(s, &w);
    if (test_size == 1) return;
    every_two_groups(&w);
    every_move(s, &w);
    every_reduce(s, &w);
    MPI_Comm_free(&w.comm);
}

static const char *served(const unsigned char seen[2])
{
    return seen[0] && seen[1] ? "both" : seen[0] ? "staged" : seen[1] ? "native" : "-";
}

/* Lines for test/mpi/readme.sh. */
static void print_served(const struct sweep *s)
{
    for (int c = 0; c < EVERY_COUNT; c++) {
        printf("served %s %s %s %s\n", every_name[c], served(s->served[c][BLOCKING]), served(s->served[c][NONBLOCKING]),
               served(s->served[c][PERSISTENT]));
    }
}

/* argv: h or d for send and receive buffers of even ranks, then of odd ranks, or "all all": every mixture of memory,
 * and all types; native or staged; sizes (add_sizes). Of "all" so many cases as SAMPLE says, drawn by SEED. */
int main(int argc, char **argv)
{
    static struct sweep s;
    const char *sample = getenv("SAMPLE"), *seed = getenv("SEED");
    int rc;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    rc = every_memory_open();
    if (rc) return MPI_Finalize(), rc;
    s.kinds = strcmp(argv[1], "all") ? argv[1 + test_rank % 2] : NULL;
    s.staged = !strcmp(argv[3], "staged");
    s.roots = test_size < 3 ? test_size : 3;
    for (int i = 4; i < argc && s.nsizes < 20; i++) add_sizes(&s, argv[i]);
    s.seed = seed ? strtoull(seed, NULL, 0) : 1;
    s.chance = UINT64_C(1) << 32;
    if (sample && strcmp(sample, "all")) {
        s.counting = 1;
        all(&s);
        s.counting = 0;
        if (s.total > strtoull(sample, NULL, 0)) s.chance = strtoull(sample, NULL, 0) * s.chance / s.total;
    }
    all(&s);
    if (test_rank == 0) {
        printf("%llu of %llu cases, seed %llu\n", (unsigned long long) s.cases, (unsigned long long) s.total,
               (unsigned long long) s.seed);
        print_served(&s);
    }
    return test_end();
}
