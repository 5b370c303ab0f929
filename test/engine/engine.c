/* SPDX-License-Identifier: BSD-3-Clause
 * The engine with several processes in one: set-up, operations, order, communicators that come and go. */
#include "test/engine/job.h"

#include <fcntl.h>

static void small_slots(struct mesh *m)
{
    for (uint32_t r = 0; r < m->n; r++) {
        m->params[r].slot_bytes = 4096;
        m->params[r].slots = 4;
        m->params[r].channel_bytes = 4096;
        m->params[r].arena_bytes = 1 << 20;
    }
}

static void sizes_over(uint32_t n, const struct cg_net_ops *net, int virtual_nodes)
{
    static const uint64_t counts[] = {1, 2, 3, 17, 1000, 2049, 8193, 70001};
    unsigned seed = 7 + n;
    struct mesh m;
    struct mesh_comm c;

    mesh_init(&m, n);
    small_slots(&m);
    m.net = net;
    for (uint32_t r = 0; r < n; r++) m.params[r].virtual_nodes = virtual_nodes;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "test", &c), CG_OK);
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) one(&m, &c, counts[i], i & 1, &seed);
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_shm(void **state)
{
    (void) state;
    for (uint32_t n = 1; n <= 9; n++) sizes_over(n, NULL, 0);
    sizes_over(MESH_MAX, NULL, 0);
}

static void test_net(void **state)
{
    (void) state;
    for (uint32_t n = 2; n <= 6; n++) sizes_over(n, &cg_net_loop, (int) n);
    sizes_over(6, &cg_net_loop, 2);
    sizes_over(9, &cg_net_loop, 3);
}

/* Outstanding operations on two communicators, posted in another order on each rank, several per communicator. */
static void test_orders(void **state)
{
    enum { N = 4, OPS = 24 };
    static struct job a[OPS], b[OPS];
    unsigned seed = 3;
    struct mesh m;
    struct mesh_comm ca, cb;

    (void) state;
    mesh_init(&m, N);
    small_slots(&m);
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "a", &ca), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "b", &cb), CG_OK);
    for (int i = 0; i < OPS; i++) {
        job_begin(&a[i], N, (uint64_t) (1 + rand_r(&seed) % 20000), i & 1, (unsigned) i);
        job_begin(&b[i], N, (uint64_t) (1 + rand_r(&seed) % 300), 0, (unsigned) i + 100);
    }
    for (uint32_t r = 0; r < N; r++) {
        for (int i = 0, k = 0; i < OPS || k < OPS;) {
            if (k == OPS || (i < OPS && rand_r(&seed) % 2)) job_post(&a[i++], &ca, r);
            else job_post(&b[k++], &cb, r);
            mesh_spin(&m, rand_r(&seed) % 20, &seed);
        }
    }
    for (int i = 0; i < OPS; i++) {
        assert_true(mesh_run(&m, a[i].op, N, &seed));
        assert_true(mesh_run(&m, b[i].op, N, &seed));
        job_end(&a[i]);
        job_end(&b[i]);
    }
    mesh_comm_close(&ca);
    mesh_comm_close(&cb);
    mesh_close(&m);
}

static int open_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) != -1;
    return n;
}

static void test_dup_free(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct cg_counters first, last;
    unsigned seed = 5;
    int fds = 0;

    (void) state;
    mesh_init(&m, 3);
    small_slots(&m);
    m.net = &cg_net_loop;
    for (uint32_t r = 0; r < 3; r++) m.params[r].virtual_nodes = 2;
    assert_int_equal(mesh_open(&m), CG_OK);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(mesh_comm_open(&m, "dup", &c), CG_OK);
        one(&m, &c, (uint64_t) (1 + i % 50), 0, &seed);
        mesh_comm_close(&c);
        if (50 == i) {
            cg_proc_get_counters(m.proc[0], &first);
            fds = open_descriptors();
        }
    }
    cg_proc_get_counters(m.proc[0], &last);
    assert_int_equal(first.chunk_bytes, last.chunk_bytes);
    assert_int_equal(first.links, last.links);
    assert_int_equal(fds, open_descriptors());
    mesh_close(&m);
}

/* Released with operations outstanding: they end, and memory follows (the address sanitizer would tell). */
static void test_release_early(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 19;

    (void) state;
    mesh_init(&m, 3);
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "early", &c), CG_OK);
    job_begin(&j, 3, 100000, 0, 2);
    for (uint32_t r = 0; r < 3; r++) {
        job_post(&j, &c, r);
        cg_group_release(c.group[r]);
    }
    assert_true(mesh_run(&m, j.op, 3, &seed));
    job_end(&j);
    mesh_comm_free_mail(&c);
    mesh_close(&m);
}

/* Rank 1 gets nothing, so its call has no arrays and no elements: the plan that it keeps is that call's alone. */
static void test_nothing_for_one(void **state)
{
    const uint64_t len[] = {3, 0}, disp[] = {0, 3};
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 29;

    (void) state;
    mesh_init(&m, 2);
    small_slots(&m);
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "nothing", &c), CG_OK);
    for (int i = 0; i < 6; i++) {
        char src[3] = {1, 2, (char) i}, dst[3] = {0};
        struct mesh_op op[2] = {{0}};
        struct cg_call scatterv = {.coll = CG_COLL_SCATTERV, .type = CG_TYPE_U8, .src = src, .dst = dst, .count = 3,
                                   .src_len = len, .src_disp = disp};
        struct cg_call down = {.coll = CG_COLL_DOWN, .type = CG_TYPE_U8, .redop = CG_COLL_REDUCE, .count = 4};
        struct cg_call empty = {.coll = CG_COLL_SCATTERV, .type = CG_TYPE_U8, .dst = dst};
        assert_int_equal(mesh_post(&c, 0, i & 1 ? &down : &scatterv, &op[0]), CG_OK);
        assert_int_equal(mesh_post(&c, 1, i & 1 ? &down : &empty, &op[1]), CG_OK);
        assert_true(mesh_run(&m, op, 2, &seed));
        assert_int_equal(op[0].status, CG_OK);
        assert_int_equal(op[1].status, CG_OK);
        if (!(i & 1)) assert_memory_equal(src, dst, 3);
    }
    mesh_comm_close(&c);
    mesh_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shm, quiet),     cmocka_unit_test_setup(test_orders, quiet),
        cmocka_unit_test_setup(test_net, quiet),     cmocka_unit_test_setup(test_release_early, quiet),
        cmocka_unit_test_setup(test_dup_free, quiet), cmocka_unit_test_setup(test_nothing_for_one, quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
