/* SPDX-License-Identifier: BSD-3-Clause
 * Groups on several nodes: which plan they use, results, same bits on all ranks and in every call; links between nodes
 * only where a plan has them. */
#include "test/engine/job.h"

#include <math.h>

/* Ranks of up to 4 hosts, in a row or dealt out. */
struct shape {
    uint32_t ranks[4];
    int dealt;
};

static const struct shape shapes[] = {
    {{4, 4}, 0},       {{4, 4}, 1},       {{3, 1, 2}, 0}, {{1, 3}, 0},
    {{2, 2, 2, 2}, 0}, {{2, 2, 2, 2}, 1}, {{4, 4, 4}, 0}, {{9, 9}, 0},
};

static void open_nodes(const struct shape *s, struct mesh *m, struct mesh_comm *c, int doubling_max, int ring_nodes)
{
    uint32_t left[4], n = 0;

    memcpy(left, s->ranks, sizeof(left));
    for (int i = 0; i < 4; i++) n += left[i];
    mesh_init(m, n);
    m->net = &cg_net_loop;
    for (uint32_t r = 0, host = 0; r < n; r++) {
        while (0 == left[host]) host = (host + 1) % 4;
        left[host]--;
        m->host[r] = host + 1;
        if (s->dealt) host = (host + 1) % 4;
        m->params[r].slot_bytes = 4096;
        m->params[r].slots = 4;
        m->params[r].channel_bytes = 4096;
        m->params[r].arena_bytes = 1 << 20;
        m->params[r].doubling_max = doubling_max;
        m->params[r].rail_ring_nodes = ring_nodes;
    }
    assert_int_equal(mesh_open(m), CG_OK);
    assert_int_equal(mesh_comm_open(m, "nodes", c), CG_OK);
}

static void close_nodes(struct mesh *m, struct mesh_comm *c)
{
    mesh_comm_close(c);
    mesh_close(m);
}

static void sums(const struct shape *s, int doubling_max, int ring_nodes, const char *plan)
{
    static const uint64_t counts[] = {1, 3, 17, 1000, 8193, 70001, 300001};
    unsigned seed = 11;
    struct mesh m;
    struct mesh_comm c;
    struct cg_trace trace;

    open_nodes(s, &m, &c, doubling_max, ring_nodes);
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) one(&m, &c, counts[i], i & 1, &seed);
    for (uint32_t r = 0; r < m.n; r++) {
        cg_group_trace(c.group[r], &trace);
        assert_string_equal(trace.plan, plan);
        assert_string_equal(trace.executor, "host");
    }
    close_nodes(&m, &c);
}

static void test_sums(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        sums(&shapes[i], 1 << 30, 0, "rail_doubling");
        sums(&shapes[i], 0, 8, "rail_ring");
        sums(&shapes[i], 0, 0, "rails");
    }
}

/* Numbers whose sum depends on the order of additions. */
static void bits(const struct shape *s, int doubling_max, int ring_nodes)
{
    enum { COUNT = 20001, CALLS = 4 };
    static float src[MESH_MAX][COUNT], dst[MESH_MAX][COUNT], first[COUNT];
    unsigned seed = 5;
    struct mesh m;
    struct mesh_comm c;

    open_nodes(s, &m, &c, doubling_max, ring_nodes);
    for (uint32_t r = 0; r < m.n; r++) {
        for (int i = 0; i < COUNT; i++)
            src[r][i] = (float) sin(i * 7.7 + r * 3.3) * (float) (1 << (i * 31 + (int) r * 17) % 24);
    }
    for (int call = 0; call < CALLS; call++) {
        struct mesh_op op[MESH_MAX];
        for (uint32_t r = 0; r < m.n; r++) {
            struct cg_call k = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_F32, .redop = CG_REDOP_SUM, .count = COUNT};
            k.src = src[r];
            k.dst = dst[r];
            assert_int_equal(mesh_post(&c, r, &k, &op[r]), CG_OK);
        }
        assert_true(mesh_run(&m, op, (int) m.n, &seed));
        if (0 == call) memcpy(first, dst[0], sizeof(first));
        for (uint32_t r = 0; r < m.n; r++) assert_memory_equal(dst[r], first, sizeof(first));
    }
    close_nodes(&m, &c);
}

static void test_bits(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        bits(&shapes[i], 1 << 30, 0);
        bits(&shapes[i], 0, 8);
        bits(&shapes[i], 0, 0);
    }
}

/* ---- collectives with blocks, and scans ---- */

enum { BLOCK = 3001 };
static uint32_t value(uint32_t from, uint32_t to, uint32_t i) { return from * 7919 + to * 1009 + i * 31 + 5; }

/* Element i of block b of rank r's result; 0 if it has none. */
static int result(int coll, uint32_t n, uint32_t root, uint32_t r, uint32_t b, uint32_t i, uint32_t *want)
{
    uint32_t first = CG_COLL_ALLGATHER == coll || CG_COLL_GATHER == coll ? b : root, end = first + 1;

    if (CG_COLL_GATHER == coll && r != root) return 0;
    if (CG_COLL_ALLGATHER != coll && CG_COLL_GATHER != coll && b > 0) return 0;
    if (CG_COLL_REDUCE_SCATTER_BLOCK == coll) first = 0, end = n;
    if (CG_COLL_SCAN == coll || CG_COLL_EXSCAN == coll) first = 0, end = r + (CG_COLL_SCAN == coll);
    if (first == end) return 0;
    *want = 0;
    for (uint32_t p = first; p < end; p++)
        *want += value(p, CG_COLL_SCATTER == coll || CG_COLL_REDUCE_SCATTER_BLOCK == coll ? r : 0, i);
    return 1;
}

static void blocks(const struct shape *s, int coll, uint32_t count, uint32_t root, const char *plan)
{
    static uint32_t src[MESH_MAX][MESH_MAX * BLOCK], dst[MESH_MAX][MESH_MAX * BLOCK];
    struct mesh_op op[MESH_MAX];
    unsigned seed = count;
    struct mesh m;
    struct mesh_comm c;
    struct cg_trace trace;
    uint32_t want;

    open_nodes(s, &m, &c, CG_COLL_SCAN == coll || CG_COLL_EXSCAN == coll ? 1 << 30 : 0, 8);
    memset(dst, 0x5a, sizeof(dst));
    root %= m.n;
    for (uint32_t r = 0; r < m.n; r++) {
        struct cg_call k = {.coll = coll, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .count = count, .root = root};
        for (uint32_t b = 0; b < m.n; b++) {
            for (uint32_t i = 0; i < count; i++) src[r][b * count + i] = value(r, b, i);
        }
        if (CG_COLL_ALLGATHER == coll || CG_COLL_GATHER == coll || CG_COLL_SCATTER == coll) k.type = CG_TYPE_U8;
        if (CG_TYPE_U8 == k.type) k.count = count * 4;
        k.src = src[r];
        k.dst = dst[r];
        assert_int_equal(mesh_post(&c, r, &k, &op[r]), CG_OK);
    }
    assert_true(mesh_run(&m, op, (int) m.n, &seed));
    for (uint32_t r = 0; r < m.n; r++) {
        cg_group_trace(c.group[r], &trace);
        assert_string_equal(trace.plan, plan);
        for (uint32_t b = 0; b < m.n; b++) {
            for (uint32_t i = 0; i < count; i++) {
                if (!result(coll, m.n, root, r, b, i, &want)) want = 0x5a5a5a5a;
                assert_int_equal(dst[r][b * count + i], want);
            }
        }
    }
    close_nodes(&m, &c);
}

static void test_blocks(void **state)
{
    static const uint32_t counts[] = {1, 100, BLOCK};

    (void) state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
            blocks(&shapes[i], CG_COLL_ALLGATHER, counts[k], 0, "rail_ring");
            blocks(&shapes[i], CG_COLL_REDUCE_SCATTER_BLOCK, counts[k], 0, "rail_ring");
            blocks(&shapes[i], CG_COLL_SCAN, counts[k], 0, "rail_tree");
            blocks(&shapes[i], CG_COLL_EXSCAN, counts[k], 0, "rail_tree");
            blocks(&shapes[i], CG_COLL_GATHER, counts[k], 3, "rail_tree");
            blocks(&shapes[i], CG_COLL_SCATTER, counts[k], 5, "rail_tree");
        }
    }
}

/* Two nodes of 9 ranks on a host each: they are cut into nodes of 5 and 4, and a rank has fewer links than there are
 * ranks. */
static void test_links(void **state)
{
    const struct shape s = {{9, 9}, 0};
    unsigned seed = 2;
    struct cg_counters counters;
    struct mesh m;
    struct mesh_comm c;

    (void) state;
    open_nodes(&s, &m, &c, -1, 8);
    one(&m, &c, 100000, 0, &seed);
    cg_proc_get_counters(m.proc[0], &counters);
    assert_in_range(counters.links, 4, 10);
    close_nodes(&m, &c);
}

/* Where rank order is asked for everywhere, nodes make no difference. */
static void test_rank_order(void **state)
{
    unsigned seed = 2;
    struct cg_trace trace;
    struct mesh m;
    struct mesh_comm c;

    (void) state;
    for (int order = 1; order <= 2; order++) {
        mesh_init(&m, 4);
        m.net = &cg_net_loop;
        m.host[2] = m.host[3] = 1;
        for (uint32_t r = 0; r < m.n; r++) m.params[r].rank_order = order;
        assert_int_equal(mesh_open(&m), CG_OK);
        assert_int_equal(mesh_comm_open(&m, "order", &c), CG_OK);
        one(&m, &c, 100000, 0, &seed);
        cg_group_trace(c.group[0], &trace);
        assert_string_equal(trace.plan, 1 == order ? "rail_ring" : "owners");
        close_nodes(&m, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sums, quiet),
        cmocka_unit_test_setup(test_bits, quiet),
        cmocka_unit_test_setup(test_blocks, quiet),
        cmocka_unit_test_setup(test_links, quiet),
        cmocka_unit_test_setup(test_rank_order, quiet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
