/* SPDX-License-Identifier: BSD-3-Clause
 * Predictions: what can be worked out by hand, what must grow or shrink; descriptions of machines. */
#include "plan/choose.h"
#include "plan/nodes.h"
#include "plan/predict.h"

#include "core/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cg_prediction predict(const struct cg_machine *m, int coll, uint64_t bytes, const char *rows)
{
    uint32_t n = m->nodes * m->gpus;
    uint64_t *host = calloc(n, sizeof(*host));
    struct cg_plan_request *reqs = calloc(n, sizeof(*reqs));
    struct cg_table *table = NULL;
    struct cg_prediction p = {0};
    struct cg_params params;
    char why[300] = "";

    cg_params_default(&params);
    assert_true(host && reqs);
    for (uint32_t r = 0; r < n; r++) host[r] = r / m->gpus;
    struct cg_nodes *nodes = cg_nodes_new(n, host);
    if (rows) assert_int_equal(cg_table_open(rows, NULL, &table, why, sizeof(why)), CG_OK);
    for (uint32_t r = 0; r < n; r++) {
        reqs[r] = (struct cg_plan_request){.coll = coll, .nranks = n, .rank = r, .count = bytes, .esize = 1,
                                           .params = &params, .nodes = nodes, .table = table};
    }
    assert_int_equal(cg_plan_predict(reqs, m, &p), CG_OK);
    cg_nodes_free(nodes);
    cg_table_free(table);
    free(reqs);
    free(host);
    return p;
}

/* Two ranks that send each other one message: begin, memory, wire, latency, begin, memory. */
static void by_hand(void **state)
{
    struct cg_machine m;

    (void) state;
    cg_machine_default(&m);
    m.nodes = 2;
    m.gpus = 1;
    m.step_us = 2;
    m.memory_gbs = 1; /* 1000 bytes a us */
    m.net_gbs = 0.5;
    m.net_latency_us = 10;
    struct cg_prediction p = predict(&m, CG_COLL_ALLREDUCE, 1000, NULL);
    assert_string_equal(p.plan, "exchange");
    /* send reads and writes 1000 bytes: 2 us; the wire takes 2 us and 10; reduction reads twice and writes: 3 us */
    assert_true(p.us > 2 + 2 + 10 + 3 - 0.01 && p.us < 2 + 2 + 10 + 3 + 0.01);
    assert_int_equal(p.links, 1);
    assert_int_equal(p.net_links, 1);
    assert_int_equal(p.fifo_bytes, 2 * 4 * 8 * (65536 + 64));
}

static void grows(void **state)
{
    struct cg_machine m;
    double before = 0;

    (void) state;
    cg_machine_default(&m);
    for (uint64_t bytes = 8; bytes <= 1ull << 32; bytes *= 32) {
        struct cg_prediction p = predict(&m, CG_COLL_ALLREDUCE, bytes, NULL);
        assert_true(p.us > before);
        before = p.us;
    }
    /* never faster than the wire: each rail sends and gets its part once between 2 nodes */
    assert_true(before * 1000 > (double) (1ull << 28) / 8 / m.net_gbs);
}

/* One card for two GPUs, and plans that send every rank's operands between nodes: both are slower. */
static void rails_pay(void **state)
{
    struct cg_machine m;
    double rails, one_card;

    (void) state;
    cg_machine_default(&m);
    m.nodes = 4;
    m.gpus = 2;
    m.nics = 2;
    rails = predict(&m, CG_COLL_ALLREDUCE, 1 << 26, NULL).us;
    assert_true(predict(&m, CG_COLL_ALLREDUCE, 1 << 26, "allreduce any any any any owners general 0").us > 1.5 * rails);
    m.nics = 1;
    one_card = predict(&m, CG_COLL_ALLREDUCE, 1 << 26, NULL).us;
    assert_true(one_card > 1.5 * rails);
}

/* Links per rank with the number of nodes: 1 for each doubling, and no memory beyond theirs. */
static void memory(void **state)
{
    struct cg_machine m;
    struct cg_prediction before = {0};

    (void) state;
    cg_machine_default(&m);
    for (m.nodes = 16; m.nodes <= 256; m.nodes *= 2) {
        struct cg_prediction p = predict(&m, CG_COLL_ALLREDUCE, 8, NULL);
        if (before.neighbors) assert_in_range(p.neighbors, before.neighbors, before.neighbors + 2);
        assert_in_range(p.fifo_bytes, 1, 2ull * p.neighbors * 4 * 8 * (65536 + 64));
        before = p;
    }
}

static void descriptions(void **state)
{
    static const char *const wrong[] = {"node 2",    "nodes",     "nodes 0",   "nodes x",
                                        "nodes 2 3", "net_gbs 0", "net_gbs -1"};
    struct cg_machine m, same;
    char why[300];

    (void) state;
    cg_machine_default(&m);
    same = m;
    assert_int_equal(cg_machine_parse("# nothing\n\n   \n", &m, why, sizeof(why)), CG_OK);
    assert_memory_equal(&m, &same, sizeof(m));
    assert_int_equal(cg_machine_parse("nodes 3 # three\ngpus=4\n net_gbs = 12.5", &m, why, sizeof(why)), CG_OK);
    assert_int_equal(m.nodes, 3);
    assert_int_equal(m.gpus, 4);
    assert_true(12.5 == m.net_gbs);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(cg_machine_parse(wrong[i], &m, why, sizeof(why)), CG_ERR_ARG);
        assert_non_null(strstr(why, wrong[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand), cmocka_unit_test(grows),        cmocka_unit_test(rails_pay),
        cmocka_unit_test(memory),  cmocka_unit_test(descriptions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
