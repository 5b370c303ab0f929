/* SPDX-License-Identifier: BSD-3-Clause
 * UCX's functions fail, one after the other: the transport says so with the right status, and leaves nothing behind. */
#include "proxy/net.h"
#include "core/log.h"

#include <ucp/api/ucp.h>

#include <errno.h>
#include <ifaddrs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum function { NONE, CONFIG_READ, CONFIG_MODIFY, INIT, WORKER, QUERY, EP, MAP, SEND, RECV, INTERFACES };
static enum function failing;
static ucs_status_t with;
static size_t address_bytes; /* UCX's addresses seem that long; 0: as they are */
static int short_without_shm; /* ... unless only the network's part is asked for */
static int pretend_cuda;

#define WRAP(result, name, parameters, arguments, function, failed) \
    result __real_##name parameters;                                \
    result __wrap_##name parameters;                                \
    result __wrap_##name parameters { return failing == function ? failed : __real_##name arguments; }

WRAP(ucs_status_t, ucp_config_read, (const char *prefix, const char *file, ucp_config_t **config),
     (prefix, file, config), CONFIG_READ, with)
WRAP(ucs_status_t, ucp_config_modify, (ucp_config_t * config, const char *name, const char *value),
     (config, name, value), CONFIG_MODIFY, with)
WRAP(ucs_status_t, ucp_init_version,
     (unsigned major, unsigned minor, const ucp_params_t *params, const ucp_config_t *config, ucp_context_h *context),
     (major, minor, params, config, context), INIT, with)
WRAP(ucs_status_t, ucp_worker_create,
     (ucp_context_h context, const ucp_worker_params_t *params, ucp_worker_h *worker), (context, params, worker),
     WORKER, with)
WRAP(ucs_status_t, ucp_ep_create, (ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep),
     (worker, params, ep), EP, with)
WRAP(ucs_status_t, ucp_mem_map, (ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *mem),
     (context, params, mem), MAP, with)
WRAP(ucs_status_ptr_t, ucp_tag_send_nbx,
     (ucp_ep_h ep, const void *buf, size_t n, ucp_tag_t tag, const ucp_request_param_t *param),
     (ep, buf, n, tag, param), SEND, UCS_STATUS_PTR(with))
WRAP(ucs_status_ptr_t, ucp_tag_recv_nbx,
     (ucp_worker_h worker, void *buf, size_t n, ucp_tag_t tag, ucp_tag_t mask, const ucp_request_param_t *param),
     (worker, buf, n, tag, mask, param), RECV, UCS_STATUS_PTR(with))
WRAP(int, getifaddrs, (struct ifaddrs * *list), (list), INTERFACES, -1)

ucs_status_t __real_ucp_worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr);
ucs_status_t __wrap_ucp_worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr);
ucs_status_t __wrap_ucp_worker_query(ucp_worker_h worker, ucp_worker_attr_t *attr)
{
    ucs_status_t rc = failing == QUERY ? with : __real_ucp_worker_query(worker, attr);
    int net_only = short_without_shm && (attr->address_flags & UCP_WORKER_ADDRESS_FLAG_NET_ONLY);

    if (UCS_OK == rc && address_bytes && !net_only)
        attr->address_length = address_bytes;
    return rc;
}

ucs_status_t __real_ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr);
ucs_status_t __wrap_ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr);
ucs_status_t __wrap_ucp_context_query(ucp_context_h context, ucp_context_attr_t *attr)
{
    ucs_status_t rc = __real_ucp_context_query(context, attr);

    if (UCS_OK == rc && pretend_cuda) attr->memory_types |= 1ull << UCS_MEMORY_TYPE_CUDA;
    return rc;
}

/* ---- the tests ---- */

static const struct cg_net_ops *ucx;
static struct cg_net *net;
static char why[512];

static int open_net(const char *hint)
{
    struct cg_params params;

    cg_params_default(&params);
    why[0] = 0;
    return ucx->open(&params, hint, &net, why, sizeof(why));
}

static void fail_with(enum function function, ucs_status_t status)
{
    failing = function;
    with = status;
}

static void test_open(void **state)
{
    static const struct {
        enum function function;
        const char *hint, *text;
    } rows[] = {{CONFIG_READ, NULL, "ucp_config_read"},
                {CONFIG_MODIFY, "TLS=tcp,self", "ucp_config_read"},
                {INIT, NULL, "ucp_init"},
                {WORKER, NULL, "ucp_worker_create"}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fail_with(rows[i].function, UCS_ERR_IO_ERROR);
        assert_int_equal(open_net(rows[i].hint), CG_ERR_NET);
        assert_non_null(strstr(why, rows[i].text));
        assert_non_null(strstr(why, "ucx_info"));
    }
    fail_with(NONE, UCS_OK);
    setenv("UCX_TLS", "tcp,self", 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    fail_with(INIT, UCS_ERR_IO_ERROR);
    assert_int_equal(open_net(NULL), CG_ERR_NET);
    assert_non_null(strstr(why, "UCX_TLS=tcp,self, UCX_NET_DEVICES=lo"));
    unsetenv("UCX_TLS");
    unsetenv("UCX_NET_DEVICES");
    fail_with(NONE, UCS_OK);
}

static void test_listen(void **state)
{
    char handle[CG_NET_HANDLE_MAX];
    size_t len = 0;

    (void) state;
    assert_int_equal(open_net(NULL), CG_OK);
    fail_with(QUERY, UCS_ERR_NO_MEMORY);
    assert_int_equal(ucx->listen(net, handle, &len), CG_ERR_NOMEM);
    fail_with(NONE, UCS_OK);
    address_bytes = CG_NET_HANDLE_MAX;
    assert_int_equal(ucx->listen(net, handle, &len), CG_ERR_LIMIT);
    short_without_shm = 1;
    assert_int_equal(ucx->listen(net, handle, &len), CG_OK);
    assert_true(len > 0 && len <= CG_NET_HANDLE_MAX);
    address_bytes = 0;
    short_without_shm = 0;
    ucx->close(net);
}

static void test_connect(void **state)
{
    char handle[CG_NET_HANDLE_MAX];
    struct cg_net_ep *ep;
    size_t len;

    (void) state;
    assert_int_equal(open_net(NULL), CG_OK);
    assert_int_equal(ucx->listen(net, handle, &len), CG_OK);
    for (int remote = 0; remote < 2; remote++) {
        fail_with(EP, UCS_ERR_UNREACHABLE);
        assert_int_equal(ucx->connect(net, handle, len, remote, &ep), CG_ERR_NET);
        fail_with(EP, UCS_ERR_NO_MEMORY);
        assert_int_equal(ucx->connect(net, handle, len, remote, &ep), CG_ERR_NOMEM);
    }
    fail_with(NONE, UCS_OK);
    assert_int_equal(ucx->connect(net, handle, 3, 0, &ep), CG_ERR_ARG);
    handle[0]++;
    assert_int_equal(ucx->connect(net, handle, len, 0, &ep), CG_ERR_ARG);
    ucx->close(net);
}

static void test_register(void **state)
{
    static char page[4096] __attribute__((aligned(4096)));
    struct cg_net_region region = {page, sizeof(page), CG_NET_HOST, -1};
    struct cg_net_mem *mem;

    (void) state;
    for (pretend_cuda = 0; pretend_cuda < 2; pretend_cuda++) {
        struct cg_net_props props;
        assert_int_equal(open_net(NULL), CG_OK);
        ucx->props(net, &props);
        for (region.kind = CG_NET_HOST; region.kind <= CG_NET_CUDA; region.kind++) {
            int there = CG_NET_HOST == region.kind || props.cuda;
            fail_with(MAP, UCS_ERR_IO_ERROR);
            assert_int_equal(ucx->reg(net, &region, &mem), there ? CG_ERR_NET : CG_ERR_UNSUPPORTED);
            fail_with(MAP, UCS_ERR_NO_MEMORY);
            assert_int_equal(ucx->reg(net, &region, &mem), there ? CG_ERR_NOMEM : CG_ERR_UNSUPPORTED);
        }
        assert_true(!pretend_cuda || props.cuda);
        fail_with(NONE, UCS_OK);
        ucx->close(net);
    }
    pretend_cuda = 0;
}

static void test_messages(void **state)
{
    static const struct {
        ucs_status_t ucs;
        int expected;
    } rows[] = {{UCS_ERR_NO_MEMORY, CG_ERR_NOMEM},    {UCS_ERR_NO_RESOURCE, CG_AGAIN},
                {UCS_ERR_UNREACHABLE, CG_ERR_PEER},   {UCS_ERR_NOT_CONNECTED, CG_ERR_PEER},
                {UCS_ERR_REJECTED, CG_ERR_PEER},      {UCS_ERR_CONNECTION_RESET, CG_ERR_PEER},
                {UCS_ERR_ENDPOINT_TIMEOUT, CG_ERR_PEER}, {UCS_ERR_MESSAGE_TRUNCATED, CG_ERR_LIMIT},
                {UCS_ERR_IO_ERROR, CG_ERR_NET}};
    char handle[CG_NET_HANDLE_MAX], out[8] = "message", in[8] = "";
    struct cg_net_req *send = NULL, *recv = NULL;
    struct cg_net_ep *ep;
    size_t len, bytes = 0;
    int rc;

    (void) state;
    assert_int_equal(open_net(NULL), CG_OK);
    assert_int_equal(ucx->listen(net, handle, &len), CG_OK);
    assert_int_equal(ucx->connect(net, handle, len, 0, &ep), CG_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fail_with(SEND, rows[i].ucs);
        assert_int_equal(ucx->isend(net, ep, 5, out, sizeof(out), NULL, &send), rows[i].expected);
        fail_with(RECV, rows[i].ucs);
        assert_int_equal(ucx->irecv(net, 5, in, sizeof(in), NULL, &recv), rows[i].expected);
    }
    fail_with(NONE, UCS_OK);
    assert_int_equal(ucx->irecv(net, 5, in, sizeof(in), NULL, &recv), CG_OK); /* it goes on */
    assert_int_equal(ucx->isend(net, ep, 5, out, sizeof(out), NULL, &send), CG_OK);
    while (CG_AGAIN == (rc = ucx->test(net, recv, &bytes))) ucx->progress(net);
    assert_int_equal(rc, CG_OK);
    assert_int_equal(bytes, sizeof(out));
    assert_string_equal(in, out);
    while (CG_AGAIN == (rc = ucx->test(net, send, &bytes))) ucx->progress(net);
    assert_int_equal(rc, CG_OK);
    ucx->close(net);
}

static void test_hint(void **state)
{
    char text[64];

    (void) state;
    fail_with(INTERFACES, UCS_OK);
    ucx->hint("mlx5_3:1", 1, 0, text, sizeof(text));
    assert_string_equal(text, "NET_DEVICES=mlx5_3:1");
    fail_with(NONE, UCS_OK);
    ucx->hint("mlx5_3:1", 1, 0, text, 16); /* no room for the list */
    assert_string_equal(text, "");
}

static void no_line(int level, const char *line, void *ctx)
{
    (void) level;
    (void) line;
    (void) ctx;
}

static int group(void **state)
{
    (void) state;
    ucx = cg_transport_find("ucx");
    cg_log_set(no_line, NULL, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),     cmocka_unit_test(test_listen),   cmocka_unit_test(test_connect),
        cmocka_unit_test(test_register), cmocka_unit_test(test_messages), cmocka_unit_test(test_hint),
    };

    return cmocka_run_group_tests_name("UCX fails", tests, group, NULL);
}
