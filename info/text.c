/* SPDX-License-Identifier: BSD-3-Clause
 * The report as text. */
#include "info/info.h"

#include <ctype.h>
#include <string.h>

static const char *node_text(int node, char text[16])
{
    if (node == CG_TOPO_ANY) return "?";
    snprintf(text, 16, "%d", node);
    return text;
}

static void show_nodes(const struct info *info, FILE *out)
{
    struct cg_topo_node node;
    unsigned all, allowed;

    cg_topo_processors(info->topo, &all, &allowed);
    fprintf(out, "machine     %s\n", info->source ? info->source : "this one");
    fprintf(out, "processors  %u", all);
    if (allowed != all) fprintf(out, ", of which %u may be used", allowed);
    fprintf(out, "\ndriver      %s\n", info->driver);
    for (unsigned i = 0; cg_topo_numa(info->topo, i, &node); i++) {
        fprintf(out, "node %-6d %.0f GiB, processors %s\n", node.node, (double) node.memory / (1 << 30), node.cpus);
    }
}

static void show_gpus(const struct info *info, FILE *out)
{
    char text[16];

    for (int i = 0; i < info->ngpus; i++) {
        const struct cg_topo_device *d = &info->gpu[i];
        fprintf(out, "%-11s %s  node %s  PCIe %.0f GB/s  %s%s\n", d->name, d->bus_id, node_text(d->node, text), d->pcie,
                d->model, d->visible ? "" : "  (closed to this process)");
    }
    if (!info->ngpus) fprintf(out, "no NVIDIA GPU\n");
}

static void show_ports(const struct cg_topo_device *d, FILE *out)
{
    if (!d->rdma) {
        fprintf(out, "sockets");
        return;
    }
    fprintf(out, "%s, ", d->infiniband ? "InfiniBand" : "RDMA over Ethernet");
    if (!d->ports) fprintf(out, "no port active");
    for (int p = 1; p <= 32; p++) {
        if ((d->ports >> (p - 1)) & 1) fprintf(out, "port %d active%s", p, d->ports >> p ? ", " : "");
    }
}

static void show_nics(const struct info *info, FILE *out)
{
    char text[16];

    for (int i = 0; i < info->nnics; i++) {
        const struct cg_topo_device *d = &info->nic[i];
        fprintf(out, "%-11s %-12s  node %s  PCIe %.0f GB/s  %s  ", d->name, d->bus_id[0] ? d->bus_id : "no PCI device",
                node_text(d->node, text), d->pcie, d->model);
        show_ports(d, out);
        fputc('\n', out);
    }
    if (!info->nnics) fprintf(out, "no network adapter\n");
}

static void cell(const struct info *info, int row, const struct cg_topo_device *d, int column, FILE *out)
{
    uint64_t mbs = d->kind == CG_TOPO_GPU ? cg_topo_nvlink(info->topo, row, column) : 0;

    if (mbs) fprintf(out, " %8.0f", (double) mbs / 1e3);
    else fprintf(out, " %8s", cg_topo_path_name(cg_topo_path(info->topo, info->gpu[row].bus_id, d->bus_id)));
}

static void show_between(const struct info *info, FILE *out)
{
    if (!info->ngpus) return;
    fprintf(out, "\nBetween GPUs: NVLink in GB/s, one direction; else, and to adapters, what lies between\n%-6s", "");
    for (int i = 0; i < info->ngpus; i++) fprintf(out, " %8s", info->gpu[i].name);
    for (int i = 0; i < info->nnics; i++) fprintf(out, " %8.8s", info->nic[i].name);
    for (int g = 0; g < info->ngpus; g++) {
        fprintf(out, "\n%-6s", info->gpu[g].name);
        for (int i = 0; i < info->ngpus; i++) cell(info, g, &info->gpu[i], i, out);
        for (int i = 0; i < info->nnics; i++) cell(info, g, &info->nic[i], i, out);
    }
    fputc('\n', out);
    for (int p = CG_TOPO_PIX; p <= CG_TOPO_SYS; p++)
        fprintf(out, "  %-5s %s\n", cg_topo_path_name(p), cg_topo_path_text(p));
}

static void show_ranks(const struct info *info, FILE *out)
{
    char text[16];

    fprintf(out, "\nRanks, each next to its GPU; without GPUs spread over the nodes\n"
                 "rank host %sGPU   FIFOs on node  adapters\n", info->virtual_nodes > 1 ? "part " : "");
    for (int i = 0; i < info->nranks; i++) {
        const struct info_rank *r = &info->rank[i];
        fprintf(out, "%4d %4d ", i, r->host);
        if (info->virtual_nodes > 1) fprintf(out, "%4d ", r->node);
        fprintf(out, "%-5s %-14s ", r->gpu >= 0 ? info->gpu[r->gpu].name : "none", node_text(r->near.node, text));
        if (r->near.ports[0]) fprintf(out, "%s (%s)\n", r->near.ports, cg_topo_path_name(r->near.path));
        else fprintf(out, "%s\n", cg_topo_why_text(r->near.why));
    }
}

/* In small letters where only some collectives use it. */
static void show_way(const struct info *info, int a, int b, int way, FILE *out)
{
    const char *label = info_ways[way].label;
    int use = a == b ? INFO_ALL : info_use(info, a, b);
    char small[8] = "";

    for (int i = 0; label[i] && i < 7; i++) small[i] = (char) tolower((unsigned char) label[i]);
    fprintf(out, " %3s", use == INFO_ALL ? label : use == INFO_SOME ? small : ".");
}

static void show_matrix(const struct info *info, FILE *out)
{
    int used[INFO_WAY_COUNT] = {0};

    fprintf(out, "\nWays between ranks\n%4s", "");
    for (int i = 0; i < info->nranks; i++) fprintf(out, " %3d", i);
    for (int a = 0; a < info->nranks; a++) {
        fprintf(out, "\n%4d", a);
        for (int b = 0; b < info->nranks; b++) {
            int way = info_way(info, a, b);
            used[way] = 1;
            show_way(info, a, b, way, out);
        }
    }
    fputc('\n', out);
    for (int w = INFO_SELF + 1; w < INFO_WAY_COUNT; w++) {
        if (used[w]) fprintf(out, "  %-3s %s\n", info_ways[w].label, info_ways[w].text);
    }
    fprintf(out, "  small letters: alltoall, gatherv, scatterv alone; a point: no plan in MPI_COMM_WORLD\n");
    if (!info->not_fast) fprintf(out, "Allreduce in MPI_COMM_WORLD: straight between GPUs\n");
    else
        fprintf(out, "Allreduce in MPI_COMM_WORLD: not straight between GPUs: %s%s\n", info->not_fast,
                info->nusable > 1 ? " (in communicators of up to 8 ranks of one host it is)" : "");
}

static void show_pairs(const struct info *info, FILE *out)
{
    char text[800];

    fprintf(out, "\nFrom rank 0\n");
    for (int b = 1; b < info->nranks; b++) {
        info_describe(info, 0, b, text, sizeof(text));
        fprintf(out, "%4d  %s\n", b, text);
    }
}

void info_text(const struct info *info, FILE *out)
{
    show_nodes(info, out);
    show_gpus(info, out);
    show_nics(info, out);
    show_between(info, out);
    show_ranks(info, out);
    show_matrix(info, out);
    if (info->nranks > 1) show_pairs(info, out);
}
