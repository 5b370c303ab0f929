/* SPDX-License-Identifier: BSD-3-Clause
 * The part of the suite that registers and allocates memory. */
#include "test/proxy/conformance.h"
#include "core/status.h"

#include <sys/wait.h>
#include <unistd.h>

const struct test_cuda *conformance_cuda;

/* Memory of a kind on both sides, as transports see it. */
struct piece {
    int kind;
    char *addr[2];
    struct cg_net_mem *mem[2];
};

#define PIECE (1u << 20)

static void put(const struct piece *p, int i, const char *from, size_t bytes)
{
    if (CG_NET_CUDA == p->kind) conformance_cuda->write(p->addr[i], from, bytes);
    else memcpy(p->addr[i], from, bytes);
}

static void get(const struct piece *p, int i, char *to, size_t bytes)
{
    if (CG_NET_CUDA == p->kind) conformance_cuda->read(to, p->addr[i], bytes);
    else memcpy(to, p->addr[i], bytes);
}

/* Until what has arrived in CUDA memory can be seen there. */
static void flush(struct duo *d, const struct piece *p, int i)
{
    struct cg_net_req *req;
    size_t bytes = 1;

    if (CG_NET_CUDA != p->kind || !d->ops->ep_cuda || !d->ops->flush) return;
    if (!(d->ops->ep_cuda(d->net[i], d->ep[i]) & CG_NET_FLUSH)) return;
    assert_int_equal(CG_OK, d->ops->flush(d->net[i], p->mem[i], &req));
    assert_int_equal(CG_OK, duo_wait(d, i, req, &bytes));
    assert_int_equal(0, bytes);
}

static void piece_open(struct duo *d, struct piece *p, int kind)
{
    *p = (struct piece){.kind = kind};
    for (int i = 0; i < 2; i++) {
        struct cg_net_region region = {NULL, PIECE, kind, -1};
        region.addr = CG_NET_CUDA == kind ? conformance_cuda->alloc(PIECE, &region.dmabuf) : aligned_alloc(4096, PIECE);
        assert_int_equal(CG_OK, d->ops->reg(d->net[i], &region, &p->mem[i]));
        if (region.dmabuf >= 0) close(region.dmabuf);
        p->addr[i] = region.addr;
    }
}

static void piece_close(struct duo *d, struct piece *p)
{
    for (int i = 0; i < 2; i++) {
        d->ops->dereg(d->net[i], p->mem[i]);
        if (CG_NET_CUDA == p->kind) conformance_cuda->free(p->addr[i]);
        else free(p->addr[i]);
    }
}

/* From the begin and from within the memory, in both directions. */
static void exchange(struct duo *d, const struct piece *from, const struct piece *to)
{
    char *data = malloc(PIECE);

    for (size_t n = PIECE - 128, at = 0; n >= 64; n /= 8, at = 128) {
        for (int i = 0; i < 2; i++) {
            struct cg_net_req *send, *recv;
            struct piece part = *to;
            duo_fill(data, n, (unsigned) n);
            put(from, i, data, n);
            memset(data, 0, n);
            for (int k = 0; k < 2; k++) part.addr[k] += at;
            put(&part, !i, data, n);
            assert_int_equal(CG_OK, d->ops->irecv(d->net[!i], TAG(6), part.addr[!i], n, to->mem[!i], &recv));
            assert_int_equal(CG_OK, d->ops->isend(d->net[i], d->ep[i], TAG(6), from->addr[i], n, from->mem[i], &send));
            duo_wait_ok(d, !i, recv, n);
            duo_wait_ok(d, i, send, n);
            flush(d, &part, !i);
            get(&part, !i, data, n);
            duo_check(data, n, (unsigned) n);
        }
    }
    free(data);
}

static void registered(struct duo *d)
{
    struct cg_net_props props;
    struct piece host, cuda;

    d->ops->props(d->net[0], &props);
    assert_int_equal(!d->ops->reg, !d->ops->dereg);
    assert_true(d->ops->reg || !props.cuda);
    assert_true(props.cuda || !props.dmabuf);
    if (!d->ops->reg) return;
    piece_open(d, &host, CG_NET_HOST);
    exchange(d, &host, &host);
    if (props.cuda && conformance_cuda) {
        piece_open(d, &cuda, CG_NET_CUDA);
        exchange(d, &cuda, &cuda);
        exchange(d, &host, &cuda);
        exchange(d, &cuda, &host);
        piece_close(d, &cuda);
    }
    piece_close(d, &host);
}

/* A child that comes and goes does not disturb a registration. */
static void forked(struct duo *d)
{
    struct piece host;
    int status = 1;
    pid_t pid;

    if (!d->ops->reg) return;
    piece_open(d, &host, CG_NET_HOST);
    exchange(d, &host, &host);
    pid = fork();
    if (!pid) _exit(0);
    exchange(d, &host, &host);
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_int_equal(0, status);
    exchange(d, &host, &host);
    piece_close(d, &host);
}

/* Memory of the transport's own. */
static void allocated(struct duo *d)
{
    struct piece piece = {.kind = CG_NET_HOST};

    assert_int_equal(!d->ops->alloc, !d->ops->free);
    if (!d->ops->alloc) return;
    for (int i = 0; i < 2; i++) {
        void *addr;
        assert_int_equal(CG_OK, d->ops->alloc(d->net[i], CG_NET_HOST, -1, PIECE, &addr, &piece.mem[i]));
        piece.addr[i] = addr;
        assert_int_equal(0, (uintptr_t) addr % 4096);
        for (size_t k = 0; k < PIECE; k++) assert_int_equal(0, piece.addr[i][k]);
    }
    exchange(d, &piece, &piece);
    for (int i = 0; i < 2; i++) d->ops->free(d->net[i], piece.addr[i], piece.mem[i]);
}

/* A flush that nobody waits for. */
static void cancelled_flush(struct duo *d)
{
    struct cg_net_req *req;
    struct cg_net_props props;
    struct piece cuda;

    d->ops->props(d->net[0], &props);
    if (!props.cuda || !conformance_cuda || !d->ops->flush) return;
    piece_open(d, &cuda, CG_NET_CUDA);
    assert_int_equal(CG_OK, d->ops->flush(d->net[0], cuda.mem[0], &req));
    d->ops->cancel(d->net[0], req);
    exchange(d, &cuda, &cuda);
    piece_close(d, &cuda);
}

void conformance_memory(struct duo *d)
{
    registered(d);
    allocated(d);
    forked(d);
    cancelled_flush(d);
}
