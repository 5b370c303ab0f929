/* SPDX-License-Identifier: BSD-3-Clause
 * When a kernel is asked to linger for the next call: programs as sequences of gaps between calls. */
#include "engine/soon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define LINGER 20 /* us */

static int loop(struct cg_soon *s, int calls)
{
    int lingered = 0;

    for (int i = 0; i < calls; i++) lingered += cg_soon(s, 2, LINGER);
    return lingered;
}

/* Each call is followed by something that waits for a lingering kernel. */
static int loop_that_waits(struct cg_soon *s, int calls)
{
    int lingered = 0;

    for (int i = 0, before = 0; i < calls; i++) {
        before = cg_soon(s, before ? LINGER + 3 : 3, LINGER);
        lingered += before;
    }
    return lingered;
}

static void calls_in_a_row(void **state)
{
    struct cg_soon s = {0};

    (void) state;
    assert_int_equal(loop(&s, 1000), 998);
}

static void apart(void **state)
{
    struct cg_soon s = {0};

    (void) state;
    for (int i = 0; i < 100; i++) assert_int_equal(cg_soon(&s, 100, LINGER), 0);
    assert_int_equal(loop(&s, 1000), 998);
}

static void in_vain(void **state)
{
    struct cg_soon s = {0};

    (void) state;
    assert_in_range(loop_that_waits(&s, 10000), 8, 60); /* every 4th call without backing off */
    assert_in_range(loop(&s, 1000), 740, 998);          /* and it learns otherwise */
    for (int i = 0; i < 8; i++) {
        cg_soon(&s, 100, LINGER);
        loop(&s, 1000);
    }
    cg_soon(&s, 100, LINGER);
    assert_int_equal(loop(&s, 1000), 998);
}

static void bursts(void **state)
{
    struct cg_soon s = {0};

    (void) state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(cg_soon(&s, 1000, LINGER), 0);
        assert_int_equal(loop(&s, 9), 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_in_a_row), cmocka_unit_test(apart),
                                       cmocka_unit_test(in_vain), cmocka_unit_test(bursts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
