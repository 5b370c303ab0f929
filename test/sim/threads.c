/* SPDX-License-Identifier: BSD-3-Clause
 * The simulator's worlds with one thread for each process, for ThreadSanitizer: lanes are all that they share.
 *
 *     threads [seeds [first]] */
#include "test/sim/world.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct process {
    struct world *w;
    uint32_t number;
    pthread_t thread;
};

/* Sweep the first unfinished operation of a communicator. 1 if there is none left. */
static int sweep(struct world *w, struct comm *c, uint32_t rank, int *next, int *ran)
{
    struct cg_fault fault = {0};

    if (*next == c->nops) return 1;
    struct part *part = &w->op[c->op[*next]].part[rank];
    int rc = cg_host_sweep(part->op, part->pos, ~0u, 16, ran, &fault);
    if (rc < 0) fatal("rank %u: %s", rank, cg_status_text(rc));
    *next += CG_DONE == rc;
    return *next == c->nops;
}

static void *process_main(void *arg)
{
    struct process *p = arg;
    int next[WORLD_COMMS] = {0}, unfinished = 1;

    while (unfinished) {
        int ran = 0;
        unfinished = 0;
        for (int k = 0; k < p->w->ncomms; k++) {
            int rank = comm_rank(&p->w->comm[k], p->number);
            if (rank >= 0) unfinished |= !sweep(p->w, &p->w->comm[k], (uint32_t) rank, &next[k], &ran);
        }
        if (0 == ran) sched_yield();
    }
    return NULL;
}

static void run_seed(uint64_t seed)
{
    uint64_t rng = seed * 0x9e3779b97f4a7c15u + 1;
    struct process process[WORLD_RANKS];
    struct world *w = world_random(&rng, 6, 12);

    snprintf(fatal_context, sizeof(fatal_context), "seed %lu", seed);
    for (int i = 0; i < w->nops; i++) {
        for (uint32_t rank = 0; rank < w->comm[w->op[i].comm].size; rank++)
            world_post(w, i, rank);
    }
    for (uint32_t i = 0; i < w->nprocs; i++) {
        process[i] = (struct process){.w = w, .number = i};
        if (pthread_create(&process[i].thread, NULL, process_main, &process[i])) fatal("pthread_create");
    }
    for (uint32_t i = 0; i < w->nprocs; i++)
        pthread_join(process[i].thread, NULL);
    world_check(w);
    world_free(w);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    for (uint64_t seed = first; seed < first + seeds; seed++)
        run_seed(seed);
    printf("%lu seeds\n", seeds);
    return 0;
}
