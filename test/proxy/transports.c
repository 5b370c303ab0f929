/* SPDX-License-Identifier: BSD-3-Clause
 * The suite over every row of the transport table, with the network that is here. 77 where none can be opened. */
#include "test/proxy/conformance.h"
#include "core/status.h"
#include "test/proxy/reach.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A transport that is closed while its peer does not answer leaves its UCX worker as it is (net_ucx.c). What UCX holds
 * then is no leak of ours. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libucs.so\n"; }

/* Further hints of a row: other paths inside the transport. Those that cannot be opened here are left out. remote: may
 * be used towards other hosts. */
static const struct {
    const char *name, *hint;
    int remote;
} variants[] = {{"ucx", "TLS=tcp", 1},
                {"ucx", "TLS=posix,self", 0},
                {"ucx", "TLS=sysv,cma,self", 0},
                {"ucx", "RNDV_THRESH=1k", 1},
                {"ucx", "RNDV_THRESH=inf", 1},
                {"loop", "seed=1,delay=7", 1},
                {"loop", "seed=2,delay=30,reorder=1,slow=3", 1},
                {"loop", "seed=3,delay=5,flush=1", 1}};

#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static int can_open(const struct cg_net_ops *ops, const char *hint)
{
    struct cg_params params;
    struct cg_net *net;
    char why[256];

    cg_params_default(&params);
    if (CG_OK != ops->open(&params, hint, &net, why, sizeof(why))) return 0;
    ops->close(net);
    return 1;
}

static void test_find(void **state)
{
    const struct cg_net_ops *first = NULL;

    (void) state;
    for (const struct cg_net_ops *const *row = cg_transports; *row && !first; row++) {
        if (!(*row)->by_name) first = *row;
    }
    assert_ptr_equal(first, cg_transport_find(NULL));
    assert_ptr_equal(first, cg_transport_find(""));
    assert_null(cg_transport_find("none such"));
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) {
        assert_ptr_equal(*row, cg_transport_find((*row)->name));
    }
}

/* What is near becomes UCX's settings; those of the environment stay. UCX opens with the interfaces that are named. */
static void test_hint(void **state)
{
    const struct cg_net_ops *ops = cg_transport_find("ucx");
    char text[512];

    (void) state;
    if (!ops) skip();
    ops->hint("mlx5_3:1,mlx5_4:1", 1, 0, text, sizeof(text));
    assert_int_equal(strncmp(text, "NET_DEVICES=mlx5_3:1,mlx5_4:1", 29), 0);
    assert_null(strstr(text, "RNDV"));
    ops->hint("", 0, 0, text, sizeof(text));
    assert_string_equal(text, "RNDV_THRESH=inf");
    assert_true(can_open(ops, text));
    ops->hint("", 0, 1, text, sizeof(text));
    assert_string_equal(text, "");
    ops->hint("mlx5_3:1", 0, 0, text, sizeof(text));
    assert_non_null(strstr(text, ";RNDV_THRESH=inf"));
    setenv("UCX_NET_DEVICES", "lo", 1);
    setenv("UCX_RNDV_THRESH", "64k", 1);
    ops->hint("mlx5_3:1", 0, 0, text, sizeof(text));
    assert_string_equal(text, "");
    unsetenv("UCX_NET_DEVICES");
    unsetenv("UCX_RNDV_THRESH");
}

static void test_conformance(void **state)
{
    (void) state;
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) {
        conformance_cuda = &cg_net_loop == *row ? &test_cuda_pretended : NULL;
        for (int remote = 0; remote < 2; remote++) {
            if (remote && !test_reaches(*row, NULL)) continue;
            conformance_run(*row, NULL, remote);
            for (unsigned i = 0; i < VARIANTS; i++) {
                if (strcmp((*row)->name, variants[i].name) || remote > variants[i].remote) continue;
                conformance_run(*row, variants[i].hint, remote);
            }
        }
    }
}

static void test_no_transport(void **state)
{
    struct cg_params params;
    struct cg_net *net;
    char why[512] = "";
    const struct cg_net_ops *ucx = cg_transport_find("ucx");

    (void) state;
    if (!ucx) skip();
    cg_params_default(&params);
    assert_int_equal(CG_ERR_NET, ucx->open(&params, "TLS=foo", &net, why, sizeof(why)));
    assert_non_null(strstr(why, "UCX_TLS"));
    assert_non_null(strstr(why, "ucx_info -d"));
    setenv("UCX_TLS", "foo", 1);
    assert_int_equal(CG_ERR_NET, ucx->open(&params, NULL, &net, why, sizeof(why)));
    assert_non_null(strstr(why, "UCX_TLS=foo"));
    unsetenv("UCX_TLS");
}

struct mail {
    size_t len;
    char addr[CG_NET_HANDLE_MAX];
};

/* Exchanges addresses and a message with the other process, kills it if it is the victim, and watches for that with
 * nothing but a receive, or until it is killed. CG_ERR_INTERNAL: it did not come to that. */
static int converse(const struct cg_net_ops *ops, struct cg_net *net, int remote, int in, int out, pid_t victim)
{
    struct mail mine, peer;
    struct cg_net_req *recv, *send;
    struct cg_net_ep *ep;
    char a = 1, b = 0;
    double end = test_seconds() + 20;
    size_t bytes;
    int status;

    if (ops->listen(net, mine.addr, &mine.len) || write(out, &mine, sizeof(mine)) != sizeof(mine) ||
        read(in, &peer, sizeof(peer)) != sizeof(peer))
        return CG_ERR_INTERNAL;
    do status = (victim ? ops->connect : ops->accept)(net, peer.addr, peer.len, remote, &ep);
    while (CG_AGAIN == status);
    if (status || ops->irecv(net, 1, &b, 1, NULL, &recv) || ops->isend(net, ep, 1, &a, 1, NULL, &send))
        return CG_ERR_INTERNAL;
    while (CG_AGAIN == ops->test(net, recv, &bytes) && test_seconds() < end) ops->progress(net);
    if (!b || ops->irecv(net, 1, &b, 1, NULL, &recv)) return CG_ERR_INTERNAL;
    if (victim) kill(victim, SIGKILL);
    end = test_seconds() + (remote || !victim ? 40 : 2);
    while ((CG_OK == status || !victim) && test_seconds() < end) {
        ops->progress(net);
        status = ops->ep_status(net, ep);
    }
    return status;
}

static int process(const struct cg_net_ops *ops, const char *hint, int remote, int in, int out, pid_t victim)
{
    struct cg_params params;
    struct cg_net *net;
    char why[256];
    int status;

    cg_params_default(&params);
    if (ops->open(&params, hint, &net, why, sizeof(why))) return CG_ERR_INTERNAL;
    status = converse(ops, net, remote, in, out, victim);
    ops->close(net);
    return status;
}

/* Without remote nothing is promised but survival. */
static void peer_death(const struct cg_net_ops *ops, const char *hint, int remote)
{
    int down[2], up[2], status;
    double start = test_seconds();
    pid_t pid;

    assert_int_equal(0, pipe(down));
    assert_int_equal(0, pipe(up));
    pid = fork();
    if (!pid) {
        process(ops, hint, remote, down[0], up[1], 0);
        _exit(1);
    }
    status = process(ops, hint, remote, up[0], down[1], pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 2; i++) {
        close(up[i]);
        close(down[i]);
    }
    print_message("%s, hint \"%s\", remote %d: %s, %.1f s\n", ops->name, hint, remote, cg_status_text(status),
                  test_seconds() - start);
    assert_true(CG_ERR_PEER == status || CG_ERR_NET == status || (!remote && CG_OK == status));
}

static void test_peer_death(void **state)
{
    const struct cg_net_ops *ucx = cg_transport_find("ucx");

    (void) state;
    if (!ucx) skip();
    for (int remote = 0; remote < 2; remote++) {
        if (remote && !test_reaches(ucx, NULL)) continue;
        if (can_open(ucx, "TLS=tcp")) peer_death(ucx, "TLS=tcp;KEEPALIVE_INTERVAL=1s", remote);
        /* Newer UCX probes the peer by process_vm_readv, whose arguments AddressSanitizer takes for its own memory. */
        if (can_open(ucx, "TLS=^cma")) peer_death(ucx, "TLS=^cma;KEEPALIVE_INTERVAL=1s", remote);
    }
}

/* UCX reads its settings when it is loaded. It complains of the messages that the suite abandons on purpose. */
static void quiet(char **argv)
{
    if (getenv("UCX_LOG_LEVEL")) return;
    setenv("UCX_LOG_LEVEL", "fatal", 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_hint),
        cmocka_unit_test(test_peer_death),
        cmocka_unit_test(test_no_transport),
        cmocka_unit_test(test_conformance),
    };
    int n = 0;

    (void) argc;
    quiet(argv);
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) n += can_open(*row, NULL);
    if (!n) {
        print_message("no transport can be opened here\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
