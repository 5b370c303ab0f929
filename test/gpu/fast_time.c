/* SPDX-License-Identifier: BSD-3-Clause
 * Times of the fast executor, as osu_allreduce measures: a barrier, then one call on every rank; mean over calls and
 * ranks, and rank 0's median. usage: fast_time [RANKS [MAX_MIB [BLOCKS]]] */
#include "test/gpu/fast_world.h"

#include "core/status.h"
#include "plan/choose.h"

#include <stdio.h>
#include <stdlib.h>

static int max_mib = 1024, blocks, inplace;

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return x < y ? -1 : x > y;
}

struct times {
    double mean, median;
};

static struct times measure(struct fw *w, const struct fw_case *c, int calls)
{
    static double t[2000];
    int warm = calls / 10 + 3;
    double sum = 0;

    for (int i = -warm; i < calls; i++) {
        fw_barrier(w);
        double start = fw_us();
        int rc = fw_wait(w, fw_post(w, c));
        double took = fw_us() - start;
        if (rc != CG_OK) fw_check(w, 0, "an operation failed");
        if (i >= 0) sum += t[i] = took;
    }
    fw_barrier(w);
    qsort(t, (size_t) calls, sizeof *t, compare);
    return (struct times){fw_mean(w, sum / calls), t[calls / 2]};
}

static void row(struct fw *w, int protocol, uint64_t bytes, uint32_t shift)
{
    const struct cg_row usual = {.protocol = protocol};
    struct fw_case c = {.protocol = protocol, .type = CG_TYPE_F32, .count = bytes / 4, .shift_in = shift,
                        .shift_out = shift, .seed = bytes, .inplace = inplace,
                        .blocks = blocks ? blocks : cg_choose_blocks(&usual, bytes)};
    static const char *const names[] = {"LL", "LL128", "TWO_SHOT", "COPY", "LEAD"};
    int calls = bytes <= 1 << 20 ? 1000 : bytes <= 32 << 20 ? 200 : 20;
    struct times soon, launched;

    if (bytes > cg_fast_window_max(w->window[0], CG_COLL_ALLREDUCE, protocol)) return;
    fw_do(w, &c);
    launched = measure(w, &c, calls);
    c.soon = 1;
    soon = protocol >= CG_FAST_TWO_SHOT ? launched : measure(w, &c, calls);
    if (w->rank) return;
    printf("%-8s %-8s %10llu B shift %u%s | launched %8.2f mean %8.2f median | lingering %8.2f mean %8.2f median | "
           "%.1f GB/s\n",
           names[protocol], names[w->took], (unsigned long long) bytes, shift, inplace ? " in place" : "",
           launched.mean, launched.median, soon.mean, soon.median, (double) bytes / soon.median / 1e3);
}

static void body(struct fw *w)
{
    static const uint64_t small[] = {8, 128, 1024, 4096, 16384, 32768};

    for (int i = 0; i < 6; i++) row(w, CG_FAST_LL, small[i], 0);
    for (uint64_t b = 8192; b <= 8 << 20; b *= 2) row(w, CG_FAST_LL128, b, 0);
    for (uint64_t b = 4 << 20; b <= (uint64_t) max_mib << 20; b *= 2) row(w, CG_FAST_TWO_SHOT, b, 0);
    for (uint64_t b = 4 << 20; b <= (uint64_t) max_mib << 20; b *= 2) row(w, CG_FAST_COPY, b, 0);
    inplace = 1;
    for (uint64_t b = 16 << 20; b <= (uint64_t) max_mib << 20; b *= 2) row(w, CG_FAST_COPY, b, 0);
    for (uint64_t b = 16 << 20; b <= (uint64_t) max_mib << 20; b *= 8) row(w, CG_FAST_TWO_SHOT, b, 0);
    inplace = 0;
    row(w, CG_FAST_COPY, 32 << 20, 4);
    row(w, CG_FAST_LL128, 65536, 4);
    row(w, CG_FAST_LL128, 1 << 20, 4);
    row(w, CG_FAST_LL128, 8 << 20, 4);
    row(w, CG_FAST_TWO_SHOT, 32 << 20, 4);
    if (max_mib >= 128) row(w, CG_FAST_TWO_SHOT, 128 << 20, 4);
}

int main(int argc, char **argv)
{
    struct cg_params params;
    int ranks = argc > 1 ? atoi(argv[1]) : 2;

    if (argc > 2) max_mib = atoi(argv[2]);
    if (argc > 3) blocks = atoi(argv[3]);
    if (ranks < 2 || ranks > CG_FAST_RANKS) return 2;
    cg_params_default(&params);
    return fw_run("fast_time", ranks, (size_t) (max_mib > 32 ? max_mib : 32) << 20, &params, body);
}
