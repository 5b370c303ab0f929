/* SPDX-License-Identifier: BSD-3-Clause
 * Topology: nodes and binding, on captured machines and on the one that runs the test. */
#include "test/topo/machine.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void gpus_are_near_their_nodes(void **state)
{
    struct cg_topo *topo = machine("two_nodes");

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
    struct cg_topo *topo = machine("two_nodes");

    (void)state;
    assert_int_equal(cg_topo_node_of_cpus(topo, "0-1"), 0);
    assert_int_equal(cg_topo_node_of_cpus(topo, "3"), 2);
    assert_int_equal(cg_topo_node_of_cpus(topo, "1-2"), CG_TOPO_ANY);
    assert_int_equal(cg_topo_node_of_cpus(topo, ""), CG_TOPO_ANY);
    cg_topo_close(topo);
}

static void a_captured_machine_binds_nothing(void **state)
{
    struct cg_topo *topo = machine("two_nodes");
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
    assert_int_equal(cg_topo_open("/nonexistent/machine.xml", &topo), CG_ERR_ARG);
    assert_null(topo);
    cg_topo_close(NULL);
}

static void a_file_that_is_no_capture_is_an_error(void **state)
{
    static const char *const texts[] = {"", "nonsense", "<?xml version=\"1.0\"?><topology version=\"2.0\"></topology>"};
    char path[] = "/tmp/cg_topo_XXXXXX";
    int fd = mkstemp(path);

    (void) state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct cg_topo *topo;
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, texts[i], strlen(texts[i]), 0), (ssize_t) strlen(texts[i]));
        assert_int_equal(cg_topo_open(path, &topo), CG_ERR_ARG);
        assert_null(topo);
    }
    close(fd);
    unlink(path);
}

/* Nodes, their memory, what a cgroup leaves. */
static void nodes_are_listed(void **state)
{
    struct cg_topo *topo = machine("dgx");
    struct cg_topo_node node;
    unsigned all, allowed;

    (void) state;
    assert_true(cg_topo_numa(topo, 1, &node));
    assert_int_equal(node.node, 1);
    assert_int_equal(node.processors, 8);
    assert_string_equal(node.cpus, "8-15");
    assert_true(node.memory == 1082331758592u);
    assert_false(cg_topo_numa(topo, 2, &node));
    cg_topo_close(topo);
    topo = machine("cgroup");
    cg_topo_processors(topo, &all, &allowed);
    assert_int_equal(all, 16);
    assert_int_equal(allowed, 4);
    assert_true(cg_topo_numa(topo, 0, &node));
    assert_int_equal(node.node, 1);
    assert_string_equal(node.cpus, "8-11");
    assert_false(cg_topo_numa(topo, 1, &node));
    cg_topo_close(topo);
}

/* Pages that are bound lie on the node, and only where that is allowed. */
static void bound_pages_are_there(void **state)
{
    size_t bytes = 1 << 20;
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct cg_topo *topo;
    struct cg_topo_node node;

    (void) state;
    assert_true(area != MAP_FAILED);
    assert_int_equal(cg_topo_open(NULL, &topo), CG_OK);
    assert_true(cg_topo_is_here(topo) && cg_topo_numa(topo, 0, &node));
    if (cg_topo_bind(topo, area, bytes, node.node) != CG_OK) {
        print_message("binding is not allowed here\n");
    } else {
        for (size_t i = 0; i < bytes; i += 4096) area[i] = 1;
        assert_int_equal(cg_topo_where(topo, area, bytes), node.node);
    }
    munmap(area, bytes);
    cg_topo_close(topo);
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
        cmocka_unit_test(a_file_that_is_no_capture_is_an_error),
        cmocka_unit_test(nodes_are_listed),
        cmocka_unit_test(bound_pages_are_there),
        cmocka_unit_test(this_machine_binds_to_its_own_node),
        cmocka_unit_test(the_host_is_the_same_for_a_child),
    };
    return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
