/* SPDX-License-Identifier: BSD-3-Clause
 * The pool of links, over every medium: conversation, data, tenants one after the other and beside each other. */
#include "test/links/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>


/* AddressSanitizer keeps freed memory; that is not ours to count. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "quarantine_size_mb=1:detect_stack_use_after_return=0"; }

static struct cg_links_counters counters(const struct side *s)
{
    struct cg_links_counters c;

    cg_links_get_counters(s->links, &c);
    return c;
}

static void test_nothing_before_need(void **state)
{
    int before = open_descriptors();
    struct pair p;
    void *addr;
    size_t bytes;

    (void) state;
    pair_open(&p, &media_rows[1]);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(counters(&p.lo).chunks, 0);
    assert_false(cg_links_busy(p.lo.links));
    assert_int_equal(cg_links_progress(p.lo.links), 0);
    assert_false(cg_links_region(p.lo.links, 0, &addr, &bytes));
    pair_close(&p);
}

static void test_data_both_ways(void **state)
{
    (void) state;
    for (const struct medium_row *row = media_rows; row->name; row++) {
        int before = open_descriptors();
        struct pair p;
        struct rent r;

        pair_open(&p, row);
        assert_int_equal(pair_join(&p, row->medium, SMALL, &r), CG_OK);
        assert_int_equal(r.lo->medium, row->medium);
        assert_int_equal(r.hi->geometry.slots, SMALL.slots);
        assert_int_equal((row->medium == CG_MEDIUM_NET), (r.lo->proxy != NULL));
        assert_int_equal((row->medium == CG_MEDIUM_NET), (r.lo->announce_out == NULL));
        pair_exchange(&p, &r, 50);
        pair_leave(&p, &r, 1);
        pair_close(&p);
        assert_int_equal(open_descriptors(), before);
    }
}

/* What each side writes is where the other reads it, words and announcements too. */
static void test_shm_words(void **state)
{
    struct pair p;
    struct rent r;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r), CG_OK);
    cg_store_release(&r.lo->peer->posted, 5);
    cg_store_release(&r.hi->peer->passed, 6);
    r.lo->announce_out[CG_ANNOUNCE - 1].op = 63;
    r.hi->announce_out[0].op = 64;
    assert_int_equal(cg_load_acquire(&r.hi->mine->posted), 5);
    assert_int_equal(cg_load_acquire(&r.lo->mine->passed), 6);
    assert_int_equal(r.hi->announce_in[CG_ANNOUNCE - 1].op, 63);
    assert_int_equal(r.lo->announce_in[0].op, 64);
    pair_close(&p);
}

/* Communicators come and go: the same link, numbers that go on, nothing that grows. */
static void test_tenants_one_after_the_other(void **state)
{
    (void) state;
    for (const struct medium_row *row = media_rows; row->name; row++) {
        struct cg_links_counters first, now;
        struct pair p;
        struct rent r, former;
        int fds = 0;
        long kib = 0;

        pair_open(&p, row);
        for (uint64_t t = 0; t < 2000; t++) {
            assert_int_equal(pair_join(&p, row->medium, SMALL, &r), CG_OK);
            if (t > 0) {
                assert_ptr_equal(r.lo, former.lo);
                assert_ptr_equal(r.hi, former.hi);
            }
            assert_int_equal(r.lo->op_base, 3 * t);
            assert_int_equal(r.hi->op_base, 3 * t);
            assert_int_equal(r.lo->tenants, t);
            assert_int_equal(r.lo->send_next[0], 2 * t);
            pair_exchange(&p, &r, 2);
            assert_int_equal(counters(&p.lo).tenants, 1);
            pair_leave(&p, &r, 3);
            former = r;
            if (t != 200) continue;
            first = counters(&p.lo);
            fds = open_descriptors();
            kib = resident_kib();
        }
        now = counters(&p.lo);
        first.messages = now.messages; /* the only one that grows */
        assert_memory_equal(&now, &first, sizeof(now));
        assert_int_equal(now.links, 1);
        assert_int_equal(now.chunks, 1);
        assert_int_equal(now.tenants, 0);
        assert_int_equal(now.descriptors, row->medium == CG_MEDIUM_SHM ? 2 : 1);
        assert_int_equal(open_descriptors(), fds);
        assert_true(resident_kib() - kib < 2048);
        pair_close(&p);
    }
}

/* A link serves nobody else before both sides have closed it. */
static void test_closed_by_both(void **state)
{
    struct cg_link_msg msg;
    struct cg_link_end *other;
    struct pair p;
    struct rent r;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r), CG_OK);
    cg_link_release(p.lo.links, r.lo, 1);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &other, &msg), CG_OK);
    assert_ptr_not_equal(other, r.lo);
    cg_link_release(p.hi.links, r.hi, 1);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &other, &msg), CG_OK);
    assert_ptr_equal(other, r.lo);
    pair_close(&p);
}

/* The higher name may answer while the former tenant's "closed" is on its way to it: ready waits for that. */
static void test_net_closed_comes_late(void **state)
{
    struct cg_link_msg offer, answer;
    struct cg_link_end *lo, *hi;
    struct pair p;
    struct rent r;

    (void) state;
    pair_open(&p, &media_rows[1]);
    assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_OK);
    cg_link_release(p.hi.links, r.hi, 1);
    for (int i = 0; i < 1000 && cg_load_acquire(&r.lo->mine->closed) == 0; i++) {
        cg_links_progress(p.hi.links);
        cg_links_progress(p.lo.links);
    }
    cg_link_release(p.lo.links, r.lo, 1);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_NET, SMALL, &lo, &offer), CG_OK);
    assert_ptr_equal(lo, r.lo);
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &hi, &answer), CG_OK);
    assert_int_equal(cg_link_ready(p.hi.links, hi), CG_AGAIN);
    assert_int_equal(cg_link_take(p.lo.links, lo, &answer), CG_OK);
    pair_settle(&p);
    pair_close(&p);
}

enum { MANY = 100 };

/* Many communicators at once; their offers overtake each other, and they end in another order. */
static void test_many_beside_each_other(void **state)
{
    (void) state;
    for (const struct medium_row *row = media_rows; row->name; row++) {
        static struct cg_link_msg offer[MANY], answer[MANY];
        static struct rent r[MANY];
        struct cg_links_counters c;
        struct pair p;

        pair_open(&p, row);
        for (int i = 0; i < MANY; i++) {
            int rc = cg_link_offer(p.lo.links, &p.hi.info, row->medium, SMALL, &r[i].lo, &offer[i]);
            assert_int_equal(rc, CG_OK);
        }
        for (int i = 0; i < MANY; i++) {
            int k = (i * 37 + 11) % MANY;
            assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer[k], &r[k].hi, &answer[k]), CG_OK);
        }
        for (int i = 0; i < MANY; i++) assert_int_equal(cg_link_take(p.lo.links, r[i].lo, &answer[i]), CG_OK);
        for (int i = 0; i < MANY; i++) {
            while (cg_link_ready(p.lo.links, r[i].lo) == CG_AGAIN) cg_links_progress(p.hi.links);
            while (cg_link_ready(p.hi.links, r[i].hi) == CG_AGAIN) cg_links_progress(p.lo.links);
        }
        for (int i = 0; i < MANY; i++) pair_exchange(&p, &r[MANY - 1 - i], 3);
        for (int i = 0; i < MANY; i++) pair_leave(&p, &r[(i * 61 + 5) % MANY], 1);
        for (int i = 0; i < MANY; i++) assert_int_equal(pair_join(&p, row->medium, SMALL, &r[i]), CG_OK);
        c = counters(&p.hi);
        assert_int_equal(c.links, MANY);
        assert_int_equal(c.peers, 1);
        assert_int_equal(c.tenants, MANY);
        pair_close(&p);
    }
}

/* Two geometries do not share links, nor do two media. */
static void test_kinds_do_not_mix(void **state)
{
    struct pair p;
    struct rent a, b, c;

    (void) state;
    pair_open(&p, &media_rows[1]);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &a), CG_OK);
    pair_leave(&p, &a, 1);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, (struct cg_geometry){2048, 4}, &b), CG_OK);
    pair_leave(&p, &b, 1);
    assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &c), CG_OK);
    assert_ptr_not_equal(a.lo, b.lo);
    assert_ptr_not_equal(a.lo, c.lo);
    assert_int_equal(counters(&p.lo).links, 3);
    pair_close(&p);
}

/* A failed set-up costs its link, not its memory, and nothing of the next link's is left over from it. */
static void test_abandoned_memory_serves_again(void **state)
{
    (void) state;
    for (const struct medium_row *row = media_rows; row->name; row++) {
        struct cg_announce none = {0};
        struct pair p;
        struct rent r;

        pair_open(&p, row);
        for (int i = 0; i < 600; i++) { /* more than a chunk has room for */
            assert_int_equal(pair_join(&p, row->medium, SMALL, &r), CG_OK);
            assert_memory_equal(&r.lo->announce_in[3], &none, sizeof(none));
            assert_int_equal(r.lo->mine->chan[1].tail, 0);
            pair_exchange(&p, &r, 1);
            r.lo->announce_in[3].op = 3;
            cg_link_abandon(p.lo.links, r.lo);
            cg_link_abandon(p.hi.links, r.hi);
            pair_settle(&p);
        }
        assert_int_equal(counters(&p.lo).links, 0);
        assert_int_equal(counters(&p.lo).tenants, 0);
        assert_int_equal(counters(&p.lo).chunks, 1);
        pair_close(&p);
    }
}

/* Chunks as they come, own and the peer's; each once. */
static void test_regions(void **state)
{
    struct cg_geometry large = {.slot_bytes = 262144, .slots = 8}; /* a window of its own size */
    struct pair p;
    struct rent r[3];
    void *addr;
    size_t bytes, sum = 0;
    unsigned n;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r[0]), CG_OK);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, large, &r[1]), CG_OK);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r[2]), CG_OK);
    pair_exchange(&p, &r[1], 9);
    for (n = 0; cg_links_region(p.lo.links, n, &addr, &bytes); n++) sum += bytes;
    assert_int_equal(n, 4);
    assert_int_equal(sum, counters(&p.lo).chunk_bytes + counters(&p.hi).chunk_bytes);
    assert_true(counters(&p.lo).chunk_bytes > 8388608 * 2);
    assert_true(cg_links_region(p.lo.links, 0, &addr, &bytes));
    assert_true((char *) r[0].lo->mine >= (char *) addr && (char *) r[2].lo->mine < (char *) addr + bytes);
    pair_close(&p);
}

/* Tenant gone before its set-up had come to an end. */
static void test_release_early(void **state)
{
    struct cg_link_msg offer, answer;
    struct cg_link_end *lo, *hi;
    struct pair p;
    struct rent r;

    (void) state;
    for (const struct medium_row *row = media_rows; row->name; row++) {
        pair_open(&p, row);
        assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, row->medium, SMALL, &lo, &offer), CG_OK);
        assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &hi, &answer), CG_OK);
        cg_link_release(p.lo.links, lo, 0);
        cg_link_abandon(p.hi.links, hi);
        assert_int_equal(counters(&p.lo).tenants, 0);
        assert_int_equal(counters(&p.hi).tenants, 0);
        assert_int_equal(pair_join(&p, row->medium, SMALL, &r), CG_OK);
        pair_exchange(&p, &r, 5);
        pair_leave(&p, &r, 1);
        pair_close(&p);
    }
}

/* The transports that this build has and this host can open. */
static void test_transports(void **state)
{
    int tried = 0;

    (void) state;
    for (const struct cg_net_ops *const *ops = cg_transports; *ops; ops++) {
        struct medium_row row = {(*ops)->name, CG_MEDIUM_NET, *ops, NULL};
        struct pair p;
        struct rent r, former = {0};

        pair_open(&p, &row);
        for (int t = 0; t < 20; t++) {
            int rc = pair_join(&p, CG_MEDIUM_NET, SMALL, &r);
            if (t == 0 && rc == CG_ERR_NET) break;
            assert_int_equal(rc, CG_OK);
            if (t > 0) assert_ptr_equal(r.lo, former.lo);
            pair_exchange(&p, &r, 20);
            pair_leave(&p, &r, 1);
            do { /* a real network may need more than what pair_leave waits for */
                pair_settle(&p);
            } while (cg_links_busy(p.lo.links) || cg_links_busy(p.hi.links));
            former = r;
            tried++;
        }
        pair_close(&p);
    }
    if (!tried) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_before_need),
        cmocka_unit_test(test_data_both_ways),
        cmocka_unit_test(test_shm_words),
        cmocka_unit_test(test_tenants_one_after_the_other),
        cmocka_unit_test(test_closed_by_both),
        cmocka_unit_test(test_net_closed_comes_late),
        cmocka_unit_test(test_many_beside_each_other),
        cmocka_unit_test(test_kinds_do_not_mix),
        cmocka_unit_test(test_abandoned_memory_serves_again),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_release_early),
        cmocka_unit_test(test_transports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
