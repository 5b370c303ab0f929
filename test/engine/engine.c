/* SPDX-License-Identifier: BSD-3-Clause
 * The engine with several processes in one: set-up, operations, order, failures. */
#include "core/log.h"
#include "kernels/host/host.h"
#include "test/engine/mesh.h"
#include "topo/topo.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char last_line[1024];
static int lines;
static void keep_line(int level, const char *line, void *ctx)
{
    (void) ctx;
    if (level > 0) return;
    snprintf(last_line, sizeof(last_line), "%s", line);
    lines++;
}

static int quiet(void **state)
{
    (void) state;
    cg_log_set(keep_line, NULL, 0);
    last_line[0] = 0;
    lines = 0;
    return 0;
}

static uint32_t value(uint32_t rank, uint64_t i, unsigned salt)
{
    return (uint32_t) ((i + 1) * 2654435761u ^ (rank + 1) * 40503u * (salt + 1));
}

/* One allreduce of every rank, on its own buffers. */
struct job {
    uint32_t n;
    uint64_t count;
    int inplace;
    unsigned salt;
    uint32_t *src[MESH_MAX], *dst[MESH_MAX];
    struct mesh_op op[MESH_MAX];
};

static void job_begin(struct job *j, uint32_t n, uint64_t count, int inplace, unsigned salt)
{
    memset(j, 0, sizeof(*j));
    j->n = n;
    j->count = count;
    j->inplace = inplace;
    j->salt = salt;
    for (uint32_t r = 0; r < n; r++) {
        j->dst[r] = malloc((count + 1) * 4);
        j->src[r] = inplace ? j->dst[r] : malloc(count * 4);
        memset(j->dst[r], 0xee, (count + 1) * 4);
        for (uint64_t i = 0; i < count; i++) j->src[r][i] = value(r, i, salt);
    }
}

static void job_post(struct job *j, struct mesh_comm *c, uint32_t r)
{
    struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .src = j->src[r],
                           .dst = j->dst[r], .count = j->count};
    assert_int_equal(mesh_post(c, r, &call, &j->op[r]), CG_OK);
}

static void job_end(struct job *j)
{
    for (uint32_t r = 0; r < j->n; r++) {
        assert_int_equal(j->op[r].ended, 1);
        assert_int_equal(j->op[r].status, CG_OK);
        for (uint64_t i = 0; i < j->count; i++) {
            uint32_t want = 0;
            for (uint32_t p = 0; p < j->n; p++) want += value(p, i, j->salt);
            if (want != j->dst[r][i]) fail_msg("rank %u of %u element %llu of %llu", r, j->n, (unsigned long long) i,
                                               (unsigned long long) j->count);
        }
        assert_int_equal(j->dst[r][j->count], 0xeeeeeeeeu);
        if (!j->inplace) free(j->src[r]);
        free(j->dst[r]);
    }
}

static void one(struct mesh *m, struct mesh_comm *c, uint64_t count, int inplace, unsigned *seed)
{
    struct job j;

    job_begin(&j, m->n, count, inplace, *seed);
    for (uint32_t r = 0; r < m->n; r++) job_post(&j, c, r);
    assert_true(mesh_run(m, j.op, (int) m->n, seed));
    job_end(&j);
}

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
    for (int i = 0; i < 12; i++) {
        usleep(100000);
        mesh_spin(&m, 20, &seed);
    }
    assert_non_null(strstr(last_line, "of late has waited 1 s in the set-up"));
    assert_non_null(strstr(last_line, "not heard from rank 2"));
    job_post(&j, &c, 2);
    assert_true(mesh_run(&m, j.op, 3, &seed));
    job_end(&j);

    job_begin(&j, 3, 100, 0, 2);
    for (uint32_t r = 0; r < 2; r++) job_post(&j, &c, r);
    for (int i = 0; i < 12; i++) {
        usleep(100000);
        mesh_spin(&m, 20000, &seed);
    }
    assert_non_null(strstr(last_line, "not heard of it from rank 2"));
    job_post(&j, &c, 2);
    assert_true(mesh_run(&m, j.op, 3, &seed));
    job_end(&j);
    mesh_comm_close(&c);
    mesh_close(&m);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_card, quiet),     cmocka_unit_test_setup(test_two_hosts, quiet),
        cmocka_unit_test_setup(test_wait_is_reported, quiet),
        cmocka_unit_test_setup(test_wanted, quiet),   cmocka_unit_test_setup(test_bad_params, quiet),
        cmocka_unit_test_setup(test_shm, quiet),      cmocka_unit_test_setup(test_orders, quiet),
        cmocka_unit_test_setup(test_mismatch, quiet), cmocka_unit_test_setup(test_params_differ, quiet),
        cmocka_unit_test_setup(test_no_shm, quiet),   cmocka_unit_test_setup(test_release_early, quiet),
        cmocka_unit_test_setup(test_net, quiet),      cmocka_unit_test_setup(test_dup_free, quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
