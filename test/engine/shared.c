/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that share pretended GPUs. */
#include "test/engine/fake_gpu.h"
#include "test/engine/fake_lead.h"
#include "test/engine/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int gpus; /* rank r has number r % gpus */

/* One allreduce over buffers of its own, of any size. */
static void lead_once(struct mesh *m, struct mesh_comm *c, uint64_t count, unsigned *seed)
{
    uint32_t *src[CG_FAST_RANKS], *dst[CG_FAST_RANKS];
    struct mesh_op op[MESH_MAX];
    int blocking = rand_r(seed) % 2;

    for (uint32_t r = 0; r < m->n; r++) {
        dst[r] = fake_alloc((int) r % gpus, count * 4);
        src[r] = rand_r(seed) % 2 ? dst[r] : fake_alloc((int) r % gpus, count * 4); /* a rank's own affair */
        memset(dst[r], 0xee, count * 4);
        for (uint64_t i = 0; i < count; i++) src[r][i] = (uint32_t) (i * 7919 + r * 104729);
    }
    for (uint32_t r = 0; r < m->n; r++) {
        struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_U32, .redop = CG_REDOP_SUM, .src = src[r],
                               .dst = dst[r], .count = count, .blocking = blocking};
        assert_int_equal(mesh_post(c, r, &call, &op[r]), CG_OK);
        mesh_spin(m, rand_r(seed) % 10, seed);
    }
    assert_true(mesh_run(m, op, (int) m->n, seed));
    for (uint32_t r = 0; r < m->n; r++) {
        assert_int_equal(op[r].status, CG_OK);
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(dst[r][i], (uint32_t) (i * 7919 * m->n + m->n * (m->n - 1) / 2 * 104729));
        if (src[r] != dst[r]) fake_free(src[r]);
        fake_free(dst[r]);
    }
}

/* Ranks that share GPUs: the lowest of each GPU works for all, the others launch nothing. Where buffers cannot be
 * described or opened, all go another way. */
static void test_lead(void **state)
{
    static const uint64_t counts[] = {1, 3000, 5000, 20001, 33333};

    (void) state;
    fake_lead = 1;
    for (gpus = 1; gpus <= 3; gpus++) {
        for (uint32_t n = 2; n <= 8; n += n < 4 ? 1 : 4) {
            int expected = n <= (uint32_t) gpus ? 0 : (1 << gpus) - 1, before;
            struct mesh m;
            struct mesh_comm c;
            unsigned seed = 70 + n;
            mesh_init(&m, n);
            assert_int_equal(mesh_open(&m), CG_OK);
            assert_int_equal(mesh_comm_open(&m, "shared", &c), CG_OK);
            fake_leads = fake_fast_done = fake_overruns = 0;
            for (int i = 0; i < 60; i++) lead_once(&m, &c, counts[i % 5], &seed);
            assert_int_equal(fake_leads, expected);
            assert_true(fake_fast_done >= 50 * (int) n);
            before = fake_leads = 0;
            for (int i = 0; i < 20; i++) {
                fake_unshared = i < 10 ? (int) n - 1 : -1;
                fake_unopened = i < 10 ? -1 : 0;
                lead_once(&m, &c, counts[i % 5], &seed);
            }
            assert_int_equal(fake_leads, before);
            fake_unshared = fake_unopened = -1;
            lead_once(&m, &c, 20001, &seed);
            assert_int_equal(fake_leads, expected);
            assert_int_equal(fake_users, 0);
            assert_int_equal(fake_overruns, 0);
            mesh_comm_close(&c);
            mesh_close(&m);
        }
    }
}

/* Who leads: by GPU, and not where all of those who share one are clients of MPS. */
static void test_leaders(void **state)
{
    static const unsigned char a[4][16] = {{1}, {2}, {1}, {2}}, b[3][16] = {{3}, {1}, {2}}, c[3][16] = {{5}, {5}, {5}};
    static const int none[4], all[4] = {1, 1, 1, 1}, some[4] = {1, 1, 0, 1};

    (void) state;
    assert_int_equal(cg_lead_choose(a, none, 4), 3);
    assert_int_equal(cg_lead_choose(a, none, 2), 0);
    assert_int_equal(cg_lead_choose(a, none, 3), 3);
    assert_int_equal(cg_lead_choose(a, all, 4), 0);
    assert_int_equal(cg_lead_choose(a, some, 4), 3);
    assert_int_equal(cg_lead_choose(b, none, 3), 0);
    assert_int_equal(cg_lead_choose(c, none, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_leaders), cmocka_unit_test(test_lead)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
