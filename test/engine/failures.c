/* SPDX-License-Identifier: BSD-3-Clause
 * The engine when something is wrong: ranks that disagree, resources that are missing, ranks that do not come. */
#include "test/engine/job.h"
#include "topo/topo.h"

static void mismatch_over(const struct cg_net_ops *net, int virtual_nodes)
{
    enum { N = 3 };
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 11;

    mesh_init(&m, N);
    m.net = net;
    for (uint32_t r = 0; r < N; r++) m.params[r].virtual_nodes = virtual_nodes;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "unlike", &c), CG_OK);
    job_begin(&j, N, 100, 0, 1);
    j.count = 50;
    job_post(&j, &c, 0);
    j.count = 100;
    job_post(&j, &c, 1);
    job_post(&j, &c, 2);
    assert_true(mesh_run(&m, j.op, N, &seed));
    for (uint32_t r = 0; r < N; r++) assert_true(CG_ERR_MISMATCH == j.op[r].status || CG_ERR_PEER == j.op[r].status);
    assert_non_null(strstr(last_line, "unlike"));
    job_post(&j, &c, 1); /* broken from now on, and says so at once */
    assert_true(mesh_run(&m, &j.op[1], 1, &seed));
    assert_true(j.op[1].status < 0);
    for (uint32_t r = 0; r < N; r++) {
        free(j.src[r]);
        free(j.dst[r]);
    }
    mesh_comm_close(&c);
    assert_int_equal(mesh_comm_open(&m, "next", &c), CG_OK); /* a later communicator knows nothing of it */
    one(&m, &c, 100, 0, &seed);
    one(&m, &c, 5000, 0, &seed);
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_mismatch(void **state)
{
    (void) state;
    mismatch_over(NULL, 0);
    mismatch_over(&cg_net_loop, 3);
}

static void post_down(struct mesh_comm *c, uint32_t r, uint64_t bytes, struct mesh_op *op)
{
    struct cg_call call = {.coll = CG_COLL_DOWN, .type = CG_TYPE_U8, .redop = CG_COLL_ALLREDUCE, .count = bytes};

    assert_int_equal(mesh_post(c, r, &call, op), CG_OK);
}

/* Calls of the next component: they take numbers among the others, and a rank in another call is found out. */
static void down_over(const struct cg_net_ops *net, int virtual_nodes)
{
    enum { N = 5 };
    struct mesh_op ops[N];
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 12;

    mesh_init(&m, N);
    m.net = net;
    for (uint32_t r = 0; r < N; r++) m.params[r].virtual_nodes = virtual_nodes;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "down", &c), CG_OK);
    for (int i = 0; i < 40; i++) {
        for (uint32_t r = 0; r < N; r++) post_down(&c, r, (uint64_t) i, &ops[r]);
        assert_true(mesh_run(&m, ops, N, &seed));
        for (uint32_t r = 0; r < N; r++) assert_int_equal(ops[r].status, CG_OK);
        one(&m, &c, 1 + 100 * (uint64_t) i, 0, &seed);
    }
    assert_int_equal(lines, 0);
    job_begin(&j, N, 100, 0, 1);
    for (uint32_t r = 0; r < N; r++) {
        if (2 == r) post_down(&c, r, 400, &j.op[r]);
        else job_post(&j, &c, r);
    }
    assert_true(mesh_run(&m, j.op, N, &seed));
    for (uint32_t r = 0; r < N; r++) {
        assert_true(CG_ERR_MISMATCH == j.op[r].status || CG_ERR_PEER == j.op[r].status);
        free(j.src[r]);
        free(j.dst[r]);
    }
    assert_int_equal(j.op[2].status, CG_ERR_MISMATCH);
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_down(void **state)
{
    (void) state;
    down_over(NULL, 0);
    quiet(NULL);
    down_over(&cg_net_loop, 5);
}

/* No shared memory on one rank: the network takes over where there is one, else all ranks agree on the error. */
static void test_no_shm(void **state)
{
    (void) state;
    for (int with_net = 0; with_net < 2; with_net++) {
        struct mesh m;
        struct mesh_comm c;
        struct job j;
        unsigned seed = 13;

        quiet(NULL);
        mesh_init(&m, 3);
        m.params[1].stage_limit = 4096;
        m.net = with_net ? &cg_net_loop : NULL;
        if (!with_net) snprintf(m.params[0].transport, 16, "none"), snprintf(m.params[1].transport, 16, "none"),
            snprintf(m.params[2].transport, 16, "none");
        assert_int_equal(mesh_open(&m), CG_OK);
        assert_int_equal(mesh_comm_open(&m, "poor", &c), CG_OK);
        job_begin(&j, 3, 10, 0, 1);
        for (uint32_t r = 0; r < 3; r++) job_post(&j, &c, r);
        assert_true(mesh_run(&m, j.op, 3, &seed));
        for (uint32_t r = 0; r < 3; r++) {
            assert_true(j.op[r].status < 0);
            assert_int_equal(cg_group_status(c.group[r]), j.op[r].status);
            free(j.src[r]);
            free(j.dst[r]);
        }
        assert_true(lines > 0);
        mesh_comm_close(&c);
        mesh_close(&m);
    }
}

static void test_params_differ(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    unsigned seed = 17;

    (void) state;
    mesh_init(&m, 4);
    m.params[2].slots = 2;
    m.params[3].exchange_max = 16;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "odd", &c), CG_OK);
    one(&m, &c, 3000, 0, &seed);
    one(&m, &c, 30000, 0, &seed);
    assert_int_equal(lines, 2);
    assert_non_null(strstr(last_line, "differs from rank 0's"));
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_bad_params(void **state)
{
    struct mesh m;

    (void) state;
    mesh_init(&m, 1);
    m.params[0].slots = 3;
    assert_int_equal(mesh_open(&m), CG_ERR_ARG);
    assert_non_null(strstr(last_line, "coll_gpu_slots is 3"));
    m.params[0].slots = 8;
    m.params[0].slot_bytes = -1;
    assert_int_equal(mesh_open(&m), CG_ERR_ARG);
    assert_non_null(strstr(last_line, "coll_gpu_slot_bytes is -1"));
}

/* Members on another host must never be tried over shared memory: the card names the host. */
static void test_card(void **state)
{
    struct cg_proc_config config = {.self = 7};
    struct cg_proc *proc;
    struct cg_card card;

    (void) state;
    cg_params_default(&config.params);
    assert_int_equal(cg_proc_open(&config, &proc, &card), CG_OK);
    assert_true(0 != card.host);
    assert_true(cg_topo_host() == card.host);
    assert_true(strlen(card.socket) > 0);
    cg_proc_close(proc);
}

/* Progress until somebody says it, however long the machine takes. */
static void until_said(struct mesh *m, const char *text, unsigned *seed)
{
    for (int i = 0; !strstr(last_line, text) && i < 600; i++) {
        usleep(100000);
        mesh_spin(m, 20000, seed);
    }
    assert_non_null(strstr(last_line, text));
}

/* A rank that waits for others to come to their first call says for whom. */
static void test_wait_is_reported(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 29;

    (void) state;
    mesh_init(&m, 3);
    for (uint32_t r = 0; r < 3; r++) m.params[r].stuck_seconds = 1;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "late", &c), CG_OK);
    job_begin(&j, 3, 100, 0, 1);
    for (uint32_t r = 0; r < 2; r++) job_post(&j, &c, r);
    until_said(&m, "not heard from rank 2", &seed);
    assert_non_null(strstr(last_line, "of late has waited 1 s in the set-up"));
    job_post(&j, &c, 2);
    assert_true(mesh_run(&m, j.op, 3, &seed));
    job_end(&j);

    job_begin(&j, 3, 100, 0, 2);
    for (uint32_t r = 0; r < 2; r++) job_post(&j, &c, r);
    until_said(&m, "not heard of it from rank 2", &seed);
    job_post(&j, &c, 2);
    assert_true(mesh_run(&m, j.op, 3, &seed));
    job_end(&j);
    mesh_comm_close(&c);
    mesh_close(&m);
}

/* Calls of which each waits for a message of the other: no header tells, but in shared memory the
 * announcements do. */
static void test_calls_cross(void **state)
{
    enum { N = 3 };
    struct mesh_op ops[N];
    struct mesh m;
    struct mesh_comm c;
    struct job j;
    unsigned seed = 31;

    (void) state;
    mesh_init(&m, N);
    for (uint32_t r = 0; r < N; r++) m.params[r].stuck_seconds = 1;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "cross", &c), CG_OK);
    one(&m, &c, 50, 0, &seed);
    job_begin(&j, N, 100, 0, 1);
    for (uint32_t r = 0; r < N; r++) {
        struct cg_call call = {.coll = r ? CG_COLL_BCAST : CG_COLL_REDUCE, .type = r ? CG_TYPE_U8 : CG_TYPE_U32,
                               .redop = CG_REDOP_SUM, .src = j.src[r], .dst = j.dst[r], .count = 100};
        assert_int_equal(mesh_post(&c, r, &call, &ops[r]), CG_OK);
    }
    last_line[0] = 0;
    until_said(&m, " called ", &seed);
    for (uint32_t r = 0; r < N; r++) assert_int_equal(ops[r].ended, 0);
    assert_true(strstr(last_line, "in reduce of 400 bytes") || strstr(last_line, "called reduce of 400 bytes"));
    mesh_comm_close(&c);
    mesh_close(&m);
    for (uint32_t r = 0; r < N; r++) {
        free(j.src[r]);
        free(j.dst[r]);
    }
}

/* Two hosts: shared memory inside each, the network between them, without being told by virtual_nodes. */
static void test_two_hosts(void **state)
{
    struct mesh m;
    struct mesh_comm c;
    struct cg_trace trace;
    unsigned seed = 23;

    (void) state;
    mesh_init(&m, 4);
    m.net = &cg_net_loop;
    m.host[2] = m.host[3] = 1;
    assert_int_equal(mesh_open(&m), CG_OK);
    assert_int_equal(mesh_comm_open(&m, "hosts", &c), CG_OK);
    one(&m, &c, 50000, 0, &seed);
    cg_group_trace(c.group[0], &trace);
    assert_string_equal(trace.medium, "shm+net");
    assert_int_equal(lines, 0);
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_wanted(void **state)
{
    struct cg_card cards[2] = {{.version = CG_CARD_VERSION, .host = 1}, {.version = CG_CARD_VERSION, .host = 1}};
    struct cg_params params;
    const char *why;

    (void) state;
    cg_params_default(&params);
    assert_false(cg_group_wanted(cards, 2, &params, &why));
    cards[1].flags = CG_CARD_GPU;
    assert_true(cg_group_wanted(cards, 2, &params, &why));
    cards[0].flags = CG_CARD_NEVER;
    assert_false(cg_group_wanted(cards, 2, &params, &why));
    cards[0].flags = 0;
    cards[0].host = 2;
    assert_false(cg_group_wanted(cards, 2, &params, &why));
    cards[0].flags = cards[1].flags = CG_CARD_GPU | CG_CARD_NET;
    assert_true(cg_group_wanted(cards, 2, &params, &why));
    cards[0].version = 0;
    assert_false(cg_group_wanted(cards, 2, &params, &why));
}

/* The process ends while others have not come to the communicator's first call: at every stage of the set-up, with
 * calls that carry arrays. Whatever is left is freed, or kept for messages under way (LeakSanitizer looks). */
static void test_end_in_setup(void **state)
{
    enum { N = 4 };
    static const uint64_t lens[N] = {1, 2, 3, 4}, disps[N] = {0, 1, 3, 6};
    static unsigned char src[4], dst[10];
    struct cg_call call = {.coll = CG_COLL_ALLGATHERV, .type = CG_TYPE_U8, .src = src, .dst = dst, .dst_len = lens,
                           .dst_disp = disps};

    (void) state;
    for (int turns = 0; turns < 60; turns++) {
        struct mesh m;
        struct mesh_comm c;
        struct mesh_op op[N] = {0};
        unsigned seed = (unsigned) turns;
        mesh_init(&m, N);
        assert_int_equal(mesh_open(&m), CG_OK);
        assert_int_equal(mesh_comm_open(&m, "unfinished", &c), CG_OK);
        for (uint32_t r = 0; r < N - (uint32_t) (turns & 1); r++) {
            call.count = lens[r];
            assert_int_equal(mesh_post(&c, r, &call, &op[r]), CG_OK);
        }
        mesh_spin(&m, turns, &seed);
        if (turns & 2) mesh_comm_close(&c);
        mesh_close(&m);
        mesh_comm_free_mail(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_card, quiet),           cmocka_unit_test_setup(test_two_hosts, quiet),
        cmocka_unit_test_setup(test_wanted, quiet),         cmocka_unit_test_setup(test_bad_params, quiet),
        cmocka_unit_test_setup(test_down, quiet),           cmocka_unit_test_setup(test_end_in_setup, quiet),
        cmocka_unit_test_setup(test_mismatch, quiet),       cmocka_unit_test_setup(test_params_differ, quiet),
        cmocka_unit_test_setup(test_no_shm, quiet),         cmocka_unit_test_setup(test_wait_is_reported, quiet),
        cmocka_unit_test_setup(test_calls_cross, quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
