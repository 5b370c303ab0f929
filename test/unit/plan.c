/* SPDX-License-Identifier: BSD-3-Clause
 * Plans: choice, ranges, neighbours, counts; the checker passes every algorithm and refuses plans with a fault in them.
 */
#include "plan/build.h"

#include "core/status.h"
#include "kernels/interp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB (1ull << 30)

/* Parameters under which an algorithm is chosen for whatever size. */
static const struct choice {
    const char *name;
    int coll, exchange_max, doubling_max;
    uint32_t from, to; /* ranks */
} choices[] = {
    {"copy", CG_COLL_ALLREDUCE, 0, 0, 1, 1},
    {"exchange", CG_COLL_ALLREDUCE, 1 << 20, 0, 2, 8},
    {"doubling", CG_COLL_ALLREDUCE, 0, 1 << 30, 2, 64},
    {"ring", CG_COLL_ALLREDUCE, 0, 0, 2, 64},
    {"copy", CG_COLL_BCAST, 0, 0, 1, 1},
    {"chain", CG_COLL_BCAST, 0, 0, 2, 64},
};
#define NCHOICES (sizeof(choices) / sizeof(*choices))

static struct cg_params params_of(const struct choice *c, int slots)
{
    struct cg_params p;

    cg_params_default(&p);
    p.exchange_max = c->exchange_max;
    p.doubling_max = c->doubling_max;
    p.slots = slots;
    return p;
}

static void check_choice(const struct choice *c, uint32_t nranks, uint64_t count, int esize, int slots)
{
    struct cg_params params = params_of(c, slots);
    struct cg_plan_request req = {
        .coll = c->coll, .nranks = nranks, .root = nranks * 5 / 7, .count = count, .esize = esize, .params = &params};
    char why[200] = "";

    assert_string_equal(cg_plan_choose(&req)->name, c->name);
    if (cg_plan_check(&req, why, sizeof(why)) != CG_OK) {
        fail_msg("%s, %u ranks, %llu x %d bytes, %d slots: %s", c->name, nranks, (unsigned long long) count, esize,
                 slots, why);
    }
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
                if (choices[i].exchange_max && sizes[k].count * (uint64_t) sizes[k].esize > 1 << 20) continue;
                if (choices[i].doubling_max && sizes[k].count * (uint64_t) sizes[k].esize > 1 << 30) continue;
                check_choice(&choices[i], n, sizes[k].count, sizes[k].esize, sizes[k].slots);
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
        assert_string_equal(cg_plan_choose(&req)->name, req.nranks <= 128 ? "ring" : "doubling");
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
    req.count = (uint64_t) params.exchange_max;
    assert_string_equal(cg_plan_choose(&req)->name, "exchange");
    req.count++;
    assert_string_equal(cg_plan_choose(&req)->name, "doubling");
    req.count = (uint64_t) params.doubling_max;
    assert_string_equal(cg_plan_choose(&req)->name, "doubling");
    req.count++;
    assert_string_equal(cg_plan_choose(&req)->name, "ring");
    req.count = 4;
    req.nranks = 9;
    assert_string_equal(cg_plan_choose(&req)->name, "doubling");
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

    for (uint32_t c = 0; c < plan->nchan; c++) {
        const struct cg_range *r = &plan->range[c];
        uint64_t room = (uint64_t) r->iters * plan->nchunks * r->chunk;
        assert_true(r->end > r->begin);
        assert_int_equal(r->begin * esize % 16, 0);
        assert_int_equal(r->chunk * esize % 16, 0);
        assert_true(r->chunk * esize <= (uint64_t) req->params->slot_bytes);
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
        for (req.esize = 1; req.esize <= 8; req.esize *= 2) {
            for (uint64_t bytes = (uint64_t) req.esize; bytes <= 8 * GIB; bytes = bytes * 3 + 8) {
                req.count = bytes / (uint64_t) req.esize;
                if (!cg_plan_choose(&req) || strcmp(cg_plan_choose(&req)->name, choices[i].name)) continue;
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

static void check_neighbors(uint32_t n, uint32_t rank, const struct cg_params *params)
{
    uint32_t peers[CG_MAX_LINKS], theirs[CG_MAX_LINKS];
    int count = cg_plan_neighbors(n, rank, params, 1, peers, CG_MAX_LINKS);
    struct cg_plan plan;

    assert_in_range(count, 0, CG_MAX_LINKS);
    for (int i = 0; i < count; i++) {
        assert_true(peers[i] < n && peers[i] != rank && (0 == i || peers[i] > peers[i - 1]));
        int other = cg_plan_neighbors(n, peers[i], params, 1, theirs, CG_MAX_LINKS);
        assert_true(find_peer(theirs, other, rank));
    }
    for (int coll = CG_COLL_ALLREDUCE; coll < CG_COLL_COUNT; coll++) {
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
    if (count > 0) assert_int_equal(cg_plan_neighbors(n, rank, params, 1, peers, count - 1), CG_ERR_LIMIT);
}

static void neighbors(void **state)
{
    (void) state;
    for (size_t i = 0; i < NCHOICES; i++) {
        struct cg_params params = params_of(&choices[i], 8);
        for (uint32_t n = 1; n <= 140; n += n < 20 ? 1 : 17) {
            for (uint32_t rank = 0; rank < n; rank += 1 + n / 16)
                check_neighbors(n, rank, &params);
        }
    }
}

/* ---- descriptors and counts ---- */

static void descriptor(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {
        .coll = CG_COLL_ALLREDUCE, .nranks = 5, .rank = 2, .count = 1 << 20, .esize = 4, .params = &params};
    struct cg_op *op = calloc(1, CG_OP_BYTES);
    struct cg_plan plan;

    (void) state;
    cg_params_default(&params);
    assert_non_null(op);
    assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
    cg_plan_to_op(&plan, op);
    assert_int_equal(op->nlinks, 2);
    assert_int_equal(op->self_pos, 1);
    assert_int_equal(op->nsteps, plan.nsteps);
    assert_int_equal(op->nchan, plan.nchan);
    assert_int_equal(op->nchunks, plan.nchunks);
    assert_int_equal(op->size, sizeof(*op) + 2 * sizeof(struct cg_link) + plan.nsteps * sizeof(struct cg_step));
    assert_memory_equal(cg_op_steps(op), plan.step, plan.nsteps * sizeof(struct cg_step));
    assert_memory_equal(op->range, plan.range, sizeof(op->range));
    free(op);
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

/* ---- faults ---- */

static void swap_steps(struct cg_plan *p, uint32_t a, uint32_t b)
{
    struct cg_step s = p->step[a];

    p->step[a] = p->step[b];
    p->step[b] = s;
}

static void no_step(struct cg_plan *p) { p->nsteps = 0; }
static void missing_step(struct cg_plan *p) { p[1].nsteps--; }
static void wrong_chunk(struct cg_plan *p) { p[1].step[1].chunk ^= 1; }
static void chunk_outside(struct cg_plan *p) { p[1].step[1].chunk = (uint16_t) p->nchunks; }
static void wrong_order(struct cg_plan *p) { p[0].step[p->nsteps - 1].flags ^= CG_F_SLOT_FIRST; }
static void wrong_opcode(struct cg_plan *p) { p[1].step[1].opcode = CG_STEP_COUNT; }
static void reduced_twice(struct cg_plan *p) { p[1].step[p[1].nsteps - 1].opcode = CG_STEP_RECV_REDUCE; }
static void not_written(struct cg_plan *p) { p[1].step[p[1].nsteps - 1].opcode = CG_STEP_RECV_REDUCE_SEND; }
static void link_outside(struct cg_plan *p) { p[1].step[1].rlink = (uint8_t) p[1].nlinks; }
static void to_itself(struct cg_plan *p) { p[1].peer[0] = 1; }
static void one_sided(struct cg_plan *p) { p[1].nlinks = 1; }
static void too_many_links(struct cg_plan *p) { p[1].nlinks = CG_MAX_LINKS + 1; }
static void position(struct cg_plan *p) { p[1].self_pos++; }
static void large_chunk(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].chunk *= 64;
}
static void gap(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].end -= 16;
}
static void other_ranges(struct cg_plan *p) { p[2].range[0].chunk -= 4; }
static void few_iterations(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].iters--;
}
static void uncut(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].chunk = p[rank].range[0].iters = 0;
}
static void other_name(struct cg_plan *p) { p[3].name = "other"; }
static void swapped(struct cg_plan *p) { swap_steps(&p[1], 0, p->nsteps / 2); }
static void all_receive_first(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        swap_steps(&p[rank], 0, p->nsteps - 1);
}

static const struct fault {
    const char *text;
    void (*inject)(struct cg_plan *plans);
} faults[] = {
#define FAULT(name)                                                                                                    \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    FAULT(no_step),      FAULT(missing_step), FAULT(wrong_chunk),       FAULT(chunk_outside),  FAULT(wrong_opcode),
    FAULT(link_outside), FAULT(to_itself),    FAULT(one_sided),         FAULT(too_many_links), FAULT(position),
    FAULT(large_chunk),  FAULT(gap),          FAULT(other_ranges),      FAULT(few_iterations), FAULT(uncut),
    FAULT(other_name),   FAULT(swapped),      FAULT(all_receive_first), FAULT(reduced_twice),  FAULT(not_written),
#undef FAULT
};

/* Builds the plans of four ranks, injects the fault, and returns the proof's verdict. */
static int verdict(const struct choice *c, void (*inject)(struct cg_plan *), char *why, size_t len)
{
    struct cg_params params = params_of(c, 2);
    struct cg_plan_request req = {
        .coll = c->coll, .nranks = 4, .root = 2, .count = 200001, .esize = 4, .params = &params};
    struct cg_plan plans[4];

    for (req.rank = 0; req.rank < 4; req.rank++)
        assert_int_equal(cg_plan_build(&req, &plans[req.rank]), CG_OK);
    if (inject) inject(plans);
    return cg_plan_prove(&req, plans, why, len);
}

static void faults_are_found(void **state)
{
    const struct choice *ring = &choices[3], *doubling = &choices[2];
    char why[200];

    (void) state;
    assert_int_equal(verdict(ring, NULL, why, sizeof(why)), CG_OK);
    assert_int_equal(verdict(doubling, NULL, why, sizeof(why)), CG_OK);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        *why = 0;
        if (CG_OK == verdict(ring, faults[i].inject, why, sizeof(why)) || !*why)
            fail_msg("%s is not found", faults[i].text);
    }
    assert_int_not_equal(verdict(doubling, wrong_order, why, sizeof(why)), CG_OK);
}

/* Right unless in place, where the sum is sent instead of the operand. */
static void in_place_is_tried(void **state)
{
    struct cg_params params = params_of(&choices[2], 2);
    struct cg_plan_request req = {.coll = CG_COLL_ALLREDUCE, .nranks = 2, .count = 1000, .esize = 4, .params = &params};
    struct cg_plan plans[2];
    char why[200];

    (void) state;
    for (req.rank = 0; req.rank < 2; req.rank++)
        assert_int_equal(cg_plan_build(&req, &plans[req.rank]), CG_OK);
    swap_steps(&plans[0], 0, 1); /* rank 0 receives, reduces into dst, and only then sends src */
    assert_int_not_equal(cg_plan_prove(&req, plans, why, sizeof(why)), CG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_checks),
        cmocka_unit_test(every_row_is_tested),
        cmocka_unit_test(beyond_the_ring),
        cmocka_unit_test(default_sizes),
        cmocka_unit_test(refused),
        cmocka_unit_test(ranges),
        cmocka_unit_test(channels),
        cmocka_unit_test(neighbors),
        cmocka_unit_test(descriptor),
        cmocka_unit_test(counts),
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(in_place_is_tried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
