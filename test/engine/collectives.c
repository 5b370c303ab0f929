/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective through the engine, with host and pretended device buffers in any mixture, in place and not, several
 * outstanding, against a reference. */
#include "core/log.h"
#include "kernels/cuda/fast.h"
#include "kernels/host/host.h"
#include "test/engine/fake_gpu.h"
#include "test/engine/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_MAX 9
#define POISON 0xb5

struct side {
    uint8_t *base; /* NULL: insignificant */
    uint64_t bytes;
};

/* One collective of all ranks. Elements are 4 bytes where it reduces, else 1. */
struct job {
    int coll, inplace, mixed; /* mixed: buffers anywhere; else each rank's on its GPU */
    int even;                 /* v collectives: blocks of one length, one after another */
    uint32_t n, root, esize;
    uint64_t count;
    uint64_t len[N_MAX][N_MAX];                        /* what p sends to q, in elements (v collectives) */
    uint64_t src_len[N_MAX][N_MAX], src_disp[N_MAX][N_MAX], dst_len[N_MAX][N_MAX], dst_disp[N_MAX][N_MAX];
    struct side src[N_MAX], dst[N_MAX];
    struct cg_call call[N_MAX];
    struct mesh_op op[N_MAX];
};

static unsigned seed = 1;

static uint64_t draw(uint64_t below) { return (uint64_t) rand_r(&seed) % below; }

/* Element i of what rank p contributes to rank q (q = 0 where all get the same). */
static uint32_t element(uint32_t p, uint32_t q, uint64_t i) { return (uint32_t) (i * 31 + p * 1009 + q * 7919 + 3); }

static void put(uint8_t *at, uint32_t esize, uint32_t v) { memcpy(at, &v, esize); }

static int is_v(int coll)
{
    return coll == CG_COLL_ALLGATHERV || coll == CG_COLL_GATHERV || coll == CG_COLL_SCATTERV ||
           coll == CG_COLL_ALLTOALLV || coll == CG_COLL_REDUCE_SCATTER;
}

static struct side side_new(const struct job *j, uint32_t p, uint64_t bytes)
{
    struct side s = {NULL, bytes};
    uint64_t room = bytes + 16;

    if (!j->mixed) s.base = fake_alloc((int) p % 2, room);
    else if (draw(2)) s.base = fake_alloc((int) draw(2), room);
    if (!s.base) s.base = malloc(room);
    memset(s.base, POISON, room);
    return s;
}

static void side_free(struct side *s)
{
    if (s->base && !fake_free(s->base)) free(s->base);
    s->base = NULL;
}

/* Blocks with gaps in between, in elements; returns the extent. */
static uint64_t lay_out(const uint64_t *len, uint64_t *disp, uint32_t n, int gaps)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        disp[i] = at;
        at += len[i] + (gaps ? draw(4) : 0);
    }
    return at;
}

static void lengths(struct job *j)
{
    for (uint32_t p = 0; p < j->n; p++) {
        for (uint32_t q = 0; q < j->n; q++)
            j->len[p][q] = j->even ? j->count : draw(4) ? draw(2 * j->count) : 0;
    }
    if (j->even) return;
    for (uint32_t p = 0; p < j->n; p++) { /* in place alltoallv: the same in both directions */
        for (uint32_t q = 0; q < p && j->inplace; q++) j->len[p][q] = j->len[q][p];
    }
    j->len[0][j->n - 1] += j->coll == CG_COLL_REDUCE_SCATTER || j->coll == CG_COLL_ALLGATHERV; /* not all zero */
    for (uint32_t p = 0; p < j->n; p++) {
        if (j->coll == CG_COLL_REDUCE_SCATTER) memcpy(j->len[p], j->len[0], sizeof(j->len[p]));
        for (uint32_t q = 0; q < j->n && j->coll == CG_COLL_ALLGATHERV; q++) j->len[p][q] = j->len[0][p];
    }
}

static void fill(struct job *j, uint32_t p, struct side *s, uint64_t at, uint32_t q, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++) put(s->base + (at + i) * j->esize, j->esize, element(p, q, i));
}

/* Buffers and arguments of rank p; blocks of q for q, as the collective lays them out. */
static void rank_begin(struct job *j, uint32_t p)
{
    int sends_blocks = j->coll == CG_COLL_ALLTOALL || j->coll == CG_COLL_ALLTOALLV ||
                       j->coll == CG_COLL_REDUCE_SCATTER || j->coll == CG_COLL_REDUCE_SCATTER_BLOCK ||
                       ((j->coll == CG_COLL_SCATTER || j->coll == CG_COLL_SCATTERV) && p == j->root);
    int takes_blocks = j->coll == CG_COLL_ALLTOALL || j->coll == CG_COLL_ALLTOALLV || j->coll == CG_COLL_ALLGATHER ||
                       j->coll == CG_COLL_ALLGATHERV ||
                       ((j->coll == CG_COLL_GATHER || j->coll == CG_COLL_GATHERV) && p == j->root);
    int to_root = j->coll == CG_COLL_GATHER || j->coll == CG_COLL_GATHERV || j->coll == CG_COLL_REDUCE;
    int from_root = j->coll == CG_COLL_SCATTER || j->coll == CG_COLL_SCATTERV;
    int sends = !from_root || p == j->root, takes = !to_root || p == j->root, v = is_v(j->coll);
    int gaps = j->coll != CG_COLL_REDUCE_SCATTER && !j->even;
    uint32_t self = j->coll == CG_COLL_SCATTERV ? p : j->coll == CG_COLL_GATHERV ? j->root : 0;
    uint64_t own = v && j->coll != CG_COLL_ALLTOALLV
                       ? (j->coll == CG_COLL_SCATTERV ? j->len[j->root][p] : j->len[p][self])
                       : j->count;
    uint64_t send_n = own, take_n = own;
    struct cg_call *c = &j->call[p];

    for (uint32_t q = 0; q < j->n; q++) {
        j->src_len[p][q] = v ? j->len[p][q] : j->count;
        j->dst_len[p][q] = v ? j->len[q][j->coll == CG_COLL_GATHERV ? j->root : p] : j->count;
    }
    if (sends_blocks) send_n = lay_out(j->src_len[p], j->src_disp[p], j->n, v && gaps);
    if (takes_blocks) take_n = lay_out(j->dst_len[p], j->dst_disp[p], j->n, v && gaps);
    if (j->coll == CG_COLL_REDUCE_SCATTER) take_n = j->len[0][p];
    if (j->coll == CG_COLL_ALLTOALLV && j->inplace) memcpy(j->src_disp[p], j->dst_disp[p], sizeof(j->src_disp[p]));
    if (j->inplace && send_n > take_n && sends && takes) take_n = send_n;
    *c = (struct cg_call){.coll = j->coll, .root = j->root, .count = v ? own : j->count,
                          .type = j->esize == 4 ? CG_TYPE_U32 : CG_TYPE_U8, .redop = CG_REDOP_SUM};
    int in_src = from_root && j->inplace && p == j->root; /* the root's block stays where it is */
    if (!in_src && (takes || j->coll == CG_COLL_BCAST)) j->dst[p] = side_new(j, p, take_n * j->esize);
    if (sends && !j->inplace && j->coll != CG_COLL_BCAST) j->src[p] = side_new(j, p, send_n * j->esize);
    if (sends && !j->src[p].base && !j->dst[p].base)
        j->src[p] = side_new(j, p, send_n * j->esize); /* in place is the root's */
    struct side *from = j->src[p].base ? &j->src[p] : &j->dst[p];
    uint64_t shift = 0;
    if (sends && from == &j->dst[p] && takes_blocks && !sends_blocks) shift = j->dst_disp[p][p];
    c->dst = in_src ? from->base + j->src_disp[p][p] * j->esize : j->dst[p].base;
    c->src = sends || j->coll == CG_COLL_BCAST ? from->base + shift * j->esize : NULL;
    if (sends_blocks) {
        for (uint32_t q = 0; q < j->n; q++) fill(j, p, from, j->src_disp[p][q], q, j->src_len[p][q]);
    } else if (sends && (j->coll != CG_COLL_BCAST || p == j->root)) {
        fill(j, p, from, shift, 0, own);
    }
    if (!v) return;
    if (sends_blocks) c->src_len = j->src_len[p];
    if (sends_blocks && j->coll != CG_COLL_REDUCE_SCATTER) c->src_disp = j->src_disp[p];
    if (takes_blocks) c->dst_len = j->dst_len[p], c->dst_disp = j->dst_disp[p];
}

static void job_begin(struct job *j, int coll, uint32_t n, int mixed)
{
    memset(j, 0, sizeof(*j));
    j->mixed = mixed;
    j->coll = coll;
    j->n = n;
    j->root = (uint32_t) draw(n);
    j->count = 1 + draw(draw(3) ? 60 : 3000);
    j->inplace = (int) draw(2);
    j->even = draw(3) == 0;
    j->esize = coll == CG_COLL_ALLREDUCE || coll == CG_COLL_REDUCE || coll == CG_COLL_REDUCE_SCATTER ||
                       coll == CG_COLL_REDUCE_SCATTER_BLOCK || coll == CG_COLL_SCAN || coll == CG_COLL_EXSCAN ? 4 : 1;
    if (is_v(coll)) lengths(j);
    for (uint32_t p = 0; p < n; p++) rank_begin(j, p);
}

static void expect(struct job *j, uint32_t p, uint64_t at, uint32_t want, const char *what)
{
    uint32_t got = 0, cut = j->esize == 4 ? want : (uint8_t) want;

    memcpy(&got, j->dst[p].base + at * j->esize, j->esize);
    if (got != cut) {
        fail_msg("%s: rank %u of %u, root %u, %s, element %llu of %llu: %x, not %x (%s)", cg_coll_name(j->coll), p,
                 j->n, j->root, j->inplace ? "in place" : "out of place", (unsigned long long) at,
                 (unsigned long long) (j->dst[p].bytes / j->esize), got, cut, what);
    }
}

static void expect_sum(struct job *j, uint32_t p, uint32_t first, uint32_t end, uint32_t q, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++) {
        uint32_t sum = 0;
        for (uint32_t r = first; r < end; r++) sum += element(r, q, i);
        expect(j, p, i, sum, "sum");
    }
}

static void expect_blocks(struct job *j, uint32_t p, int to_me)
{
    for (uint32_t q = 0; q < j->n; q++) {
        for (uint64_t i = 0; i < j->dst_len[p][q]; i++) {
            expect(j, p, j->dst_disp[p][q] + i, element(q, to_me ? p : 0, i), "block");
        }
    }
}

static void rank_check(struct job *j, uint32_t p)
{
    uint32_t n = j->n;

    switch (j->coll) {
    case CG_COLL_ALLREDUCE:
        expect_sum(j, p, 0, n, 0, j->count);
        break;
    case CG_COLL_REDUCE:
        if (p == j->root) expect_sum(j, p, 0, n, 0, j->count);
        break;
    case CG_COLL_SCAN:
        expect_sum(j, p, 0, p + 1, 0, j->count);
        break;
    case CG_COLL_EXSCAN:
        if (p > 0) expect_sum(j, p, 0, p, 0, j->count);
        break;
    case CG_COLL_REDUCE_SCATTER:
        expect_sum(j, p, 0, n, p, j->len[0][p]);
        break;
    case CG_COLL_REDUCE_SCATTER_BLOCK:
        expect_sum(j, p, 0, n, p, j->count);
        break;
    case CG_COLL_BCAST:
        for (uint64_t i = 0; i < j->count; i++) expect(j, p, i, element(j->root, 0, i), "bcast");
        break;
    case CG_COLL_SCATTER:
    case CG_COLL_SCATTERV:
        if (j->inplace && p == j->root) break;
        for (uint64_t i = 0; i < (is_v(j->coll) ? j->len[j->root][p] : j->count); i++) {
            expect(j, p, i, element(j->root, p, i), "scatter");
        }
        break;
    case CG_COLL_GATHER:
    case CG_COLL_GATHERV:
        if (p == j->root) expect_blocks(j, p, 0);
        break;
    default:
        expect_blocks(j, p, j->coll == CG_COLL_ALLTOALL || j->coll == CG_COLL_ALLTOALLV);
    }
}

static void job_end(struct job *j)
{
    for (uint32_t p = 0; p < j->n; p++) {
        assert_int_equal(j->op[p].ended, 1);
        if (j->op[p].status != CG_OK) fail_msg("%s: %s", cg_coll_name(j->coll), cg_status_text(j->op[p].status));
        if (j->dst[p].base) {
            for (int i = 0; i < 16; i++) assert_int_equal(j->dst[p].base[j->dst[p].bytes + (uint64_t) i], POISON);
            rank_check(j, p);
        }
        side_free(&j->src[p]);
        side_free(&j->dst[p]);
    }
}

static void open_mesh(struct mesh *m, struct mesh_comm *c, uint32_t n, int virtual_nodes)
{
    fake_no_gpu = fake_no_peer = fake_overruns = fake_fast_done = fake_gpu_done = fake_copies = 0;
    mesh_init(m, n);
    m->net = &cg_net_loop;
    for (uint32_t r = 0; r < n; r++) {
        m->params[r].slot_bytes = 1024;
        m->params[r].slots = 4;
        m->params[r].channel_bytes = 2048;
        m->params[r].exchange_max = 512;
        m->params[r].doubling_max = 1024;
        m->params[r].virtual_nodes = virtual_nodes;
    }
    assert_int_equal(mesh_open(m), CG_OK);
    assert_int_equal(mesh_comm_open(m, "all", c), CG_OK);
}

static int fast_ranks[CG_COLL_COUNT]; /* that a collective of that name took the fast executor on */

static void one_by_one(uint32_t n, int virtual_nodes, int rounds, int no_gpu)
{
    static struct job j;
    struct mesh m;
    struct mesh_comm c;

    open_mesh(&m, &c, n, virtual_nodes);
    fake_no_gpu = no_gpu; /* device buffers are worked on in host memory */
    for (int i = 0; i < rounds; i++) {
        int coll = 1 + (int) draw(CG_COLL_COUNT - 1);
        if (!cg_group_serves(c.group[0], coll)) continue;
        job_begin(&j, coll, n, i % 3 == 0);
        for (uint32_t p = 0; p < n; p++) assert_int_equal(mesh_post(&c, p, &j.call[p], &j.op[p]), CG_OK);
        int before = fake_fast_done;
        assert_true(mesh_run(&m, j.op, (int) n, &seed));
        fast_ranks[coll] += fake_fast_done - before;
        job_end(&j);
    }
    assert_int_equal(fake_overruns, 0);
    mesh_comm_close(&c);
    mesh_close(&m);
}

static void test_each(void **state)
{
    (void) state;
    for (uint32_t n = 1; n <= N_MAX; n++) one_by_one(n, 0, 400, n & 1);
    one_by_one(4, 0, 400, 1);
}

/* Which collectives the fast executor carries, up to its limit, those with lengths where these are regular. */
static void test_fast(void **state)
{
    (void) state;
    memset(fake_fast_colls, 0, sizeof(fake_fast_colls));
    memset(fast_ranks, 0, sizeof(fast_ranks));
    for (uint32_t n = 2; n <= 8; n += 3) one_by_one(n, 0, 500, 0);
    assert_int_equal(fake_no_gpu, 0);
    for (int coll = 1; coll < CG_COLL_COUNT; coll++) {
        int carried = cg_fast_window_max((const void *) &carried, coll, CG_FAST_LL) != 0;
        if (carried != (fake_fast_colls[coll] > 20)) fail_msg("%s: %d fast", cg_coll_name(coll), fake_fast_colls[coll]);
        if ((carried || is_v(coll)) != (fast_ranks[coll] > 10))
            fail_msg("%s: on %d ranks fast", cg_coll_name(coll), fast_ranks[coll]);
    }
}

static void test_each_over_net(void **state)
{
    (void) state;
    one_by_one(2, 2, 200, 0);
    one_by_one(5, 2, 200, 1);
    one_by_one(6, 6, 200, 0);
    one_by_one(8, 4, 200, 0); /* equal nodes, then others: the grid of ranks */
    one_by_one(9, 3, 200, 1);
    one_by_one(9, 2, 200, 0);
}

static void test_served(void **state)
{
    struct mesh m;
    struct mesh_comm c;

    (void) state;
    open_mesh(&m, &c, 5, 0);
    for (int coll = 1; coll < CG_COLL_COUNT; coll++) assert_true(cg_group_serves(c.group[0], coll));
    mesh_comm_close(&c);
    mesh_close(&m);
}

/* Several different ones outstanding on one communicator, the all-to-all ones making it reach further on the way. */
static void test_outstanding(void **state)
{
    enum { N = 9, OPS = 6 };
    static struct job j[OPS];
    struct mesh m;
    struct mesh_comm c;

    (void) state;
    open_mesh(&m, &c, N, 0);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < OPS; i++) job_begin(&j[i], round ? 1 + (int) draw(CG_COLL_COUNT - 1) : 1 + i, N, 1);
        for (uint32_t p = 0; p < N; p++) {
            for (int i = 0; i < OPS; i++) {
                assert_int_equal(mesh_post(&c, p, &j[i].call[p], &j[i].op[p]), CG_OK);
                mesh_spin(&m, (int) draw(6), &seed);
            }
        }
        for (int i = OPS - 1; i >= 0; i--) {
            assert_true(mesh_run(&m, j[i].op, N, &seed));
            job_end(&j[i]);
        }
    }
    mesh_comm_close(&c);
    mesh_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_served),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_fast),
        cmocka_unit_test(test_outstanding),
        cmocka_unit_test(test_each_over_net),
    };

    cg_log_set(NULL, NULL, -1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
