/* SPDX-License-Identifier: BSD-3-Clause
 * The command. Exit status: 0, 1 for an error, 64 for wrong usage (argp). */
#include "info/info.h"

#include "core/params.h"
#include "core/status.h"
#include "kernels/cuda/survey.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "coll_gpu_info " CG_VERSION;

struct options {
    const char *topology, *output, *save;
    int ranks, hosts, virtual_nodes, near_nic;
    void (*format)(const struct info *, FILE *);
};

static const struct {
    const char *name;
    void (*write)(const struct info *, FILE *);
} formats[] = {{"text", info_text}, {"json", info_json}, {"svg", info_svg}};

static const struct argp_option options[] = {
    {"topology", 't', "FILE", 0, "a captured machine: XML of coll_gpu_info --save or of lstopo (default: this one)", 0},
    {"ranks", 'n', "N", 0, "ranks on a host (one per GPU, or one per NUMA node where there is none)", 0},
    {"hosts", 'H', "N", 0, "hosts like this one (1)", 0},
    {"virtual-nodes", 'v', "N", 0, "as with coll_gpu_virtual_nodes: pretended hosts on each (0)", 0},
    {"near-nic", 'a', "0|1|2", 0, "as with coll_gpu_near_nic (1)", 0},
    {"format", 'f', "FORMAT", 0, "text, json or svg (text)", 0},
    {"output", 'o', "FILE", 0, "instead of standard output", 0},
    {"save", 's', "FILE", 0, "write the machine itself to FILE, for --topology elsewhere", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static int number(struct argp_state *state, const char *name, const char *arg, int min, int max)
{
    char *end;
    long v = strtol(arg, &end, 10);

    if (end == arg || *end || v < min || v > max)
        argp_error(state, "--%s is '%s', allowed are %d to %d", name, arg, min, max);
    return (int) v;
}

static void choose_format(struct options *o, const char *name, struct argp_state *state)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!strcmp(name, formats[i].name)) {
            o->format = formats[i].write;
            return;
        }
    }
    argp_error(state, "--format is '%s', allowed are text, json and svg", name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 't': o->topology = arg; break;
    case 'o': o->output = arg; break;
    case 's': o->save = arg; break;
    case 'n': o->ranks = number(state, "ranks", arg, 1, INFO_RANKS); break;
    case 'H': o->hosts = number(state, "hosts", arg, 1, INFO_RANKS); break;
    case 'v': o->virtual_nodes = number(state, "virtual-nodes", arg, 0, 64); break;
    case 'a': o->near_nic = number(state, "near-nic", arg, 0, 2); break;
    case 'f': choose_format(o, arg, state); break;
    case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    options, parse, NULL,
    "What coll/gpu finds of this machine, or of a captured one: NUMA nodes, GPUs, network adapters, what lies between "
    "them; and which memory, adapters and ways ranks would use.",
    NULL, NULL, NULL};

static int failed(const char *what, const char *file, const char *why)
{
    fprintf(stderr, "coll_gpu_info: %s %s: %s\n", what, file ? file : "this machine", why);
    return 1;
}

/* What hwloc cannot see: NVLinks, and which GPUs this process may use. */
static void ask_driver(struct info *info)
{
    static struct cg_gpu_survey s;
    static char text[64];
    char ids[CG_SURVEY_GPUS][16], names[CG_SURVEY_GPUS][64];
    uint64_t mbs[CG_SURVEY_GPUS * CG_SURVEY_GPUS];
    int rc = cg_gpu_survey(&s);

    info->driver = rc == CG_ERR_UNSUPPORTED ? "none (no libnvidia-ml.so.1)" : "does not answer";
    if (rc != CG_OK) return;
    snprintf(text, sizeof(text), "shows %d GPU%s to this process", s.count, s.count == 1 ? "" : "s");
    info->driver = text;
    for (int i = 0; i < s.count; i++) {
        memcpy(ids[i], s.gpu[i].bus_id, sizeof(ids[i]));
        memcpy(names[i], s.gpu[i].name, sizeof(names[i]));
        for (int k = 0; k < s.count; k++) mbs[i * s.count + k] = s.nvlink[i][k];
    }
    cg_topo_add_gpus(info->topo, s.count, (const char (*)[16]) ids, (const char (*)[64]) names);
    cg_topo_add_nvlinks(info->topo, s.count, (const char (*)[16]) ids, mbs);
}

static int show(const struct options *o, const struct info *info)
{
    FILE *out = o->output ? fopen(o->output, "w") : stdout;
    int bad;

    if (!out) return failed("cannot write", o->output, strerror(errno));
    o->format(info, out);
    bad = ferror(out) | (o->output ? fclose(out) : fflush(out));
    return bad ? failed("cannot write", o->output ? o->output : "the report", strerror(errno)) : 0;
}

static int run(const struct options *o, struct info *info)
{
    char why[128];

    info->source = o->topology;
    info->driver = "not asked: this is a captured machine";
    if (!o->topology) ask_driver(info);
    if (o->save && cg_topo_save(info->topo, o->save) != CG_OK)
        return failed("cannot write", o->save, errno ? strerror(errno) : "hwloc refuses");
    if (info_fill(info, o->ranks, o->hosts, o->virtual_nodes, o->near_nic, why, sizeof(why)) != CG_OK)
        return failed("cannot show", o->topology, why);
    return show(o, info);
}

int main(int argc, char **argv)
{
    struct options o = {.hosts = 1, .near_nic = CG_TOPO_NIC_AUTO, .format = info_text};
    static struct info info;
    int rc;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    rc = cg_topo_open(o.topology, &info.topo);
    if (rc == CG_ERR_ARG)
        return failed("cannot read", o.topology, "no such file, or no XML file of hwloc 2 (lstopo FILE.xml)");
    if (rc != CG_OK) return failed("cannot look at", o.topology, cg_status_text(rc));
    rc = run(&o, &info);
    cg_topo_close(info.topo);
    return rc;
}
