/* SPDX-License-Identifier: BSD-3-Clause
 * NVLinks between GPUs. hwloc keeps them as a matrix in MB/s between GPUs and, where there are some, NVSwitches. */
#include "topo/internal.h"

#include <errno.h>
#include <hwloc/distances.h>
#include <stdio.h>
#include <string.h>

#define MATRIX "NVLinkBandwidth"

/* The index of a GPU in the list of devices, or -1. */
static int index_of(const struct cg_topo *topo, const char *bus_id)
{
    for (int i = 0; i < topo->count[CG_TOPO_GPU]; i++) {
        if (!strcmp(bus_id, topo->device[CG_TOPO_GPU][i].bus_id)) return i;
    }
    return -1;
}

/* The index of the GPU that an object of the matrix stands for, or -1: a switch. */
static int gpu_of(const struct cg_topo *topo, hwloc_obj_t obj)
{
    char id[32];

    if (obj && obj->type == HWLOC_OBJ_OS_DEVICE) obj = obj->parent;
    if (!obj || obj->type != HWLOC_OBJ_PCI_DEVICE) return -1;
    snprintf(id, sizeof(id), "%04x:%02x:%02x.%x", obj->attr->pcidev.domain, obj->attr->pcidev.bus,
             obj->attr->pcidev.dev, obj->attr->pcidev.func);
    return index_of(topo, id);
}

/* MB/s from row to all switches. */
static uint64_t to_switches(const struct cg_topo *topo, const struct hwloc_distances_s *m, unsigned row)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < m->nbobjs; k++) {
        if (gpu_of(topo, m->objs[k]) < 0) sum += m->values[row * m->nbobjs + k];
    }
    return sum;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void read_matrix(struct cg_topo *topo, const struct hwloc_distances_s *m)
{
    for (unsigned i = 0; i < m->nbobjs; i++) {
        int a = gpu_of(topo, m->objs[i]);
        for (unsigned k = 0; k < m->nbobjs && a >= 0; k++) {
            int b = gpu_of(topo, m->objs[k]);
            if (b < 0 || b == a) continue;
            topo->nvlink[a][b] =
                m->values[i * m->nbobjs + k] + least(to_switches(topo, m, i), to_switches(topo, m, k));
        }
    }
}

void cg_topo_find_nvlinks(struct cg_topo *topo)
{
    struct hwloc_distances_s *m = NULL;
    unsigned n = 1;

    if (hwloc_distances_get_by_name(topo->machine, MATRIX, &n, &m, 0) || n < 1 || !m) return;
    read_matrix(topo, m);
    hwloc_distances_release(topo->machine, m);
}

uint64_t cg_topo_nvlink(const struct cg_topo *topo, int a, int b)
{
    if (a < 0 || b < 0 || a >= topo->count[CG_TOPO_GPU] || b >= topo->count[CG_TOPO_GPU]) return 0;
    return topo->nvlink[a][b];
}

/* In the snapshot, too, so that it can be saved. hwloc before 2.5 has no names for such matrices. */
static int store(struct cg_topo *topo, int n, hwloc_obj_t *objs, const uint64_t *mbs)
{
#if HWLOC_API_VERSION >= 0x00020500
    unsigned long kind = HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH;
    hwloc_uint64_t values[CG_TOPO_DEVICES * CG_TOPO_DEVICES];
    hwloc_distances_add_handle_t handle = hwloc_distances_add_create(topo->machine, MATRIX, kind, 0);

    for (int i = 0; i < n * n; i++) values[i] = mbs[i];
    if (!handle || hwloc_distances_add_values(topo->machine, handle, (unsigned) n, objs, values, 0) ||
        hwloc_distances_add_commit(topo->machine, handle, 0)) {
        return CG_ERR_NOMEM;
    }
#else
    (void) topo, (void) n, (void) objs, (void) mbs;
#endif
    return CG_OK;
}

/* The part of the matrix between GPUs that hwloc knows goes into its snapshot. */
static int store_known(struct cg_topo *topo, int n, const char (*bus_ids)[16], const uint64_t *mbs)
{
    uint64_t part[CG_TOPO_DEVICES * CG_TOPO_DEVICES];
    hwloc_obj_t objs[CG_TOPO_DEVICES];
    int row[CG_TOPO_DEVICES], count = 0;

    for (int i = 0; i < n; i++) {
        objs[count] = hwloc_get_pcidev_by_busidstring(topo->machine, bus_ids[i]);
        row[count] = i;
        count += objs[count] != NULL;
    }
    for (int i = 0; i < count * count; i++) part[i] = mbs[row[i / count] * n + row[i % count]];
    return count < 2 ? CG_OK : store(topo, count, objs, part);
}

int cg_topo_add_nvlinks(struct cg_topo *topo, int n, const char (*bus_ids)[16], const uint64_t *mbs)
{
    int at[CG_TOPO_DEVICES];

    if (n < 0 || n > CG_TOPO_DEVICES) return CG_ERR_ARG;
    for (int i = 0; i < n; i++) {
        at[i] = index_of(topo, bus_ids[i]);
        if (at[i] < 0) return CG_ERR_ARG;
    }
    for (int i = 0; i < n * n; i++) topo->nvlink[at[i / n]][at[i % n]] = mbs[i];
    return store_known(topo, n, bus_ids, mbs);
}

int cg_topo_save(const struct cg_topo *topo, const char *xml)
{
    errno = 0;
    return hwloc_topology_export_xml(topo->machine, xml, 0) ? CG_ERR_ARG : CG_OK;
}
