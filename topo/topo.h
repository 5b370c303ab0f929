/* SPDX-License-Identifier: BSD-3-Clause
 * Where this process, its memory, GPUs and network adapters are: an immutable snapshot of the machine, through hwloc.
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

/* Take a snapshot of this machine, or of a captured one (an hwloc XML file, as `coll_gpu_info --save` and `lstopo`
 * write it; NULL: this one, or what hwloc's environment says). Takes milliseconds: at first use, not in MPI_Init.
 * CG_OK, CG_ERR_NOMEM, CG_ERR_ARG if the file cannot be read as one, or CG_ERR_UNSUPPORTED if hwloc cannot. */
int cg_topo_open(const char *xml, struct cg_topo **topo);
void cg_topo_close(struct cg_topo *topo);

/* All below: any thread, a snapshot does not change. */

/* Is it this machine? Nothing can be bound on another one. */
int cg_topo_is_here(const struct cg_topo *topo);

/* The node of the processors to which the calling thread was bound when the snapshot was taken. */
int cg_topo_node(const struct cg_topo *topo);
/* The node of a list of processors, such as "0-3,8". */
int cg_topo_node_of_cpus(const struct cg_topo *topo, const char *list);
/* The node next to a PCI device "dddd:bb:dd.f", such as a GPU. ANY also if that node is closed to this process. */
int cg_topo_node_near(const struct cg_topo *topo, const char *bus_id);

struct cg_topo_node {
    int node;             /* the system's number */
    uint64_t memory;      /* bytes */
    unsigned processors;  /* that may be used */
    char cpus[128];       /* their numbers, such as "0-3,8" */
};
/* i-th NUMA node, by number. 0 behind the last. */
int cg_topo_numa(const struct cg_topo *topo, unsigned i, struct cg_topo_node *node);
/* Processors of the machine, and those of them that this process may use (cgroup). */
void cg_topo_processors(const struct cg_topo *topo, unsigned *all, unsigned *allowed);

/* ---- devices ---- */

enum cg_topo_kind { CG_TOPO_GPU, CG_TOPO_NIC };

struct cg_topo_device {
    int kind, node;       /* node next to it, or ANY */
    char bus_id[16];      /* "dddd:bb:dd.f"; "" if it is no PCI device */
    char name[32];        /* of the operating system: "mlx5_0", "eth0"; of a GPU: "GPU0", counted along the bus */
    char model[64];       /* or vendor and device "10de:2330" */
    int visible;          /* the driver shows it to this process, or nobody has asked it */
    double pcie;          /* GB/s of its PCIe link, one direction; 0: unknown */
    /* Of network adapters: */
    int rdma;             /* an RDMA device, otherwise Ethernet for sockets */
    int infiniband;       /* its network is InfiniBand, so that subnet says who is reached */
    uint32_t ports;       /* bit p - 1: RDMA port p is active */
    uint64_t subnet;      /* of its first active port */
};

#define CG_TOPO_DEVICES 64 /* of a kind; further ones are not seen */

/* Of a kind, along the bus; the list is the snapshot's. */
int cg_topo_devices(const struct cg_topo *topo, int kind, const struct cg_topo_device **list);

/* What lies between two devices, from near to far; short names are nvidia-smi's. */
#define CG_TOPO_PATHS(X)                                   \
    X(SELF, "X", "the same device")                        \
    X(PIX, "PIX", "one PCIe switch")                       \
    X(PXB, "PXB", "several PCIe switches")                 \
    X(PHB, "PHB", "one PCIe host bridge")                  \
    X(NODE, "NODE", "PCIe host bridges of one NUMA node")  \
    X(SYS, "SYS", "the connection between NUMA nodes")     \
    X(UNKNOWN, "?", "unknown")
enum cg_topo_path {
#define CG_TOPO_PATH(name, label, text) CG_TOPO_##name,
    CG_TOPO_PATHS(CG_TOPO_PATH)
#undef CG_TOPO_PATH
};
const char *cg_topo_path_name(int path);
const char *cg_topo_path_text(int path);

/* Between PCI devices, by bus id. UNKNOWN if one is not there, or it is not known where. */
int cg_topo_path(const struct cg_topo *topo, const char *bus_a, const char *bus_b);

/* MB/s, one direction, of the NVLinks between two GPUs of the list, through NVSwitch or not; 0: none known. */
uint64_t cg_topo_nvlink(const struct cg_topo *topo, int a, int b);

/* Tell of NVLinks that were found by other means (NVML): n rows of n MB/s, in the order of the bus ids. CG_OK,
 * CG_ERR_ARG if a bus id is not a GPU of the snapshot, or CG_ERR_NOMEM. Before other threads have the snapshot. */
int cg_topo_add_nvlinks(struct cg_topo *topo, int n, const char (*bus_ids)[16], const uint64_t *mbs);

/* Tell of the GPUs that the driver shows: those of the snapshot that are not among them are not visible; those that it
 * does not know (a container without sysfs) are added, at no node. names: models; "" where unknown. Before other
 * threads have the snapshot. */
void cg_topo_add_gpus(struct cg_topo *topo, int n, const char (*bus_ids)[16], const char (*names)[64]);

/* Write the snapshot as hwloc XML. CG_OK or CG_ERR_ARG (errno says why). */
int cg_topo_save(const struct cg_topo *topo, const char *xml);

/* ---- what is near a rank ---- */

struct cg_topo_rank {
    const char *gpu;               /* bus id of the GPU that it uses; NULL or "": none, or not known */
    int node;                      /* of its processors, or ANY */
    uint32_t local_rank, local_size;
};

/* Which adapters a rank's proxy uses: CHOSEN ones, or the transport's choice, and why. */
#define CG_TOPO_WHYS(X)                                                                            \
    X(CHOSEN, "near, and each reaches the network that all reach")                                 \
    X(NO_RDMA, "no active RDMA port: sockets, the transport finds the way")                        \
    X(SEPARATE, "not known whether the adapters reach each other: the transport finds the way")    \
    X(OFF, "left to the transport by coll_gpu_near_nic")
enum cg_topo_why {
#define CG_TOPO_WHY(name, text) CG_TOPO_NIC_##name,
    CG_TOPO_WHYS(CG_TOPO_WHY)
#undef CG_TOPO_WHY
};
const char *cg_topo_why_text(int why);

struct cg_topo_near {
    int node;             /* where its FIFOs lie: next to its GPU, else where it runs; ANY: first touch decides */
    int why;              /* enum cg_topo_why */
    int path;             /* to the nearest adapters */
    int count, nic[CG_TOPO_DEVICES]; /* its share of them, in the list of devices */
    char ports[256];      /* the same for the transport: "mlx5_0:1,mlx5_1:1"; "" unless CHOSEN */
};

enum cg_topo_policy { CG_TOPO_NIC_NEVER, CG_TOPO_NIC_AUTO, CG_TOPO_NIC_ALWAYS };

/* Ranks to which the same adapters are near share them out. policy AUTO: choose only if every active RDMA port is on
 * one InfiniBand subnet, so that any two ranks reach each other, whatever they choose. */
void cg_topo_find_near(const struct cg_topo *topo, const struct cg_topo_rank *rank, int policy,
                       struct cg_topo_near *near);

/* Prefer node for the pages of [addr, addr + bytes), page aligned, not yet touched. CG_OK; CG_ERR_UNSUPPORTED if the
 * system does not let us or the snapshot is of another machine: then the first touch decides. ANY: CG_OK, no change. */
int cg_topo_bind(const struct cg_topo *topo, void *addr, size_t bytes, int node);
/* The node on which pages that have been touched lie; ANY if it is not one, or not known. */
int cg_topo_where(const struct cg_topo *topo, const void *addr, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
