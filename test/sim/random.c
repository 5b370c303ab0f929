/* SPDX-License-Identifier: BSD-3-Clause
 * Random worlds: parameters that bring every algorithm into play, communicators of random members, operations. */
#include "test/sim/world.h"

/* big: slots of several blocks of the executor */
static void random_params(struct cg_params *p, int big, uint64_t *rng)
{
    static const int limits[] = {0, 64, 300, 1 << 20};

    cg_params_default(p);
    p->slot_bytes = big ? 16384 : 64 << rng_below(rng, 4);
    p->slots = 2 << rng_below(rng, big ? 2 : 3);
    p->channels = 1 + (int) rng_below(rng, CG_MAX_CHAN);
    p->channel_bytes = 64 << rng_below(rng, 5);
    p->exchange_max = limits[rng_below(rng, 4)];
    p->doubling_max = limits[rng_below(rng, 4)];
    p->rank_order = (int) rng_below(rng, 2);
    p->rail_ring_nodes = rng_below(rng, 2) ? 8 : 0;
}

static void random_comm(struct world *w, uint64_t *rng)
{
    static const uint64_t bases[] = {0, 5, 0xfffffffeu, 0x123456789abcu};
    uint32_t member[WORLD_RANKS] = {0}, n = w->nprocs, nhosts = 2 + rng_below(rng, 4), dealt = rng_below(rng, 3);
    uint64_t host[WORLD_RANKS];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = rng_below(rng, i + 1);
        member[i] = member[at];
        member[at] = i;
    }
    n = 1 + rng_below(rng, n);
    for (uint32_t i = 0; i < n; i++)
        host[i] = 0 == dealt ? i * nhosts / n : 1 == dealt ? i % nhosts : rng_below(rng, nhosts);
    world_add_comm(w, n, member, bases[rng_below(rng, 4)], rng_below(rng, 2) ? host : NULL);
}

/* Has dst or src a block for each rank? */
static int blocked(int coll)
{
    return coll != CG_COLL_ALLREDUCE && coll != CG_COLL_BCAST && coll != CG_COLL_REDUCE && coll != CG_COLL_SCAN &&
           coll != CG_COLL_EXSCAN;
}

static void random_op(struct world *w, int big, uint64_t *rng)
{
    static const uint32_t most[] = {3, 100, 1000, 6000, 80000};
    int comm = (int) rng_below(rng, (uint32_t) w->ncomms);
    struct call call = {.coll = CG_COLL_ALLREDUCE, .root = rng_below(rng, w->comm[comm].size)};
    uint32_t blocks = 1;

    if (rng_below(rng, 4)) call.coll = CG_COLL_ALLREDUCE + (int) rng_below(rng, CG_COLL_COUNT - CG_COLL_ALLREDUCE);
    if (blocked(call.coll)) blocks = w->comm[comm].size;

    do {
        call.type = (int) rng_below(rng, CG_TYPE_COUNT);
        call.redop = (int) rng_below(rng, CG_REDOP_COUNT);
    } while (!cg_reduce_host(call.type, call.redop));
    call.count = 1 + rng_below(rng, most[rng_below(rng, big ? 5 : 4)]) / (uint32_t) cg_type_size(call.type) / blocks;
    world_add_op(w, comm, &call, 2, rng);
}

struct world *world_random(uint64_t *rng, uint32_t most_procs, uint32_t most_ops)
{
    int big = 0 == rng_below(rng, 8);
    struct cg_params params;
    struct world *w;

    random_params(&params, big, rng);
    w = world_new(&params, 1 + rng_below(rng, big ? 4 : most_procs), 24 << 20);
    w->guard_slots = 1;
    for (uint32_t i = 1 + rng_below(rng, 3); i > 0; i--)
        random_comm(w, rng);
    for (uint32_t i = 1 + rng_below(rng, most_ops); i > 0; i--)
        random_op(w, big, rng);
    return w;
}
