/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of topo/ share. */
#ifndef CG_TOPO_INTERNAL_H
#define CG_TOPO_INTERNAL_H

#include "core/status.h"
#include "topo/topo.h"

#include <hwloc.h>

struct cg_topo {
    hwloc_topology_t machine;
    int node; /* of the thread that opened */
    int count[2];
    struct cg_topo_device device[2][CG_TOPO_DEVICES]; /* by kind */
    uint64_t nvlink[CG_TOPO_DEVICES][CG_TOPO_DEVICES]; /* MB/s */
};

/* device.c: what cg_topo_open fills in. */
void cg_topo_find_devices(struct cg_topo *topo);
/* nvlink.c: what the snapshot itself says (hwloc's matrix NVLinkBandwidth). */
void cg_topo_find_nvlinks(struct cg_topo *topo);

/* The only node of an object that is no device, if it is open to this process. */
int cg_topo_node_of_object(hwloc_obj_t obj);

#endif
