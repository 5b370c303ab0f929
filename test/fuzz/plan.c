/* SPDX-License-Identifier: BSD-3-Clause
 * Random requests, any parameters that users may set, through the plan checker.
 *
 *     plan [requests [first seed]] */
#include "core/status.h"
#include "kernels/host/host.h"
#include "test/sim/shape.h"

#include <stdio.h>
#include <stdlib.h>

static int random_int(uint64_t *rng, int min, int max)
{
    return min + (int) rng_below(rng, (uint32_t) (max - min) + 1);
}

/* Up to bits bits, all magnitudes alike. */
static uint64_t random_size(uint64_t *rng, uint32_t bits) { return 1 + (rng_next(rng) >> (63 - rng_below(rng, bits))); }

static void random_request(uint64_t *rng, struct cg_params *params, struct cg_plan_request *req)
{
    static const uint32_t ranks[] = {4, 9, 33, 130, 300};
    char why[200];

    cg_params_default(params);
    params->slot_bytes = 1 << random_int(rng, 10, 24);
    params->slots = 1 << random_int(rng, 1, 6);
    params->channels = random_int(rng, 1, 4);
    params->channel_bytes = 1 << random_int(rng, 8, 30);
    params->exchange_max = (int) random_size(rng, 20) - 1;
    params->doubling_max = (int) random_size(rng, 30) - 1;
    params->rank_order = random_int(rng, 0, 1);
    if (cg_params_check(params, why, sizeof(why)) != CG_OK) fatal("%s", why);
    req->params = params;
    req->coll = random_int(rng, CG_COLL_ALLREDUCE, CG_COLL_COUNT - 1);
    req->nranks = 1 + rng_below(rng, ranks[rng_below(rng, 5)]);
    req->root = rng_below(rng, req->nranks);
    req->esize = 1 << random_int(rng, 0, 4);
    req->count = random_size(rng, 38);
    while (!cg_plan_exists(req->coll, req->nranks))
        req->nranks /= 2;
    req->root %= req->nranks;
}

/* Positions count an operation's messages in 32 bits. */
static int may_exceed_limit(const struct cg_plan_request *req)
{
    return req->count * (uint64_t) req->esize / (uint64_t) req->params->slot_bytes > UINT32_MAX / CG_MAX_STEPS;
}

static void run_seed(uint64_t seed)
{
    uint64_t rng = seed * 0x9e3779b97f4a7c15u + 1;
    struct cg_plan_request req = {0};
    struct cg_params params;
    struct shape shape;
    char why[200] = "";
    int rc;

    random_request(&rng, &params, &req);
    shape_make(&shape, &req, req.count, (int) rng_below(&rng, 2), &rng);
    rc = cg_plan_check_all(shape.reqs, why, sizeof(why));
    shape_free(&shape);
    if (CG_OK == rc || (CG_ERR_LIMIT == rc && may_exceed_limit(&req))) return;
    fatal("seed %lu: %s of %lu x %d bytes on %u ranks, root %u, %d slots of %d bytes: %s (%s)", seed,
          cg_coll_name(req.coll), req.count, req.esize, req.nranks, req.root, params.slots, params.slot_bytes,
          cg_status_text(rc), why);
}

int main(int argc, char **argv)
{
    uint64_t requests = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    for (uint64_t seed = first; seed < first + requests; seed++)
        run_seed(seed);
    printf("%lu requests\n", requests);
    return 0;
}
