/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor gives the right answer: every type, operation and protocol, sizes around all boundaries, any
 * alignment, in place, inputs changed by copies alone, ranks that are late, kernels that leave and come back.
 * usage: fast_check [RANKS [RANDOM_OPERATIONS]]
 * CG_FAST_ONLY: names of parts; CG_FAST_MOST: largest buffer in bytes */
#include "test/gpu/fast_world.h"

#include "core/status.h"
#include "kernels/host/host.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int random_ops = 20000, only = -1; /* only: one protocol, by its number (CG_FAST_PROTOCOL) */
static uint64_t largest = UINT64_MAX; /* bytes of a buffer; CG_FAST_MOST */

static uint64_t most(struct fw *w, const struct fw_case *c)
{
    int coll = c->coll ? c->coll : CG_COLL_ALLREDUCE;
    uint64_t max = cg_fast_window_max(w->window[c->window], coll, c->protocol), room = w->bytes;

    if (only >= 0 && c->protocol != only) return 0;
    if (room > largest) room = largest;
    if (fw_blocks_in(coll) || fw_blocks_out(coll)) room /= (uint64_t) w->size;
    if (max > room) max = room;
    return max / (uint64_t) cg_type_size(c->type);
}

static void every_type(struct fw *w)
{
    static const uint64_t counts[] = {1, 3, 61, 1025, 20011};
    struct fw_case c = {0};

    for (c.protocol = 0; c.protocol < CG_FAST_PROTOCOLS; c.protocol++) {
        for (c.type = 0; c.type < CG_TYPE_COUNT; c.type++) {
            for (c.redop = 0; c.redop < CG_REDOP_COUNT; c.redop++) {
                for (size_t i = 0; i < sizeof counts / sizeof *counts && cg_fast_knows(c.type, c.redop); i++) {
                    c.count = counts[i];
                    c.soon = (int) (i & 1);
                    c.seed++;
                    if (c.count <= most(w, &c)) fw_do(w, &c);
                }
            }
        }
    }
}

static int64_t used_since(struct fw *w, size_t before)
{
    size_t now = 0, total;

    fw_must(w, cudaMemGetInfo(&now, &total), "cudaMemGetInfo");
    return (int64_t) before - (int64_t) now;
}

#define SMALL 16 /* an even number, as two share a page */

/* Windows of further communicators take no more than 1 MiB each, apart from one another, and none when others went.
 * Alone: others of the same GPU wait. */
static void small_windows_alone(struct fw *w)
{
    struct cg_fast_window *window[SMALL];
    struct cg_fast_card card[SMALL];
    size_t before = 0, total;
    int64_t used;

    fw_must(w, cudaMemGetInfo(&before, &total), "cudaMemGetInfo");
    for (int turn = 0; turn < 3; turn++) {
        uint32_t ranks = turn == 1 ? CG_FAST_RANKS : (uint32_t) w->size;
        for (int i = 0; i < SMALL; i++) {
            fw_must(w, cg_fast_window_alloc(w->fast, ranks, 0, 0, &window[i], &card[i]), "cg_fast_window_alloc");
        }
        used = used_since(w, before);
        fw_check(w, used <= SMALL << 20, "%d small windows take %lld bytes", SMALL, (long long) used);
        for (int i = 0; i < SMALL; i++) {
            fw_check(w, card[i].offset + card[i].bytes <= 2 << 20, "a window ends beyond its page");
            for (int k = 0; k < i; k++) {
                uint64_t lower = card[i].address < card[k].address ? card[i].address : card[k].address;
                uint64_t upper = card[i].address ^ card[k].address ^ lower;
                fw_check(w, upper - lower >= card[i].bytes, "windows %d and %d overlap", k, i);
            }
        }
        for (int i = 0; i < SMALL; i++) cg_fast_window_free(window[i]);
    }
}

static void small_windows(struct fw *w)
{
    for (int r = 0; r < w->size; r++) {
        if (r == w->rank) small_windows_alone(w);
        fw_barrier(w);
    }
}

/* Around size, shifted and in place. */
static void around(struct fw *w, struct fw_case *c, uint64_t size)
{
    uint32_t esize = (uint32_t) cg_type_size(c->type);

    for (int k = -1; k <= 1; k++) {
        c->count = size / esize + (uint64_t) (int64_t) k;
        if (c->count == 0 || c->count > most(w, c)) continue;
        for (int way = 0; way < 4; way++) {
            c->shift_in = way == 1 || way == 3 ? esize : 0;
            c->shift_out = way == 2 ? esize : 0;
            c->inplace = way == 3;
            c->soon = way & 1;
            c->seed++;
            fw_do(w, c);
            fw_check(w, c->window || w->took == c->protocol, "protocol %d was not taken", c->protocol);
        }
    }
}

static void every_size(struct fw *w)
{
    static const int types[] = {CG_TYPE_F32, CG_TYPE_I8, CG_TYPE_F64, CG_TYPE_F16};
    struct fw_case c = {.seed = 1000000};

    for (int t = 0; t < 4; t++) {
        c.type = types[t];
        for (c.protocol = 0; c.protocol < CG_FAST_PROTOCOLS; c.protocol++) {
            for (c.window = 0; c.window < 2; c.window++) {
                uint64_t top = most(w, &c) * (uint64_t) cg_type_size(c.type);
                for (uint64_t size = 8; size <= top && size <= 4 << 20; size *= size < 65536 ? 2 : 8) {
                    around(w, &c, size);
                }
                for (uint64_t size = 120; size <= top && size <= 500000; size *= 8) around(w, &c, size);
                if (top <= 262144 || t == 0) around(w, &c, top);
            }
        }
    }
}

/* Every other collective, with each root, around sizes at which shapes change. */
static void every_collective(struct fw *w)
{
    static const int types[] = {CG_TYPE_F32, CG_TYPE_U8, CG_TYPE_BF16};
    struct fw_case c = {.seed = 8000000};

    for (c.coll = CG_COLL_BCAST; c.coll < CG_COLL_COUNT; c.coll++) {
        for (c.protocol = 0; c.protocol < CG_FAST_PROTOCOLS; c.protocol++) {
            for (int t = 0; t < (fw_reduces(c.coll) ? 3 : 2); t++) {
                c.type = types[t];
                for (c.window = 0; c.window < 2; c.window++) {
                    uint64_t top = most(w, &c) * (uint64_t) cg_type_size(c.type);
                    for (uint64_t size = 4; size <= top && size <= 2 << 20; size *= size < 16384 ? 4 : 16) {
                        c.root = (c.root + 1) % (uint32_t) w->size;
                        around(w, &c, size);
                    }
                    if (t == 0 || top <= 262144) around(w, &c, top);
                }
            }
        }
    }
}

/* No kernel of the application runs in between: a stale line of L1 would show. */
static void changing_inputs(struct fw *w)
{
    struct fw_case c = {.type = CG_TYPE_F32, .soon = 1};

    for (int i = 0; i < 200 * (CG_FAST_PROTOCOLS + 2); i++) {
        c.protocol = i / 200 % CG_FAST_PROTOCOLS;
        c.coll = i < 200 * CG_FAST_PROTOCOLS ? 0 : CG_COLL_ALLTOALL;
        if (most(w, &c) == 0) continue;
        c.count = cg_min_u64(i % 3 ? 8192 : 512, most(w, &c));
        c.seed = 2000000u + (uint64_t) i;
        fw_do(w, &c);
    }
}

static void draw(struct fw *w, struct fw_case *c)
{
    do {
        c->type = (int) fw_random(w, CG_TYPE_COUNT);
        c->redop = (int) fw_random(w, CG_REDOP_COUNT);
    } while (!cg_fast_knows(c->type, c->redop));
    c->window = (int) fw_random(w, FW_WINDOWS);
    c->root = fw_random(w, (uint32_t) w->size);
    do {
        c->coll = fw_random(w, 2) ? 0 : (int) fw_random(w, CG_COLL_COUNT);
        c->protocol = (int) fw_random(w, CG_FAST_PROTOCOLS);
    } while (most(w, c) == 0);
    c->count = 1 + fw_random(w, 1u << (2 + fw_random(w, 15)));
    if (c->count > most(w, c)) c->count = most(w, c);
    c->shift_in = (uint32_t) cg_type_size(c->type) * fw_random(w, 3);
    c->shift_out = (uint32_t) cg_type_size(c->type) * fw_random(w, 3);
    c->inplace = fw_random(w, 3) == 0;
    c->soon = fw_random(w, 2) == 0;
    c->blocks = fw_random(w, 4) == 0 ? 1 + (int) fw_random(w, 20) : 0;
    c->seed++;
}

/* late: one rank in so many operations comes late. */
static void random_operations(struct fw *w, int n, uint32_t late)
{
    struct fw_case c = {.seed = 3000000};

    for (int i = 0; i < n; i++) {
        uint32_t who, pause;
        draw(w, &c);
        if (c.count > 2048 && fw_random(w, 4)) c.count = 1 + fw_random(w, 2048); /* verifying takes the time */
        who = fw_random(w, (uint32_t) w->size);
        pause = fw_random(w, 400);
        fw_fill(w, &c);
        if (fw_random(w, late) == 0 && who == (uint32_t) w->rank) fw_pause(pause);
        int id = fw_post(w, &c);
        if (i % 16 == 0) fw_check(w, cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
        int rc = fw_wait(w, id);
        if (rc == CG_ERR_UNSUPPORTED && fw_may_refuse(w, &c)) continue;
        fw_check(w, rc == CG_OK, "a random operation");
        fw_verify(w, &c);
    }
}

/* A rank is very late: the others' kernels leave, and the application can synchronize. */
static void late_rank(struct fw *w)
{
    static const int colls[] = {CG_COLL_ALLREDUCE, CG_COLL_ALLREDUCE, CG_COLL_BCAST,
                                CG_COLL_ALLTOALL,  CG_COLL_REDUCE,    CG_COLL_REDUCE_SCATTER_BLOCK};
    struct fw_case c = {.type = CG_TYPE_F32, .seed = 4000000};

    for (int i = 0; i < 72; i++) {
        c.protocol = i % CG_FAST_PROTOCOLS;
        c.inplace = i & 1;
        c.coll = colls[i / 6 % 6];
        if (most(w, &c) == 0) continue;
        c.count = cg_min_u64(i % 12 < 6 ? 3000 : 400000, most(w, &c));
        c.soon = i % 4 == 0;
        c.seed++;
        fw_fill(w, &c);
        fw_barrier(w);
        if (w->rank == (i + i / 6) % w->size) fw_pause(20000);
        int id = fw_post(w, &c);
        double start = fw_us();
        fw_check(w, cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
        double took = fw_us() - start;
        fw_check(w, w->shares || took < 10000, "cudaDeviceSynchronize took %.0f us", took);
        int rc = fw_wait(w, id);
        if (rc == CG_ERR_UNSUPPORTED && fw_may_refuse(w, &c)) continue;
        fw_check(w, rc == CG_OK, "late operation");
        fw_verify(w, &c);
    }
}

/* Two windows, posted in opposite orders. The second has buffers of its own. */
static void crossed(struct fw *w)
{
    struct fw_case c = {.type = CG_TYPE_I32, .window = 1, .count = 4000, .seed = 5000000};
    struct fw other = *w;
    int id[2];

    other.src = w->src + w->bytes / 2;
    other.dst = w->dst + w->bytes / 2;
    for (int i = 0; i < 60; i++) {
        struct fw_case d = c;
        c.protocol = i % CG_FAST_PROTOCOLS;
        d.protocol = i / CG_FAST_PROTOCOLS % CG_FAST_PROTOCOLS;
        d.window = 2;
        c.count = cg_min_u64(4000, most(w, &c));
        d.count = cg_min_u64(4000, most(w, &d));
        c.seed++;
        d.seed += 77777;
        fw_fill(w, &c);
        fw_fill(&other, &d);
        int mine_first = w->rank & 1;
        id[0] = mine_first ? fw_post(w, &c) : fw_post(&other, &d);
        id[1] = mine_first ? fw_post(&other, &d) : fw_post(w, &c);
        fw_check(w, fw_wait(w, id[i & 1]) == CG_OK && fw_wait(w, id[!(i & 1)]) == CG_OK, "crossed operations");
        fw_verify(w, &c);
        fw_verify(&other, &d);
    }
    w->checks = other.checks + w->checks;
    w->failed += other.failed;
}

/* Announcements: awaited, and refused if one is of another kind. words[2 * i] posted, words[2 * i + 1] kind. */
static void announced(struct fw *w)
{
    struct fw_case c = {.type = CG_TYPE_U8, .redop = CG_REDOP_MAX, .window = 1, .count = 5000, .seed = 6000000};

    for (int i = 0; i < 40; i++) {
        struct cg_fast_op op = {.coll = CG_COLL_ALLREDUCE, .src = w->src, .dst = w->dst, .count = c.count,
                                .type = c.type, .redop = c.redop,
                                .esize = 1, .protocol = c.protocol = i % 3, .expect_soon = c.soon = i & 1,
                                .ncheck = w->size - 1, .kind_want = 4};
        int id, refused = i % 5 == 4;
        c.coll = op.coll = i % 4 < 2 || c.protocol == CG_FAST_TWO_SHOT ? CG_COLL_ALLREDUCE : CG_COLL_ALLTOALL;
        op.count = c.count = cg_min_u64(5000, most(w, &c));
        c.seed++;
        fw_fill(w, &c);
        for (int p = 0; p < op.ncheck; p++) {
            op.posted[p] = &w->words[2 * p];
            op.kind[p] = &w->words[2 * p + 1];
            op.want[p] = (uint64_t) i + 1;
            w->words[2 * p + 1] = 0xab00 + (refused ? 3 : 4);
        }
        fw_check(w, cg_fast_post(w->fast, w->window[1], &op, &id) == CG_OK, "post with checks");
        fw_pause(i % 3 * 30);
        fw_check(w, cg_fast_test(w->fast, id) == CG_AGAIN, "did not wait for the announcement");
        if (i % 7 == 6) {
            fw_pause(300);
            cg_fast_progress(w->fast);
        }
        for (int p = 0; p < op.ncheck; p++) __atomic_store_n(&w->words[2 * p], (uint64_t) i + 1, __ATOMIC_RELEASE);
        int rc = fw_wait(w, id);
        fw_check(w, rc == (refused ? CG_ERR_UNSUPPORTED : CG_OK), "announced operation %d: %s", i, cg_status_text(rc));
        if (!refused) fw_verify(w, &c);
        fw_barrier(w);
    }
}

/* The last rank never posts: the others give up. The window is not used again. */
static void cancelled(struct fw *w)
{
    struct fw_case c = {.type = CG_TYPE_F32, .window = 2, .count = 300, .seed = 7000000};
    double start = fw_us();

    fw_fill(w, &c);
    if (w->rank < w->size - 1) {
        int id = fw_post(w, &c);
        fw_pause(500);
        fw_check(w, cg_fast_test(w->fast, id) == CG_AGAIN, "ended without the last rank");
        cg_fast_cancel(w->fast, id);
    }
    while (cg_fast_busy(w->fast) && fw_us() - start < 1e6) cg_fast_progress(w->fast);
    fw_check(w, cg_fast_busy(w->fast) == 0, "still busy after cancelling");
    fw_barrier(w);
}

static void body(struct fw *w)
{
    static const struct {
        const char *name;
        void (*run)(struct fw *);
    } parts[] = {{"every_type", every_type}, {"every_size", every_size}, {"every_collective", every_collective},
                 {"small_windows", small_windows}, {"changing_inputs", changing_inputs},
                 {"late_rank", late_rank},   {"crossed", crossed},       {"announced", announced}};
    const char *part = getenv("CG_FAST_ONLY"), *protocol = getenv("CG_FAST_PROTOCOL");

    if (protocol) only = atoi(protocol);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double start = fw_us();
        if (part && !strstr(part, parts[i].name)) continue;
        parts[i].run(w);
        fw_barrier(w);
        if (w->rank == 0) printf("%s: %s %.1f s\n", w->name, parts[i].name, (fw_us() - start) / 1e6);
    }
    double start = fw_us();
    random_operations(w, random_ops, 20);
    if (w->rank == 0) printf("%s: %d random operations %.1f s\n", w->name, random_ops, (fw_us() - start) / 1e6);
    cancelled(w);
    struct cg_fast_counters n;
    cg_fast_get_counters(w->fast, &n);
    printf("%s: rank %d: %llu launches, %llu doorbells, %llu left unfinished, %llu done, longest %.0f us\n", w->name,
           w->rank, (unsigned long long) n.launches, (unsigned long long) n.doorbells,
           (unsigned long long) n.left_unfinished, (unsigned long long) n.done, (double) n.longest_ns / 1e3);
}

int main(int argc, char **argv)
{
    struct cg_params params;
    int ranks = argc > 1 ? atoi(argv[1]) : 2;

    if (argc > 2) random_ops = atoi(argv[2]);
    if (ranks < 2 || ranks > CG_FAST_RANKS) return 2;
    if (getenv("CG_FAST_MOST")) largest = (uint64_t) atoll(getenv("CG_FAST_MOST"));
    cg_params_default(&params);
    return fw_run("fast_check", ranks, 16 << 20, &params, body);
}
