/* SPDX-License-Identifier: BSD-3-Clause
 * Callers that wait (cg_group_call): calls like the last one and unlike it, among posted operations, on shared memory
 * and over a network, and what happens when ranks disagree. */
#include "test/engine/job.h"

#include "proxy/net.h"

enum { N = 3 };

static void set(struct mesh *m, struct mesh_comm *c, const struct cg_net_ops *net)
{
    mesh_init(m, N);
    m->net = net;
    for (uint32_t r = 0; r < N; r++) {
        m->params[r].slot_bytes = 1024;
        m->params[r].slots = 2;
        if (net) m->host[r] = r + 1;
    }
    assert_int_equal(mesh_open(m), CG_OK);
    assert_int_equal(mesh_comm_open(m, "again", c), CG_OK);
}

static void await(struct mesh *m, struct cg_wait wait[N], unsigned *seed)
{
    for (int turns = 0; turns < 100000; turns++) {
        int done = 0;
        for (int r = 0; r < N; r++) done += (int) cg_load_acquire(&wait[r].done);
        if (done == N) return;
        mesh_spin(m, 1, seed);
    }
    fail_msg("not all ended");
}

static void call_rank(struct job *j, struct mesh_comm *c, uint32_t r, struct cg_wait *wait)
{
    struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .src = j->src[r],
                           .dst = j->dst[r], .count = j->count, .blocking = 1};

    assert_int_equal(cg_group_call(c->group[r], &call, wait), CG_OK);
}

/* Rank `first` is the first that comes. */
static void reduce(struct mesh *m, struct mesh_comm *c, uint64_t count, int inplace, uint32_t first, unsigned *seed)
{
    struct cg_wait wait[N];
    struct job j;

    job_begin(&j, N, count, inplace, *seed);
    for (uint32_t i = 0; i < N; i++) call_rank(&j, c, (first + i) % N, &wait[(first + i) % N]);
    await(m, wait, seed);
    for (uint32_t r = 0; r < N; r++) j.op[r] = (struct mesh_op){1, wait[r].status};
    job_end(&j);
}

/* What rank s sends to rank d: so many numbers, and which. */
static uint64_t amount(uint32_t s, uint32_t d, unsigned salt) { return salt % 3 ? (s + d + salt) % 4 : 1 + s; }
static uint32_t number(uint32_t s, uint32_t d, uint64_t i, unsigned salt)
{
    return salt * 1000000u + s * 10000u + d * 100u + (uint32_t) i;
}

struct rows {
    uint64_t len[2][N], disp[2][N]; /* sent, received */
    uint32_t data[2][4 * N];
};

static void fill(struct rows *w, uint32_t r, unsigned salt)
{
    uint64_t at[2] = {0, 0};

    for (uint32_t p = 0; p < N; p++) {
        w->len[0][p] = amount(r, p, salt);
        w->len[1][p] = amount(p, r, salt);
        for (int side = 0; side < 2; side++) w->disp[side][p] = at[side], at[side] += w->len[side][p];
        for (uint64_t i = 0; i < w->len[0][p]; i++) w->data[0][w->disp[0][p] + i] = number(r, p, i, salt);
    }
    memset(w->data[1], 0xee, sizeof(w->data[1]));
}

/* Lengths of its own for each value of salt. */
static void exchange(struct mesh *m, struct mesh_comm *c, unsigned salt, unsigned *seed)
{
    struct cg_wait wait[N];
    struct rows w[N];

    for (uint32_t r = 0; r < N; r++) {
        struct cg_call call = {.coll = CG_COLL_ALLTOALLV, .type = CG_TYPE_U32, .src = w[r].data[0],
                               .dst = w[r].data[1], .src_len = w[r].len[0], .src_disp = w[r].disp[0],
                               .dst_len = w[r].len[1], .dst_disp = w[r].disp[1], .blocking = 1};
        fill(&w[r], r, salt);
        assert_int_equal(cg_group_call(c->group[r], &call, &wait[r]), CG_OK);
    }
    await(m, wait, seed);
    for (uint32_t r = 0; r < N; r++) {
        assert_int_equal(wait[r].status, CG_OK);
        for (uint32_t p = 0; p < N; p++) {
            for (uint64_t i = 0; i < w[r].len[1][p]; i++)
                assert_int_equal(w[r].data[1][w[r].disp[1][p] + i], number(p, r, i, salt));
        }
    }
}

static void mixed_over(const struct cg_net_ops *net)
{
    static const uint64_t counts[] = {2, 2, 2, 300, 2, 5000};
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 5;

    set(&m, &c, net);
    reduce(&m, &c, 2, 0, 0, &seed); /* sets the communicator up */
    for (unsigned i = 0; i < 300; i++) {
        uint64_t count = counts[(i / 4) % 6];
        reduce(&m, &c, count, (int) (i / 2) & 1, i % N, &seed);
        if (i % 5 == 4) one(&m, &c, count, 0, &seed);
        if (i > 100 && i % 7 < 3) exchange(&m, &c, i / 20, &seed); /* more links from the first one on */
    }
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_mixed(void **state)
{
    (void) state;
    mixed_over(NULL);
    mixed_over(&cg_net_loop);
}

/* Nothing but numbers moves in the second of two like calls, and that is counted as an operation. */
static void test_counted(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct cg_counters before, after;
    struct cg_trace trace;
    unsigned seed = 7;

    (void) state;
    set(&m, &c, NULL);
    reduce(&m, &c, 10, 0, 0, &seed);
    cg_proc_get_counters(m.proc[1], &before);
    for (int i = 0; i < 10; i++) reduce(&m, &c, 10, 0, 0, &seed);
    cg_proc_get_counters(m.proc[1], &after);
    cg_group_trace(c.group[1], &trace);
    assert_int_equal(after.posts - before.posts, 10);
    assert_int_equal(after.native_host - before.native_host, 10);
    assert_string_equal(trace.executor, "host");
    assert_true(cg_proc_idle(m.proc[1]));
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void disagree_over(const struct cg_net_ops *net)
{
    struct cg_wait wait[N];
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 9;

    set(&m, &c, net);
    for (int i = 0; i < 3; i++) reduce(&m, &c, 100, 0, 0, &seed);
    job_begin(&j, N, 100, 0, 1);
    for (uint32_t r = 0; r < N; r++) {
        j.count = r == 1 ? 50 : 100;
        call_rank(&j, &c, r, &wait[r]);
    }
    await(&m, wait, &seed);
    for (uint32_t r = 0; r < N; r++)
        assert_true(CG_ERR_MISMATCH == wait[r].status || CG_ERR_PEER == wait[r].status);
    assert_non_null(strstr(last_line, "again"));
    for (uint32_t r = 0; r < N; r++) call_rank(&j, &c, r, &wait[r]); /* broken from now on */
    await(&m, wait, &seed);
    for (uint32_t r = 0; r < N; r++) {
        assert_true(wait[r].status < 0);
        free(j.src[r]);
        free(j.dst[r]);
    }
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_disagree(void **state)
{
    (void) state;
    disagree_over(NULL);
    disagree_over(&cg_net_loop);
}

/* What cannot be called is not queued, and the next call is served. */
static void test_refused(void **state)
{
    struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .count = 1};
    struct cg_wait wait;
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 3;

    (void) state;
    set(&m, &c, NULL);
    reduce(&m, &c, 1, 0, 0, &seed);
    assert_int_equal(cg_group_call(c.group[0], &call, &wait), CG_ERR_ARG);
    reduce(&m, &c, 1, 0, 0, &seed);
    mesh_comm_close(&c);
    mesh_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_mixed, quiet),
        cmocka_unit_test_setup(test_counted, quiet),
        cmocka_unit_test_setup(test_disagree, quiet),
        cmocka_unit_test_setup(test_refused, quiet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
