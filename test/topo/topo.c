/* SPDX-License-Identifier: BSD-3-Clause
 * Topology: a captured machine, and the machine that runs the test. The captured one has nodes 0 and 2, and GPUs 1b on
 * node 0, 9d on node 2, e1 at no node in particular (the file has no comments: hwloc's own parser knows none). */
#include "core/status.h"
#include "topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct cg_topo *captured(void)
{
    const char *top = getenv("top_srcdir");
    struct cg_topo *topo;
    char path[4096];

    snprintf(path, sizeof(path), "%s/test/topo/two_nodes.xml", top ? top : ".");
    assert_int_equal(cg_topo_open(path, &topo), CG_OK);
    return topo;
}

static void gpus_are_near_their_nodes(void **state)
{
    struct cg_topo *topo = captured();

    (void)state;
    assert_int_equal(cg_topo_node_near(topo, "0000:1b:00.0"), 0);
    assert_int_equal(cg_topo_node_near(topo, "0000:9d:00.0"), 2);
    assert_int_equal(cg_topo_node_near(topo, "0000:e1:00.0"), CG_TOPO_ANY);
    assert_int_equal(cg_topo_node_near(topo, "0000:77:00.0"), CG_TOPO_ANY);
    assert_int_equal(cg_topo_node_near(topo, "nonsense"), CG_TOPO_ANY);
    assert_int_equal(cg_topo_node_near(topo, ""), CG_TOPO_ANY);
    cg_topo_close(topo);
}

static void processors_are_on_their_nodes(void **state)
{
    struct cg_topo *topo = captured();

    (void)state;
    assert_int_equal(cg_topo_node_of_cpus(topo, "0-1"), 0);
    assert_int_equal(cg_topo_node_of_cpus(topo, "3"), 2);
    assert_int_equal(cg_topo_node_of_cpus(topo, "1-2"), CG_TOPO_ANY);
    assert_int_equal(cg_topo_node_of_cpus(topo, ""), CG_TOPO_ANY);
    cg_topo_close(topo);
}

static void a_captured_machine_binds_nothing(void **state)
{
    struct cg_topo *topo = captured();
    char page[1];

    (void)state;
    assert_int_equal(cg_topo_node(topo), CG_TOPO_ANY);
    assert_int_equal(cg_topo_bind(topo, page, sizeof(page), 0), CG_ERR_UNSUPPORTED);
    assert_int_equal(cg_topo_bind(topo, page, sizeof(page), CG_TOPO_ANY), CG_OK);
    cg_topo_close(topo);
}

static void a_missing_capture_is_an_error(void **state)
{
    struct cg_topo *topo;

    (void)state;
    assert_int_equal(cg_topo_open("/nonexistent/machine.xml", &topo), CG_ERR_UNSUPPORTED);
    assert_null(topo);
    cg_topo_close(NULL);
}

static void this_machine_binds_to_its_own_node(void **state)
{
    size_t bytes = 1 << 20;
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct cg_topo *topo;
    int status;

    (void)state;
    assert_true(area != MAP_FAILED);
    assert_int_equal(cg_topo_open(NULL, &topo), CG_OK);
    status = cg_topo_bind(topo, area, bytes, cg_topo_node(topo));
    /* Containers often forbid it: then it says so, and the memory is usable all the same. */
    assert_true(status == CG_OK || status == CG_ERR_UNSUPPORTED);
    area[bytes - 1] = 1;
    assert_int_equal(cg_topo_bind(topo, area, bytes, 4095), CG_ERR_UNSUPPORTED);
    cg_topo_close(topo);
    munmap(area, bytes);
}

static void the_host_is_the_same_for_a_child(void **state)
{
    uint64_t mine = cg_topo_host();
    int status;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) _exit(cg_topo_host() == mine ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(mine != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_are_near_their_nodes),
        cmocka_unit_test(processors_are_on_their_nodes),
        cmocka_unit_test(a_captured_machine_binds_nothing),
        cmocka_unit_test(a_missing_capture_is_an_error),
        cmocka_unit_test(this_machine_binds_to_its_own_node),
        cmocka_unit_test(the_host_is_the_same_for_a_child),
    };
    return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
