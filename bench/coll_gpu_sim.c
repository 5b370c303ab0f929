/* SPDX-License-Identifier: BSD-3-Clause
 * coll_gpu_sim: which plan a collective would use on a described machine, how many links and how much memory that
 * takes, how long it would last, and, with --check, a proof that it is right. Needs neither MPI nor a GPU. */
#include "core/status.h"
#include "kernels/host/host.h"
#include "plan/choose.h"
#include "plan/nodes.h"
#include "plan/predict.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct cg_machine machine;
    struct cg_params params;
    struct cg_table *table;
    int coll, check, dealt;
    uint32_t root;
    double begin, end, factor;
};

enum { KEY_DEALT = 0x100 };
static const struct argp_option options[] = {
    {"machine", 'm', "FILE", 0, "description: lines of a name and a value; names are those of --set", 0},
    {"set", 's', "NAME=VALUE", 0,
     "part of the machine: nodes gpus nics node_latency_us node_gbs net_latency_us net_gbs step_us memory_gbs", 0},
    {"coll", 'k', "NAME", 0, "collective (allreduce)", 0},
    {"minbytes", 'b', "BYTES", 0, "first size; K, M, G are allowed (8)", 0},
    {"maxbytes", 'e', "BYTES", 0, "last size (1G)", 0},
    {"stepfactor", 'f', "FACTOR", 0, "next size = this one times FACTOR (16)", 0},
    {"root", 'r', "RANK", 0, "root (0)", 0},
    {"param", 'p', "NAME=VALUE", 0, "parameter of coll/gpu, without coll_gpu_", 0},
    {"rows", 't', "ROWS", 0, "rows of a table of choices, as coll_gpu_rows", 0},
    {"dealt", KEY_DEALT, NULL, 0, "ranks are dealt out to nodes like cards, instead of one node after another", 0},
    {"check", 'c', NULL, 0, "prove each plan", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static double bytes_of(const char *s, struct argp_state *state)
{
    char *end;
    double v = strtod(s, &end);
    const char *units = "KMG", *u = *end ? strchr(units, *end & ~32) : NULL;

    if (u && *u) v *= (double) (1ull << (10 * (u - units + 1))), end++;
    if (end == s || *end || v < 1 || v > 1e15) argp_error(state, "not a size: '%s'", s);
    return v;
}

static void set_param(struct options *o, const char *arg, struct argp_state *state)
{
    int value = atoi(strchr(arg, '=') ? strchr(arg, '=') + 1 : "0");
    size_t n = strcspn(arg, "=");
    int known = 0;

#define CG_PARAM(name, def, min, max, agreed, level, text) \
    if (strlen(#name) == n && 0 == strncmp(#name, arg, n)) known = 1, o->params.name = value;
#include "core/params.def"
#undef CG_PARAM
    if (!known || !arg[n]) argp_error(state, "not a parameter and its value: '%s'", arg);
}

static void set_machine(struct options *o, const char *text, struct argp_state *state)
{
    char why[300];

    if (CG_OK != cg_machine_parse(text, &o->machine, why, sizeof(why))) argp_error(state, "%s", why);
}

static void read_machine(struct options *o, const char *path, struct argp_state *state)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (!f) argp_failure(state, 1, 0, "cannot read %s", path);
    if (f) fclose(f);
    text[n] = '\0';
    set_machine(o, text, state);
}

static int coll_of(const char *name, struct argp_state *state)
{
    for (int coll = CG_COLL_NONE + 1; coll < CG_COLL_COUNT; coll++) {
        if (0 == strcmp(cg_coll_name(coll), name) && coll != CG_COLL_DOWN) return coll;
    }
    argp_error(state, "no collective '%s'", name);
    return CG_COLL_NONE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    char why[300];

    switch (key) {
    case 'm': read_machine(o, arg, state); break;
    case 's': set_machine(o, arg, state); break;
    case 'k': o->coll = coll_of(arg, state); break;
    case 'b': o->begin = bytes_of(arg, state); break;
    case 'e': o->end = bytes_of(arg, state); break;
    case 'f': o->factor = atof(arg); break;
    case 'r': o->root = (uint32_t) atoi(arg); break;
    case 'p': set_param(o, arg, state); break;
    case 't':
        if (CG_OK != cg_table_open(arg, NULL, &o->table, why, sizeof(why))) argp_error(state, "%s", why);
        break;
    case KEY_DEALT: o->dealt = 1; break;
    case 'c': o->check = 1; break;
    case ARGP_KEY_END:
        if (o->factor <= 1) argp_error(state, "the step factor is above 1");
        if (CG_OK != cg_params_check(&o->params, why, sizeof(why))) argp_error(state, "%s", why);
        if (o->root >= o->machine.nodes * o->machine.gpus) argp_error(state, "there is no rank %u", o->root);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Bytes that cross a rank's link at least, for as many of the message: as nccl-tests' busbw. */
static double factor_of(int coll, double n)
{
    switch (coll) {
    case CG_COLL_ALLREDUCE: return 2 * (n - 1) / n;
    case CG_COLL_ALLGATHER:
    case CG_COLL_ALLTOALL:
    case CG_COLL_REDUCE_SCATTER_BLOCK: return n - 1; /* of the block */
    default: return 1;
    }
}

static int needs_arrays(int coll)
{
    return CG_COLL_ALLGATHERV == coll || CG_COLL_GATHERV == coll || CG_COLL_SCATTERV == coll ||
           CG_COLL_ALLTOALLV == coll || CG_COLL_REDUCE_SCATTER == coll;
}

/* One line; 0 if it went well. */
static int show(const struct options *o, const struct cg_nodes *nodes, struct cg_plan_request *reqs, uint64_t bytes)
{
    struct cg_prediction p;
    char why[200] = "";
    int rc;

    for (uint32_t r = 0; r < nodes->nranks; r++) {
        reqs[r] = (struct cg_plan_request){.coll = o->coll, .nranks = nodes->nranks, .rank = r, .root = o->root,
                                           .esize = bytes % 4 ? 1 : 4, .params = &o->params, .table = o->table,
                                           .at = CG_AT_DEVICE, .via = o->machine.nodes > 1 ? CG_VIA_NET : CG_VIA_SHM,
                                           .nodes = nodes};
        reqs[r].count = bytes / (uint64_t) reqs[r].esize;
    }
    rc = cg_plan_predict(reqs, &o->machine, &p);
    if (CG_OK != rc) {
        printf("%12llu  no plan: %s\n", (unsigned long long) bytes, cg_status_text(rc));
        return 1;
    }
    printf("%12llu  %-14s %5u %5u %10u %9.1f %12.1f %9.2f %9.2f", (unsigned long long) bytes, p.plan, p.links,
           p.net_links, p.neighbors, (double) p.fifo_bytes / (1 << 20), p.us, (double) bytes / p.us / 1000,
           (double) bytes / p.us / 1000 * factor_of(o->coll, nodes->nranks));
    if (o->check) rc = cg_plan_check_all(reqs, why, sizeof(why));
    printf("%s%s\n", !o->check ? "" : CG_OK == rc ? "  proved" : "  WRONG: ", why);
    return CG_OK != rc;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options, parse, NULL,
                                     "Predicts time and memory of a collective on a described machine, from the very "
                                     "plans that ranks would run. A model: bandwidths and latencies are those given.",
                                     NULL, NULL, NULL};
    struct options o = {.coll = CG_COLL_ALLREDUCE, .begin = 8, .end = 1 << 30, .factor = 16};
    int bad = 0;

    cg_params_default(&o.params);
    cg_machine_default(&o.machine);
    if (argp_parse(&argp, argc, argv, 0, NULL, &o)) return 1;
    uint32_t n = o.machine.nodes * o.machine.gpus;
    uint64_t *host = calloc(n, sizeof(*host));
    struct cg_plan_request *reqs = calloc(n, sizeof(*reqs));
    for (uint32_t r = 0; host && r < n; r++)
        host[r] = o.dealt ? r % o.machine.nodes : r / o.machine.gpus;
    struct cg_nodes *nodes = host && reqs ? cg_nodes_new(n, host) : NULL;
    if (!nodes) return fprintf(stderr, "out of memory\n"), 1;
    if (needs_arrays(o.coll))
        return fprintf(stderr, "%s: blocks of their own lengths are not predicted\n", cg_coll_name(o.coll)), 1;
    printf("# %s, %u ranks: %u nodes of %u GPUs and %u adapters\n", cg_coll_name(o.coll), n, o.machine.nodes,
           o.machine.gpus, o.machine.nics);
    printf("# in a node %.2f us, %.1f GB/s a rank; between nodes %.2f us, %.1f GB/s an adapter; step %.2f us, memory "
           "%.0f GB/s\n", o.machine.node_latency_us, o.machine.node_gbs, o.machine.net_latency_us, o.machine.net_gbs,
           o.machine.step_us, o.machine.memory_gbs);
    printf("# %10s  %-14s %5s %5s %10s %9s %12s %9s %9s\n", "bytes", "plan", "links", "net", "neighbours", "FIFO MiB",
           "us", "GB/s", "busbw");
    for (double bytes = o.begin; bytes <= o.end; bytes *= o.factor)
        bad |= show(&o, nodes, reqs, (uint64_t) bytes);
    cg_nodes_free(nodes);
    cg_table_free(o.table);
    free(host);
    free(reqs);
    return bad;
}
