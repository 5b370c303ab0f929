/* SPDX-License-Identifier: BSD-3-Clause
 * coll_gpu_info: what was found of a machine, and which way each pair of ranks would take. */
#ifndef CG_INFO_INFO_H
#define CG_INFO_INFO_H

#include "topo/topo.h"

#include <stdio.h>

#define INFO_RANKS 64

/* Ways between two ranks, best first. label: in tables; colour: in pictures. */
#define INFO_WAYS(X)                                                                                       \
    X(SELF, "-", "#ffffff", "the same rank")                                                               \
    X(ONE_GPU, "GPU", "#c7e9c0", "one GPU: allreduce in its memory (under MPS); others as SHM")            \
    X(NVLINK, "NVL", "#74c476", "allreduce straight between GPUs over NVLink; others as SHM")              \
    X(PEER, "P2P", "#9ecae1", "allreduce straight between GPUs over PCIe, if CUDA lets it; others as SHM") \
    X(SHM, "SHM", "#fdd0a2", "FIFOs in shared host memory")                                                \
    X(NET, "NET", "#fc9272", "FIFOs on both sides, joined by the network")
enum info_way {
#define INFO_WAY(name, label, colour, text) INFO_##name,
    INFO_WAYS(INFO_WAY)
#undef INFO_WAY
    INFO_WAY_COUNT
};
struct info_way_row {
    const char *label, *colour, *text;
};
extern const struct info_way_row info_ways[];

struct info_rank {
    int host, node;  /* node: pretended host within the host */
    int local;       /* number on the host */
    int gpu;         /* in the list of devices, -1: none */
    struct cg_topo_near near;
};

struct info {
    struct cg_topo *topo;
    const char *source;  /* the file, or NULL: this machine */
    const char *driver;  /* what NVML said, or why it was not asked */
    const struct cg_topo_device *gpu, *nic;
    int ngpus, nnics, nranks, hosts, virtual_nodes;
    int usable[CG_TOPO_DEVICES]; /* GPUs that ranks may use: numbers in the list */
    int nusable;
    const char *not_fast; /* why MPI_COMM_WORLD does not use the fast executor, NULL: it does */
    struct info_rank rank[INFO_RANKS];
    uint64_t linked[2][INFO_RANKS]; /* by reach - 1 (CG_COLL_TABLE): bit per rank with which there is a link */
};

/* Do plans in MPI_COMM_WORLD send messages between the two? ALL: those of all collectives; SOME: those in which every
 * rank may have something for every other (alltoall and v, w; gatherv, scatterv) alone. */
enum info_use { INFO_ALL, INFO_SOME, INFO_NONE };
int info_use(const struct info *info, int a, int b);

/* What is to be shown. local: ranks per host, 0: one per GPU, or one per NUMA node. CG_OK, or CG_ERR_ARG with a
 * text. */
int info_fill(struct info *info, int local, int hosts, int virtual_nodes, int near_nic, char *why, size_t len);
int info_way(const struct info *info, int a, int b);
/* Between the GPUs of two ranks of one host, MB/s and enum cg_topo_path. */
uint64_t info_nvlink(const struct info *info, int a, int b);

/* One line about the way between two ranks. */
void info_describe(const struct info *info, int a, int b, char *text, size_t len);

/* Formats. */
void info_text(const struct info *info, FILE *out);
void info_json(const struct info *info, FILE *out);
void info_svg(const struct info *info, FILE *out);

#endif
