/* SPDX-License-Identifier: BSD-3-Clause
 * The proxy over every transport, and over the loop transport with delays, reordering and little room. */
#include "test/proxy/ends.h"
#include "test/proxy/reach.h"

#include <stdio.h>

static uint64_t missing(const struct pair *p, uint64_t messages)
{
    uint64_t n = 0;

    for (int i = 0; i < p->links; i++) {
        for (int c = 0; c < CG_MAX_CHAN; c++) n += 2 * messages - p->end[i][0].rcvd[c] - p->end[i][1].rcvd[c];
    }
    return n;
}

static void check_all(const struct pair *p)
{
    for (int i = 0; i < p->links; i++) {
        const struct end *e = p->end[i];
        check_credit(&e[0], &e[1]);
        check_credit(&e[1], &e[0]);
        assert_int_equal(CG_OK, cg_proxy_link_status(e[0].link));
        assert_int_equal(CG_OK, cg_proxy_link_status(e[1].link));
    }
}

static int stream(const struct cg_net_ops *ops, const char *hint, uint32_t slot_bytes, uint32_t slots,
                  uint64_t messages, uint64_t seed)
{
    struct pair p;
    uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;

    if (!pair_open(&p, ops, hint, LINKS_MAX, slot_bytes, slots)) return 0;
    while (missing(&p, messages)) {
        for (uint64_t n = test_random(&random) % 32; n; n--) pair_act(&p, &random, messages);
        pair_progress(&p, (int) (test_random(&random) % 3));
        pair_turn(&p);
        check_all(&p);
    }
    for (int i = 0; i < p.links; i++) {
        while (!cg_proxy_link_drained(p.end[i][0].link) || !cg_proxy_link_drained(p.end[i][1].link)) pair_turn(&p);
    }
    pair_close(&p);
    return 1;
}

static void test_stream_loop(void **state)
{
    static const char *const hints[] = {"", "delay=5", "delay=40,reorder=1", "room=1", "room=3,delay=10,reorder=1"};

    (void) state;
    for (unsigned i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            char hint[64];
            snprintf(hint, sizeof(hint), "seed=%d,%s", (int) seed, hints[i]);
            assert_true(stream(&cg_net_loop, hint, 1024, 8, 200, seed));
            assert_true(stream(&cg_net_loop, hint, 8192, 2, 50, seed + 100));
        }
    }
}

static void test_stream_transports(void **state)
{
    int opened = 0;

    (void) state;
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) {
        if (!test_reaches(*row, NULL)) continue;
        opened += stream(*row, NULL, 1024, 8, 300, 1);
        opened += stream(*row, NULL, 65536, 4, 50, 2);
    }
    if (!opened) skip();
}

/* --- single properties, over loop --- */

static void test_announcements(void **state)
{
    struct pair p;
    struct end *a, *b;

    (void) state;
    assert_true(pair_open(&p, &cg_net_loop, "delay=2", 1, 1024, 8));
    a = &p.end[0][0];
    b = &p.end[0][1];
    for (uint32_t op = 1; op <= 3 * CG_ANNOUNCE; op++) {
        const struct cg_announce *entry = &b->announce[op % CG_ANNOUNCE];
        a->opno = op;
        assert_true(end_send(a, op % CG_MAX_CHAN, 10));
        while (op != cg_load_acquire(&entry->op)) pair_turn(&p);
        assert_int_equal(1000 + op, entry->bytes);
        assert_int_equal(CG_COLL_ALLREDUCE, entry->coll);
        assert_int_equal(2, entry->type);
        assert_int_equal(3, entry->redop);
        while (!end_recv(b, op % CG_MAX_CHAN)) pair_turn(&p);
    }
    pair_close(&p);
}

/* closed and failed arrive at once, passed after a while or in big steps; none ever falls. */
static void test_words(void **state)
{
    struct pair p;
    struct cg_line *line;

    (void) state;
    assert_true(pair_open(&p, &cg_net_loop, "delay=3", 1, 1024, 8));
    line = &p.end[0][1].line;
    cg_proxy_link_passed(p.end[0][0].link, 5);
    pair_progress(&p, IDLE_PASSES / 2);
    assert_int_equal(0, line->passed);
    while (5 != line->passed) pair_turn(&p);
    cg_proxy_link_passed(p.end[0][0].link, 4);
    cg_proxy_link_failed(p.end[0][0].link, 9);
    pair_progress(&p, 20);
    assert_int_equal(5, line->passed);
    assert_int_equal(9, line->failed);
    cg_proxy_link_passed(p.end[0][0].link, 5 + CG_ANNOUNCE / 2);
    pair_progress(&p, 20);
    assert_int_equal(5 + CG_ANNOUNCE / 2, line->passed);
    cg_proxy_link_tenant_closed(p.end[0][0].link, 1);
    pair_progress(&p, 20);
    assert_int_equal(1, line->closed);
    assert_int_equal(0, p.end[0][0].line.closed);
    pair_close(&p);
}

/* Busy until both tenants are gone and told so; a second tenant goes on with the numbers and finds no announcement of
 * the first. What arrives for it before it is there waits. */
static void test_tenants(void **state)
{
    struct pair p;
    struct end *a, *b;

    (void) state;
    assert_true(pair_open(&p, &cg_net_loop, "delay=3,reorder=1", 1, 1024, 4));
    a = &p.end[0][0];
    b = &p.end[0][1];
    assert_true(end_send(a, 0, 100));
    while (!end_recv(b, 0)) pair_turn(&p);
    cg_proxy_link_tenant_closed(a->link, 1);
    pair_progress(&p, 2 * LINGER_PASSES);
    assert_true(cg_proxy_busy(p.side[0].proxy) && cg_proxy_busy(p.side[1].proxy));
    cg_proxy_link_tenant_closed(b->link, 1);
    while (cg_proxy_busy(p.side[0].proxy) || cg_proxy_busy(p.side[1].proxy)) pair_turn(&p);
    assert_int_equal(1, a->line.closed);
    assert_int_equal(1, b->line.closed);

    cg_proxy_link_tenant_opened(a->link);
    assert_true(end_send(a, 0, 200));
    cg_proxy_link_passed(b->link, 1); /* wakes b's link, without tenant */
    pair_progress(&p, 200);
    assert_int_equal(1, b->line.chan[0].tail);
    assert_int_equal(1, b->announce[1].op);
    cg_proxy_link_tenant_opened(b->link);
    assert_int_equal(0, b->announce[1].op);
    while (!end_recv(b, 0)) pair_turn(&p);
    assert_int_equal(1, b->announce[1].op);
    assert_true(cg_proxy_busy(p.side[0].proxy) && cg_proxy_busy(p.side[1].proxy));
    pair_close(&p);
}

/* Not drained before the network has taken everything: room, then credit, are missing. */
static void test_drained(void **state)
{
    struct pair p;
    struct end *a, *b;

    (void) state;
    assert_true(pair_open(&p, &cg_net_loop, "room=1,delay=20", 1, 1024, 2));
    a = &p.end[0][0];
    b = &p.end[0][1];
    assert_true(cg_proxy_link_drained(a->link));
    assert_true(end_send(a, 0, 8) && end_send(a, 1, 8));
    assert_false(cg_proxy_link_drained(a->link));
    cg_proxy_progress(p.side[0].proxy);
    assert_false(cg_proxy_link_drained(a->link));
    while (!cg_proxy_link_drained(a->link)) pair_turn(&p);
    assert_true(end_send(a, 0, 8));
    while (!cg_proxy_link_drained(a->link)) pair_turn(&p);
    assert_true(end_send(a, 0, 8)); /* two are with the receiver */
    pair_progress(&p, 500);
    check_credit(a, b);
    assert_false(cg_proxy_link_drained(a->link));
    while (!end_recv(b, 0)) pair_turn(&p);
    assert_false(cg_proxy_link_drained(b->link)); /* owes credit */
    while (!cg_proxy_link_drained(a->link) || !cg_proxy_link_drained(b->link)) pair_turn(&p);
    pair_close(&p);
}

static long loop_sends, loop_calls;

static int counting_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                          struct cg_net_mem *mem, struct cg_net_req **req)
{
    loop_sends++;
    return cg_net_loop.isend(net, ep, tag, buf, bytes, mem, req);
}

static int counting_progress(struct cg_net *net)
{
    loop_calls++;
    return cg_net_loop.progress(net);
}

/* Credit costs one message for half a lane, and an idle proxy does nothing at all. */
static void test_cost(void **state)
{
    struct cg_net_ops ops = cg_net_loop;
    struct pair p;
    long before;

    (void) state;
    ops.isend = counting_isend;
    ops.progress = counting_progress;
    assert_true(pair_open(&p, &ops, NULL, 1, 64, 8));
    loop_sends = 0;
    for (int i = 0; i < 800; i++) {
        assert_true(end_send(&p.end[0][0], 0, 64));
        while (!end_recv(&p.end[0][1], 0)) pair_turn(&p);
    }
    assert_in_range(loop_sends, 800 + 190, 800 + 200);
    for (int k = 0; k < 2; k++) cg_proxy_link_tenant_closed(p.end[0][k].link, 1);
    while (cg_proxy_busy(p.side[0].proxy) || cg_proxy_busy(p.side[1].proxy)) pair_turn(&p);
    before = loop_calls;
    pair_progress(&p, 100);
    assert_int_equal(before, loop_calls);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_loop),  cmocka_unit_test(test_stream_transports),
        cmocka_unit_test(test_announcements), cmocka_unit_test(test_words),
        cmocka_unit_test(test_tenants),      cmocka_unit_test(test_drained),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
