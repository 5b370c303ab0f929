/* SPDX-License-Identifier: BSD-3-Clause
 * Where ranks are taken to be, and the ways between them. */
#include "info/info.h"

#include "core/status.h"
#include "engine/engine.h"
#include "kernels/cuda/fast.h"
#include "plan/nodes.h"
#include "plan/plan.h"

#include <string.h>

const struct info_way_row info_ways[] = {
#define INFO_WAY(name, label, colour, text) {label, colour, text},
    INFO_WAYS(INFO_WAY)
#undef INFO_WAY
};

static void find_usable(struct info *info)
{
    info->ngpus = cg_topo_devices(info->topo, CG_TOPO_GPU, &info->gpu);
    info->nnics = cg_topo_devices(info->topo, CG_TOPO_NIC, &info->nic);
    info->nusable = 0;
    for (int i = 0; i < info->ngpus; i++) {
        if (info->gpu[i].visible) info->usable[info->nusable++] = i;
    }
}

static int nodes_of(const struct cg_topo *topo)
{
    struct cg_topo_node node;
    unsigned n = 0;

    while (cg_topo_numa(topo, n, &node)) n++;
    return (int) n;
}

/* The node of a rank's processors: that of its GPU; without one, ranks fill the nodes one after another. */
static int node_of(const struct info *info, const struct info_rank *r, int local_size)
{
    struct cg_topo_node node = {.node = CG_TOPO_ANY};
    int nodes = nodes_of(info->topo);

    if (r->gpu >= 0 && info->gpu[r->gpu].node != CG_TOPO_ANY) return info->gpu[r->gpu].node;
    if (nodes) cg_topo_numa(info->topo, (unsigned) (r->local * nodes / local_size), &node);
    return node.node;
}

static void place(struct info *info, struct info_rank *r, int local_size, int near_nic)
{
    struct cg_topo_rank at = {.local_rank = (uint32_t) r->local, .local_size = (uint32_t) local_size};

    r->node = (int) cg_virtual_node(at.local_rank, at.local_size, info->virtual_nodes);
    r->gpu = info->nusable ? info->usable[r->local % info->nusable] : -1;
    at.gpu = r->gpu >= 0 ? info->gpu[r->gpu].bus_id : NULL;
    at.node = node_of(info, r, local_size);
    cg_topo_find_near(info->topo, &at, near_nic, &r->near);
}

/* With the parameters' defaults. */
static int find_links(struct info *info)
{
    uint64_t host[INFO_RANKS];
    uint32_t peers[INFO_RANKS];
    struct cg_params params;
    struct cg_nodes *nodes;

    for (int i = 0; i < info->nranks; i++)
        host[i] = (uint64_t) info->rank[i].host << 32 | (uint32_t) info->rank[i].node;
    nodes = cg_nodes_new((uint32_t) info->nranks, host);
    if (!nodes) return CG_ERR_NOMEM;
    cg_params_default(&params);
    memset(info->linked, 0, sizeof(info->linked));
    for (int reach = 1; reach <= 2; reach++) {
        for (int r = 0; r < info->nranks; r++) {
            int n = cg_plan_neighbors((uint32_t) info->nranks, (uint32_t) r, &params, nodes, reach, peers, INFO_RANKS);
            for (int i = 0; i < n; i++) info->linked[reach - 1][r] |= 1ull << peers[i];
        }
    }
    cg_nodes_free(nodes);
    return CG_OK;
}

int info_use(const struct info *info, int a, int b)
{
    if ((info->linked[0][a] >> b) & 1) return INFO_ALL;
    return (info->linked[1][a] >> b) & 1 ? INFO_SOME : INFO_NONE;
}

static const char *why_not_fast(const struct info *info)
{
    if (!info->nusable) return "there is no GPU";
    if (info->nranks < 2) return "there is one rank";
    if (info->hosts > 1) return "its ranks are on several hosts";
    if (info->virtual_nodes > 1) return "its ranks are on several pretended hosts";
    return info->nranks > CG_FAST_RANKS ? "it has more than 8 ranks" : NULL;
}

int info_fill(struct info *info, int local, int hosts, int virtual_nodes, int near_nic, char *why, size_t len)
{
    find_usable(info);
    if (local == 0) local = info->nusable ? info->nusable : nodes_of(info->topo);
    if (local < 1) local = 1;
    if (hosts > INFO_RANKS || local > INFO_RANKS / hosts) {
        snprintf(why, len, "%d hosts of %d ranks are more than %d ranks", hosts, local, INFO_RANKS);
        return CG_ERR_ARG;
    }
    info->hosts = hosts;
    info->virtual_nodes = virtual_nodes;
    info->nranks = hosts * local;
    for (int i = 0; i < info->nranks; i++) {
        struct info_rank *r = &info->rank[i];
        memset(r, 0, sizeof(*r));
        r->host = i / local;
        r->local = i % local;
        place(info, r, local, near_nic);
    }
    info->not_fast = why_not_fast(info);
    if (find_links(info) == CG_OK) return CG_OK;
    snprintf(why, len, "out of memory");
    return CG_ERR_NOMEM;
}

uint64_t info_nvlink(const struct info *info, int a, int b)
{
    return cg_topo_nvlink(info->topo, info->rank[a].gpu, info->rank[b].gpu);
}

int info_way(const struct info *info, int a, int b)
{
    const struct info_rank *x = &info->rank[a], *y = &info->rank[b];

    if (a == b) return INFO_SELF;
    if (x->host != y->host || x->node != y->node) return INFO_NET;
    if (x->gpu < 0 || y->gpu < 0) return INFO_SHM;
    if (x->gpu == y->gpu) return INFO_ONE_GPU;
    return info_nvlink(info, a, b) ? INFO_NVLINK : INFO_PEER;
}

static void describe_end(const struct info_rank *r, char *text, size_t len)
{
    char node[32] = "host memory";

    if (r->near.node != CG_TOPO_ANY) snprintf(node, sizeof(node), "memory of node %d", r->near.node);
    if (r->near.ports[0]) snprintf(text, len, "%s, %s", node, r->near.ports);
    else snprintf(text, len, "%s, adapters as the transport finds", node);
}

void info_describe(const struct info *info, int a, int b, char *text, size_t len)
{
    const struct info_rank *x = &info->rank[a], *y = &info->rank[b];
    int way = info_way(info, a, b), path;
    char from[320], to[320];

    switch (way) {
    case INFO_NVLINK:
        snprintf(text, len, "NVLink, %.0f GB/s; other collectives: shared host memory",
                 (double) info_nvlink(info, a, b) / 1e3);
        break;
    case INFO_PEER:
        path = cg_topo_path(info->topo, info->gpu[x->gpu].bus_id, info->gpu[y->gpu].bus_id);
        snprintf(text, len, "PCIe through %s, if CUDA lets it; else, and for other collectives: shared host memory",
                 cg_topo_path_text(path));
        break;
    case INFO_NET:
        describe_end(x, from, sizeof(from));
        describe_end(y, to, sizeof(to));
        snprintf(text, len, "FIFO in %s -> FIFO in %s", from, to);
        break;
    default: snprintf(text, len, "%s", info_ways[way].text);
    }
}
