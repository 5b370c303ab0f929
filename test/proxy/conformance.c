/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/proxy/conformance.h"
#include "core/status.h"

#include <stdio.h>
#include <time.h>

#define MANY 400

double test_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* One side connects, the other accepts; each tries before the other is there. */
static void join(struct duo *d, int remote)
{
    char handle[2][CG_NET_HANDLE_MAX], again[CG_NET_HANDLE_MAX];
    int rc[2] = {CG_AGAIN, CG_AGAIN};
    double end = test_seconds() + 20;
    size_t len[2], len_again;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(CG_OK, d->ops->listen(d->net[i], handle[i], &len[i]));
        assert_in_range(len[i], 1, CG_NET_HANDLE_MAX);
        assert_int_equal(CG_OK, d->ops->listen(d->net[i], again, &len_again));
        assert_int_equal(len[i], len_again);
        assert_memory_equal(handle[i], again, len[i]);
    }
    while (CG_AGAIN == rc[0] || CG_AGAIN == rc[1]) {
        if (rc[1]) rc[1] = d->ops->accept(d->net[1], handle[0], len[0], remote, &d->ep[1]);
        if (rc[0]) rc[0] = d->ops->connect(d->net[0], handle[1], len[1], remote, &d->ep[0]);
        if (test_seconds() > end) fail_msg("%s: the two sides do not find each other", d->ops->name);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(CG_OK, rc[i]);
        assert_non_null(d->ep[i]);
        assert_int_equal(CG_OK, d->ops->ep_status(d->net[i], d->ep[i]));
    }
}

int duo_open(struct duo *d, const struct cg_net_ops *ops, const char *hint, int remote)
{
    struct cg_params params;
    char why[256] = "";

    cg_params_default(&params);
    d->ops = ops;
    assert_int_equal(CG_NET_VERSION, ops->version);
    if (CG_OK != ops->open(&params, hint, &d->net[0], why, sizeof(why))) {
        print_message("%s: %s\n", ops->name, why);
        return 0;
    }
    assert_int_equal(CG_OK, ops->open(&params, hint, &d->net[1], why, sizeof(why)));
    join(d, remote);
    return 1;
}

void duo_close(struct duo *d)
{
    d->ops->close(d->net[0]);
    d->ops->close(d->net[1]);
}

void duo_progress(struct duo *d)
{
    d->ops->progress(d->net[0]);
    d->ops->progress(d->net[1]);
}

/* Posts, waiting for room if need be. */
struct cg_net_req *duo_send(struct duo *d, int from, uint64_t tag, const void *buf, size_t bytes)
{
    struct cg_net_req *req = NULL;
    double end = test_seconds() + 20;
    int rc;

    while (CG_AGAIN == (rc = d->ops->isend(d->net[from], d->ep[from], tag, buf, bytes, NULL, &req))) {
        duo_progress(d);
        if (test_seconds() > end) fail_msg("%s: no room for a send", d->ops->name);
    }
    assert_int_equal(CG_OK, rc);
    assert_non_null(req);
    return req;
}

struct cg_net_req *duo_recv(struct duo *d, int at, uint64_t tag, void *buf, size_t capacity)
{
    struct cg_net_req *req = NULL;

    assert_int_equal(CG_OK, d->ops->irecv(d->net[at], tag, buf, capacity, NULL, &req));
    assert_non_null(req);
    return req;
}

int duo_wait(struct duo *d, int at, struct cg_net_req *req, size_t *bytes)
{
    double end = test_seconds() + 20;
    int rc;

    while (CG_AGAIN == (rc = d->ops->test(d->net[at], req, bytes))) {
        duo_progress(d);
        if (test_seconds() > end) fail_msg("%s: a request does not complete", d->ops->name);
    }
    return rc;
}

void duo_wait_ok(struct duo *d, int at, struct cg_net_req *req, size_t expected)
{
    size_t bytes = SIZE_MAX;

    assert_int_equal(CG_OK, duo_wait(d, at, req, &bytes));
    assert_int_equal(expected, bytes);
}

void duo_fill(char *buf, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) buf[i] = (char) (seed + i * 7 + (i >> 8) * 3);
}

void duo_check(const char *buf, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        if (buf[i] != (char) (seed + i * 7 + (i >> 8) * 3)) fail_msg("message %u: byte %zu is wrong", seed, i);
    }
}

/* --- the suite --- */

static void zero_bytes(struct duo *d)
{
    char got[8];
    struct cg_net_req *recv = duo_recv(d, 1, TAG(1), got, sizeof(got)), *send = duo_send(d, 0, TAG(1), got, 0);

    duo_wait_ok(d, 1, recv, 0);
    duo_wait_ok(d, 0, send, 0);
    send = duo_send(d, 1, TAG(1), NULL, 0); /* before its receive, and nowhere */
    recv = duo_recv(d, 0, TAG(1), NULL, 0);
    duo_wait_ok(d, 0, recv, 0);
    duo_wait_ok(d, 1, send, 0);
}

/* Neither side waits for the other's receive to be posted first; both directions at once. */
static void sizes(struct duo *d)
{
    static const size_t bytes[] = {1, 8, 63, 64, 120, 4096, 4097, 8256, 65536, 65600, 1u << 20, 4u << 20};
    size_t max = 4u << 20;
    char *out = malloc(2 * max), *in = malloc(2 * max);

    for (unsigned i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        struct cg_net_req *send[2], *recv[2];
        int early = i & 1;
        for (int k = 0; k < 2; k++) {
            duo_fill(out + k * max, bytes[i], i * 2 + (unsigned) k);
            memset(in + k * max, 0, bytes[i]);
            if (early) recv[k] = duo_recv(d, k, TAG(2), in + k * max, max);
        }
        for (int k = 0; k < 2; k++) send[k] = duo_send(d, k, TAG(2), out + k * max, bytes[i]);
        for (int n = 0; n < 50; n++) duo_progress(d);
        for (int k = 0; k < 2; k++) {
            if (!early) recv[k] = duo_recv(d, k, TAG(2), in + k * max, max);
        }
        for (int k = 0; k < 2; k++) {
            duo_wait_ok(d, k, recv[k], bytes[i]);
            duo_wait_ok(d, k, send[k], bytes[i]);
            duo_check(in + k * max, bytes[i], i * 2 + (unsigned) !k);
        }
    }
    free(out);
    free(in);
}

/* Messages with equal tags arrive in order, those with other tags do not disturb them; sizes on both sides of every
 * protocol switch. posted: receives first. */
static void order(struct duo *d, int posted)
{
    static const size_t bytes[] = {16, 20000, 100, 9000, 0, 70000, 4096, 1};
    struct cg_net_req *recv[MANY], *send[MANY];
    size_t stride = 70000;
    char *out = malloc(MANY * stride), *in = malloc(MANY * stride);

    for (int i = 0; posted && i < MANY; i++) {
        recv[i] = duo_recv(d, 1, TAG(10 + i % 3), in + (size_t) i * stride, stride);
    }
    for (int i = 0; i < MANY; i++) {
        duo_fill(out + (size_t) i * stride, bytes[i / 3 % 8], (unsigned) i);
        send[i] = duo_send(d, 0, TAG(10 + i % 3), out + (size_t) i * stride, bytes[i / 3 % 8]);
    }
    for (int i = 0; !posted && i < MANY; i++) {
        recv[i] = duo_recv(d, 1, TAG(10 + i % 3), in + (size_t) i * stride, stride);
    }
    for (int i = 0; i < MANY; i++) {
        duo_wait_ok(d, 1, recv[i], bytes[i / 3 % 8]);
        duo_check(in + (size_t) i * stride, bytes[i / 3 % 8], (unsigned) i);
    }
    for (int i = 0; i < MANY; i++) duo_wait_ok(d, 0, send[i], bytes[i / 3 % 8]);
    free(out);
    free(in);
}

/* All 64 bits of a tag count: receives of one tag and of those that differ from it in one bit. */
static void tags(struct duo *d)
{
    char in[65][4], out[4];
    struct cg_net_req *recv[65];

    for (unsigned i = 0; i <= 64; i++)
        recv[i] = duo_recv(d, 1, TAG(1) ^ (i ? 1ull << (i - 1) : 0), in[i], sizeof(in[i]));
    for (unsigned i = 65; i-- > 0;) {
        duo_fill(out, 4, i);
        duo_wait_ok(d, 0, duo_send(d, 0, TAG(1) ^ (i ? 1ull << (i - 1) : 0), out, 4), 4);
    }
    for (unsigned i = 0; i <= 64; i++) {
        duo_wait_ok(d, 1, recv[i], 4);
        duo_check(in[i], 4, i);
    }
}

/* A message that is too long fails its receive and nothing else. */
static void too_long(struct duo *d)
{
    char out[64], in[2][64];
    struct cg_net_req *recv[2], *send[2];
    size_t bytes;

    duo_fill(out, sizeof(out), 1);
    memset(in, 0x55, sizeof(in));
    recv[0] = duo_recv(d, 1, TAG(4), in[0], 16);
    recv[1] = duo_recv(d, 1, TAG(4), in[1], 64);
    for (int i = 0; i < 2; i++) send[i] = duo_send(d, 0, TAG(4), out, sizeof(out));
    assert_int_equal(CG_ERR_LIMIT, duo_wait(d, 1, recv[0], &bytes));
    for (int i = 16; i < 64; i++) assert_int_equal(0x55, in[0][i]);
    duo_wait_ok(d, 1, recv[1], 64);
    duo_check(in[1], 64, 1);
    for (int i = 0; i < 2; i++) duo_wait_ok(d, 0, send[i], 64);
    assert_int_equal(CG_OK, d->ops->ep_status(d->net[0], d->ep[0]));
}

/* The buffer of a cancelled receive is never written; the next receive gets the message. */
static void cancel(struct duo *d)
{
    char out[100], in[2][100];
    struct cg_net_req *first = duo_recv(d, 1, TAG(5), in[0], 100), *second = duo_recv(d, 1, TAG(5), in[1], 100), *send;

    memset(in, 0x55, sizeof(in));
    duo_fill(out, sizeof(out), 3);
    d->ops->cancel(d->net[1], first);
    send = duo_send(d, 0, TAG(5), out, sizeof(out));
    duo_wait_ok(d, 1, second, sizeof(out));
    duo_wait_ok(d, 0, send, sizeof(out));
    duo_check(in[1], sizeof(out), 3);
    for (int i = 0; i < 100; i++) assert_int_equal(0x55, in[0][i]);
}

/* What is no handle of this transport. */
static void bad_handle(struct duo *d)
{
    char handle[CG_NET_HANDLE_MAX] = {0};
    struct cg_net_ep *ep;

    for (size_t len = 0; len <= sizeof(handle); len = 2 * len + 1) {
        assert_int_equal(CG_ERR_ARG, d->ops->connect(d->net[0], handle, len, 0, &ep));
        assert_int_equal(CG_ERR_ARG, d->ops->accept(d->net[1], handle, len, 0, &ep));
    }
}

/* An endpoint that was given up takes no others along. */
static void disconnected(struct duo *d)
{
    char in[8];
    struct cg_net_req *recv = duo_recv(d, 0, TAG(9), in, sizeof(in));

    d->ops->disconnect(d->net[0], d->ep[0]);
    for (int i = 0; i < 50; i++) duo_progress(d);
    d->ops->cancel(d->net[0], recv);
}

/* Closing takes what is outstanding along, on both sides and in all stages. */
static void close_outstanding(const struct cg_net_ops *ops, const char *hint, int remote)
{
    char *memory = calloc(4, 1u << 20), in[20][64];
    struct cg_net_req *req;
    struct duo d;
    double start;

    assert_true(duo_open(&d, ops, hint, remote));
    for (int i = 0; i < 20; i++) duo_recv(&d, i & 1, TAG(7), in[i], sizeof(in[i]));
    duo_send(&d, 0, TAG(8), memory, 1u << 20); /* never received */
    for (int i = 0; i < 50; i++) duo_progress(&d);
    if (CG_OK == d.ops->isend(d.net[1], d.ep[1], TAG(8), memory + (1u << 20), 1u << 20, NULL, &req)) {
        duo_recv(&d, 0, TAG(8), memory + (2u << 20), 1u << 20); /* under way or not */
    }
    start = test_seconds();
    duo_close(&d);
    assert_true(test_seconds() - start < 20);
    free(memory);
}

int conformance_run(const struct cg_net_ops *ops, const char *hint, int remote)
{
    struct cg_net_props props;
    struct duo d;

    print_message("%s, hint \"%s\", remote %d\n", ops->name, hint ? hint : "", remote);
    if (!duo_open(&d, ops, hint, remote)) return 0;
    ops->props(d.net[0], &props);
    assert_string_equal(ops->name, props.name);
    assert_true(props.max_bytes >= 16u << 20);
    zero_bytes(&d);
    sizes(&d);
    order(&d, 0);
    order(&d, 1);
    tags(&d);
    too_long(&d);
    cancel(&d);
    conformance_memory(&d);
    bad_handle(&d);
    zero_bytes(&d);
    disconnected(&d);
    duo_close(&d);
    close_outstanding(ops, hint, remote);
    return 1;
}
