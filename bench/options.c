/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/options.h"
#include "bench/buffer.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_NONBLOCKING = 0x100, KEY_INPLACE, KEY_GAP, KEY_CSV, KEY_SEED, KEY_SIZES, KEY_OFFSET, KEY_SYNC,
       KEY_SETUP, KEY_PERSISTENT, KEY_KERNELS, KEY_COLL };

static const struct argp_option options[] = {
    {"minbytes", 'b', "BYTES", 0, "first size; K, M, G are allowed (8)", 0},
    {"maxbytes", 'e', "BYTES", 0, "last size (1M)", 0},
    {"stepfactor", 'f', "FACTOR", 0, "next size = this one times FACTOR (2)", 0},
    {"stepbytes", 'i', "BYTES", 0, "next size = this one plus BYTES", 0},
    {"sizes", KEY_SIZES, "BYTES,...", 0, "these sizes, ascending, instead of -b and -e", 0},
    {"iters", 'n', "N", 0, "timed iterations (20)", 0},
    {"warmup_iters", 'w', "N", 0, "iterations before (5)", 0},
    {"check", 'c', "0|1", 0, "check results, on every rank (1)", 0},
    {"coll", KEY_COLL, "NAME", 0,
     "allreduce reduce bcast allgather gather scatter alltoall reduce_scatter_block barrier; bytes are those of a "
     "block where there are blocks; only allreduce in place (allreduce)", 0},
    {"datatype", 'd', "TYPE", 0,
     "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float double char int long, or all (float)", 0},
    {"op", 'o', "OP", 0, "sum prod min max band bor bxor land lor lxor, or all (sum)", 0},
    {"memory", 'm', "KIND", 0,
     "host pinned registered device managed pool vmm, or mixed: host on odd ranks, device on even ones (host)", 0},
    {"nonblocking", KEY_NONBLOCKING, NULL, 0, "MPI_Iallreduce and MPI_Wait", 0},
    {"persistent", KEY_PERSISTENT, NULL, 0, "MPI_Start and MPI_Wait of a request that is made once for each size", 0},
    {"inplace", KEY_INPLACE, "0|1|both", 0, "out of place, in place, or both (both)", 0},
    {"gap-us", KEY_GAP, "US", 0, "compute for this long before each call (0)", 0},
    {"offset", KEY_OFFSET, "N", 0, "buffers begin N elements after an allocation's begin (0)", 0},
    {"sync", KEY_SYNC, NULL, 0, "cudaDeviceSynchronize after each call, timed with it (not with -m host)", 0},
    {"setup", KEY_SETUP, "N", 0,
     "instead: time of the first calls and GPU memory of the first and N further communicators, with calls of -b and "
     "-e bytes", 0},
    {"kernels", KEY_KERNELS, NULL, 0,
     "instead: the time of kernels of an application alone, and right after calls in quick succession (-m device)", 0},
    {"csv", KEY_CSV, "FILE", 0, "also write the table as CSV", 0},
    {"seed", KEY_SEED, "N", 0, "of the random data (1)", 0},
    {"verbose", 'v', NULL, 0, "show the fastest and slowest iteration too", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* argp does not end the process, since MPI must be finalized first: mistakes are counted. */
static void mistake(struct argp_state *state, const char *what, const char *arg)
{
    ((struct cg_options *) state->input)->bad++;
    argp_error(state, "%s '%s'", what, arg);
}

/* "64", "4K", "1M", "2G". */
static size_t bytes_of(const char *s, struct argp_state *state)
{
    char *end;
    double v = strtod(s, &end);
    const char *units = "KMG", *u = *end != '\0' ? strchr(units, *end & ~32) : NULL;

    if (u != NULL && *u != '\0') v *= (double) (1ull << (10 * (u - units + 1))), end++;
    if (end == s || *end != '\0' || v < 1 || v > 1e15) mistake(state, "not a size:", s);
    return (size_t) v;
}

/* "8,64K,1M", ascending. */
static void sizes_of(const char *list, struct cg_options *o, struct argp_state *state)
{
    char word[32];
    size_t len;

    for (o->nsizes = 0; *list != '\0'; list += len + (list[len] == ',')) {
        size_t bytes;
        len = strcspn(list, ",");
        if (len >= sizeof(word) || o->nsizes == CG_OPTIONS_SIZES) {
            mistake(state, "too long:", list);
            return;
        }
        memcpy(word, list, len);
        word[len] = '\0';
        bytes = bytes_of(word, state);
        if (o->nsizes > 0 && bytes <= o->size[o->nsizes - 1]) mistake(state, "sizes must ascend:", word);
        o->size[o->nsizes++] = bytes;
    }
    if (o->nsizes == 0) mistake(state, "no size:", list);
    else o->begin = o->size[0], o->end = o->size[o->nsizes - 1];
}

static double number(const char *s, double min, double max, struct argp_state *state)
{
    char *end;
    double v = strtod(s, &end);

    if (end == s || *end != '\0' || !(v >= min && v <= max)) mistake(state, "not a number, or out of range:", s);
    return v;
}

static error_t parse_names(int key, char *arg, struct argp_state *state)
{
    struct cg_options *o = state->input;

    switch (key) {
    case 'd':
        o->type = cg_data_type_find(arg);
        if (o->type == NULL && strcmp(arg, "all") != 0) mistake(state, "no such type:", arg);
        return 0;
    case 'o':
        o->op = cg_data_op_find(arg);
        if (o->op == NULL && strcmp(arg, "all") != 0) mistake(state, "no such operation:", arg);
        return 0;
    case 'm':
        o->memory = arg;
        if (cg_buf_kind_find(arg) < 0 && strcmp(arg, "mixed") != 0) mistake(state, "no such kind of memory:", arg);
        return 0;
    case KEY_INPLACE:
        o->places = strcmp(arg, "both") == 0 ? 3 : number(arg, 0, 1, state) == 0 ? 1 : 2;
        return 0;
    case KEY_COLL:
        o->coll = cg_calls_find(arg);
        if (o->coll < 0) mistake(state, "no such collective:", arg);
        return 0;
    case KEY_CSV: o->csv = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cg_options *o = state->input;

    switch (key) {
    case 'b': o->begin = bytes_of(arg, state); return 0;
    case 'e': o->end = bytes_of(arg, state); return 0;
    case 'i': o->step = bytes_of(arg, state); return 0;
    case 'f': o->factor = number(arg, 1.001, 1e9, state); return 0;
    case 'n': o->iters = (int) number(arg, 1, 1e7, state); return 0;
    case 'w': o->warmup = (int) number(arg, 0, 1e7, state); return 0;
    case 'c': o->check = (int) number(arg, 0, 1, state); return 0;
    case 'v': o->verbose = 1; return 0;
    case KEY_NONBLOCKING: o->kind = CG_CALL_NONBLOCKING; return 0;
    case KEY_PERSISTENT: o->kind = CG_CALL_PERSISTENT; return 0;
    case KEY_KERNELS: o->kernels = 1; return 0;
    case KEY_SYNC: o->sync = 1; return 0;
    case KEY_OFFSET: o->offset = (size_t) number(arg, 0, 1e9, state); return 0;
    case KEY_SETUP: o->setup = (int) number(arg, 0, 1e6, state); return 0;
    case KEY_SIZES: sizes_of(arg, o, state); return 0;
    case KEY_GAP: o->gap_us = number(arg, 0, 1e9, state); return 0;
    case KEY_SEED: o->seed = (uint64_t) number(arg, 0, 1e15, state); return 0;
    case ARGP_KEY_ARG: mistake(state, "unexpected argument", arg); return 0;
    case ARGP_KEY_END:
        if (o->begin > o->end) mistake(state, "-b is larger than", "-e");
        if (o->coll > 0) o->places = 1;
        return 0;
    default: return parse_names(key, arg, state);
    }
}

int cg_options_parse(struct cg_options *o, int argc, char **argv, int speak)
{
    static const struct argp argp = {.options = options, .parser = parse,
                                     .doc = "MPI_Allreduce and other collectives in nccl-tests' conventions."};
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | (speak ? 0 : ARGP_SILENT);

    *o = (struct cg_options){.begin = 8, .end = 1 << 20, .factor = 2, .iters = 20, .warmup = 5, .check = 1,
                             .places = 3, .setup = -1, .seed = 1, .type = cg_data_type_find("float"),
                             .op = cg_data_op_find("sum"),
                             .memory = "host"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") != 0) continue;
        if (speak) argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG, "coll_gpu_perf");
        return 1;
    }
    return argp_parse(&argp, argc, argv, flags, NULL, o) == 0 && o->bad == 0 ? 0 : -1;
}

size_t cg_options_next(const struct cg_options *o, size_t bytes)
{
    if (o->nsizes > 0) {
        for (int i = 0; i < o->nsizes; i++) {
            if (o->size[i] > bytes) return o->size[i];
        }
        return 0;
    }
    size_t next = bytes == 0 ? o->begin : o->step > 0 ? bytes + o->step : (size_t) ((double) bytes * o->factor);

    if (next <= bytes) next = bytes + 1;
    return next <= o->end ? next : 0;
}
