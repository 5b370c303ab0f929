/* SPDX-License-Identifier: BSD-3-Clause
 * Links with slots in GPU memory (pretended): where messages go, when they show, and what a flush that fails does. */
#include "test/proxy/ends.h"
#include "core/log.h"

#define SLOT 256
#define SLOTS 4

static struct cg_net_ops ops;
static int refuse, fail, flushes; /* flushes of the transport: refused so many times; then with this status */

static int do_flush(struct cg_net *net, struct cg_net_mem *mem, struct cg_net_req **req)
{
    flushes++;
    if (refuse && refuse--) return CG_AGAIN;
    return fail ? fail : cg_net_loop.flush(net, mem, req);
}

static int host_flush(void *ctx)
{
    ++*(int *) ctx;
    return fail;
}

struct fifo {
    struct pair p;
    struct cg_proxy_fifo fifo;
    int flushed; /* by host_flush */
};

/* The receiver (end 1) of link 0 has the slots. */
static void set(struct fifo *f, const char *hint, int net_flush)
{
    size_t lanes = cg_lanes_bytes(SLOT, SLOTS);
    struct cg_net_region region = {calloc(2, lanes), 2 * lanes, CG_NET_CUDA, -1};

    refuse = fail = flushes = 0;
    ops = cg_net_loop;
    ops.flush = do_flush;
    memset(f, 0, sizeof(*f));
    assert_true(pair_open(&f->p, &ops, hint, 2, SLOT, SLOTS));
    f->fifo = (struct cg_proxy_fifo){.recv_slots = region.addr, .send_slots = (char *) region.addr + lanes,
                                     .flush = net_flush ? NULL : host_flush, .ctx = &f->flushed,
                                     .net_flush = net_flush};
    assert_int_equal(CG_OK, ops.reg(f->p.side[1].net, &region, &f->fifo.mem));
    cg_proxy_link_fifo(f->p.end[0][1].link, &f->fifo);
}

static void unset(struct fifo *f)
{
    cg_proxy_link_close(f->p.side[1].proxy, f->p.end[0][1].link);
    end_free(&f->p.end[0][1]);
    f->p.end[0][1].config.recv_slots = f->p.end[0][1].config.send_slots = NULL;
    ops.dereg(f->p.side[1].net, f->fifo.mem);
    free(f->fifo.recv_slots);
    pair_close(&f->p);
}

static uint64_t tail(const struct fifo *f) { return cg_load_acquire(&f->p.end[0][1].line.chan[0].tail); }

static void send(struct fifo *f, int n)
{
    for (int i = 0; i < n; i++) assert_true(end_send(&f->p.end[0][0], 0, 100));
}

/* Message seq lies there; it is consumed. */
static void take(struct fifo *f, uint64_t seq, int in_gpu)
{
    struct end *e = &f->p.end[0][1];
    struct cg_slot_hdr *h = cg_slot(in_gpu ? f->fifo.recv_slots : e->config.recv_slots, 0, seq, SLOT, SLOTS);

    while (tail(f) <= seq) pair_turn(&f->p);
    assert_int_equal(seq, h->seq);
    assert_int_equal(100, h->bytes);
    memset(h, 0, sizeof(*h));
    cg_store_release(&e->out.chan[0].head, seq + 1);
}

static void test_places(void **state)
{
    static const int places[] = {1, 1, 0, 1, 0, 0, 1, 1, 1, 0};

    (void) state;
    for (int net_flush = 0; net_flush < 2; net_flush++) {
        struct fifo f;
        set(&f, net_flush ? "seed=1,delay=3,flush=1" : "seed=2,delay=3", net_flush);
        send(&f, SLOTS);
        pair_progress(&f.p, 200);
        assert_int_equal(0, tail(&f)); /* nobody has said where to */
        for (uint64_t seq = 0; seq < 10; seq++) {
            cg_proxy_link_expect(f.p.end[0][1].link, 0, seq + 1, places[seq]);
            take(&f, seq, places[seq]);
            if (seq + SLOTS < 10) {
                while (!end_send(&f.p.end[0][0], 0, 100)) pair_turn(&f.p);
            }
        }
        assert_int_equal(10, cg_proxy_link_unplaced(f.p.end[0][1].link, 0));
        assert_true(net_flush ? flushes >= 6 : f.flushed >= 6);
        unset(&f);
    }
}

static void test_flush_again(void **state)
{
    struct fifo f;

    (void) state;
    set(&f, "flush=1", 1);
    refuse = 50;
    cg_proxy_link_expect(f.p.end[0][1].link, 0, SLOTS, 1);
    send(&f, SLOTS);
    for (uint64_t seq = 0; seq < SLOTS; seq++) take(&f, seq, 1);
    assert_true(flushes > 50);
    unset(&f);
}

/* A flush that fails ends its link, and no other; what it was for is not shown. */
static void test_flush_fails(void **state)
{
    (void) state;
    cg_log_set(NULL, NULL, -1);
    for (int net_flush = 0; net_flush < 2; net_flush++) {
        struct fifo f;
        set(&f, "flush=1", net_flush);
        fail = net_flush ? CG_ERR_NET : CG_ERR_GPU;
        cg_proxy_link_expect(f.p.end[0][1].link, 0, SLOTS, 1);
        send(&f, 1);
        while (CG_OK == cg_proxy_link_status(f.p.end[0][1].link)) pair_turn(&f.p);
        assert_int_equal(fail, cg_proxy_link_status(f.p.end[0][1].link));
        assert_int_equal(0, tail(&f));
        assert_true(end_send(&f.p.end[1][0], 0, 10));
        while (!end_recv(&f.p.end[1][1], 0)) pair_turn(&f.p);
        unset(&f);
    }
    cg_log_set(NULL, NULL, 0);
}

/* Closed while a flush is under way: memory is checked by the sanitizers. */
static void test_close_flushing(void **state)
{
    struct fifo f;

    (void) state;
    for (int passes = 1; passes < 60; passes++) {
        set(&f, "seed=3,delay=20,flush=1", 1);
        cg_proxy_link_expect(f.p.end[0][1].link, 0, SLOTS, 1);
        send(&f, SLOTS);
        pair_progress(&f.p, passes);
        unset(&f);
    }
}

/* What the headers do not tell the receiver, the reports do. */
static void test_announced(void **state)
{
    const struct cg_announce *entry;
    struct fifo f;

    (void) state;
    set(&f, NULL, 0);
    entry = &f.p.end[0][0].announce[7];
    cg_proxy_link_announce(f.p.end[0][1].link, 7, 4096, CG_COLL_BCAST, 3, 0);
    while (7 != cg_load_acquire(&entry->op)) pair_turn(&f.p);
    assert_int_equal(4096, entry->bytes);
    assert_int_equal(CG_COLL_BCAST, entry->coll);
    assert_int_equal(3, entry->type);
    unset(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),         cmocka_unit_test(test_flush_again), cmocka_unit_test(test_flush_fails),
        cmocka_unit_test(test_close_flushing), cmocka_unit_test(test_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
