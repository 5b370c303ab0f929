/* SPDX-License-Identifier: BSD-3-Clause
 * The transport of docs/net-interface.md, taken out of the page when the tests are built, through the suite. */
#include "test/proxy/conformance.h"

extern const struct cg_net_ops cg_net_tcp;

static void test_conformance(void **state)
{
    (void) state;
    for (int remote = 0; remote < 2; remote++) assert_true(conformance_run(&cg_net_tcp, NULL, remote));
}

static void test_bad_hint(void **state)
{
    struct cg_params params;
    struct cg_net *net;
    char why[200] = "";

    (void) state;
    cg_params_default(&params);
    assert_int_equal(CG_ERR_NET, cg_net_tcp.open(&params, "nowhere", &net, why, sizeof(why)));
    assert_non_null(strstr(why, "nowhere"));
}

/* Who only receives learns that the peer is gone. */
static void test_peer_gone(void **state)
{
    struct duo d;
    double end = test_seconds() + 20;

    (void) state;
    assert_true(duo_open(&d, &cg_net_tcp, NULL, 1));
    cg_net_tcp.close(d.net[1]);
    while (CG_OK == cg_net_tcp.ep_status(d.net[0], d.ep[0]) && test_seconds() < end) cg_net_tcp.progress(d.net[0]);
    assert_int_equal(CG_ERR_PEER, cg_net_tcp.ep_status(d.net[0], d.ep[0]));
    cg_net_tcp.close(d.net[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conformance), cmocka_unit_test(test_bad_hint),
                                       cmocka_unit_test(test_peer_gone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
