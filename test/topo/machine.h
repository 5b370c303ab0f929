/* SPDX-License-Identifier: BSD-3-Clause
 * Captured machines (test/topo/machines; the files have no comments: hwloc's own parser knows none).
 *   two_nodes  nodes 0 and 2; GPUs 1b on node 0, 9d on node 2, e1 at no node in particular
 *   dgx        2 nodes, 8 GPUs with NVLink through 4 NVSwitches; each with an InfiniBand adapter behind its own PCIe
 *              switch; 2 dual-port adapters for storage in Ethernet mode
 *   cgroup     the same, 4 processors and the memory of node 1 left: devices of node 0 hang on the whole machine
 *   pcie4      2 GPUs behind one switch on node 0, 2 at one host bridge on node 1; one InfiniBand adapter on node 0
 *   single     one GPU, Ethernet
 *   nogpu      2 nodes with an InfiniBand adapter each; a management card's display is no GPU */
#ifndef CG_TEST_TOPO_MACHINE_H
#define CG_TEST_TOPO_MACHINE_H

#include "core/status.h"
#include "topo/topo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static inline struct cg_topo *machine(const char *name)
{
    const char *top = getenv("top_srcdir");
    struct cg_topo *topo;
    char path[4096];

    snprintf(path, sizeof(path), "%s/test/topo/machines/%s.xml", top ? top : ".", name);
    assert_int_equal(cg_topo_open(path, &topo), CG_OK);
    return topo;
}

#endif
