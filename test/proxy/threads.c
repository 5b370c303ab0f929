/* SPDX-License-Identifier: BSD-3-Clause
 * Executors on threads of their own beside the proxy's: for ThreadSanitizer. */
#include "test/proxy/ends.h"

#include <pthread.h>

#define MESSAGES 300

struct executor {
    struct end *end;
    uint64_t random, done; /* done: 1 when everything is sent and received */
};

static uint64_t left(const struct end *e)
{
    uint64_t n = 0;

    for (int c = 0; c < CG_MAX_CHAN; c++) n += 2 * MESSAGES - e->sent[c] - e->rcvd[c];
    return n;
}

static void *execute(void *arg)
{
    struct executor *x = arg;

    while (left(x->end)) {
        uint64_t r = test_random(&x->random);
        uint32_t chan = r % CG_MAX_CHAN;
        end_recv(x->end, chan);
        if (x->end->sent[chan] < MESSAGES) end_send(x->end, chan, (uint32_t) (r >> 8) % 513);
    }
    cg_store_release(&x->done, 1);
    return NULL;
}

static void test_threads(void **state)
{
    struct executor x[LINKS_MAX][2];
    pthread_t thread[LINKS_MAX][2];
    struct pair p;

    (void) state;
    assert_true(pair_open(&p, &cg_net_loop, "delay=3,reorder=1", LINKS_MAX, 512, 4));
    for (int i = 0; i < LINKS_MAX; i++) {
        for (int k = 0; k < 2; k++) {
            x[i][k] = (struct executor){.end = &p.end[i][k], .random = (uint64_t) (10 + 2 * i + k)};
            assert_int_equal(0, pthread_create(&thread[i][k], NULL, execute, &x[i][k]));
        }
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        for (int k = 0; k < 2; k++) {
            while (!cg_load_acquire(&x[i][k].done)) pair_turn(&p);
            pthread_join(thread[i][k], NULL);
        }
    }
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
