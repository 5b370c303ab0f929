/* SPDX-License-Identifier: BSD-3-Clause
 * Which row of the table an operation goes by: given to all ranks, or not to all alike; with pretended GPUs. */
#include "core/log.h"
#include "kernels/host/host.h"
#include "plan/choose.h"
#include "test/engine/fake_gpu.h"
#include "test/engine/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT 5000 /* of 4 bytes: above what exchange gets from the built-in table */

static char last[5][1024]; /* line of each level */
static int lines[5];

static void keep(int level, const char *line, void *ctx)
{
    (void) ctx;
    if (level > 4) return;
    snprintf(last[level], sizeof(last[level]), "%s", line);
    lines[level]++;
}

static int listen(void **state)
{
    (void) state;
    memset(last, 0, sizeof(last));
    memset(lines, 0, sizeof(lines));
    cg_log_set(keep, NULL, 4);
    fake_no_gpu = fake_no_peer = fake_overruns = fake_fast_done = fake_gpu_done = fake_copies = 0;
    return 0;
}

static struct cg_table *table(const char *rows)
{
    struct cg_table *t;
    char why[256];

    if (CG_OK != cg_table_open(rows, NULL, &t, why, sizeof(why))) fail_msg("%s", why);
    return t;
}

static void allreduce(struct mesh *m, struct mesh_comm *c, uint64_t count, int device, unsigned *seed)
{
    struct mesh_op op[MESH_MAX];
    uint32_t *buf[MESH_MAX];

    for (uint32_t r = 0; r < m->n; r++) {
        buf[r] = device ? fake_alloc((int) r % 2, count * 4) : malloc(count * 4);
        for (uint64_t i = 0; i < count; i++) buf[r][i] = (uint32_t) i * (r + 1) + *seed;
        struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .src = buf[r],
                               .dst = buf[r], .count = count};
        assert_int_equal(mesh_post(c, r, &call, &op[r]), CG_OK);
    }
    uint32_t salt = *seed * m->n, factor = m->n * (m->n + 1) / 2;
    assert_true(mesh_run(m, op, (int) m->n, seed));
    for (uint32_t r = 0; r < m->n; r++) {
        assert_int_equal(op[r].status, CG_OK);
        for (uint64_t i = 0; i < count; i++) assert_int_equal(buf[r][i], (uint32_t) i * factor + salt);
        if (!fake_free(buf[r])) free(buf[r]);
    }
}

/* All ranks took this plan, on this executor. */
static void took(struct mesh *m, struct mesh_comm *c, const char *plan, const char *executor)
{
    for (uint32_t r = 0; r < m->n; r++) {
        struct cg_trace trace;
        cg_group_trace(c->group[r], &trace);
        assert_string_equal(trace.plan, plan);
        assert_string_equal(trace.executor, executor);
    }
}

static void given_to_all(void **state)
{
    struct cg_table *t = table("allreduce host any any any exchange general 0; "
                               "allreduce device shm any 0-19999 ring general 0;" /* not in rank order: passed over */
                               "allreduce device shm any any exchange general 0;"
                               "allreduce any net any any owners general 2");
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 1;

    (void) state;
    mesh_init(&m, 3);
    for (uint32_t r = 0; r < m.n; r++) m.table[r] = t;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "all", &c), CG_OK);
    allreduce(&m, &c, COUNT, 0, &seed);
    took(&m, &c, "exchange", "host");
    assert_non_null(strstr(last[4], "of all: allreduce of 20000 bytes by exchange, chosen by line 1 of coll_gpu_rows: "
                                    "allreduce device shm any any exchange general 0"));
    assert_int_equal(lines[4], 3); /* one of each rank, */
    allreduce(&m, &c, COUNT, 0, &seed);
    assert_int_equal(lines[4], 3); /* and no other until another row is taken */
    assert_int_equal(lines[0], 0);
    mesh_comm_close(&c);
    mesh_close(&m);
    cg_table_free(t);
}

/* On one rank, which is any but rank 0, or on rank 0 alone. */
static void not_alike(void **state)
{
    struct cg_table *t = table("allreduce any any any any exchange general 0");

    (void) state;
    for (uint32_t odd = 0; odd < 5; odd++) {
        struct mesh m;
        struct mesh_comm c;
        unsigned seed = 2 + odd;
        listen(NULL);
        mesh_init(&m, 5);
        m.table[odd] = t;
        assert_int_equal(mesh_open(&m), CG_OK);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(mesh_comm_open(&m, "odd", &c), CG_OK);
            allreduce(&m, &c, COUNT, 0, &seed);
            took(&m, &c, "owners", "host");
            assert_int_equal(lines[0], 1); /* said once in the life of a process */
            mesh_comm_close(&c);
        }
        assert_non_null(strstr(last[0], "another table of choices; all ranks use the built-in one"));
        assert_non_null(strstr(last[4], "line"));
        assert_non_null(strstr(last[4], "of built-in"));
        mesh_close(&m);
    }
    cg_table_free(t);
}

/* The same rows from elsewhere are the same table. */
static void alike_from_elsewhere(void **state)
{
    struct cg_table *a = table("allreduce any any any any exchange general 0"),
                    *b = table("\n#\nallreduce any  any any 0-max exchange general 0\n");
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 3;

    (void) state;
    mesh_init(&m, 2);
    m.table[0] = a;
    m.table[1] = b;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "alike", &c), CG_OK);
    allreduce(&m, &c, COUNT, 0, &seed);
    took(&m, &c, "exchange", "host");
    assert_int_equal(lines[0], 0);
    mesh_comm_close(&c);
    mesh_close(&m);
    cg_table_free(a);
    cg_table_free(b);
}

/* The network between any two ranks makes it "net" on all of them. */
static void by_medium(void **state)
{
    struct cg_table *t = table("allreduce any net any any exchange general 0;"
                               "allreduce any shm any any owners general 1");

    (void) state;
    for (int nodes = 0; nodes < 3; nodes += 2) {
        struct mesh m;
        struct mesh_comm c;
        unsigned seed = 4;
        mesh_init(&m, 4);
        m.net = &cg_net_loop;
        for (uint32_t r = 0; r < m.n; r++) {
            m.table[r] = t;
            m.params[r].virtual_nodes = nodes;
        }
        assert_int_equal(mesh_open(&m), CG_OK);
        assert_int_equal(mesh_comm_open(&m, "medium", &c), CG_OK);
        allreduce(&m, &c, COUNT, 0, &seed);
        took(&m, &c, nodes ? "exchange" : "owners", "host");
        mesh_comm_close(&c);
        mesh_close(&m);
    }
    cg_table_free(t);
}

static void fast_rows(void **state)
{
    static const struct {
        const char *rows, *plan, *executor;
    } cases[] = {
        {"", "ll", "fast"},
        {"allreduce any p2p any any - two_shot 3", "two_shot", "fast"},
        {"allreduce any any any 0-20K - ll128 0", "ll128", "fast"},
        {"allreduce any any any 20001-max - ll128 0", "ll", "fast"},
        {"allreduce any p2p any any - general 0; allreduce any any any any exchange general 0", "exchange", "gpu"},
        {"allreduce any any any any owners general 0", "owners", "gpu"},
        {"allreduce any shm any any exchange general 0", "ll", "fast"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cg_table *t = table(cases[i].rows);
        struct mesh m;
        struct mesh_comm c;
        unsigned seed = 5;
        mesh_init(&m, 2);
        for (uint32_t r = 0; r < m.n; r++) m.table[r] = t;
        assert_int_equal(mesh_open(&m), CG_OK);
        assert_int_equal(mesh_comm_open(&m, "fast", &c), CG_OK);
        for (int k = 0; k < 10; k++) allreduce(&m, &c, COUNT, 1, &seed);
        took(&m, &c, cases[i].plan, cases[i].executor);
        assert_int_equal(fake_overruns, 0);
        mesh_comm_close(&c);
        mesh_close(&m);
        cg_table_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(given_to_all, listen), cmocka_unit_test_setup(not_alike, listen),
        cmocka_unit_test_setup(alike_from_elsewhere, listen), cmocka_unit_test_setup(by_medium, listen),
        cmocka_unit_test_setup(fast_rows, listen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
