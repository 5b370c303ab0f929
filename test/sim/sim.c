/* SPDX-License-Identifier: BSD-3-Clause
 * Seeded interleavings: every rank posts operations on several communicators in an order of its own, and random
 * channels of random operations on random ranks run one step at a time, with parking at any step.
 *
 *     sim [seeds [first]]      a failure prints its seed; `sim 1 SEED` runs it again */
#include "test/sim/world.h"

#include <stdio.h>
#include <stdlib.h>

struct run {
    struct world *w;
    uint64_t rng;
    int next[WORLD_RANKS][WORLD_COMMS]; /* operations posted */
    int blocking;                       /* this process waits for each operation, -1: none does */
    int parked[WORLD_OPS][WORLD_RANKS]; /* actions until it runs again */
    uint64_t steps, parks;
};

/* Everything that the process has posted is finished. */
static int settled(const struct run *r, uint32_t proc)
{
    for (int k = 0; k < r->w->ncomms; k++) {
        const struct comm *c = &r->w->comm[k];
        int rank = comm_rank(c, proc);
        for (int i = 0; rank >= 0 && i < r->next[proc][k]; i++) {
            if (!world_part_done(r->w, c->op[i], (uint32_t) rank)) return 0;
        }
    }
    return 1;
}

/* The process calls its next operation on a random communicator. */
static int try_post(struct run *r, uint32_t proc, int k)
{
    struct comm *c = &r->w->comm[k];
    int rank = comm_rank(c, proc);

    if (rank < 0 || r->next[proc][k] == c->nops) return 0;
    if ((int) proc == r->blocking && !settled(r, proc)) return 0;
    world_post(r->w, c->op[r->next[proc][k]++], (uint32_t) rank);
    return 1;
}

static int try_step(struct run *r, int i, uint32_t rank, uint32_t chan)
{
    struct part *part = &r->w->op[i].part[rank];

    if (!part->posted || chan >= part->op->nchan || part->pos[chan].done || !world_turn(r->w, i, rank, chan)) return 0;
    int rc = world_step(r->w, i, rank, chan);
    r->steps += CG_RUN_STEP == rc;
    return rc != CG_AGAIN;
}

/* One random action; 0 if it was not possible. */
static int act(struct run *r)
{
    int i = (int) rng_below(&r->rng, (uint32_t) r->w->nops);
    uint32_t rank = rng_below(&r->rng, r->w->comm[r->w->op[i].comm].size);

    if (0 == rng_below(&r->rng, 8)) {
        return try_post(r, rng_below(&r->rng, r->w->nprocs), (int) rng_below(&r->rng, (uint32_t) r->w->ncomms));
    }
    if (r->parked[i][rank] > 0) {
        r->parked[i][rank]--;
        return 0;
    }
    if (r->w->op[i].part[rank].posted && 0 == rng_below(&r->rng, 64)) {
        r->parked[i][rank] = (int) rng_below(&r->rng, 50);
        r->parks++;
        world_move(r->w, i, rank);
    }
    for (int burst = 1 + (int) rng_below(&r->rng, 4), moved = 0;; moved = 1) {
        if (0 == burst-- || !try_step(r, i, rank, rng_below(&r->rng, CG_MAX_CHAN))) return moved;
    }
}

/* Anything at all that can be done, parked or not. */
static int act_any(struct run *r)
{
    for (uint32_t proc = 0; proc < r->w->nprocs; proc++) {
        for (int k = 0; k < r->w->ncomms; k++) {
            if (try_post(r, proc, k)) return 1;
        }
    }
    for (int i = 0; i < r->w->nops; i++) {
        for (uint32_t rank = 0; rank < r->w->comm[r->w->op[i].comm].size; rank++) {
            for (uint32_t chan = 0; chan < CG_MAX_CHAN; chan++) {
                if (try_step(r, i, rank, chan)) return 1;
            }
        }
    }
    return 0;
}

static void run_seed(uint64_t seed, struct run *total)
{
    struct run r = {.rng = seed * 0x9e3779b97f4a7c15u + 1};
    int idle = 0;

    snprintf(fatal_context, sizeof(fatal_context), "seed %lu", seed);
    r.w = world_random(&r.rng, 9, 8);
    r.blocking = (int) rng_below(&r.rng, r.w->nprocs + 1) - 1;
    while (!world_done(r.w)) {
        idle = act(&r) ? 0 : idle + 1;
        if (idle < 1000) continue;
        if (!act_any(&r)) fatal("deadlock");
        idle = 0;
    }
    world_check(r.w);
    world_free(r.w);
    total->steps += r.steps;
    total->parks += r.parks;
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 0) : 3000, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct run total = {0};

    for (uint64_t seed = first; seed < first + seeds; seed++)
        run_seed(seed, &total);
    printf("%lu seeds, %lu steps, %lu parks\n", seeds, total.steps, total.parks);
    return 0;
}
