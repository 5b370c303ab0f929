/* SPDX-License-Identifier: BSD-3-Clause
 * GPUs and adapters of captured machines, the ways between them, and which adapters ranks use. */
#include "test/topo/machine.h"

#include <string.h>
#include <unistd.h>

static const struct cg_topo_device *gpus, *nics;

static struct cg_topo *with_devices(const char *name, int ngpus, int nnics)
{
    struct cg_topo *topo = machine(name);

    assert_int_equal(cg_topo_devices(topo, CG_TOPO_GPU, &gpus), ngpus);
    assert_int_equal(cg_topo_devices(topo, CG_TOPO_NIC, &nics), nnics);
    return topo;
}

static void dgx_devices(void **state)
{
    struct cg_topo *topo = with_devices("dgx", 8, 12);

    (void) state;
    assert_string_equal(gpus[0].bus_id, "0000:1b:00.0");
    assert_string_equal(gpus[7].bus_id, "0000:df:00.0");
    assert_string_equal(gpus[7].name, "GPU7");
    assert_string_equal(gpus[0].model, "GH100 [H100 SXM5 80GB]");
    for (int i = 0; i < 8; i++) assert_int_equal(gpus[i].node, i / 4);
    assert_true(gpus[0].pcie > 63 && gpus[0].pcie < 63.1);
    assert_string_equal(nics[0].name, "mlx5_0");
    assert_true(nics[0].rdma && nics[0].infiniband && nics[0].ports == 1);
    assert_true(nics[0].subnet == 0xfe80000000000000u);
    assert_string_equal(nics[1].bus_id, "0000:29:00.0");
    assert_true(nics[1].rdma && !nics[1].infiniband);
    cg_topo_close(topo);
}

static void dgx_paths(void **state)
{
    struct cg_topo *topo = with_devices("dgx", 8, 12);

    (void) state;
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, gpus[0].bus_id), CG_TOPO_SELF);
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, "0000:18:00.0"), CG_TOPO_PIX);
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, gpus[1].bus_id), CG_TOPO_NODE);
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, gpus[4].bus_id), CG_TOPO_SYS);
    assert_int_equal(cg_topo_path(topo, "0000:29:00.0", "0000:29:00.1"), CG_TOPO_PIX);
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, "0000:77:00.0"), CG_TOPO_UNKNOWN);
    assert_string_equal(cg_topo_path_name(CG_TOPO_PIX), "PIX");
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) assert_int_equal(cg_topo_nvlink(topo, a, b), a == b ? 0 : 18 * 26562);
    }
    assert_int_equal(cg_topo_nvlink(topo, 0, 8), 0);
    cg_topo_close(topo);
}

static struct cg_topo_near near_of(const struct cg_topo *topo, const char *gpu, int node, uint32_t local_rank,
                                   uint32_t local_size, int policy)
{
    struct cg_topo_rank rank = {gpu, node, local_rank, local_size};
    struct cg_topo_near near;

    cg_topo_find_near(topo, &rank, policy, &near);
    return near;
}

/* Every GPU has an adapter of its own, whatever the rank's number or processors. */
static void dgx_near(void **state)
{
    static const char *const ports[] = {"mlx5_0:1", "mlx5_3:1", "mlx5_4:1",  "mlx5_5:1",
                                        "mlx5_6:1", "mlx5_9:1", "mlx5_10:1", "mlx5_11:1"};
    struct cg_topo *topo = with_devices("dgx", 8, 12);

    (void) state;
    for (uint32_t i = 0; i < 8; i++) {
        struct cg_topo_near near = near_of(topo, gpus[i].bus_id, 0, 7 - i, 8, CG_TOPO_NIC_AUTO);
        assert_int_equal(near.why, CG_TOPO_NIC_CHOSEN);
        assert_string_equal(near.ports, ports[i]);
        assert_int_equal(near.path, CG_TOPO_PIX);
        assert_int_equal(near.node, i / 4);
        assert_int_equal(near.count, 1);
        near = near_of(topo, gpus[i].bus_id, 0, i, 8, CG_TOPO_NIC_NEVER);
        assert_int_equal(near.why, CG_TOPO_NIC_OFF);
        assert_string_equal(near.ports, "");
        assert_int_equal(near.node, i / 4);
    }
    cg_topo_close(topo);
}

/* Ranks without GPU share out the adapters of their node; Ethernet ones are not among them unless all are asked for. */
static void ranks_without_gpu_share(void **state)
{
    struct cg_topo *topo = with_devices("dgx", 8, 12);
    unsigned used = 0;

    (void) state;
    for (uint32_t r = 0; r < 8; r++) {
        struct cg_topo_near near = near_of(topo, NULL, 1, r, 8, CG_TOPO_NIC_AUTO);
        assert_int_equal(near.node, 1);
        assert_int_equal(near.path, CG_TOPO_NODE);
        assert_int_equal(near.count, 1);
        assert_int_equal(nics[near.nic[0]].node, 1);
        assert_true(nics[near.nic[0]].infiniband);
        used |= 1u << near.nic[0];
    }
    assert_int_equal(__builtin_popcount(used), 4);
    assert_string_equal(near_of(topo, "", 0, 0, 1, CG_TOPO_NIC_AUTO).ports, "mlx5_0:1,mlx5_3:1,mlx5_4:1,mlx5_5:1");
    assert_int_equal(near_of(topo, "", 0, 0, 1, CG_TOPO_NIC_ALWAYS).count, 6);
    assert_int_equal(near_of(topo, "", CG_TOPO_ANY, 3, 8, CG_TOPO_NIC_AUTO).path, CG_TOPO_UNKNOWN);
    assert_int_equal(near_of(topo, "", CG_TOPO_ANY, 3, 8, CG_TOPO_NIC_AUTO).count, 1);
    cg_topo_close(topo);
}

/* What node 0 has is not said to be near node 1 because that is the only one left. */
static void cgroup(void **state)
{
    struct cg_topo *topo = with_devices("cgroup", 8, 12);

    (void) state;
    for (int i = 0; i < 8; i++) assert_int_equal(gpus[i].node, i < 4 ? CG_TOPO_ANY : 1);
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, "0000:18:00.0"), CG_TOPO_PIX);
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, gpus[1].bus_id), CG_TOPO_UNKNOWN);
    assert_int_equal(cg_topo_path(topo, gpus[4].bus_id, gpus[5].bus_id), CG_TOPO_NODE);
    assert_string_equal(near_of(topo, gpus[0].bus_id, 1, 0, 1, CG_TOPO_NIC_AUTO).ports, "mlx5_0:1");
    assert_int_equal(near_of(topo, gpus[0].bus_id, 1, 0, 1, CG_TOPO_NIC_AUTO).node, 1);
    cg_topo_close(topo);
}

static void pcie4(void **state)
{
    struct cg_topo *topo = with_devices("pcie4", 4, 2);

    (void) state;
    assert_int_equal(cg_topo_path(topo, gpus[0].bus_id, gpus[1].bus_id), CG_TOPO_PIX);
    assert_int_equal(cg_topo_path(topo, gpus[2].bus_id, gpus[3].bus_id), CG_TOPO_PHB);
    assert_int_equal(cg_topo_path(topo, gpus[1].bus_id, gpus[2].bus_id), CG_TOPO_SYS);
    assert_int_equal(cg_topo_nvlink(topo, 0, 1), 0);
    for (int i = 0; i < 4; i++) {
        struct cg_topo_near near = near_of(topo, gpus[i].bus_id, CG_TOPO_ANY, (uint32_t) i, 4, CG_TOPO_NIC_AUTO);
        assert_string_equal(near.ports, "mlx5_0:1");
        assert_int_equal(near.path, i < 2 ? CG_TOPO_NODE : CG_TOPO_SYS);
        assert_int_equal(near.node, i / 2);
    }
    cg_topo_close(topo);
}

static void single(void **state)
{
    struct cg_topo *topo = with_devices("single", 1, 1);
    struct cg_topo_near near = near_of(topo, gpus[0].bus_id, CG_TOPO_ANY, 0, 1, CG_TOPO_NIC_ALWAYS);

    (void) state;
    assert_int_equal(near.why, CG_TOPO_NIC_NO_RDMA);
    assert_int_equal(near.node, 0);
    assert_int_equal(near.count, 0);
    assert_string_equal(nics[0].name, "enp5s0");
    assert_false(nics[0].rdma);
    cg_topo_close(topo);
}

static void nogpu(void **state)
{
    struct cg_topo *topo = with_devices("nogpu", 0, 3);

    (void) state;
    assert_string_equal(near_of(topo, NULL, 0, 0, 4, CG_TOPO_NIC_AUTO).ports, "mlx5_0:1");
    assert_string_equal(near_of(topo, NULL, 1, 0, 4, CG_TOPO_NIC_AUTO).ports, "mlx5_1:1");
    cg_topo_close(topo);
}

/* A machine whose file a script of sed has changed. */
static struct cg_topo *changed(const char *name, const char *script)
{
    char path[] = "/tmp/cg_topo_XXXXXX", command[8192];
    const char *top = getenv("top_srcdir");
    struct cg_topo *topo;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof(command), "sed '%s' '%s/test/topo/machines/%s.xml' >%s", script, top ? top : ".", name,
             path);
    assert_int_equal(system(command), 0);
    assert_int_equal(cg_topo_open(path, &topo), CG_OK);
    unlink(path);
    cg_topo_devices(topo, CG_TOPO_GPU, &gpus);
    cg_topo_devices(topo, CG_TOPO_NIC, &nics);
    return topo;
}

/* Adapters that may not reach each other are left to the transport; a port that is down is not used. */
static void networks(void **state)
{
    struct cg_topo *topo = changed("nogpu", "/mlx5_1/,/OSDev/s/fe80:0000:0000:0000/fec0:0000:0000:0001/");

    (void) state;
    assert_int_equal(near_of(topo, NULL, 0, 0, 1, CG_TOPO_NIC_AUTO).why, CG_TOPO_NIC_SEPARATE);
    assert_string_equal(near_of(topo, NULL, 0, 0, 1, CG_TOPO_NIC_AUTO).ports, "");
    assert_string_equal(near_of(topo, NULL, 0, 0, 1, CG_TOPO_NIC_ALWAYS).ports, "mlx5_0:1");
    cg_topo_close(topo);
    topo = changed("nogpu", "s/0207/0200/");
    assert_int_equal(near_of(topo, NULL, 0, 0, 1, CG_TOPO_NIC_AUTO).why, CG_TOPO_NIC_SEPARATE);
    cg_topo_close(topo);
    topo = changed("nogpu", "/mlx5_0/,/mlx5_1/s/Port1State\" value=\"4\"/Port1State\" value=\"1\"/");
    assert_string_equal(near_of(topo, NULL, 0, 0, 1, CG_TOPO_NIC_AUTO).ports, "mlx5_1:1");
    assert_int_equal(near_of(topo, NULL, 0, 0, 1, CG_TOPO_NIC_AUTO).path, CG_TOPO_SYS);
    cg_topo_close(topo);
}

/* Links that NVML has told of are saved with the rest. */
static void saved(void **state)
{
    struct cg_topo *topo = with_devices("pcie4", 4, 2), *again;
    const char ids[2][16] = {"0000:a1:00.0", "0000:23:00.0"}, wrong[1][16] = {"0000:41:00.0"};
    const uint64_t mbs[] = {0, 100, 200, 0};
    char path[] = "/tmp/cg_topo_XXXXXX";
    int fd = mkstemp(path);

    (void) state;
    assert_int_equal(cg_topo_add_nvlinks(topo, 1, wrong, mbs), CG_ERR_ARG);
    assert_int_equal(cg_topo_add_nvlinks(topo, 2, ids, mbs), CG_OK);
    assert_int_equal(cg_topo_nvlink(topo, 2, 0), 100);
    assert_int_equal(cg_topo_nvlink(topo, 0, 2), 200);
    assert_int_equal(cg_topo_save(topo, path), CG_OK);
    assert_int_equal(cg_topo_open(path, &again), CG_OK);
    assert_int_equal(cg_topo_nvlink(again, 2, 0), 100);
    assert_int_equal(cg_topo_nvlink(again, 0, 2), 200);
    assert_int_equal(cg_topo_save(topo, "/nonexistent/file.xml"), CG_ERR_ARG);
    cg_topo_close(again);
    cg_topo_close(topo);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dgx_devices), cmocka_unit_test(dgx_paths), cmocka_unit_test(dgx_near),
        cmocka_unit_test(ranks_without_gpu_share), cmocka_unit_test(cgroup), cmocka_unit_test(pcie4),
        cmocka_unit_test(single), cmocka_unit_test(nogpu), cmocka_unit_test(networks), cmocka_unit_test(saved),
    };
    return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
