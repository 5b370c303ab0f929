/* SPDX-License-Identifier: BSD-3-Clause
 * The registration cache over a transport that counts. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proxy/cache.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 64

struct cg_net {
    int regs, deregs, fail; /* fail: so many further calls of reg fail */
    struct cg_net_region last;
};

static int reg(struct cg_net *net, const struct cg_net_region *region, struct cg_net_mem **mem)
{
    if (net->fail && net->fail--) return CG_ERR_LIMIT;
    net->regs++;
    net->last = *region;
    *mem = malloc(1);
    return CG_OK;
}

static void dereg(struct cg_net *net, struct cg_net_mem *mem)
{
    net->deregs++;
    free(mem);
}

static const struct cg_net_ops ops = {.version = CG_NET_VERSION, .name = "counting", .reg = reg, .dereg = dereg};

struct world {
    struct cg_net net;
    struct cg_cache *cache;
    char *memory;
};

static void set(struct world *w, unsigned idle_max)
{
    *w = (struct world){0};
    w->memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(MAP_FAILED, w->memory);
    assert_int_equal(CG_OK, cg_cache_open(&ops, &w->net, idle_max, &w->cache));
}

static void unset(struct world *w)
{
    cg_cache_close(w->cache);
    assert_int_equal(w->net.regs, w->net.deregs);
    munmap(w->memory, PAGES * PAGE);
}

static struct cg_cached *get(struct world *w, size_t from, size_t bytes)
{
    struct cg_net_region r = {w->memory + from, bytes, CG_NET_HOST, -1};
    struct cg_cached *e;

    assert_int_equal(CG_OK, cg_cache_get(w->cache, &r, 1, &e));
    assert_non_null(cg_cached_mem(e));
    return e;
}

static void test_containment(void **state)
{
    struct world w;
    struct cg_cached *whole, *part, *other;
    struct cg_cache_counters c;

    (void) state;
    set(&w, 8);
    whole = get(&w, 100, 3 * PAGE);
    assert_ptr_equal(w.memory, w.net.last.addr); /* whole pages */
    assert_int_equal(4 * PAGE, w.net.last.bytes);
    part = get(&w, 4 * PAGE - 1, 1);
    assert_ptr_equal(whole, part);
    other = get(&w, 4 * PAGE - 1, 2);
    assert_ptr_not_equal(whole, other);
    cg_cache_put(w.cache, part);
    cg_cache_put(w.cache, other);
    assert_ptr_equal(other, get(&w, 3 * PAGE, 2 * PAGE)); /* unused, and there */
    cg_cache_get_counters(w.cache, &c);
    assert_int_equal(2, c.registrations);
    assert_int_equal(2, c.hits);
    assert_int_equal(2, c.entries);
    assert_int_equal(2, c.used);
    unset(&w);
}

/* Memory of another kind at the same address is not the same. */
static void test_kinds(void **state)
{
    struct world w;
    struct cg_cached *host, *cuda;

    (void) state;
    set(&w, 8);
    host = get(&w, 0, 4 * PAGE);
    struct cg_net_region r = {w.memory + 64, 100, CG_NET_CUDA, -1};
    assert_int_equal(CG_OK, cg_cache_get(w.cache, &r, 0, &cuda));
    assert_ptr_not_equal(host, cuda);
    assert_ptr_equal(r.addr, w.net.last.addr);
    assert_int_equal(r.bytes, w.net.last.bytes);
    unset(&w);
}

static void test_bound(void **state)
{
    struct world w;
    struct cg_cached *e[PAGES];
    struct cg_cache_counters c;

    (void) state;
    set(&w, 4);
    for (int i = 0; i < 10; i++) e[i] = get(&w, (size_t) i * 2 * PAGE, PAGE); /* in use: not bounded */
    assert_int_equal(0, w.net.deregs);
    for (int i = 0; i < 10; i++) cg_cache_put(w.cache, e[i]);
    cg_cache_get_counters(w.cache, &c);
    assert_int_equal(4, c.entries);
    assert_int_equal(6, c.evictions);
    assert_int_equal(0, c.used);
    get(&w, 9 * 2 * PAGE, PAGE); /* of those used last four are left */
    assert_int_equal(10, w.net.regs);
    get(&w, 0, PAGE);
    assert_int_equal(11, w.net.regs);
    unset(&w);
}

/* Where no more can be registered, what nobody uses makes room. */
static void test_room(void **state)
{
    struct world w;
    struct cg_net_region r;
    struct cg_cached *e;

    (void) state;
    set(&w, 8);
    r = (struct cg_net_region){w.memory + 8 * PAGE, PAGE, CG_NET_HOST, -1};
    cg_cache_put(w.cache, get(&w, 0, PAGE));
    w.net.fail = 1;
    assert_int_equal(CG_OK, cg_cache_get(w.cache, &r, 0, &e));
    assert_int_equal(1, w.net.deregs);
    w.net.fail = 1; /* nothing is unused now */
    r.addr = w.memory + 16 * PAGE;
    assert_int_equal(CG_ERR_LIMIT, cg_cache_get(w.cache, &r, 0, &e));
    unset(&w);
}

static void test_forget(void **state)
{
    struct world w;
    struct cg_cached *used, *idle;

    (void) state;
    set(&w, 8);
    used = get(&w, 0, PAGE);
    idle = get(&w, 2 * PAGE, PAGE);
    cg_cache_put(w.cache, idle);
    assert_int_equal(CG_OK, cg_cache_forget(w.cache, w.memory + PAGE, PAGE)); /* between them */
    assert_int_equal(0, w.net.deregs);
    assert_int_equal(CG_ERR_ARG, cg_cache_forget(w.cache, w.memory, 3 * PAGE));
    assert_int_equal(1, w.net.deregs);
    cg_cache_put(w.cache, used);
    assert_int_equal(CG_OK, cg_cache_forget(w.cache, w.memory, 1));
    assert_int_equal(2, w.net.deregs);
    unset(&w);
}

/* Is the page there in a child? */
static int child_has(const char *page)
{
    int status;
    pid_t pid = fork();

    if (!pid) _exit(msync((void *) page, PAGE, MS_ASYNC) ? 1 : 0);
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_true(WIFEXITED(status));
    return !WEXITSTATUS(status);
}

/* Children do not share registered private pages, whole ones, and have them again afterwards, but for those that are
 * part of another registration. */
static void test_fork(void **state)
{
    struct world w;
    struct cg_cached *a, *b;

    (void) state;
    set(&w, 0);
    a = get(&w, PAGE + 10, PAGE); /* pages 1 and 2 */
    b = get(&w, 2 * PAGE, 2 * PAGE); /* 2 and 3 */
    for (int i = 0; i < 5; i++) assert_int_equal(i < 1 || i > 3, child_has(w.memory + (size_t) i * PAGE));
    cg_cache_put(w.cache, a);
    for (int i = 0; i < 5; i++) assert_int_equal(i < 2 || i > 3, child_has(w.memory + (size_t) i * PAGE));
    cg_cache_put(w.cache, b);
    for (int i = 0; i < 5; i++) assert_true(child_has(w.memory + (size_t) i * PAGE));
    unset(&w);
}

static void test_no_reg(void **state)
{
    struct cg_net_ops none = ops;
    struct cg_cache *cache;

    (void) state;
    none.reg = NULL;
    assert_int_equal(CG_ERR_UNSUPPORTED, cg_cache_open(&none, NULL, 1, &cache));
    cg_cache_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containment), cmocka_unit_test(test_kinds), cmocka_unit_test(test_bound),
        cmocka_unit_test(test_room),        cmocka_unit_test(test_forget), cmocka_unit_test(test_fork),
        cmocka_unit_test(test_no_reg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
