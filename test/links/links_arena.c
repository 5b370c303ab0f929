/* SPDX-License-Identifier: BSD-3-Clause
 * The arena: what it reserves, what it refuses, what serves again. */
#define _GNU_SOURCE
#include "links/arena.h"
#include "test/links/side.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define MIB ((size_t) 1 << 20)

static struct cg_arena arena_of(size_t chunk_bytes, size_t limit)
{
    return (struct cg_arena){.chunk_bytes = chunk_bytes, .limit = limit};
}

/* Memory of windows is there before it is touched. */
static void test_reserved(void **state)
{
    struct cg_arena a = arena_of(8 * MIB, 0);
    struct cg_window w[3];
    struct stat st;

    (void) state;
    for (int i = 0; i < 3; i++) assert_int_equal(cg_arena_window(&a, MIB + 5, &w[i]), CG_OK);
    assert_int_equal(a.nchunks, 1);
    assert_int_equal(fstat(a.chunk[0].fd, &st), 0);
    assert_int_equal(st.st_size, 8 * MIB);
    assert_true((size_t) st.st_blocks * 512 >= 3 * MIB + CG_ARENA_LINES_BYTES);
    assert_true((size_t) st.st_blocks * 512 < 4 * MIB);
    assert_true(w[0].offset >= CG_ARENA_LINES_BYTES);
    for (int i = 1; i < 3; i++) assert_true(w[i].offset >= w[i - 1].offset + w[i - 1].bytes);
    assert_int_equal(w[0].offset % 4096, 0);
    memset(cg_arena_at(&a, &w[2]), 1, w[2].bytes);
    cg_arena_close(&a);
}

static void test_nobody_can_shrink_it(void **state)
{
    struct cg_arena a = arena_of(MIB, 0);
    struct cg_window w;

    (void) state;
    assert_int_equal(cg_arena_window(&a, 4096, &w), CG_OK);
    if (fcntl(a.chunk[0].fd, F_GET_SEALS) < 0) skip();
    assert_int_not_equal(ftruncate(a.chunk[0].fd, 0), 0);
    assert_int_not_equal(fcntl(a.chunk[0].fd, F_GETFD) & FD_CLOEXEC, 0);
    cg_arena_close(&a);
}

static void test_large_window_gets_its_chunk(void **state)
{
    struct cg_arena a = arena_of(MIB, 0);
    struct cg_window large, small;

    (void) state;
    assert_int_equal(cg_arena_window(&a, 5 * MIB, &large), CG_OK);
    assert_int_equal(large.chunk, 1);
    assert_int_equal(a.chunk[1].bytes, 5 * MIB);
    assert_int_equal(cg_arena_window(&a, 4096, &small), CG_OK);
    assert_int_equal(small.chunk, 0);
    cg_arena_close(&a);
}

static void test_serves_again(void **state)
{
    struct cg_arena a = arena_of(MIB, 0);
    struct cg_window w, other, again;
    uint32_t line, line_again;

    (void) state;
    assert_int_equal(cg_arena_window(&a, 8192, &w), CG_OK);
    assert_int_equal(cg_arena_line(&a, &line), CG_OK);
    cg_arena_line_at(&a, line)->closed = 9;
    cg_arena_window_free(&a, &w);
    cg_arena_line_free(&a, line);
    assert_int_equal(cg_arena_window(&a, 4096, &other), CG_OK);
    assert_int_not_equal(other.offset, w.offset);
    assert_int_equal(cg_arena_window(&a, 8192, &again), CG_OK);
    assert_int_equal(again.offset, w.offset);
    assert_int_equal(cg_arena_line(&a, &line_again), CG_OK);
    assert_int_equal(line_again, line);
    assert_int_equal(cg_arena_line_at(&a, line)->closed, 0);
    cg_arena_close(&a);
}

static void test_lines_run_out(void **state)
{
    struct cg_arena a = arena_of(MIB, 0);
    struct cg_window w;
    uint32_t line;

    (void) state;
    log_watch();
    assert_int_equal(cg_arena_window(&a, 4096, &w), CG_OK);
    for (uint32_t i = 0; i < CG_ARENA_LINES; i++) {
        assert_int_equal(cg_arena_line(&a, &line), CG_OK);
        assert_int_equal(line, i);
    }
    assert_true((char *) (cg_arena_line_at(&a, line) + 1) <= cg_arena_at(&a, &w));
    assert_int_equal(cg_arena_line(&a, &line), CG_ERR_LIMIT);
    assert_int_equal(cg_arena_line(&a, &line), CG_ERR_LIMIT);
    assert_int_equal(log_lines(), 1);
    assert_non_null(strstr(log_last(), "communicators"));
    cg_arena_close(&a);
}

static void test_stage_limit(void **state)
{
    size_t limits[] = {1, CG_ARENA_LINES_BYTES, CG_ARENA_LINES_BYTES + 8191};
    int before = open_descriptors();

    (void) state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct cg_arena a = arena_of(MIB, limits[i]);
        struct cg_window w;

        log_watch();
        assert_int_equal(cg_arena_window(&a, 8192, &w), CG_ERR_SHM);
        assert_int_equal(cg_arena_window(&a, 8192, &w), CG_ERR_SHM);
        assert_int_equal(log_lines(), 1);
        assert_non_null(strstr(log_last(), "coll_gpu_stage_limit"));
        a.limit = CG_ARENA_LINES_BYTES + 8192;
        assert_int_equal(cg_arena_window(&a, 8192, &w), CG_OK);
        assert_int_equal(cg_arena_window(&a, 8192, &w), CG_ERR_SHM);
        cg_arena_close(&a);
    }
    assert_int_equal(open_descriptors(), before);
}

/* A file above the limit would raise SIGXFSZ and end the program. */
static void test_file_size_limit(void **state)
{
    struct cg_arena a = arena_of(8 * MIB, 0);
    struct rlimit old, low;
    struct cg_window w;

    (void) state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = old;
    low.rlim_cur = MIB;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    log_watch();
    assert_int_equal(cg_arena_window(&a, 4096, &w), CG_ERR_SHM);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(log_last(), "ulimit -f"));
    assert_int_equal(cg_arena_window(&a, 4096, &w), CG_OK);
    cg_arena_close(&a);
}

static void test_no_descriptors(void **state)
{
    struct cg_arena a = arena_of(MIB, 0);
    struct rlimit old, low;
    struct cg_window w;

    (void) state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 0;
    log_watch();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(cg_arena_window(&a, 4096, &w), CG_ERR_SHM);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_non_null(strstr(log_last(), "ulimit -n"));
    cg_arena_close(&a);
}

struct placed {
    void *addr;
    size_t bytes;
    int calls, touched;
};

static void place(void *addr, size_t bytes, void *ctx)
{
    struct placed *p = ctx;
    unsigned char resident[256] = {0}; /* one per page of 1 MiB */

    *p = (struct placed){.addr = addr, .bytes = bytes, .calls = p->calls + 1};
    if (mincore(addr, bytes < MIB ? bytes : MIB, resident)) p->touched = -1;
    for (int i = 0; i < 256; i++) p->touched += resident[i] & 1;
}

static void test_place_comes_first(void **state)
{
    struct placed p = {0};
    struct cg_arena a = {.chunk_bytes = MIB, .place = place, .place_ctx = &p};
    struct cg_window w;

    (void) state;
    assert_int_equal(cg_arena_window(&a, 4096, &w), CG_OK);
    assert_int_equal(p.calls, 1);
    assert_int_equal(p.bytes, MIB);
    assert_ptr_equal(p.addr, a.chunk[0].base);
    assert_int_equal(p.touched, 0);
    assert_int_equal(cg_arena_window(&a, MIB, &w), CG_OK);
    assert_int_equal(p.calls, 2);
    assert_ptr_equal(p.addr, a.chunk[1].base);
    cg_arena_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_nobody_can_shrink_it),
        cmocka_unit_test(test_large_window_gets_its_chunk),
        cmocka_unit_test(test_serves_again),
        cmocka_unit_test(test_lines_run_out),
        cmocka_unit_test(test_stage_limit),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_place_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
