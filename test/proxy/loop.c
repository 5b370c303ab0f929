/* SPDX-License-Identifier: BSD-3-Clause
 * The loop transport: what it injects. The suite over it is in transports.c. */
#include "test/proxy/conformance.h"
#include "core/status.h"

static void test_bad_hint(void **state)
{
    static const char *const hints[] = {"speed=1", "delay=-1", "delay", "seed=1,x"};
    struct cg_params params;
    struct cg_net *net;

    (void) state;
    cg_params_default(&params);
    for (unsigned i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        char why[200] = "";
        assert_int_equal(CG_ERR_NET, cg_net_loop.open(&params, hints[i], &net, why, sizeof(why)));
        assert_non_null(strstr(why, hints[i]));
    }
}

static void test_room(void **state)
{
    struct cg_net_req *first, *second;
    char a[8] = "1", b[8] = "2", in[8];
    size_t bytes;
    struct duo d;

    (void) state;
    assert_true(duo_open(&d, &cg_net_loop, "room=1,delay=3", 0));
    first = duo_send(&d, 0, 1, a, sizeof(a));
    assert_int_equal(CG_AGAIN, cg_net_loop.isend(d.net[0], d.ep[0], 1, b, sizeof(b), NULL, &second));
    assert_int_equal(CG_OK, duo_wait(&d, 0, first, &bytes));
    second = duo_send(&d, 0, 1, b, sizeof(b));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(CG_OK, duo_wait(&d, 1, duo_recv(&d, 1, 1, in, sizeof(in)), &bytes));
        assert_string_equal(i ? "2" : "1", in);
    }
    assert_int_equal(CG_OK, duo_wait(&d, 0, second, &bytes));
    duo_close(&d);
}

/* The failed send ends its endpoint, not the other direction and not another endpoint. */
static void test_failure(void **state)
{
    char out[8] = "x", in[8] = "", addr[CG_NET_HANDLE_MAX];
    struct cg_net_req *req;
    struct cg_net_ep *other;
    size_t bytes, len;
    struct duo d;

    (void) state;
    assert_true(duo_open(&d, &cg_net_loop, "fail=3", 0));
    for (int i = 0; i < 2; i++) assert_int_equal(CG_OK, duo_wait(&d, 0, duo_send(&d, 0, 1, out, 8), &bytes));
    assert_int_equal(CG_ERR_NET, duo_wait(&d, 0, duo_send(&d, 0, 1, out, 8), &bytes));
    assert_int_equal(CG_ERR_NET, cg_net_loop.ep_status(d.net[0], d.ep[0]));
    assert_int_equal(CG_ERR_NET, cg_net_loop.isend(d.net[0], d.ep[0], 1, out, 8, NULL, &req));
    assert_int_equal(CG_OK, cg_net_loop.listen(d.net[1], addr, &len));
    assert_int_equal(CG_OK, cg_net_loop.connect(d.net[0], addr, len, 0, &other));
    assert_int_equal(CG_OK, cg_net_loop.isend(d.net[0], other, 2, out, 8, NULL, &req));
    assert_int_equal(CG_OK, duo_wait(&d, 1, duo_recv(&d, 1, 2, in, 8), &bytes));
    assert_string_equal("x", in);
    assert_int_equal(CG_OK, duo_wait(&d, 0, req, &bytes));
    assert_int_equal(CG_OK, duo_wait(&d, 1, duo_send(&d, 1, 3, out, 8), &bytes));
    duo_close(&d);
}

/* An endpoint made with remote = 1 tells of a peer that is gone, also one that only receives. */
static void test_peer_gone(void **state)
{
    char *out = calloc(1, 1u << 20);
    struct cg_net_req *req;
    size_t bytes;

    (void) state;
    for (int remote = 0; remote < 2; remote++) {
        struct duo d;
        assert_true(duo_open(&d, &cg_net_loop, NULL, remote));
        req = duo_send(&d, 0, 1, out, 1u << 20);
        cg_net_loop.close(d.net[1]);
        assert_int_equal(CG_ERR_PEER, cg_net_loop.test(d.net[0], req, &bytes));
        assert_int_equal(remote ? CG_ERR_PEER : CG_OK, cg_net_loop.ep_status(d.net[0], d.ep[0]));
        assert_int_equal(CG_ERR_PEER, cg_net_loop.isend(d.net[0], d.ep[0], 1, out, 8, NULL, &req));
        cg_net_loop.close(d.net[0]);
    }
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_hint),  cmocka_unit_test(test_room),
        cmocka_unit_test(test_failure),     cmocka_unit_test(test_peer_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
