/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/internal.h"

#include <stdlib.h>
#include <string.h>

/* hwloc's components that would initialise a GPU library in the caller's process, and libpciaccess, which leaks and
 * wants to be root. PCI locality needs none of them: hwloc's Linux part reads it from sysfs. Blacklisting a component
 * that is not there is an error of no interest. */
static void refuse_libraries(hwloc_topology_t machine)
{
    static const char *const components[] = {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero", "pci"};

    for (size_t i = 0; i < sizeof(components) / sizeof(components[0]); i++) {
        hwloc_topology_set_components(machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, components[i]);
    }
}

static int load(hwloc_topology_t machine, const char *xml)
{
    refuse_libraries(machine);
    if (xml && hwloc_topology_set_xml(machine, xml)) return CG_ERR_ARG;
    if (hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT)) return CG_ERR_UNSUPPORTED;
    if (!hwloc_topology_load(machine)) return CG_OK;
    return xml ? CG_ERR_ARG : CG_ERR_UNSUPPORTED;
}

/* The only node with memory next to these processors. */
static int node_of(hwloc_topology_t machine, hwloc_const_bitmap_t cpus)
{
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    int node = CG_TOPO_ANY;

    if (!nodes) return node;
    hwloc_cpuset_to_nodeset(machine, cpus, nodes);
    if (hwloc_bitmap_weight(nodes) == 1) node = hwloc_bitmap_first(nodes);
    hwloc_bitmap_free(nodes);
    return node;
}

static int node_of_thread(hwloc_topology_t machine)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    int node = CG_TOPO_ANY;

    if (!cpus) return node;
    if (hwloc_topology_is_thissystem(machine) && !hwloc_get_cpubind(machine, cpus, HWLOC_CPUBIND_THREAD)) {
        node = node_of(machine, cpus);
    }
    hwloc_bitmap_free(cpus);
    return node;
}

int cg_topo_open(const char *xml, struct cg_topo **topo)
{
    struct cg_topo *t = calloc(1, sizeof(*t));
    int status = CG_ERR_NOMEM;

    *topo = NULL;
    if (!t) return status;
    if (hwloc_topology_init(&t->machine)) goto free_topo;
    status = load(t->machine, xml);
    if (status != CG_OK) goto destroy_machine;
    t->node = node_of_thread(t->machine);
    cg_topo_find_devices(t);
    cg_topo_find_nvlinks(t);
    *topo = t;
    return CG_OK;

destroy_machine:
    hwloc_topology_destroy(t->machine);
free_topo:
    free(t);
    return status;
}

void cg_topo_close(struct cg_topo *topo)
{
    if (!topo) return;
    hwloc_topology_destroy(topo->machine);
    free(topo);
}

int cg_topo_is_here(const struct cg_topo *topo) { return hwloc_topology_is_thissystem(topo->machine); }

int cg_topo_node(const struct cg_topo *topo) { return topo->node; }

int cg_topo_node_of_cpus(const struct cg_topo *topo, const char *list)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    int node = CG_TOPO_ANY;

    if (!cpus) return node;
    if (!hwloc_bitmap_list_sscanf(cpus, list)) node = node_of(topo->machine, cpus);
    hwloc_bitmap_free(cpus);
    return node;
}

/* Devices of a node that a cgroup has closed hang on the whole machine, of which one node may be left: not theirs. */
int cg_topo_node_of_object(hwloc_obj_t obj)
{
    if (!obj || hwloc_bitmap_weight(obj->complete_nodeset) != 1) return CG_TOPO_ANY;
    return hwloc_bitmap_first(obj->nodeset); /* -1: closed */
}

int cg_topo_node_near(const struct cg_topo *topo, const char *bus_id)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topo->machine, bus_id);

    return cg_topo_node_of_object(device ? hwloc_get_non_io_ancestor_obj(topo->machine, device) : NULL);
}

int cg_topo_numa(const struct cg_topo *topo, unsigned i, struct cg_topo_node *node)
{
    hwloc_obj_t obj = hwloc_get_obj_by_type(topo->machine, HWLOC_OBJ_NUMANODE, i);

    if (!obj) return 0;
    memset(node, 0, sizeof(*node));
    node->node = (int) obj->os_index;
    node->memory = obj->attr->numanode.local_memory;
    node->processors = (unsigned) hwloc_bitmap_weight(obj->cpuset);
    hwloc_bitmap_list_snprintf(node->cpus, sizeof(node->cpus), obj->cpuset);
    return 1;
}

void cg_topo_processors(const struct cg_topo *topo, unsigned *all, unsigned *allowed)
{
    hwloc_obj_t root = hwloc_get_root_obj(topo->machine);

    *all = (unsigned) hwloc_bitmap_weight(root->complete_cpuset);
    *allowed = (unsigned) hwloc_bitmap_weight(root->cpuset);
}

int cg_topo_bind(const struct cg_topo *topo, void *addr, size_t bytes, int node)
{
    hwloc_bitmap_t nodes;
    int failed;

    if (node == CG_TOPO_ANY) return CG_OK;
    if (!hwloc_topology_is_thissystem(topo->machine)) return CG_ERR_UNSUPPORTED;
    if (!hwloc_get_numanode_obj_by_os_index(topo->machine, (unsigned) node)) return CG_ERR_UNSUPPORTED;
    nodes = hwloc_bitmap_alloc();
    if (!nodes) return CG_ERR_NOMEM;
    hwloc_bitmap_only(nodes, (unsigned) node);
    failed = hwloc_set_area_membind(topo->machine, addr, bytes, nodes, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET);
    hwloc_bitmap_free(nodes);
    return failed ? CG_ERR_UNSUPPORTED : CG_OK;
}

int cg_topo_where(const struct cg_topo *topo, const void *addr, size_t bytes)
{
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    int node = CG_TOPO_ANY;

    if (!nodes) return node;
    if (!hwloc_get_area_memlocation(topo->machine, addr, bytes, nodes, HWLOC_MEMBIND_BYNODESET) &&
        hwloc_bitmap_weight(nodes) == 1) {
        node = hwloc_bitmap_first(nodes);
    }
    hwloc_bitmap_free(nodes);
    return node;
}
