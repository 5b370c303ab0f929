/* SPDX-License-Identifier: BSD-3-Clause
 * On a captured machine: each process's transport is told of the adapter near its GPU, its shared memory goes to the
 * node near it, and a transport that refuses is left alone. */
#include "test/engine/fake_gpu.h"
#include "test/engine/mesh.h"

#include "core/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT 2000

static struct {
    char devices[4][64]; /* as the transport was told */
    int rdma[4], told, opened, bare, refuse;
    char lines[8192];
} seen;
static struct cg_net_ops net;

static void net_hint(const char *devices, int rdma, int cuda, char *text, size_t len)
{
    assert_true(cuda);
    snprintf(seen.devices[seen.told], sizeof(seen.devices[0]), "%s", devices);
    seen.rdma[seen.told++] = rdma;
    snprintf(text, len, "%s", rdma ? "seed=5" : "");
}

static int net_open(const struct cg_params *params, const char *hint, struct cg_net **out, char *why, size_t len)
{
    seen.opened++;
    seen.bare += NULL == hint;
    if (hint && seen.refuse) {
        snprintf(why, len, "no");
        return CG_ERR_NET;
    }
    return cg_net_loop.open(params, hint, out, why, len);
}

static void keep(int level, const char *line, void *ctx)
{
    size_t at = strlen(seen.lines);

    (void) level;
    (void) ctx;
    snprintf(seen.lines + at, sizeof(seen.lines) - at, "%s\n", line);
}

/* What has been said for the process of that rank. */
static int said(const struct mesh *m, uint32_t rank, const char *text)
{
    char start[64];

    snprintf(start, sizeof(start), "process %llx: ", (unsigned long long) m->name[rank]);
    for (const char *line = seen.lines; (line = strstr(line, start)); line++) {
        const char *end = strchr(line, '\n'), *at = strstr(line, text);
        if (at && at < end) return 1;
    }
    return 0;
}

/* An allreduce between two pretended hosts; device < 0: host memory. */
static void run(struct mesh *m, const char *xml, const char *here, const int device[2], int near_nic)
{
    const char *top = getenv("top_srcdir");
    struct mesh_op op[2] = {{0}};
    struct mesh_comm c;
    char path[4096];
    int *buf[2];
    unsigned seed = 3;

    snprintf(path, sizeof(path), "%s/test/topo/machines/%s.xml", top ? top : ".", xml);
    setenv("HWLOC_XMLFILE", path, 1);
    setenv("HWLOC_THISSYSTEM", here, 1);
    memset(&seen, 0, offsetof(__typeof__(seen), refuse));
    seen.lines[0] = 0;
    net = cg_net_loop;
    net.hint = net_hint;
    net.open = net_open;
    mesh_init(m, 2);
    m->net = &net;
    for (int r = 0; r < 2; r++) {
        m->params[r].virtual_nodes = 2;
        m->params[r].near_nic = near_nic;
    }
    cg_log_set(keep, NULL, 2);
    assert_int_equal(mesh_open(m), CG_OK);
    assert_int_equal(mesh_comm_open(m, "near", &c), CG_OK);
    for (int r = 0; r < 2; r++) {
        buf[r] = device[r] < 0 ? malloc(COUNT * sizeof(int)) : fake_alloc(device[r], COUNT * sizeof(int));
        for (int i = 0; i < COUNT; i++) buf[r][i] = r + i;
        struct cg_call call = {.coll = CG_COLL_ALLREDUCE, .type = CG_TYPE_I32, .redop = CG_REDOP_SUM, .src = buf[r],
                               .dst = buf[r], .count = COUNT};
        assert_int_equal(mesh_post(&c, (uint32_t) r, &call, &op[r]), CG_OK);
    }
    assert_true(mesh_run(m, op, 2, &seed));
    for (int r = 0; r < 2; r++) {
        assert_int_equal(op[r].status, CG_OK);
        for (int i = 0; i < COUNT; i++) assert_int_equal(buf[r][i], 1 + 2 * i);
        if (device[r] < 0) free(buf[r]);
        else fake_free(buf[r]);
    }
    mesh_comm_close(&c);
    mesh_close(m);
    cg_log_set(NULL, NULL, 0);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_THISSYSTEM");
}

/* Which process is first is not ours to say. */
static int told(const char *devices)
{
    return (seen.told > 0 && !strcmp(seen.devices[0], devices)) || (seen.told > 1 && !strcmp(seen.devices[1], devices));
}

static void test_gpu_of_the_call(void **state)
{
    struct mesh m;

    (void) state;
    run(&m, "dgx", "1", (int[]){1, 6}, 1);
    assert_int_equal(seen.told, 2);
    assert_true(told("mlx5_3:1") && told("mlx5_10:1"));
    assert_true(seen.rdma[0] && seen.rdma[1]);
    assert_true(said(&m, 0, "network adapters: mlx5_3:1, for GPU 0000:43:00.0 (PIX to it)"));
    assert_true(said(&m, 0, "near NUMA node 0, next to GPU 0000:43:00.0"));
    assert_true(said(&m, 1, "near NUMA node 1, next to GPU 0000:d1:00.0"));
    assert_int_equal(seen.bare, 0);
}

static void test_current_gpu(void **state)
{
    struct mesh m;

    (void) state;
    fake_current = 7;
    run(&m, "dgx", "1", (int[]){-1, 2}, 1);
    fake_current = -1;
    assert_true(told("mlx5_11:1") && told("mlx5_4:1"));
    assert_true(said(&m, 0, "near NUMA node 1, next to GPU 0000:df:00.0"));
}

static void test_left_alone(void **state)
{
    struct mesh m;

    (void) state;
    run(&m, "dgx", "1", (int[]){0, 1}, 0); /* parameter */
    assert_int_equal(seen.told, 2);
    assert_true(told("") && said(&m, 0, "left to the transport"));
    run(&m, "dgx", "0", (int[]){0, 1}, 1); /* another machine's */
    assert_int_equal(seen.told, 0);
    assert_int_equal(seen.bare, 2);
    run(&m, "single", "1", (int[]){-1, -1}, 1); /* no RDMA */
    assert_true(told("") && !seen.rdma[0] && said(&m, 1, "no active RDMA port"));
    assert_int_equal(seen.bare, 2);
}

static void test_refused(void **state)
{
    struct mesh m;

    (void) state;
    seen.refuse = 1;
    run(&m, "dgx", "1", (int[]){0, 1}, 1);
    seen.refuse = 0;
    assert_int_equal(seen.opened, 4);
    assert_int_equal(seen.bare, 2);
    assert_non_null(strstr(seen.lines, "cannot be opened with seed=5: no; it chooses by itself"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_of_the_call),
        cmocka_unit_test(test_current_gpu),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
