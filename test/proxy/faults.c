/* SPDX-License-Identifier: BSD-3-Clause
 * What ends a link, and that it ends nothing else. */
#include "test/proxy/ends.h"
#include "core/log.h"

#include <stdio.h>

static void count_lines(int level, const char *line, void *ctx)
{
    (void) line;
    *(int *) ctx += 0 == level;
}

/* Three sides: what fails between a and b leaves a and c alone. Every call that sends fails once. */
static void test_endpoint_error(void **state)
{
    (void) state;
    for (int at = 1; at <= 12; at++) {
        struct side a, b, c;
        struct end ab[2], ac[2];
        char hint[64];
        int lines = 0;

        cg_log_set(count_lines, &lines, 0);
        snprintf(hint, sizeof(hint), "delay=2,fail=%d", at);
        assert_true(side_open(&a, &cg_net_loop, NULL) && side_open(&b, &cg_net_loop, hint));
        assert_true(side_open(&c, &cg_net_loop, NULL));
        ends_open(&ab[0], &ab[1], &a, &b, side_connect(&a, &b, 1), side_connect(&b, &a, 1), 1, 256, 4);
        ends_open(&ac[0], &ac[1], &a, &c, side_connect(&a, &c, 1), side_connect(&c, &a, 1), 2, 256, 4);
        for (int i = 0; i < 2000; i++) {
            end_send(&ab[i & 1], 0, 100);
            end_recv(&ab[i & 1], 0);
            end_send(&ac[i & 1], 1, 100);
            end_recv(&ac[i & 1], 1);
            cg_proxy_progress(a.proxy);
            cg_proxy_progress(b.proxy);
            cg_proxy_progress(c.proxy);
        }
        assert_int_equal(CG_ERR_NET, cg_proxy_link_status(ab[1].link));
        assert_int_equal(CG_OK, cg_proxy_link_status(ab[0].link));
        assert_int_equal(1, lines);
        assert_false(cg_proxy_busy(b.proxy));
        assert_true(cg_proxy_link_drained(ab[1].link)); /* nobody waits for it */
        side_close(&b);                                 /* now a is told */
        while (CG_OK == cg_proxy_link_status(ab[0].link)) cg_proxy_progress(a.proxy);
        assert_int_equal(CG_ERR_PEER, cg_proxy_link_status(ab[0].link));
        assert_int_equal(2, lines);
        for (int k = 0; k < 2; k++) {
            uint64_t rcvd = ac[k].rcvd[1];
            assert_int_equal(CG_OK, cg_proxy_link_status(ac[k].link));
            assert_true(rcvd > 100);
            end_send(&ac[!k], 1, 100);
            for (int i = 0; i < 200; i++) {
                cg_proxy_progress(a.proxy);
                cg_proxy_progress(c.proxy);
                end_recv(&ac[k], 1);
            }
            assert_true(ac[k].rcvd[1] > rcvd);
        }
        side_close(&a);
        side_close(&c);
        for (int k = 0; k < 2; k++) {
            end_free(&ab[k]);
            end_free(&ac[k]);
        }
        cg_log_set(NULL, NULL, 0);
    }
}

/* A peer that has finished is no alarm; one that is still being sent to is. */
static void test_peer_leaves(void **state)
{
    (void) state;
    for (int busy = 0; busy <= 1; busy++) {
        struct pair p;
        int lines = 0;

        cg_log_set(count_lines, &lines, 0);
        assert_true(pair_open(&p, &cg_net_loop, busy ? "delay=5" : NULL, 1, 256, 4));
        for (int i = 0; i < 10; i++) {
            end_send(&p.end[0][i & 1], 0, 100);
            pair_progress(&p, 20);
            end_recv(&p.end[0][!(i & 1)], 0);
        }
        while (!cg_proxy_link_drained(p.end[0][0].link) || !cg_proxy_link_drained(p.end[0][1].link)) pair_turn(&p);
        if (busy) assert_true(end_send(&p.end[0][0], 0, 100));
        side_close(&p.side[1]);
        while (CG_OK == cg_proxy_link_status(p.end[0][0].link)) cg_proxy_progress(p.side[0].proxy);
        assert_int_equal(CG_ERR_PEER, cg_proxy_link_status(p.end[0][0].link));
        assert_int_equal(busy, lines);
        side_close(&p.side[0]);
        end_free(&p.end[0][0]);
        end_free(&p.end[0][1]);
        cg_log_set(NULL, NULL, 0);
    }
}

/* A message that is none, by length or number, and a slot that the executor filled wrongly. */
static void test_garbage(void **state)
{
    (void) state;
    for (int kind = 0; kind < 4; kind++) {
        struct cg_slot_hdr h = {.seq = kind == 1, .bytes = kind == 0 ? 5 : 0};
        struct pair p;
        int lines = 0, victim = kind < 3;

        assert_true(pair_open(&p, &cg_net_loop, NULL, 1, 1024, 4));
        cg_log_set(count_lines, &lines, 0);
        if (kind == 3) {
            end_send(&p.end[0][0], 0, 8);
            cg_slot(p.end[0][0].config.send_slots, 0, 0, 1024, 4)->bytes = 1025;
        } else {
            struct cg_net_req *req;
            uint64_t tag = (uint64_t) p.end[0][1].config.local_id << 32 | 0x636770u;
            assert_int_equal(CG_OK,
                             cg_net_loop.isend(p.side[0].net, p.ep[0], tag, &h, kind == 2 ? 10 : 64, NULL, &req));
        }
        pair_progress(&p, 20);
        assert_int_equal(CG_ERR_INTERNAL, cg_proxy_link_status(p.end[0][victim].link));
        assert_int_equal(CG_OK, cg_proxy_link_status(p.end[0][!victim].link));
        assert_int_equal(0, p.end[0][1].line.chan[0].tail);
        assert_true(lines >= 1);
        cg_log_set(NULL, NULL, 0);
        pair_close(&p);
    }
}

/* Reports that cannot be, and an executor that has consumed what never came. */
static void test_bad_reports(void **state)
{
    (void) state;
    for (int kind = 0; kind < 4; kind++) {
        struct cg_report r;
        struct cg_net_req *req;
        struct pair p;
        int lines = 0;

        assert_true(pair_open(&p, &cg_net_loop, NULL, 1, 1024, 4));
        cg_log_set(count_lines, &lines, 0);
        memset(&r, 0, sizeof(r));
        if (kind == 1) r.consumed[2] = 1; /* nothing was sent */
        if (kind == 2) { /* less than was reported before */
            for (int i = 0; i < 6; i++) {
                end_send(&p.end[0][1], 0, 10);
                pair_progress(&p, 200);
                end_recv(&p.end[0][0], 0);
            }
            pair_progress(&p, 200);
            assert_true(p.end[0][1].link->machine[SENDER].granted > 0);
        }
        if (kind == 3) {
            cg_store_release(&p.end[0][1].out.chan[1].head, 1);
        } else {
            uint64_t tag = (uint64_t) p.end[0][1].config.local_id << 32 | (uint64_t) LANE_CONTROL << 24 | 0x636770u;
            size_t bytes = kind ? sizeof(r) : sizeof(r) - 1;
            assert_int_equal(CG_OK, cg_net_loop.isend(p.side[0].net, p.ep[0], tag, &r, bytes, NULL, &req));
        }
        pair_progress(&p, 20);
        assert_int_equal(CG_ERR_INTERNAL, cg_proxy_link_status(p.end[0][1].link));
        assert_int_equal(CG_OK, cg_proxy_link_status(p.end[0][0].link));
        assert_int_equal(lines, 1);
        cg_log_set(NULL, NULL, 0);
        pair_close(&p);
    }
}

static void test_bad_config(void **state)
{
    struct cg_proxy_link_config config;
    struct cg_net_ops old = cg_net_loop;
    struct cg_proxy_link *link;
    struct cg_proxy *proxy;
    struct pair p;

    (void) state;
    assert_true(pair_open(&p, &cg_net_loop, NULL, 1, 1024, 4));
    old.version = CG_NET_VERSION + 1;
    assert_int_equal(CG_ERR_UNSUPPORTED, cg_proxy_open(&old, p.side[0].net, &proxy));
    for (uint32_t slots = 0; slots < 4; slots += 1 + (slots == 1)) { /* 0, 1, 3 */
        config = p.end[0][0].config;
        config.slots = slots;
        assert_int_equal(CG_ERR_ARG, cg_proxy_link_open(p.side[0].proxy, &config, &link));
    }
    for (int field = 0; field < 7; field++) {
        config = p.end[0][0].config;
        if (field == 0) config.ep = NULL;
        if (field == 1) config.line = NULL;
        if (field == 2) config.out = NULL;
        if (field == 3) config.recv_slots = NULL;
        if (field == 4) config.send_slots = NULL;
        if (field == 5) config.announce = NULL;
        if (field == 6) config.slots = 2 * LANE_SLOTS;
        assert_int_equal(CG_ERR_ARG, cg_proxy_link_open(p.side[0].proxy, &config, &link));
    }
    pair_close(&p);
}

/* Closed in the middle of everything: memory is checked by the sanitizers. */
static void test_close_busy(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed * 77;
        struct pair p;
        assert_true(pair_open(&p, &cg_net_loop, "seed=3,delay=10,reorder=1", LINKS_MAX, 1024, 4));
        for (uint64_t i = 0; i < seed * 10; i++) {
            pair_act(&p, &random, 1000);
            pair_progress(&p, 1);
        }
        cg_proxy_link_close(p.side[0].proxy, p.end[1][0].link);
        end_free(&p.end[1][0]);
        p.end[1][0].config.recv_slots = p.end[1][0].config.send_slots = NULL;
        for (uint32_t c = 0; c < CG_MAX_CHAN; c++) end_send(&p.end[1][1], c, 8);
        cg_proxy_link_failed(p.end[1][1].link, 1);
        pair_progress(&p, 100);
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoint_error),
        cmocka_unit_test(test_peer_leaves),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_bad_reports),
        cmocka_unit_test(test_bad_config),
        cmocka_unit_test(test_close_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
