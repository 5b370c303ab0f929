/* SPDX-License-Identifier: BSD-3-Clause
 * GPUs and network adapters of the snapshot, and what lies between two of them. */
#include "topo/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVIDIA 0x10de
#define CLASS_DISPLAY 0x03
#define CLASS_INFINIBAND 0x0207
#define PORT_ACTIVE "4" /* IBV_PORT_ACTIVE */
#define MOST_PORTS 8

/* ---- finding ---- */

/* A device at the end of its list, or NULL if that is full. */
static struct cg_topo_device *add(struct cg_topo *topo, int kind, hwloc_obj_t pci)
{
    struct cg_topo_device *d = &topo->device[kind][topo->count[kind]];

    if (topo->count[kind] == CG_TOPO_DEVICES) return NULL;
    topo->count[kind]++;
    d->kind = kind;
    d->visible = 1;
    d->node = CG_TOPO_ANY;
    if (!pci) return d;
    snprintf(d->bus_id, sizeof(d->bus_id), "%04x:%02x:%02x.%x", pci->attr->pcidev.domain, pci->attr->pcidev.bus,
             pci->attr->pcidev.dev, pci->attr->pcidev.func);
    snprintf(d->model, sizeof(d->model), "%04x:%04x", pci->attr->pcidev.vendor_id, pci->attr->pcidev.device_id);
    d->pcie = (double) pci->attr->pcidev.linkspeed;
    d->infiniband = pci->attr->pcidev.class_id == CLASS_INFINIBAND;
    return d;
}

static void set_model(struct cg_topo_device *d, hwloc_obj_t obj, const char *info)
{
    const char *text = hwloc_obj_get_info_by_name(obj, info);

    if (text) snprintf(d->model, sizeof(d->model), "%s", text);
}

static void add_gpu(struct cg_topo *topo, hwloc_obj_t pci)
{
    struct cg_topo_device *d;

    if (pci->attr->pcidev.vendor_id != NVIDIA || pci->attr->pcidev.class_id >> 8 != CLASS_DISPLAY) return;
    d = add(topo, CG_TOPO_GPU, pci);
    if (!d) return;
    d->node = cg_topo_node_of_object(hwloc_get_non_io_ancestor_obj(topo->machine, pci));
    set_model(d, pci, "PCIDevice");
    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) set_model(d, os, "GPUModel");
}

/* The upper half of a port's first GID, "fe80:0000:0000:0000:...". */
static uint64_t subnet_of(hwloc_obj_t os, int port)
{
    unsigned part[4] = {0};
    char name[32];
    const char *gid;

    snprintf(name, sizeof(name), "Port%dGID0", port);
    gid = hwloc_obj_get_info_by_name(os, name);
    if (!gid || sscanf(gid, "%4x:%4x:%4x:%4x:", &part[0], &part[1], &part[2], &part[3]) != 4) return 0;
    return (uint64_t) part[0] << 48 | (uint64_t) part[1] << 32 | (uint64_t) part[2] << 16 | part[3];
}

static void read_ports(struct cg_topo_device *d, hwloc_obj_t os)
{
    d->rdma = 1;
    for (int port = 1; port <= MOST_PORTS; port++) {
        const char *state;
        char name[32];
        snprintf(name, sizeof(name), "Port%dState", port);
        state = hwloc_obj_get_info_by_name(os, name);
        if (!state || strcmp(state, PORT_ACTIVE)) continue;
        if (!d->ports) d->subnet = subnet_of(os, port);
        d->ports |= 1u << (port - 1);
    }
}

/* Of one adapter the system may know an RDMA device and an interface: the former is what counts. */
static void add_nic(struct cg_topo *topo, hwloc_obj_t os)
{
    int rdma = os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    hwloc_obj_t pci = os->parent->type == HWLOC_OBJ_PCI_DEVICE ? os->parent : NULL;
    struct cg_topo_device *d;

    if (!rdma && os->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK) return;
    for (hwloc_obj_t other = pci ? pci->io_first_child : NULL; other && !rdma; other = other->next_sibling) {
        if (other->type == HWLOC_OBJ_OS_DEVICE && other->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) return;
    }
    d = add(topo, CG_TOPO_NIC, pci);
    if (!d) return;
    d->node = cg_topo_node_of_object(hwloc_get_non_io_ancestor_obj(topo->machine, os));
    snprintf(d->name, sizeof(d->name), "%s", os->name ? os->name : "?");
    if (pci) set_model(d, pci, "PCIDevice");
    if (rdma) read_ports(d, os);
}

/* Those without a place on the bus come last. */
static int along_the_bus(const void *a, const void *b)
{
    const struct cg_topo_device *x = a, *y = b;

    if (!x->bus_id[0] != !y->bus_id[0]) return x->bus_id[0] ? -1 : 1;
    return strcmp(x->bus_id[0] ? x->bus_id : x->name, y->bus_id[0] ? y->bus_id : y->name);
}

static void sort(struct cg_topo *topo)
{
    for (int kind = 0; kind < 2; kind++) {
        qsort(topo->device[kind], (size_t) topo->count[kind], sizeof(struct cg_topo_device), along_the_bus);
    }
    for (int i = 0; i < topo->count[CG_TOPO_GPU]; i++) snprintf(topo->device[CG_TOPO_GPU][i].name, 32, "GPU%d", i);
}

void cg_topo_find_devices(struct cg_topo *topo)
{
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_pcidev(topo->machine, o));) add_gpu(topo, o);
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_osdev(topo->machine, o));) add_nic(topo, o);
    sort(topo);
}

static struct cg_topo_device *gpu_at(struct cg_topo *topo, const char *bus_id)
{
    for (int i = 0; i < topo->count[CG_TOPO_GPU]; i++) {
        if (!strcmp(topo->device[CG_TOPO_GPU][i].bus_id, bus_id)) return &topo->device[CG_TOPO_GPU][i];
    }
    return NULL;
}

void cg_topo_add_gpus(struct cg_topo *topo, int n, const char (*bus_ids)[16], const char (*names)[64])
{
    for (int i = 0; i < topo->count[CG_TOPO_GPU]; i++) topo->device[CG_TOPO_GPU][i].visible = 0;
    for (int i = 0; i < n; i++) {
        struct cg_topo_device *d = gpu_at(topo, bus_ids[i]);
        if (!d) d = add(topo, CG_TOPO_GPU, NULL);
        if (!d) continue;
        d->visible = 1;
        memcpy(d->bus_id, bus_ids[i], sizeof(d->bus_id));
        if (names[i][0]) memcpy(d->model, names[i], sizeof(d->model));
    }
    sort(topo);
    memset(topo->nvlink, 0, sizeof(topo->nvlink)); /* numbers have changed */
    cg_topo_find_nvlinks(topo);
}

int cg_topo_devices(const struct cg_topo *topo, int kind, const struct cg_topo_device **list)
{
    *list = topo->device[kind];
    return topo->count[kind];
}

/* ---- paths ---- */

static const char *const path_names[] = {
#define CG_TOPO_PATH(name, label, text) label,
    CG_TOPO_PATHS(CG_TOPO_PATH)
#undef CG_TOPO_PATH
};
static const char *const path_texts[] = {
#define CG_TOPO_PATH(name, label, text) text,
    CG_TOPO_PATHS(CG_TOPO_PATH)
#undef CG_TOPO_PATH
};

const char *cg_topo_path_name(int path) { return path_names[path]; }
const char *cg_topo_path_text(int path) { return path_texts[path]; }

/* Bridges between obj and its ancestor. */
static int bridges(hwloc_obj_t obj, hwloc_obj_t ancestor)
{
    int n = 0;

    for (obj = obj->parent; obj && obj != ancestor; obj = obj->parent) n += obj->type == HWLOC_OBJ_BRIDGE;
    return n;
}

static hwloc_obj_t common(hwloc_obj_t a, hwloc_obj_t b)
{
    for (; a; a = a->parent) {
        for (hwloc_obj_t o = b; o; o = o->parent) {
            if (o == a) return a;
        }
    }
    return NULL;
}

static int across_nodes(const struct cg_topo *topo, hwloc_obj_t a, hwloc_obj_t b)
{
    int x = cg_topo_node_of_object(hwloc_get_non_io_ancestor_obj(topo->machine, a));
    int y = cg_topo_node_of_object(hwloc_get_non_io_ancestor_obj(topo->machine, b));

    if (x == CG_TOPO_ANY || y == CG_TOPO_ANY) return CG_TOPO_UNKNOWN;
    return x == y ? CG_TOPO_NODE : CG_TOPO_SYS;
}

int cg_topo_path(const struct cg_topo *topo, const char *bus_a, const char *bus_b)
{
    hwloc_obj_t a = hwloc_get_pcidev_by_busidstring(topo->machine, bus_a);
    hwloc_obj_t b = hwloc_get_pcidev_by_busidstring(topo->machine, bus_b);
    hwloc_obj_t both = a && b ? common(a, b) : NULL;

    if (!both) return CG_TOPO_UNKNOWN;
    if (a == b) return CG_TOPO_SELF;
    if (both->type != HWLOC_OBJ_BRIDGE) return across_nodes(topo, a, b);
    if (both->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) return CG_TOPO_PHB;
    return bridges(a, both) <= 1 && bridges(b, both) <= 1 ? CG_TOPO_PIX : CG_TOPO_PXB;
}
