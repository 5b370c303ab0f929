/* SPDX-License-Identifier: BSD-3-Clause
 * Which executor runs what: host and device buffers in any mixture between ranks and between send and receive buffer,
 * with pretended GPUs. */
#include "core/log.h"
#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"
#include "test/engine/fake_gpu.h"
#include "test/engine/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT_MAX 3000
enum { HOST, DEVICE };

struct rank_buffers {
    uint32_t *host[2], *device[2];
};

static struct rank_buffers buf[MESH_MAX];

static void buffers(uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        for (int i = 0; i < 2; i++) {
            buf[r].host[i] = malloc(COUNT_MAX * 4);
            buf[r].device[i] = fake_alloc((int) r % 2, COUNT_MAX * 4);
        }
    }
}

static void free_buffers(uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        for (int i = 0; i < 2; i++) {
            free(buf[r].host[i]);
            fake_free(buf[r].device[i]);
        }
    }
}

static uint32_t *pick(uint32_t r, int kind, int which)
{
    return kind == DEVICE ? buf[r].device[which] : buf[r].host[which];
}

struct plan_of_call {
    int src[MESH_MAX], dst[MESH_MAX], inplace, blocking;
    uint64_t count;
};

static void run(struct mesh *m, struct mesh_comm *c, const struct plan_of_call *p, unsigned *seed)
{
    struct mesh_op op[MESH_MAX];
    unsigned salt = *seed;

    for (uint32_t k = 0; k < m->n; k++) {
        uint32_t r = (k + salt) % m->n;
        uint32_t *dst = pick(r, p->dst[r], 1), *src = p->inplace ? dst : pick(r, p->src[r], 0);
        struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .src = src,
                               .dst = dst, .count = p->count, .blocking = p->blocking};
        memset(dst, 0xee, p->count * 4);
        for (uint64_t i = 0; i < p->count; i++) src[i] = (uint32_t) (i * 7919 + r * 104729 + salt);
        assert_int_equal(mesh_post(c, r, &call, &op[r]), CG_OK);
        mesh_spin(m, rand_r(seed) % 10, seed);
    }
    assert_true(mesh_run(m, op, (int) m->n, seed));
    for (uint32_t r = 0; r < m->n; r++) {
        assert_int_equal(op[r].status, CG_OK);
        for (uint64_t i = 0; i < p->count; i++) {
            uint32_t want = 0;
            for (uint32_t q = 0; q < m->n; q++) want += (uint32_t) (i * 7919 + q * 104729 + salt);
            assert_int_equal(want, pick(r, p->dst[r], 1)[i]);
        }
    }
}

static void all_of(struct plan_of_call *p, int kind)
{
    for (int r = 0; r < MESH_MAX; r++) p->src[r] = p->dst[r] = kind;
}

/* Of test_net and its like: the parameter, the transport. */
static int gpu_fifo = -1;
static const struct cg_net_ops *net = &cg_net_loop;
static const char *hint;

/* hosts: that many ranks share one; 0: all. */
static void set_hosts(struct mesh *m, struct mesh_comm *c, uint32_t n, uint32_t hosts)
{
    fake_no_gpu = fake_no_peer = fake_overruns = fake_fast_done = fake_gpu_done = fake_copies = 0;
    fake_no_memory = fake_flushes = 0;
    mesh_init(m, n);
    m->net = net;
    m->hint = hint;
    for (uint32_t r = 0; hosts && r < n; r++) m->host[r] = 1 + r / hosts;
    for (uint32_t r = 0; r < n; r++) {
        m->params[r].slot_bytes = 1024;
        m->params[r].slots = 2;
        m->params[r].channel_bytes = 2048;
        m->params[r].exchange_max = 512;
        m->params[r].doubling_max = 1024;
        m->params[r].gpu_fifo_min = 256;
        m->params[r].gpu_fifo = gpu_fifo;
    }
    assert_int_equal(mesh_open(m), CG_OK);
    assert_int_equal(mesh_comm_open(m, "paths", c), CG_OK);
    buffers(n);
}

static void set(struct mesh *m, struct mesh_comm *c, uint32_t n) { set_hosts(m, c, n, 0); }

static void unset(struct mesh *m, struct mesh_comm *c)
{
    assert_int_equal(fake_overruns, 0);
    mesh_comm_close(c);
    mesh_close(m);
    free_buffers(m->n);
}

static void test_device_becomes_fast(void **state)
{
    (void) state;
    for (uint32_t n = 2; n <= 8; n += 3) {
        struct mesh m;
        struct mesh_comm c;
        struct plan_of_call p = {.count = 100};
        unsigned seed = n;
        set(&m, &c, n);
        all_of(&p, DEVICE);
        for (int i = 0; i < 8; i++) run(&m, &c, &p, &seed);
        assert_true(fake_fast_done > 0);
        int before = fake_fast_done;
        for (int i = 0; i < 200; i++) {
            p.blocking = i & 1;
            p.count = 1 + (uint64_t) rand_r(&seed) % COUNT_MAX;
            run(&m, &c, &p, &seed);
        }
        assert_true(fake_fast_done - before >= 190 * (int) n); /* all but those beside a cleaning */
        unset(&m, &c);
    }
}

static void test_any_mixture(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 8, 9};

    (void) state;
    for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        uint32_t n = sizes[s];
        struct mesh m;
        struct mesh_comm c;
        unsigned seed = 100 + n;
        set(&m, &c, n);
        for (int i = 0; i < 300; i++) {
            struct plan_of_call p = {.count = 1 + (uint64_t) rand_r(&seed) % COUNT_MAX};
            all_of(&p, DEVICE);
            if (i > 10 && i % 3) { /* else all on the device: the fast path, in between */
                for (uint32_t r = 0; r < n; r++) {
                    p.src[r] = rand_r(&seed) % 2;
                    p.dst[r] = rand_r(&seed) % 2;
                }
            }
            p.inplace = rand_r(&seed) % 3 == 0;
            p.blocking = rand_r(&seed) % 2;
            run(&m, &c, &p, &seed);
        }
        if (n > 1) assert_true(fake_copies > 0 && fake_gpu_done > 0);
        if (n > 1 && n <= 8) assert_true(fake_fast_done > 0);
        unset(&m, &c);
    }
}

/* The same bits from every path: sums of floats that depend on the order, on the host, the GPU and the fast executor,
 * and on ranks that differ in that. */
static void test_same_bits(void **state)
{
    (void) state;
    for (uint32_t n = 2; n <= 8; n += 2) {
        static float first[COUNT_MAX];
        struct mesh m;
        struct mesh_comm c;
        unsigned seed = 40 + n;
        set(&m, &c, n);
        for (int i = 0; i < 30; i++) {
            struct mesh_op op[MESH_MAX];
            for (uint32_t r = 0; r < n; r++) {
                int kind = i < 10 || i % 3 == 0 ? DEVICE : i % 3 == 1 ? HOST : (int) (r & 1);
                float *dst = (float *) pick(r, kind, 1);
                struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_F32, .redop = CG_REDOP_SUM,
                                       .src = dst, .dst = dst, .count = COUNT_MAX};
                for (int k = 0; k < COUNT_MAX; k++) dst[k] = 1.0f / (float) (1 + (k * 37 + (int) r * 101) % 1013);
                assert_int_equal(mesh_post(&c, r, &call, &op[r]), CG_OK);
            }
            assert_true(mesh_run(&m, op, (int) n, &seed));
            for (uint32_t r = 0; r < n; r++) {
                int kind = i < 10 || i % 3 == 0 ? DEVICE : i % 3 == 1 ? HOST : (int) (r & 1);
                if (0 == i && 0 == r) memcpy(first, pick(r, kind, 1), sizeof(first));
                assert_memory_equal(first, pick(r, kind, 1), sizeof(first));
            }
        }
        assert_true(fake_fast_done > 0 && fake_gpu_done > 0);
        unset(&m, &c);
    }
}

static void test_no_peer_access(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct plan_of_call p = {.count = 500};
    unsigned seed = 5;

    (void) state;
    set(&m, &c, 3);
    fake_no_peer = 1;
    all_of(&p, DEVICE);
    for (int i = 0; i < 20; i++) run(&m, &c, &p, &seed);
    assert_int_equal(fake_fast_done, 0);
    assert_true(fake_gpu_done >= 60);
    unset(&m, &c);
}

static void test_no_gpu_engine(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct plan_of_call p = {.count = 500};
    unsigned seed = 6;

    (void) state;
    cg_log_set(NULL, NULL, -1);
    set(&m, &c, 3);
    fake_no_gpu = 1;
    all_of(&p, DEVICE);
    for (int i = 0; i < 20; i++) {
        p.inplace = i & 1;
        p.src[1] = HOST;
        p.dst[2] = i & 2 ? HOST : DEVICE;
        run(&m, &c, &p, &seed);
    }
    assert_int_equal(fake_gpu_done, 0);
    unset(&m, &c);
}

/* Outstanding operations of one communicator on different executors must not overtake each other on the lanes. */
static void test_outstanding_mixture(void **state)
{
    enum { N = 3, OPS = 30 };
    static uint32_t *dst[OPS][N];
    static struct mesh_op op[OPS][N];
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 9;

    (void) state;
    set(&m, &c, N);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < OPS; i++) {
            for (uint32_t r = 0; r < N; r++) {
                int device = rand_r(&seed) % 4 != 0;
                dst[i][r] = device && i < 12 ? fake_alloc((int) r % 2, 4 * (size_t) (10 + 40 * i)) : NULL;
                if (NULL == dst[i][r]) dst[i][r] = malloc(4 * (size_t) (10 + 40 * i));
                for (int k = 0; k < 10 + 40 * i; k++) dst[i][r][k] = (uint32_t) (k + i) * (r + 1);
            }
        }
        for (uint32_t r = 0; r < N; r++) {
            for (int i = 0; i < OPS; i++) {
                struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM,
                                       .src = dst[i][r], .dst = dst[i][r], .count = (uint64_t) (10 + 40 * i)};
                assert_int_equal(mesh_post(&c, r, &call, &op[i][r]), CG_OK);
                mesh_spin(&m, rand_r(&seed) % 5, &seed);
            }
        }
        for (int i = OPS - 1; i >= 0; i--) assert_true(mesh_run(&m, op[i], N, &seed));
        for (int i = 0; i < OPS; i++) {
            for (uint32_t r = 0; r < N; r++) {
                for (int k = 0; k < 10 + 40 * i; k++) assert_int_equal(dst[i][r][k], (uint32_t) (k + i) * 6);
                if (!fake_free(dst[i][r])) free(dst[i][r]);
            }
        }
    }
    unset(&m, &c);
}

static int flushes(struct cg_net *n, struct cg_net_ep *ep)
{
    return cg_net_loop.ep_cuda(n, ep) | CG_NET_FLUSH;
}

/* Over the network: FIFO slots in GPU memory for what a kernel moves in large messages, in host memory for the rest, as
 * each rank chooses for itself and each operation; the CPU never touches those of the GPU. */
static void over_net(uint32_t n)
{
    struct cg_counters counters;
    uint64_t from_gpu = 0, registered = 0;
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 300 + n;

    set_hosts(&m, &c, n, 1 + n / 4);
    for (int i = 0; i < 200; i++) {
        struct plan_of_call p = {.count = 1 + (uint64_t) rand_r(&seed) % COUNT_MAX, .inplace = 1};
        all_of(&p, DEVICE);
        for (uint32_t r = 0; i % 3 && r < n; r++) p.dst[r] = rand_r(&seed) % 2;
        run(&m, &c, &p, &seed);
    }
    for (uint32_t r = 0; r < n; r++) {
        cg_proc_get_counters(m.proc[r], &counters);
        assert_true(counters.gpu_messages < counters.messages); /* a rank between others of its node may have few */
        from_gpu += counters.gpu_messages;
        registered += counters.registrations;
    }
    assert_true(from_gpu > 100);
    assert_true(registered <= 4 * n);
    unset(&m, &c);
}

/* Data of the network shows at once, or when the GPU or the transport has flushed it. */
static void test_net(void **state)
{
    struct cg_net_ops behind = cg_net_loop;

    (void) state;
    behind.ep_cuda = flushes;
    for (uint32_t n = 2; n <= 8; n += 2) {
        for (fake_flush_kind = CG_FLUSH_NONE; fake_flush_kind <= CG_FLUSH_NET; fake_flush_kind++) {
            net = fake_flush_kind == CG_FLUSH_HOST ? &behind : &cg_net_loop;
            hint = fake_flush_kind == CG_FLUSH_NET ? "seed=4,delay=3,reorder=1,flush=1,slow=2" : "seed=5,delay=3";
            over_net(n);
            assert_int_equal(fake_flush_kind == CG_FLUSH_HOST, fake_flushes > 100);
        }
    }
    fake_flush_kind = CG_FLUSH_NONE;
    net = &cg_net_loop;
    hint = NULL;
}

/* What a rank has no GPU memory for, or does not want there, stays in host memory. */
static void test_net_host_fifo(void **state)
{
    (void) state;
    cg_log_set(NULL, NULL, -1);
    for (int why = 0; why < 2; why++) {
        struct cg_counters counters;
        struct plan_of_call p = {.count = COUNT_MAX};
        struct mesh m;
        struct mesh_comm c;
        unsigned seed = 7;
        gpu_fifo = why ? 1 : 0;
        set_hosts(&m, &c, 2, 1);
        gpu_fifo = -1;
        fake_no_memory = why;
        all_of(&p, DEVICE);
        for (int i = 0; i < 20; i++) run(&m, &c, &p, &seed);
        for (uint32_t r = 0; r < 2; r++) {
            cg_proc_get_counters(m.proc[r], &counters);
            assert_int_equal(0, counters.gpu_messages);
            assert_int_equal(0, counters.fifo_bytes);
        }
        assert_true(fake_gpu_done >= 40);
        unset(&m, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_becomes_fast), cmocka_unit_test(test_any_mixture),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_no_peer_access),      cmocka_unit_test(test_outstanding_mixture),
        cmocka_unit_test(test_net),                 cmocka_unit_test(test_net_host_fifo),
        cmocka_unit_test(test_no_gpu_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
