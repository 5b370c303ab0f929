/* SPDX-License-Identifier: BSD-3-Clause
 * What the network costs beside messages: one instance and one connection per pair of processes, few registrations,
 * however many communicators there are; and no progress while nothing is outstanding. */
#include "test/engine/job.h"

#include "proxy/net.h"

static struct counts {
    int opens, endpoints, registrations, progress;
} counts;

static int count_open(const struct cg_params *params, const char *hint, struct cg_net **net, char *why, size_t len)
{
    counts.opens++;
    return cg_net_loop.open(params, hint, net, why, len);
}

static int count_connect(struct cg_net *net, const void *handle, size_t len, int remote, struct cg_net_ep **ep)
{
    counts.endpoints++;
    return cg_net_loop.connect(net, handle, len, remote, ep);
}

static int count_reg(struct cg_net *net, const struct cg_net_region *region, struct cg_net_mem **mem)
{
    counts.registrations++;
    return cg_net_loop.reg(net, region, mem);
}

static int count_progress(struct cg_net *net)
{
    counts.progress++;
    return cg_net_loop.progress(net);
}

static struct cg_net_ops counting;

static void set(struct mesh *m, uint32_t n)
{
    counting = cg_net_loop;
    counting.open = count_open;
    counting.connect = counting.accept = count_connect;
    counting.reg = count_reg;
    counting.progress = count_progress;
    counting.alloc = NULL;
    counting.free = NULL;
    counts = (struct counts){0};
    mesh_init(m, n);
    for (uint32_t r = 0; r < n; r++) {
        m->params[r].slot_bytes = 1024;
        m->params[r].slots = 2;
        m->params[r].arena_bytes = 16 << 20;
        m->host[r] = r + 1;
    }
    m->net = &counting;
    assert_int_equal(mesh_open(m), CG_OK);
}

static int all_idle(const struct mesh *m)
{
    for (uint32_t r = 0; r < m->n; r++) {
        if (!cg_proc_idle(m->proc[r])) return 0;
    }
    return 1;
}

/* Communicators that live on, and hold their links. */
static void test_idle(void **state)
{
    struct mesh m;
    struct mesh_comm c[3];
    unsigned seed = 3;

    (void) state;
    set(&m, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(mesh_comm_open(&m, "idle", &c[i]), CG_OK);
    for (int round = 0; round < 5; round++) {
        int before;
        for (int i = 0; i < 3; i++) one(&m, &c[i], (uint64_t) 1 + 3000 * (uint64_t) i, i & 1, &seed);
        for (int turns = 0; turns < 100000 && !all_idle(&m); turns++) mesh_spin(&m, 1, &seed);
        assert_true(all_idle(&m));
        before = counts.progress;
        mesh_spin(&m, 1000, &seed);
        assert_int_equal(before, counts.progress);
    }
    for (int i = 0; i < 3; i++) mesh_comm_close(&c[i]);
    mesh_close(&m);
}

/* What one rank has begun while the others rest goes on when they call. */
static void test_late(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 4;

    (void) state;
    set(&m, 2);
    assert_int_equal(mesh_comm_open(&m, "late", &c), CG_OK);
    one(&m, &c, 10, 0, &seed);
    for (uint64_t count = 1; count < 50000; count *= 7) {
        for (int turns = 0; turns < 100000 && !all_idle(&m); turns++) mesh_spin(&m, 1, &seed);
        job_begin(&j, 2, count, 0, 5);
        job_post(&j, &c, 0);
        mesh_spin(&m, 20000, &seed);
        assert_true(cg_proc_idle(m.proc[1]));
        job_post(&j, &c, 1);
        assert_true(mesh_run(&m, j.op, 2, &seed));
        job_end(&j);
    }
    mesh_comm_close(&c);
    mesh_close(&m);
}

/* Communicators of which all are alive at once. */
static void test_many(void **state)
{
    enum { MANY = 400 };
    static struct mesh_comm c[MANY];
    struct counts first = {0};
    struct cg_counters counters;
    struct mesh m;
    unsigned seed = 5;

    (void) state;
    set(&m, 2);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(mesh_comm_open(&m, "many", &c[i]), CG_OK);
        one(&m, &c[i], 100, 0, &seed);
        if (0 == i) first = counts;
    }
    assert_int_equal(2, counts.opens);
    assert_int_equal(2, counts.endpoints);
    assert_int_equal(first.endpoints, counts.endpoints);
    assert_int_equal(first.registrations, counts.registrations);
    for (uint32_t r = 0; r < 2; r++) {
        cg_proc_get_counters(m.proc[r], &counters);
        assert_int_equal(MANY, counters.links);
        assert_int_equal(1, counters.registrations);
    }
    for (int i = 0; i < MANY; i++) mesh_comm_close(&c[i]);
    mesh_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_idle, quiet),
        cmocka_unit_test_setup(test_late, quiet),
        cmocka_unit_test_setup(test_many, quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
