/* SPDX-License-Identifier: BSD-3-Clause
 * Plans: the checker passes every algorithm; choice, ranges, neighbours, counts. */
#include "plan/build.h"

#include "core/status.h"
#include "kernels/host/host.h"
#include "kernels/interp.h"
#include "plan/choose.h"
#include "test/sim/shape.h"
#include "test/unit/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB (1ull << 30)

static const struct cg_algorithm *choose(const struct cg_plan_request *req)
{
    const struct cg_row *row;

    return cg_choose_plan(req, &row);
}

/* Blocks of a reduce_scatter that only the ring takes. */
static int only_ring(const struct choice *c, const struct cg_plan_request *req)
{
    for (uint32_t i = 1; CG_COLL_REDUCE_SCATTER == c->coll && c->exchange_max && i < req->nranks; i++) {
        if (req->src_len[i] > req->src_len[0]) return 1;
    }
    return 0;
}

static void check_choice(const struct choice *c, uint32_t nranks, uint64_t count, int esize, int slots, int symmetric)
{
    static uint64_t rng = 4711;
    struct cg_params params = params_of(c, slots);
    struct cg_plan_request req = {
        .coll = c->coll, .nranks = nranks, .root = rng_below(&rng, nranks), .esize = esize, .params = &params};
    char why[200] = "";
    struct shape s;

    shape_make(&s, &req, count, symmetric, &rng);
    assert_string_equal(choose(s.reqs)->name, only_ring(c, s.reqs) ? "ring" : c->name);
    if (cg_plan_check_all(s.reqs, why, sizeof(why)) != CG_OK) {
        fail_msg("%s %s, %u ranks, root %u, up to %llu x %d bytes, %d slots: %s", c->name, cg_coll_name(c->coll),
                 nranks, req.root, (unsigned long long) count, esize, slots, why);
    }
    shape_free(&s);
}

static void every_algorithm_checks(void **state)
{
    static const struct {
        uint64_t count;
        int esize, slots;
    } sizes[] = {{1, 8, 2}, {17, 1, 2}, {1000, 2, 2}, {8191, 4, 2}, {1000003, 8, 2}, {100003, 1, 8}, {300000001, 4, 8}};

    (void) state;
    for (size_t i = 0; i < NCHOICES; i++) {
        for (uint32_t n = choices[i].from; n <= choices[i].to; n++) {
            for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
                if (choices[i].exchange_max > 1 && sizes[k].count * (uint64_t) sizes[k].esize > 1 << 20) continue;
                if (choices[i].doubling_max && sizes[k].count * (uint64_t) sizes[k].esize > 1 << 30) continue;
                check_choice(&choices[i], n, sizes[k].count, sizes[k].esize, sizes[k].slots, k & 1);
            }
        }
    }
}

/* Whether there is a plan depends on the number of ranks alone. */
static void existence(void **state)
{
    struct cg_plan plan;
    struct shape s;
    uint64_t rng = 5;

    (void) state;
    for (int coll = CG_COLL_ALLREDUCE; coll < CG_COLL_COUNT; coll++) {
        for (size_t i = 0; i < NCHOICES; i++) {
            struct cg_params params = params_of(&choices[i], 8);
            for (uint32_t n = 1; n <= 140; n += n < 20 ? 1 : n < 120 ? 20 : 1) {
                struct cg_plan_request req = {
                    .coll = coll, .nranks = n, .root = n / 2, .esize = 1 << rng_below(&rng, 5), .params = &params};
                shape_make(&s, &req, 1 + rng_below(&rng, 1 << 28), 0, &rng);
                for (uint32_t rank = 0; rank < n; rank += 1 + n / 3)
                    assert_int_equal(cg_plan_build(&s.reqs[rank], &plan),
                                     cg_plan_exists(coll, n) ? CG_OK : CG_ERR_UNSUPPORTED);
                shape_free(&s);
            }
        }
    }
}

/* Every row of the table is one of those that the test above goes through. */
static void every_row_is_tested(void **state)
{
    (void) state;
    for (const struct cg_algorithm *a = cg_algorithms; a->name; a++) {
        size_t i = 0;
        while (i < NCHOICES && (choices[i].coll != a->coll || strcmp(choices[i].name, a->name)))
            i++;
        for (size_t k = 0; k < NRAIL_CHOICES && NCHOICES == i; k++) {
            if (rail_choices[k].coll == a->coll && 0 == strcmp(rail_choices[k].name, a->name)) i = 0;
        }
        assert_true(i < NCHOICES);
        assert_non_null(a->text);
    }
}

static void beyond_the_ring(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {.coll = CG_COLL_ALLREDUCE, .count = 5000000, .esize = 4, .params = &params};
    char why[200];

    (void) state;
    cg_params_default(&params);
    for (req.nranks = 127; req.nranks <= 130; req.nranks++) {
        assert_string_equal(choose(&req)->name, req.nranks <= 128 ? "ring" : "doubling");
        assert_int_equal(cg_plan_check(&req, why, sizeof(why)), CG_OK);
    }
    req.nranks = 1000;
    assert_int_equal(cg_plan_check(&req, why, sizeof(why)), CG_OK);
}

static void default_sizes(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {.coll = CG_COLL_ALLREDUCE, .nranks = 4, .esize = 1, .params = &params};

    (void) state;
    cg_params_default(&params);
    req.count = 8192;
    assert_string_equal(choose(&req)->name, "exchange");
    req.count++;
    assert_string_equal(choose(&req)->name, "owners");
    params.rank_order = 0;
    assert_string_equal(choose(&req)->name, "doubling");
    req.count = 32768;
    assert_string_equal(choose(&req)->name, "doubling");
    req.count++;
    assert_string_equal(choose(&req)->name, "ring");
    req.count = 4;
    req.nranks = 9;
    assert_string_equal(choose(&req)->name, "doubling");
}

static void refused(void **state)
{
    struct cg_params params;
    struct cg_plan plan;
    struct cg_plan_request req = {.coll = CG_COLL_NONE, .nranks = 4, .count = 4, .esize = 4, .params = &params};

    (void) state;
    cg_params_default(&params);
    assert_int_equal(cg_plan_build(&req, &plan), CG_ERR_UNSUPPORTED);
    req.coll = CG_COLL_ALLREDUCE;
    req.count = 1ull << 60;
    params.slot_bytes = 1024;
    assert_int_equal(cg_plan_build(&req, &plan), CG_ERR_LIMIT);
}

/* ---- ranges ---- */

static void check_ranges(const struct cg_plan_request *req, const struct cg_plan *plan)
{
    uint64_t esize = (uint64_t) req->esize;

    for (uint32_t c = 0; c < plan->nchan && plan->nsteps; c++) {
        const struct cg_range *r = &plan->range[c];
        uint64_t room = (uint64_t) r->iters * plan->nchunks * r->chunk;
        assert_int_equal(r->chunk * esize % 16, 0);
        assert_true(r->chunk > 0 && r->chunk * esize <= (uint64_t) req->params->slot_bytes);
        if (plan->nblocks) continue;
        assert_true(r->end > r->begin);
        assert_int_equal(r->begin * esize % 16, 0);
        assert_true(room >= r->end - r->begin);
        /* balanced: rounding costs each chunk less than 16 bytes */
        assert_true((room - (r->end - r->begin)) * esize < 16ull * plan->nchunks * r->iters + 16ull * plan->nchunks);
    }
}

static void ranges(void **state)
{
    (void) state;
    for (size_t i = 0; i < NCHOICES; i++) {
        struct cg_params params = params_of(&choices[i], 8);
        struct cg_plan_request req = {.coll = choices[i].coll, .nranks = choices[i].to, .params = &params};
        struct cg_plan plan;
        for (req.esize = 1; req.esize <= 16; req.esize *= 2) {
            for (uint64_t bytes = (uint64_t) req.esize; bytes <= 8 * GIB; bytes = bytes * 3 + 8) {
                req.count = bytes / (uint64_t) req.esize;
                if (!choose(&req) || strcmp(choose(&req)->name, choices[i].name)) continue;
                assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
                check_ranges(&req, &plan);
            }
        }
    }
}

static void channels(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {.coll = CG_COLL_BCAST, .nranks = 2, .esize = 1, .params = &params};
    struct cg_plan plan;

    (void) state;
    cg_params_default(&params);
    for (uint64_t times = 1; times <= 6; times++) {
        req.count = times * (uint64_t) params.channel_bytes;
        assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
        assert_int_equal(plan.nchan, times < 4 ? times : 4);
    }
    params.channels = 2;
    assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
    assert_int_equal(plan.nchan, 2);
}

/* ---- neighbours ---- */

static int find_peer(const uint32_t *peers, int n, uint32_t peer)
{
    for (int i = 0; i < n; i++) {
        if (peers[i] == peer) return 1;
    }
    return 0;
}

#define REACH(name, text, reduces, known, reach) [CG_COLL_##name] = reach,
static const int reach_of[CG_COLL_COUNT] = {CG_COLL_TABLE(REACH)};
#undef REACH

/* Peers of every plan of any size are among those announced. */
static void check_plans(uint32_t n, uint32_t rank, const struct cg_params *params, int reach, const uint32_t *peers,
                        int count)
{
    struct cg_plan plan;

    for (int coll = CG_COLL_ALLREDUCE; coll < CG_COLL_COUNT; coll++) {
        if (!cg_plan_exists(coll, n) || reach_of[coll] > reach) continue;
        for (uint64_t bytes = 1; bytes < GIB; bytes *= 7) {
            struct cg_plan_request req = {.coll = coll,
                                          .nranks = n,
                                          .rank = rank,
                                          .root = (uint32_t) (bytes % n),
                                          .count = bytes,
                                          .esize = 1,
                                          .params = params};
            assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
            for (uint32_t l = 0; l < plan.nlinks; l++)
                assert_true(find_peer(peers, count, plan.peer[l]));
        }
    }
}

static void check_neighbors(uint32_t n, uint32_t rank, const struct cg_params *params, int reach)
{
    uint32_t peers[CG_MAX_LINKS], theirs[CG_MAX_LINKS];
    int count = cg_plan_neighbors(n, rank, params, NULL, reach, peers, CG_MAX_LINKS);

    assert_in_range(count, 0, CG_MAX_LINKS);
    for (int i = 0; i < count; i++) {
        assert_true(peers[i] < n && peers[i] != rank && (0 == i || peers[i] > peers[i - 1]));
        int other = cg_plan_neighbors(n, peers[i], params, NULL, reach, theirs, CG_MAX_LINKS);
        assert_true(find_peer(theirs, other, rank));
    }
    if (2 == reach && n <= 17) assert_int_equal(count, n - 1);
    check_plans(n, rank, params, reach, peers, count);
    if (count > 0) assert_int_equal(cg_plan_neighbors(n, rank, params, NULL, reach, peers, count - 1), CG_ERR_LIMIT);
}

static void neighbors(void **state)
{
    static const struct choice sorts[] = {{"", 0, 0, 0, 0, 0}, {"", 0, 1 << 20, 0, 0, 0}, {"", 0, 8192, 32768, 0, 0}};

    (void) state;
    for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++) {
        struct cg_params params = params_of(&sorts[i], 8);
        for (uint32_t n = 1; n <= 140; n += n < 20 ? 1 : 17) {
            for (uint32_t rank = 0; rank < n; rank += 1 + n / 16) {
                check_neighbors(n, rank, &params, 1);
                check_neighbors(n, rank, &params, 2);
            }
        }
    }
}

/* As many ranks as may meet have no more neighbours than a program has links; each gets one message. */
static void meeting(void **state)
{
    static const uint32_t sizes[] = {2, 9, 17, 18, 100, CG_MEET_RANKS - 1, CG_MEET_RANKS};
    uint32_t peers[CG_MAX_LINKS];
    struct cg_params params;
    struct cg_plan plan;
    uint64_t sends, recvs;

    (void) state;
    cg_params_default(&params);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (uint32_t rank = 0; rank < sizes[i]; rank += 1 + sizes[i] / 3) {
            int n = cg_plan_neighbors(sizes[i], rank, &params, NULL, 1, peers, CG_MAX_LINKS);
            assert_in_range(n, 1, CG_MAX_LINKS);
            struct cg_plan_request who = {.nranks = sizes[i], .rank = rank, .params = &params};
            assert_int_equal(cg_plan_meet(&who, peers, (uint32_t) n, &plan), CG_OK);
            assert_int_equal(plan.nlinks, n);
            for (uint32_t l = 0; l < plan.nlinks; l++) {
                cg_plan_count(&plan, 0, l, &sends, &recvs);
                assert_true(1 == sends && 1 == recvs && find_peer(peers, n, plan.peer[l]));
            }
        }
    }
}

/* ---- descriptors and counts ---- */

static void check_descriptor(int coll)
{
    struct cg_params params;
    struct cg_plan_request req = {
        .coll = coll, .nranks = 5, .rank = 2, .count = 1 << 20, .esize = 4, .params = &params};
    struct cg_op *op = calloc(1, CG_OP_BYTES);
    struct cg_plan plan;

    cg_params_default(&params);
    assert_non_null(op);
    assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
    cg_plan_to_op(&plan, op);
    assert_int_equal(op->nlinks, plan.nlinks);
    assert_int_equal(op->self_pos, plan.self_pos);
    assert_int_equal(op->nsteps, plan.nsteps);
    assert_int_equal(op->nchan, plan.nchan);
    assert_int_equal(op->nchunks, plan.nchunks);
    assert_int_equal(op->nblocks, plan.nblocks);
    assert_ptr_equal((char *) op + op->size, cg_op_blocks(op) + plan.nblocks);
    assert_memory_equal(cg_op_steps(op), plan.step, plan.nsteps * sizeof(struct cg_step));
    assert_memory_equal(cg_op_blocks(op), plan.block, plan.nblocks * sizeof(struct cg_block));
    assert_memory_equal(op->range, plan.range, sizeof(op->range));
    free(op);
}

static void descriptor(void **state)
{
    (void) state;
    for (int coll = CG_COLL_ALLREDUCE; coll < CG_COLL_COUNT; coll++)
        check_descriptor(coll);
}

/* The closed form against walking through all iterations. */
static void counts(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {
        .coll = CG_COLL_ALLREDUCE, .nranks = 3, .rank = 1, .count = 7654321, .esize = 2, .params = &params};
    struct cg_plan plan;
    uint64_t sends, recvs, first;

    (void) state;
    cg_params_default(&params);
    params.rank_order = 0; /* a ring: one neighbour before, one behind */
    params.slot_bytes = 1024;
    assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
    for (uint32_t chan = 0; chan < plan.nchan; chan++) {
        uint64_t walked_sends = 0, walked_recvs = 0;
        for (uint32_t iter = 0; iter < plan.range[chan].iters; iter++) {
            for (uint32_t i = 0; i < plan.nsteps; i++) {
                const struct cg_step *s = &plan.step[i];
                if (!cg_chunk_elems(&plan.range[chan], plan.nchunks, iter, s->chunk, &first)) continue;
                walked_sends += cg_step_sends(s->opcode) && 1 == s->slink;
                walked_recvs += cg_step_recvs(s->opcode) && 0 == s->rlink;
            }
        }
        cg_plan_count(&plan, chan, 1, &sends, &recvs);
        assert_int_equal(sends, walked_sends);
        assert_int_equal(recvs, 0);
        cg_plan_count(&plan, chan, 0, &sends, &recvs);
        assert_int_equal(sends, 0);
        assert_int_equal(recvs, walked_recvs);
    }
    req.count = 64 * GIB; /* takes forever unless it is a closed form */
    assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
    cg_plan_count(&plan, 0, 1, &sends, &recvs);
    assert_true(sends > GIB / 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_checks),
        cmocka_unit_test(every_row_is_tested),
        cmocka_unit_test(existence),
        cmocka_unit_test(beyond_the_ring),
        cmocka_unit_test(default_sizes),
        cmocka_unit_test(refused),
        cmocka_unit_test(ranges),
        cmocka_unit_test(channels),
        cmocka_unit_test(neighbors),
        cmocka_unit_test(meeting),
        cmocka_unit_test(descriptor),
        cmocka_unit_test(counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
