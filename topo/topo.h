/* SPDX-License-Identifier: BSD-3-Clause
 * Where this process, its memory and its GPUs are: an immutable snapshot of the machine, through hwloc.
 * NUMA nodes are named by the operating system's number. CG_TOPO_ANY: unknown, or no single node. */
#ifndef CG_TOPO_TOPO_H
#define CG_TOPO_TOPO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cg_topo;

enum { CG_TOPO_ANY = -1 };

/* Equal for processes that can pass descriptors and share memory: same boot of the same kernel, same host name, same
 * network namespace (it holds the abstract sockets). Never 0. Reads three files, does not need hwloc. Any thread. */
uint64_t cg_topo_host(void);

/* Take a snapshot of this machine, or of a captured one (an hwloc XML file; NULL: this one). Takes milliseconds: at
 * first use, not in MPI_Init. CG_OK, CG_ERR_NOMEM, or CG_ERR_UNSUPPORTED if hwloc cannot. */
int cg_topo_open(const char *xml, struct cg_topo **topo);
void cg_topo_close(struct cg_topo *topo);

/* All below: any thread, a snapshot does not change. */

/* The node of the processors to which the calling thread was bound when the snapshot was taken. */
int cg_topo_node(const struct cg_topo *topo);
/* The node of a list of processors, such as "0-3,8". */
int cg_topo_node_of_cpus(const struct cg_topo *topo, const char *list);
/* The node next to a PCI device "dddd:bb:dd.f", such as a GPU. */
int cg_topo_node_near(const struct cg_topo *topo, const char *bus_id);

/* Prefer node for the pages of [addr, addr + bytes), page aligned, not yet touched. CG_OK; CG_ERR_UNSUPPORTED if the
 * system does not let us or the snapshot is of another machine: then the first touch decides. ANY: CG_OK, no change. */
int cg_topo_bind(const struct cg_topo *topo, void *addr, size_t bytes, int node);

#ifdef __cplusplus
}
#endif
#endif
