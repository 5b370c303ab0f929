/* SPDX-License-Identifier: BSD-3-Clause
 * The report as JSON. Unknown numbers are null. */
#include "info/info.h"

#include <string.h>

static void string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char) *s;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < 0x20) fprintf(out, "\\u%04x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

static void text_member(FILE *out, const char *name, const char *s)
{
    fprintf(out, "\"%s\": ", name);
    if (s) string(out, s);
    else fprintf(out, "null");
}

static void node_member(FILE *out, const char *name, int node)
{
    if (node == CG_TOPO_ANY) fprintf(out, "\"%s\": null", name);
    else fprintf(out, "\"%s\": %d", name, node);
}

static const char *comma(int i) { return i ? ",\n    " : "\n    "; }

static void nodes(const struct info *info, FILE *out)
{
    struct cg_topo_node n;

    fprintf(out, "  \"numa_nodes\": [");
    for (unsigned i = 0; cg_topo_numa(info->topo, i, &n); i++) {
        fprintf(out, "%s{\"node\": %d, \"memory_bytes\": %llu, \"processors\": ", comma((int) i), n.node,
                (unsigned long long) n.memory);
        string(out, n.cpus);
        fputc('}', out);
    }
    fprintf(out, "\n  ],\n");
}

static void device(const struct cg_topo_device *d, FILE *out)
{
    text_member(out, "name", d->name);
    fprintf(out, ", ");
    text_member(out, "bus_id", d->bus_id[0] ? d->bus_id : NULL);
    fprintf(out, ", ");
    text_member(out, "model", d->model);
    fprintf(out, ", ");
    node_member(out, "node", d->node);
    fprintf(out, ", \"pcie_GBs\": %.3f", d->pcie);
}

static void gpus(const struct info *info, FILE *out)
{
    fprintf(out, "  \"gpus\": [");
    for (int i = 0; i < info->ngpus; i++) {
        fprintf(out, "%s{", comma(i));
        device(&info->gpu[i], out);
        fprintf(out, ", \"usable\": %s, \"nvlink_MBs\": [", info->gpu[i].visible ? "true" : "false");
        for (int k = 0; k < info->ngpus; k++)
            fprintf(out, "%s%llu", k ? ", " : "", (unsigned long long) cg_topo_nvlink(info->topo, i, k));
        fprintf(out, "], \"to_gpus\": [");
        for (int k = 0; k < info->ngpus; k++) {
            if (k) fprintf(out, ", ");
            string(out, cg_topo_path_name(cg_topo_path(info->topo, info->gpu[i].bus_id, info->gpu[k].bus_id)));
        }
        fprintf(out, "], \"to_adapters\": [");
        for (int k = 0; k < info->nnics; k++) {
            if (k) fprintf(out, ", ");
            string(out, cg_topo_path_name(cg_topo_path(info->topo, info->gpu[i].bus_id, info->nic[k].bus_id)));
        }
        fprintf(out, "]}");
    }
    fprintf(out, "\n  ],\n");
}

static void nics(const struct info *info, FILE *out)
{
    fprintf(out, "  \"adapters\": [");
    for (int i = 0; i < info->nnics; i++) {
        const struct cg_topo_device *d = &info->nic[i];
        fprintf(out, "%s{", comma(i));
        device(d, out);
        fprintf(out, ", \"rdma\": %s, \"infiniband\": %s, \"active_ports\": [", d->rdma ? "true" : "false",
                d->infiniband ? "true" : "false");
        for (int p = 1, n = 0; p <= 32; p++) {
            if ((d->ports >> (p - 1)) & 1) fprintf(out, "%s%d", n++ ? ", " : "", p);
        }
        fprintf(out, "]}");
    }
    fprintf(out, "\n  ],\n");
}

static void ranks(const struct info *info, FILE *out)
{
    fprintf(out, "  \"ranks\": [");
    for (int i = 0; i < info->nranks; i++) {
        const struct info_rank *r = &info->rank[i];
        fprintf(out, "%s{\"rank\": %d, \"host\": %d, \"part\": %d, ", comma(i), i, r->host, r->node);
        text_member(out, "gpu", r->gpu >= 0 ? info->gpu[r->gpu].name : NULL);
        fprintf(out, ", ");
        node_member(out, "fifo_node", r->near.node);
        fprintf(out, ", ");
        text_member(out, "ports", r->near.ports[0] ? r->near.ports : NULL);
        fprintf(out, ", ");
        text_member(out, "ports_path", cg_topo_path_name(r->near.path));
        fprintf(out, ", ");
        text_member(out, "why", cg_topo_why_text(r->near.why));
        fputc('}', out);
    }
    fprintf(out, "\n  ],\n");
}

static const char *const uses[] = {[INFO_ALL] = "all", [INFO_SOME] = "some", [INFO_NONE] = "none"};

static void pairs(const struct info *info, FILE *out)
{
    char text[800];
    int n = 0;

    fprintf(out, "  \"pairs\": [");
    for (int a = 0; a < info->nranks; a++) {
        for (int b = a + 1; b < info->nranks; b++) {
            info_describe(info, a, b, text, sizeof(text));
            fprintf(out, "%s{\"a\": %d, \"b\": %d, ", comma(n++), a, b);
            text_member(out, "way", info_ways[info_way(info, a, b)].label);
            fprintf(out, ", ");
            text_member(out, "used_by", uses[info_use(info, a, b)]);
            fprintf(out, ", ");
            text_member(out, "text", text);
            fputc('}', out);
        }
    }
    fprintf(out, "\n  ]\n");
}

void info_json(const struct info *info, FILE *out)
{
    unsigned all, allowed;

    cg_topo_processors(info->topo, &all, &allowed);
    fprintf(out, "{\n  ");
    text_member(out, "machine", info->source);
    fprintf(out, ",\n  ");
    text_member(out, "driver", info->driver);
    fprintf(out, ",\n  \"processors\": %u,\n  \"processors_allowed\": %u,\n", all, allowed);
    nodes(info, out);
    gpus(info, out);
    nics(info, out);
    fprintf(out, "  \"hosts\": %d,\n  \"virtual_nodes\": %d,\n  \"fast_allreduce\": %s,\n  ", info->hosts,
            info->virtual_nodes, info->not_fast ? "false" : "true");
    text_member(out, "not_fast_because", info->not_fast);
    fprintf(out, ",\n");
    ranks(info, out);
    pairs(info, out);
    fprintf(out, "}\n");
}
