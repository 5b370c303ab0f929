/* SPDX-License-Identifier: BSD-3-Clause
 * All interleavings of tiny worlds: depth-first over states, each visited once. A state is the world's block of memory,
 * positions and buffers included. */
#include "test/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 512

struct search {
    struct world *w;
    char *saved[MAX_DEPTH];
    uint64_t *seen; /* hashes, open addressing, 0 = empty */
    uint64_t states, cap;
    int deadlocks;
};

static uint64_t hash_block(const struct world *w)
{
    uint64_t h = 1, word;

    for (size_t i = 0; i < w->used; i += sizeof(word)) {
        memcpy(&word, w->block + i, sizeof(word));
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h ? h : 1;
}

static int insert(uint64_t *table, uint64_t cap, uint64_t h)
{
    uint64_t at = h & (cap - 1);

    while (table[at] && table[at] != h)
        at = (at + 1) & (cap - 1);
    if (table[at] == h) return 0;
    table[at] = h;
    return 1;
}

/* 1 if the present state is new. */
static int visit(struct search *s)
{
    if (2 * s->states >= s->cap) {
        uint64_t *bigger = calloc(2 * s->cap, sizeof(*bigger));
        if (!bigger) fatal("out of memory");
        for (uint64_t i = 0; i < s->cap; i++) {
            if (s->seen[i]) insert(bigger, 2 * s->cap, s->seen[i]);
        }
        free(s->seen);
        s->seen = bigger;
        s->cap *= 2;
    }
    if (!insert(s->seen, s->cap, hash_block(s->w))) return 0;
    s->states++;
    return 1;
}

static int can_run(const struct world *w, int i, uint32_t rank, uint32_t chan)
{
    const struct part *part = &w->op[i].part[rank];

    return chan < part->op->nchan && !part->pos[chan].done && world_turn(w, i, rank, chan);
}

static void explore(struct search *s, int depth)
{
    struct world *w = s->w;
    int moved = 0;

    if (depth == MAX_DEPTH) fatal("too deep");
    if (!s->saved[depth]) s->saved[depth] = malloc(w->size);
    if (!s->saved[depth]) fatal("out of memory");
    memcpy(s->saved[depth], w->block, w->used);
    for (int i = 0; i < w->nops; i++) {
        for (uint32_t rank = 0; rank < w->comm[w->op[i].comm].size; rank++) {
            for (uint32_t chan = 0; chan < CG_MAX_CHAN; chan++) {
                if (!can_run(w, i, rank, chan) || CG_AGAIN == world_step(w, i, rank, chan)) continue;
                moved = 1;
                if (visit(s)) explore(s, depth + 1);
                memcpy(w->block, s->saved[depth], w->used);
            }
        }
    }
    if (moved) return;
    if (world_done(w)) {
        world_check(w);
    } else {
        s->deadlocks++;
    }
}

static void search_run(struct search *s)
{
    s->cap = 1024;
    s->seen = calloc(s->cap, sizeof(*s->seen));
    if (!s->seen) fatal("out of memory");
    visit(s);
    explore(s, 0);
    for (int i = 0; i < MAX_DEPTH; i++)
        free(s->saved[i]);
    free(s->seen);
}

/* ---- worlds ---- */

struct tiny_op {
    int comm, coll;
    uint64_t bytes;
};

static const struct tiny {
    const char *name; /* "N a node, ...": several nodes */
    uint32_t nranks;
    int ncomms, exchange_max, doubling_max, channels;
    struct tiny_op op[4]; /* ended by bytes 0 */
} worlds[] = {
    {"exchange, 2 ranks, 4 iterations", 2, 1, 1000, 0, 1, {{0, CG_COLL_ALLREDUCE, 256}}},
    {"exchange, 3 ranks, 3 iterations", 3, 1, 1000, 0, 1, {{0, CG_COLL_ALLREDUCE, 192}}},
    {"doubling, 2 ranks, 4 iterations", 2, 1, 0, 1000, 1, {{0, CG_COLL_ALLREDUCE, 256}}},
    {"doubling, 3 ranks, 3 iterations", 3, 1, 0, 1000, 1, {{0, CG_COLL_ALLREDUCE, 170}}},
    {"owners, 2 ranks, 2 iterations", 2, 1, 0, 0, 1, {{0, CG_COLL_ALLREDUCE, 256}}},
    {"owners, 2 ranks, 2 channels", 2, 1, 0, 0, 2, {{0, CG_COLL_ALLREDUCE, 200}}},
    {"owners, 3 ranks, 1 iteration", 3, 1, 0, 0, 1, {{0, CG_COLL_ALLREDUCE, 170}}},
    {"ring, 2 ranks, 2 iterations", 2, 1, 0, 0, 1, {{0, CG_COLL_ALLREDUCE, 256}}},
    {"ring, 2 ranks, 2 channels", 2, 1, 0, 0, 2, {{0, CG_COLL_ALLREDUCE, 200}}},
    {"ring, 3 ranks, 2 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_ALLREDUCE, 320}}},
    {"chain, 3 ranks, 4 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_BCAST, 256}}},
    {"allreduce, bcast, allreduce, 2 ranks",
     2,
     1,
     1000,
     0,
     1,
     {{0, CG_COLL_ALLREDUCE, 64}, {0, CG_COLL_BCAST, 192}, {0, CG_COLL_ALLREDUCE, 128}}},
    {"bcast, bcast, allreduce, 3 ranks",
     3,
     1,
     1000,
     0,
     1,
     {{0, CG_COLL_BCAST, 64}, {0, CG_COLL_BCAST, 128}, {0, CG_COLL_ALLREDUCE, 128}}},
    {"doubling, 4 ranks, 3 iterations", 4, 1, 0, 1000, 1, {{0, CG_COLL_ALLREDUCE, 150}}},
    {"ring, 3 ranks, 2 channels, then bcast", 3, 1, 0, 0, 2, {{0, CG_COLL_ALLREDUCE, 300}, {0, CG_COLL_BCAST, 200}}},
    {"exchange on two communicators, 3 ranks",
     3,
     2,
     1000,
     0,
     1,
     {{0, CG_COLL_ALLREDUCE, 100}, {1, CG_COLL_ALLREDUCE, 60}}},
    {"two communicators, 2 ranks", 2, 2, 100, 0, 1, {{0, CG_COLL_ALLREDUCE, 64}, {1, CG_COLL_ALLREDUCE, 256}}},
    {"different channels in a row, 2 ranks",
     2,
     1,
     64,
     0,
     2,
     {{0, CG_COLL_ALLREDUCE, 128}, {0, CG_COLL_ALLREDUCE, 32}, {0, CG_COLL_BCAST, 128}}},
    {"reduce, chain, 3 ranks, 3 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_REDUCE, 192}}},
    {"scan, chain, 3 ranks, 3 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_SCAN, 192}}},
    {"exscan, chain, 3 ranks, 3 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_EXSCAN, 192}}},
    {"exscan, chain, 4 ranks, 2 iterations", 4, 1, 0, 0, 1, {{0, CG_COLL_EXSCAN, 128}}},
    {"scan, direct, 3 ranks, 3 iterations", 3, 1, 1000, 0, 1, {{0, CG_COLL_SCAN, 192}}},
    {"exscan, direct, 3 ranks, 3 iterations", 3, 1, 1000, 0, 1, {{0, CG_COLL_EXSCAN, 192}}},
    {"allgather, ring, 3 ranks, 3 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_ALLGATHER, 192}}},
    {"allgatherv, ring, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_ALLGATHERV, 200}}},
    {"allgatherv, ring, 2 ranks, 2 channels", 2, 1, 0, 0, 2, {{0, CG_COLL_ALLGATHERV, 400}}},
    {"gather, arms, 4 ranks, 2 iterations", 4, 1, 0, 0, 1, {{0, CG_COLL_GATHER, 100}}},
    {"scatter, arms, 4 ranks, 2 iterations", 4, 1, 0, 0, 1, {{0, CG_COLL_SCATTER, 100}}},
    {"gatherv, scatterv, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_GATHERV, 200}, {0, CG_COLL_SCATTERV, 200}}},
    {"alltoall, 2 ranks, 4 iterations", 2, 1, 0, 0, 1, {{0, CG_COLL_ALLTOALL, 256}}},
    {"alltoall, 3 ranks, 2 iterations", 3, 1, 0, 0, 1, {{0, CG_COLL_ALLTOALL, 100}}},
    {"alltoallv, 2 ranks, 2 channels", 2, 1, 0, 0, 2, {{0, CG_COLL_ALLTOALLV, 400}}},
    {"reduce_scatter, ring, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_REDUCE_SCATTER, 200}}},
    {"reduce_scatter, ring, 2 ranks", 2, 1, 0, 0, 2, {{0, CG_COLL_REDUCE_SCATTER, 300}}},
    {"reduce_scatter_block, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_REDUCE_SCATTER_BLOCK, 128}}},
    {"reduce_scatter_block, direct, 2 ranks", 2, 1, 1000, 0, 1, {{0, CG_COLL_REDUCE_SCATTER_BLOCK, 192}}},
    {"2 a node, allgather, rail_ring, 4 ranks", 4, 1, 0, 0, 1, {{0, CG_COLL_ALLGATHER, 64}}},
    {"2 a node, allgather, rail_ring, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_ALLGATHER, 128}}},
    {"2 a node, reduce_scatter_block, rail_ring, 4 ranks", 4, 1, 0, 0, 1, {{0, CG_COLL_REDUCE_SCATTER_BLOCK, 64}}},
    {"2 a node, reduce_scatter_block, rail_ring, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_REDUCE_SCATTER_BLOCK, 128}}},
    {"2 a node, gather, rail_tree, 4 ranks", 4, 1, 0, 0, 1, {{0, CG_COLL_GATHER, 100}}},
    {"2 a node, scatter, rail_tree, 4 ranks", 4, 1, 0, 0, 1, {{0, CG_COLL_SCATTER, 100}}},
    {"2 a node, gather, scatter, 3 ranks", 3, 1, 0, 0, 1, {{0, CG_COLL_GATHER, 64}, {0, CG_COLL_SCATTER, 64}}},
    {"2 a node, scan, rail_tree, 4 ranks", 4, 1, 0, 1000, 1, {{0, CG_COLL_SCAN, 100}}},
    {"2 a node, exscan, rail_tree, 4 ranks", 4, 1, 0, 1000, 1, {{0, CG_COLL_EXSCAN, 100}}},
    {"exscan, alltoall, allgather, 2 ranks",
     2,
     1,
     0,
     0,
     1,
     {{0, CG_COLL_EXSCAN, 128}, {0, CG_COLL_ALLTOALL, 64}, {0, CG_COLL_ALLGATHER, 64}}},
};

static struct world *tiny_world(const struct tiny *t, int in_place)
{
    uint32_t member[] = {0, 1, 2, 3};
    uint64_t host[4];
    uint64_t rng = 42;
    struct cg_params params;

    cg_params_default(&params);
    params.slot_bytes = 64;
    params.slots = 2;
    params.channels = t->channels;
    params.channel_bytes = 64;
    params.exchange_max = t->exchange_max;
    params.doubling_max = t->doubling_max;
    params.rank_order = 0 == strncmp(t->name, "owners", 6);
    struct world *w = world_new(&params, t->nranks, 96 << 10);
    for (uint32_t r = 0; r < t->nranks; r++)
        host[r] = strstr(t->name, "a node") ? r / (uint32_t) (t->name[0] - '0') : 0;
    for (int i = 0; i < t->ncomms; i++)
        world_add_comm(w, t->nranks, member, 0xfffffffeu, host);
    for (const struct tiny_op *o = t->op; o->bytes; o++) {
        struct call call = {.coll = o->coll, .type = CG_TYPE_I8, .redop = CG_REDOP_SUM, .root = 1, .count = o->bytes};
        int op = world_add_op(w, o->comm, &call, in_place, &rng);
        for (uint32_t rank = 0; rank < t->nranks; rank++)
            world_post(w, op, rank);
    }
    return w;
}

static void run_tiny(const struct tiny *t, int in_place)
{
    struct search s = {.w = tiny_world(t, in_place)};

    snprintf(fatal_context, sizeof(fatal_context), "%s", t->name);
    search_run(&s);
    printf("%-40s in place %d: %lu states\n", t->name, in_place, s.states);
    if (s.deadlocks) fatal("%d deadlocks", s.deadlocks);
    world_free(s.w);
}

/* The search must see a deadlock where there is one: both ranks send one message more than a lane holds, then receive.
 */
static void run_deadlock(void)
{
    const struct tiny *t = &worlds[0];
    struct search s = {.w = tiny_world(t, 0)};

    snprintf(fatal_context, sizeof(fatal_context), "three sends into two slots");
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct cg_op *op = s.w->op[0].part[rank].op;
        op->nsteps = 6;
        op->nchunks = 3;
        for (uint16_t i = 0; i < 6; i++) {
            cg_op_steps(op)[i] = (struct cg_step){.opcode = i < 3 ? CG_STEP_SEND : CG_STEP_RECV_REDUCE, .chunk = i % 3};
        }
    }
    search_run(&s);
    if (!s.deadlocks) fatal("the deadlock was not found");
    world_free(s.w);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(worlds) / sizeof(*worlds); i++) {
        run_tiny(&worlds[i], 0);
        run_tiny(&worlds[i], 1);
    }
    run_deadlock();
    return 0;
}
