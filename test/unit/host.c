/* SPDX-License-Identifier: BSD-3-Clause
 * The host executor at the edges: mismatched calls, nothing touched before the commit point, the budget of a sweep. */
#include "kernels/host/stream.h"
#include "test/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two ranks of one communicator that make different calls as its first operation. */
static struct world *two_calls(const struct call *first, const struct call *second, int exchange)
{
    uint32_t member[] = {0, 1};
    struct cg_params params;
    uint64_t rng = 3;

    cg_params_default(&params);
    params.slot_bytes = 1024;
    params.exchange_max = exchange ? 1 << 20 : 0;
    struct world *w = world_new(&params, 2, 4 << 20);
    world_add_comm(w, 2, member, 11, NULL);
    world_add_op(w, 0, first, 1, &rng);
    world_add_op(w, 0, second, 1, &rng);
    world_post(w, 0, 0);
    world_post(w, 1, 1);
    w->op[1].part[1].op->opno = 1;
    return w;
}

/* Run both until neither moves; the last status of each. */
static void run_both(struct world *w, int *rc, struct cg_fault *fault)
{
    int ran = 1;

    while (ran) {
        ran = 0;
        for (int rank = 0; rank < 2; rank++) {
            struct part *part = &w->op[rank].part[rank];
            rc[rank] = cg_host_sweep(part->op, part->pos, ~0u, 100, &ran, &fault[rank]);
        }
    }
}

static void check_mismatch(const struct call *first, const struct call *second, int exchange)
{
    struct world *w = two_calls(first, second, exchange);
    const struct call *call[] = {first, second};
    struct cg_fault fault[2];
    char *before[2];
    int rc[2];

    memset(fault, 0, sizeof(fault));
    for (int rank = 0; rank < 2; rank++) {
        before[rank] = malloc(w->op[rank].bytes);
        assert_non_null(before[rank]);
        memcpy(before[rank], w->op[rank].part[rank].dst, w->op[rank].bytes);
    }
    run_both(w, rc, fault);
    for (int rank = 0; rank < 2; rank++) {
        const struct call *mine = call[rank], *other = call[!rank];
        assert_int_equal(rc[rank], CG_ERR_MISMATCH);
        assert_int_equal(fault[rank].status, CG_ERR_MISMATCH);
        assert_int_equal(fault[rank].link, 0);
        assert_int_equal(fault[rank].want_bytes, mine->count * (uint64_t) cg_type_size(mine->type));
        assert_int_equal(fault[rank].got_bytes, other->count * (uint64_t) cg_type_size(other->type));
        assert_int_equal(fault[rank].want_opno, 1);
        assert_int_equal(fault[rank].got_opno, 1);
        assert_int_equal(fault[rank].want_coll, mine->coll);
        assert_int_equal(fault[rank].got_coll, other->coll);
        assert_int_equal(fault[rank].want_type, mine->type);
        assert_int_equal(fault[rank].got_type, other->type);
        assert_int_equal(fault[rank].want_redop, mine->redop);
        assert_int_equal(fault[rank].got_redop, other->redop);
        assert_memory_equal(w->op[rank].part[rank].dst, before[rank], w->op[rank].bytes);
        free(before[rank]);
    }
    world_free(w);
}

static void mismatch(void **state)
{
    static const struct call base = {CG_COLL_ALLREDUCE, CG_TYPE_I32, CG_REDOP_SUM, 0, 100};
    struct call other;

    (void) state;
    for (int exchange = 0; exchange < 2; exchange++) {
        other = base;
        other.count = 101;
        check_mismatch(&base, &other, exchange);
        other = base;
        other.redop = CG_REDOP_MAX;
        check_mismatch(&base, &other, exchange);
        other = base;
        other.type = CG_TYPE_F32;
        check_mismatch(&base, &other, exchange);
        other = base;
        other.type = CG_TYPE_I64; /* same bytes */
        other.count = 50;
        check_mismatch(&base, &other, exchange);
    }
}

/* An operation more on one side: the other's next message carries another number. */
static void other_number(void **state)
{
    static const struct call call = {CG_COLL_ALLREDUCE, CG_TYPE_U8, CG_REDOP_BOR, 0, 30};
    struct world *w = two_calls(&call, &call, 1);
    struct cg_fault fault[2];
    int rc[2];

    (void) state;
    memset(fault, 0, sizeof(fault));
    w->op[1].part[1].op->opno = 7;
    run_both(w, rc, fault);
    assert_int_equal(rc[0], CG_ERR_MISMATCH);
    assert_int_equal(fault[0].want_opno, 1);
    assert_int_equal(fault[0].got_opno, 7);
    assert_int_equal(rc[1], CG_ERR_MISMATCH);
    assert_int_equal(fault[1].want_opno, 7);
    assert_int_equal(fault[1].got_opno, 1);
    world_free(w);
}

/* A step that may not run yet changes nothing that others see, and not the user's buffer. */
static void waits_without_trace(void **state)
{
    static const struct call call = {CG_COLL_ALLREDUCE, CG_TYPE_I32, CG_REDOP_SUM, 0, 100};
    struct world *w = two_calls(&call, &call, 1);
    struct part *part = &w->op[0].part[0];
    struct cg_fault fault = {0};
    struct cg_pos pos;

    (void) state;
    assert_int_equal(cg_host_step(part->op, 0, part->pos, ~0u, &fault), CG_RUN_STEP); /* SEND_ALL */
    char *copy = malloc(w->used);
    assert_non_null(copy);
    memcpy(copy, w->block, w->used);
    pos = part->pos[0];
    for (int i = 0; i < 10; i++)
        assert_int_equal(cg_host_step(part->op, 0, part->pos, ~0u, &fault), CG_AGAIN);
    assert_memory_equal(&pos, part->pos, sizeof(pos));
    assert_memory_equal(copy, w->block, w->used);
    assert_int_equal(fault.status, CG_OK);
    free(copy);
    world_free(w);
}

static void budget(void **state)
{
    static const struct call call = {CG_COLL_ALLREDUCE, CG_TYPE_I8, CG_REDOP_SUM, 0, 10000};
    struct world *w = two_calls(&call, &call, 1); /* ten iterations of two steps */
    int total[2] = {0}, done = 0;
    struct cg_fault fault;

    (void) state;
    while (done != 3) {
        for (int rank = 0; rank < 2; rank++) {
            struct part *part = &w->op[rank].part[rank];
            int ran = 0, rc = cg_host_sweep(part->op, part->pos, ~0u, 3, &ran, &fault);
            assert_in_range(ran, 0, 3);
            assert_true(CG_AGAIN == rc || CG_DONE == rc);
            total[rank] += ran;
            if (CG_DONE == rc) done |= 1 << rank;
        }
    }
    assert_int_equal(total[0], 20);
    assert_int_equal(total[1], 20);
    for (int rank = 0; rank < 2; rank++) {
        struct part *part = &w->op[rank].part[rank];
        int ran = 0;
        assert_int_equal(cg_host_sweep(part->op, part->pos, ~0u, 3, &ran, &fault), CG_DONE);
        assert_int_equal(ran, 0);
    }
    world_free(w);
}

/* As memcpy, whatever the alignments and lengths, and nothing beside. (Whole plans with it: sim.) */
static void streaming(void **state)
{
    enum { MOST = 70000 };
    static char from[MOST + 64], to[MOST + 128] __attribute__((aligned(64))), want[MOST + 128];
    static const size_t large[] = {4095, 4096, 65536, 65537, MOST};

    (void) state;
    for (size_t i = 0; i < sizeof(from); i++) from[i] = (char) (i * 7 + i / 256);
    for (size_t n = 0; n < 400 + 5; n++) {
        size_t bytes = n < 400 ? n : large[n - 400];
        for (size_t a = 0; a < 32; a++) {
            size_t b = a * 5 % 17;
            size_t end = bytes + 128;
            memset(to, 0x5a, end);
            memset(want, 0x5a, end);
            memcpy(want + 32 + a, from + b, bytes);
            cg_stream_copy(to + 32 + a, from + b, bytes);
            cg_stream_end();
            assert_memory_equal(to, want, end);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mismatch), cmocka_unit_test(other_number),
                                       cmocka_unit_test(waits_without_trace), cmocka_unit_test(budget),
                                       cmocka_unit_test(streaming)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
