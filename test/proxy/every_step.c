/* SPDX-License-Identifier: BSD-3-Clause
 * Every call that the proxy makes of its transport is refused once, or fails once: a refusal changes nothing in what
 * arrives, a failure ends one link and no other. Every request ends exactly once, and memory that cannot be had is an
 * error that leaves nothing behind. */
#include "test/proxy/ends.h"
#include "test/proxy/reach.h"
#include "core/log.h"

#define MESSAGES 12
#define REQUESTS 4096

enum call { ISEND, IRECV, TEST, STATUS, CALLS };

static struct {
    enum call call;
    int fault, side, fired; /* fault: the status that is returned instead; side: of which process */
    long at, n;             /* the at-th call of that kind */
    struct cg_net *net[2];
    struct cg_net_req *live[REQUESTS];
    int nlive;
} watch;
static struct cg_net_ops ops;

static int due(const struct cg_net *net, enum call call)
{
    if (watch.call != call || net != watch.net[watch.side] || ++watch.n != watch.at) return 0;
    watch.fired = 1;
    return 1;
}

static void began(struct cg_net_req *req)
{
    for (int i = 0; i < watch.nlive; i++) assert_ptr_not_equal(req, watch.live[i]);
    assert_true(watch.nlive < REQUESTS);
    watch.live[watch.nlive++] = req;
}

static void ended(struct cg_net_req *req)
{
    int i = 0;

    while (i < watch.nlive && watch.live[i] != req) i++;
    assert_true(i < watch.nlive); /* else it ends twice */
    watch.live[i] = watch.live[--watch.nlive];
}

static int do_isend(struct cg_net *net, struct cg_net_ep *ep, uint64_t tag, const void *buf, size_t bytes,
                    struct cg_net_mem *mem, struct cg_net_req **req)
{
    int rc = due(net, ISEND) ? watch.fault : cg_net_loop.isend(net, ep, tag, buf, bytes, mem, req);

    if (CG_OK == rc) began(*req);
    return rc;
}

static int do_irecv(struct cg_net *net, uint64_t tag, void *buf, size_t capacity, struct cg_net_mem *mem,
                    struct cg_net_req **req)
{
    int rc = due(net, IRECV) ? watch.fault : cg_net_loop.irecv(net, tag, buf, capacity, mem, req);

    if (CG_OK == rc) began(*req);
    return rc;
}

/* A failure takes the request with it, complete or not. */
static int do_test(struct cg_net *net, struct cg_net_req *req, size_t *bytes)
{
    int rc;

    if (due(net, TEST)) {
        if (CG_AGAIN == watch.fault) return CG_AGAIN;
        cg_net_loop.cancel(net, req);
        ended(req);
        return watch.fault;
    }
    rc = cg_net_loop.test(net, req, bytes);
    if (CG_AGAIN != rc) ended(req);
    return rc;
}

static void do_cancel(struct cg_net *net, struct cg_net_req *req)
{
    ended(req);
    cg_net_loop.cancel(net, req);
}

static int do_status(struct cg_net *net, struct cg_net_ep *ep)
{
    return due(net, STATUS) ? watch.fault : cg_net_loop.ep_status(net, ep);
}

static void no_line(int level, const char *line, void *ctx)
{
    (void) level;
    (void) line;
    (void) ctx;
}

static int all_here(const struct pair *p, int link)
{
    for (int c = 0; c < CG_MAX_CHAN; c++) {
        if (p->end[link][0].rcvd[c] < MESSAGES || p->end[link][1].rcvd[c] < MESSAGES) return 0;
    }
    return 1;
}

static int failed_links(const struct pair *p)
{
    int n = 0;

    for (int i = 0; i < p->links; i++) {
        for (int s = 0; s < 2; s++) n += CG_OK != cg_proxy_link_status(p->end[i][s].link);
    }
    return n;
}

/* The link that lives carries everything, whatever happened to the other. */
static void run_to_the_end(struct pair *p)
{
    uint64_t random = 99;

    while (all_here(p, 0) + all_here(p, 1) < (failed_links(p) ? 1 : 2)) {
        for (int n = 0; n < 8; n++) pair_act(p, &random, MESSAGES);
        pair_turn(p);
    }
}

static void open_pair(struct pair *p, const char *hint)
{
    watch.n = watch.nlive = watch.fired = 0;
    watch.net[0] = watch.net[1] = NULL;
    assert_true(pair_open(p, &ops, hint, 2, 256, 4));
    watch.net[0] = p->side[0].net;
    watch.net[1] = p->side[1].net;
}

/* 0 when there is no at-th call. */
static int once(enum call call, int fault, long at, int side, const char *hint)
{
    struct pair p;

    watch.call = call;
    watch.fault = fault;
    watch.at = at;
    watch.side = side;
    open_pair(&p, hint);
    run_to_the_end(&p);
    if (!watch.fired || CG_AGAIN == fault) assert_int_equal(failed_links(&p), 0);
    else assert_int_equal(failed_links(&p), 1);
    for (int i = 0; i < 2 && failed_links(&p); i++) {
        int status = cg_proxy_link_status(p.end[i][side].link);
        assert_int_equal(CG_OK, cg_proxy_link_status(p.end[i][!side].link));
        if (CG_OK != status) assert_int_equal(status, fault);
    }
    pair_close(&p);
    assert_int_equal(watch.nlive, 0);
    return watch.fired;
}

/* Little room for sends only where no link fails: it keeps its sends until it is closed. */
static void every(enum call call, int fault)
{
    const char *room = CG_AGAIN == fault ? "seed=2,delay=3,reorder=1,room=6" : "seed=2,delay=3,reorder=1";
    const char *hints[] = {"seed=1", room};
    long most = 0;

    for (unsigned h = 0; h < 2; h++) {
        for (int side = 0; side < 2; side++) {
            long at = 1;
            while (once(call, fault, at, side, hints[h])) at += at < 150 ? 1 : 1 + at / 8;
            if (at > most) most = at;
        }
    }
    assert_true(most > 20); /* there were such calls */
}

static void test_refusals(void **state)
{
    (void) state;
    cg_log_set(no_line, NULL, 0);
    every(ISEND, CG_AGAIN);
    every(IRECV, CG_AGAIN);
    every(TEST, CG_AGAIN);
    cg_log_set(NULL, NULL, 0);
}

static void test_failures(void **state)
{
    (void) state;
    cg_log_set(no_line, NULL, 0);
    every(ISEND, CG_ERR_NET);
    every(IRECV, CG_ERR_NOMEM);
    every(TEST, CG_ERR_NET);
    every(STATUS, CG_ERR_PEER);
    cg_log_set(NULL, NULL, 0);
}

/* ---- memory ---- */

static long allocations = -1; /* until one fails; negative: none does */
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes) { return allocations-- == 0 ? NULL : __real_calloc(n, bytes); }
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) { return allocations-- == 0 ? NULL : __real_malloc(bytes); }

/* A message that was sent before it is received. */
static int exchange(const struct cg_net_ops *row, struct cg_net *from, struct cg_net_ep *ep, struct cg_net *to)
{
    struct cg_net_req *send, *recv;
    char out[32] = "out", in[32];
    int rc = row->isend(from, ep, 77, out, sizeof(out), NULL, &send);

    if (CG_OK != rc) return rc;
    rc = row->irecv(to, 77, in, sizeof(in), NULL, &recv);
    if (CG_OK == rc) row->cancel(to, recv);
    row->cancel(from, send);
    return rc;
}

/* Two processes, one endpoint, one link, one message. What could be made is closed. */
static int set_up(const struct cg_net_ops *row)
{
    struct cg_proxy *proxy = NULL;
    struct cg_net *net[2] = {NULL, NULL};
    struct cg_net_ep *ep = NULL;
    struct cg_proxy_link *link = NULL;
    struct cg_line line[2];
    struct cg_announce announce[CG_ANNOUNCE];
    static char slots[2][1 << 16];
    struct cg_params params;
    char why[256], handle[CG_NET_HANDLE_MAX];
    size_t len;
    int rc;

    memset(line, 0, sizeof(line));
    cg_params_default(&params);
    rc = row->open(&params, NULL, &net[0], why, sizeof(why));
    if (CG_OK == rc) rc = row->open(&params, NULL, &net[1], why, sizeof(why));
    if (CG_OK == rc) rc = row->listen(net[1], handle, &len);
    if (CG_OK == rc) rc = row->connect(net[0], handle, len, 1, &ep);
    if (CG_OK == rc) rc = cg_proxy_open(row, net[0], &proxy);
    if (CG_OK == rc) {
        struct cg_proxy_link_config config = {.ep = ep, .local_id = 1, .remote_id = 2, .slot_bytes = 256, .slots = 4,
                                              .line = &line[0], .out = &line[1], .recv_slots = slots[0],
                                              .send_slots = slots[1], .announce = announce};
        rc = cg_proxy_link_open(proxy, &config, &link);
    }
    if (CG_OK == rc) rc = exchange(row, net[0], ep, net[1]);
    if (proxy) cg_proxy_close(proxy);
    if (net[0]) row->close(net[0]);
    if (net[1]) row->close(net[1]);
    return rc;
}

static void test_no_memory(void **state)
{
    const struct cg_net_ops *rows[] = {&cg_net_loop, cg_transport_find("ucx")};

    (void) state;
    cg_log_set(no_line, NULL, 0);
    for (int r = 0; r < 2 && rows[r]; r++) {
        int rc = CG_ERR_NOMEM;
        long n = 0;
        if (!test_reaches(rows[r], NULL)) continue;
        for (; CG_OK != rc; n++) {
            allocations = n;
            rc = set_up(rows[r]);
            allocations = -1;
            if (CG_OK != rc && CG_ERR_NOMEM != rc && CG_ERR_NET != rc) fail_msg("status %d at allocation %ld", rc, n);
            if (n > 10000) fail_msg("%s: it does not end", rows[r]->name);
        }
        assert_true(n > 3);
    }
    cg_log_set(NULL, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_no_memory),
    };

    ops = cg_net_loop;
    ops.isend = do_isend;
    ops.irecv = do_irecv;
    ops.test = do_test;
    ops.cancel = do_cancel;
    ops.ep_status = do_status;
    return cmocka_run_group_tests_name("every step", tests, NULL, NULL);
}
