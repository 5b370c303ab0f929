/* SPDX-License-Identifier: BSD-3-Clause
 * The table of choices: the built-in one, text, files, which row is taken. */
#include "plan/choose.h"
#include "plan/nodes.h"

#include "core/status.h"
#include "kernels/cuda/fast.h"
#include "plan/build.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ALL_PROTOCOLS (~(1u << CG_FAST_LEAD)) /* of ranks that have a GPU each, or MPS */

static char why[256];

static struct cg_table *parse(const char *text)
{
    struct cg_table *t;

    if (CG_OK != cg_table_parse(text, strlen(text), "text", &t, why, sizeof(why))) fail_msg("%s: %s", text, why);
    return t;
}

static void refuse(const char *text, const char *expected)
{
    struct cg_table *t = NULL;

    assert_int_equal(cg_table_parse(text, strlen(text), "text", &t, why, sizeof(why)), CG_ERR_ARG);
    assert_null(t);
    if (!strstr(why, expected)) fail_msg("%s: '%s' is not '%s'", text, why, expected);
}

/* ---- the built-in table ---- */

static void builtin_is_its_text(void **state)
{
    const char *top = getenv("top_srcdir");
    char path[4096];
    struct cg_table *t, *all;

    (void) state;
    snprintf(path, sizeof(path), "%s/plan/table.txt", top ? top : ".");
    if (CG_OK != cg_table_open(NULL, path, &all, why, sizeof(why))) fail_msg("%s", why);
    assert_int_equal(all->n, 2 * cg_table_builtin.n);
    for (int i = 0; i < cg_table_builtin.n; i++) {
        const struct cg_row *a = &all->row[i], *b = &all->row[i + cg_table_builtin.n];
        char mine[CG_ROW_TEXT], his[CG_ROW_TEXT];
        cg_row_text(a, mine, sizeof(mine));
        cg_row_text(b, his, sizeof(his));
        assert_string_equal(mine, his);
        assert_int_equal(a->line, b->line);
        assert_string_equal(a->source, path);
        assert_string_equal(b->source, "built-in");
    }
    cg_table_free(all);
    t = parse("");
    assert_int_equal(t->n, 0);
    cg_table_free(t);
}

/* Those that bench/tune wrote. */
static void measured_tables(void **state)
{
    const char *top = getenv("top_srcdir");
    char pattern[4096];
    glob_t found;

    (void) state;
    snprintf(pattern, sizeof(pattern), "%s/bench/tables/*.txt", top ? top : ".");
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct cg_table *t;
        if (CG_OK != cg_table_open(NULL, found.gl_pathv[i], &t, why, sizeof(why))) fail_msg("%s", why);
        assert_true(t->n > cg_table_builtin.n);
        cg_table_free(t);
    }
    globfree(&found);
}

/* Each general row has an algorithm whose programs the checker passes at both of its ends. */
static void builtin_rows_work(void **state)
{
    struct cg_params params;

    (void) state;
    cg_params_default(&params);
    for (int i = 0; i < cg_table_builtin.n; i++) {
        const struct cg_row *row = &cg_table_builtin.row[i];
        const struct cg_table one = {row, 1};
        const uint32_t least = row->ranks[0] < 2 ? 2 : row->ranks[0];
        int built = 0;
        for (uint32_t nranks = least; CG_GENERAL == row->protocol && nranks <= least + 130 && !built; nranks += 8) {
            const uint64_t hosts[400] = {1, 1, 1}; /* of some rows: 3 ranks on one, the others on another */
            struct cg_nodes *nodes = strncmp(row->plan, "rail", 4) ? NULL : cg_nodes_new(nranks, hosts);
            const uint64_t ends[] = {1, row->bytes[1] < 1 << 20 ? row->bytes[1] : 1 << 20};
            for (int order = 0; order < 2; order++) {
                for (int e = 0; e < 2; e++) {
                    struct cg_plan_request req = {.coll = row->coll, .nranks = nranks, .count = ends[e], .esize = 1,
                                                  .params = &params, .table = &one, .nodes = nodes};
                    const struct cg_row *chosen;
                    params.rank_order = order;
                    if (!cg_choose_plan(&req, &chosen) || chosen != row) continue;
                    built = 1;
                    if (CG_COLL_GATHERV == row->coll || CG_COLL_SCATTERV == row->coll ||
                        CG_COLL_ALLTOALLV == row->coll || CG_COLL_ALLGATHERV == row->coll ||
                        CG_COLL_REDUCE_SCATTER == row->coll)
                        continue; /* those have arrays: test/unit/plan */
                    if (CG_OK != cg_plan_check(&req, why, sizeof(why))) fail_msg("line %u: %s", row->line, why);
                }
            }
            cg_nodes_free(nodes);
        }
        if (CG_GENERAL == row->protocol && !built) fail_msg("line %u is never used", row->line);
    }
}

/* Wherever there is a plan for 2 or more ranks, a row of the table chooses it, as the order of preference does with
 * the limits that the built-in table has. */
static void builtin_is_complete(void **state)
{
    static const uint64_t sizes[] = {1, 8191, 8192, 8193, 32767, 32768, 32769, 1 << 20};
    struct cg_params params, limits;

    (void) state;
    cg_params_default(&params);
    cg_params_default(&limits);
    limits.exchange_max = 8192;
    limits.doubling_max = 32768;
    for (int coll = CG_COLL_NONE + 1; coll < CG_COLL_COUNT; coll++) {
        for (uint32_t nranks = 2; nranks <= 140; nranks++) {
            for (size_t s = 0; s < 2 * sizeof(sizes) / sizeof(*sizes) && cg_plan_exists(coll, nranks); s++) {
                struct cg_plan_request req = {.coll = coll, .nranks = nranks, .count = sizes[s / 2], .esize = 1,
                                              .via = CG_VIA_SHM};
                const struct cg_row *row, *none;
                const struct cg_algorithm *a, *b;
                params.rank_order = limits.rank_order = s % 2;
                req.params = &params;
                a = cg_choose_plan(&req, &row);
                req.params = &limits;
                b = cg_choose_plan(&req, &none);
                assert_non_null(row);
                assert_null(none);
                assert_ptr_equal(a, b);
            }
        }
    }
}

static void builtin_fast(void **state)
{
    (void) state;
    for (uint32_t n = 2; n <= CG_FAST_RANKS; n++) {
        uint64_t ll = (32 << 10) / (n - 1), ll128 = (8 << 20) / (n - 1);
        const struct {
            uint64_t bytes;
            int protocol;
        } cases[] = {{1, CG_FAST_LL}, {ll, CG_FAST_LL}, {ll + 1, CG_FAST_LL128}, {ll128, CG_FAST_LL128},
                     {ll128 + 1, CG_FAST_TWO_SHOT}, {(24 << 20) - 1, CG_FAST_TWO_SHOT},
                     {24 << 20, CG_FAST_COPY}, {1ull << 40, CG_FAST_COPY}};
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
            const struct cg_row *row =
                cg_choose_fast(&cg_table_builtin, CG_COLL_ALLREDUCE, n, cases[i].bytes, ALL_PROTOCOLS);
            assert_non_null(row);
            assert_int_equal(row->protocol, cases[i].protocol);
        }
        /* not for the host to drive; a window without LL128, and one whose LL is too small */
        assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_ALLREDUCE, n, 1 << 30,
                                        ALL_PROTOCOLS & ~(1u << CG_FAST_COPY))->protocol, CG_FAST_TWO_SHOT);
        assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_ALLREDUCE, n, ll + 1,
                                        ALL_PROTOCOLS & ~(1u << CG_FAST_LL128))->protocol, CG_FAST_TWO_SHOT);
        assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_ALLREDUCE, n, ll,
                                        ALL_PROTOCOLS & ~(1u << CG_FAST_LL))->protocol, CG_FAST_LL128);
    }
    assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_BCAST, 2, 8, ALL_PROTOCOLS)->protocol, CG_FAST_LL);
    assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_BCAST, 2, 8, 0)->protocol, CG_GENERAL);
    assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_SCAN, 2, 8, ALL_PROTOCOLS)->protocol, CG_GENERAL);
    for (uint64_t bytes = 1; bytes < 1ull << 40; bytes *= 3) /* shared GPUs */
        assert_int_equal(cg_choose_fast(&cg_table_builtin, CG_COLL_ALLREDUCE, 4, bytes, ~0u)->protocol, CG_FAST_LEAD);
}

/* What was measured on 2 x H200. */
static void builtin_blocks(void **state)
{
    const struct {
        uint64_t bytes;
        int blocks;
    } cases[] = {{8, 1}, {4095, 1}, {4096, 1}, {8192, 2}, {65536, 16}, {131072, 18}, {262144, 35},
                 {1 << 19, 48}, {1 << 20, 64}, {1 << 21, 96}, {1 << 22, 96}, {1 << 23, 128}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct cg_row *row =
            cg_choose_fast(&cg_table_builtin, CG_COLL_ALLREDUCE, 2, cases[i].bytes, ALL_PROTOCOLS);
        assert_int_equal(cg_choose_blocks(row, cases[i].bytes), cases[i].blocks);
    }
}

/* ---- text ---- */

static void words(void **state)
{
    struct cg_table *t = parse("# only a comment; bcast\n\n"
                               "  allreduce host shm 2-8 0-8K exchange general 2# and one\r\n"
                               "allreduce any any 9-max 12M-max ring general 0; bcast device net 4 1G tree general 0\n"
                               "allreduce any p2p any any - ll128 132;;");
    const struct cg_row *r = t->row;

    (void) state;
    assert_int_equal(t->n, 4);
    assert_int_equal(r[0].coll, CG_COLL_ALLREDUCE);
    assert_int_equal(r[0].at, CG_AT_HOST);
    assert_int_equal(r[0].via, CG_VIA_SHM);
    assert_int_equal(r[0].ranks[0], 2);
    assert_int_equal(r[0].ranks[1], 8);
    assert_int_equal(r[0].bytes[1], 8192);
    assert_string_equal(r[0].plan, "exchange");
    assert_int_equal(r[0].protocol, CG_GENERAL);
    assert_int_equal(r[0].blocks, 2);
    assert_int_equal(r[0].line, 3);
    assert_int_equal(r[1].ranks[1], UINT32_MAX);
    assert_int_equal(r[1].bytes[0], 12 << 20);
    assert_true(UINT64_MAX == r[1].bytes[1]);
    assert_int_equal(r[2].line, 4);
    assert_int_equal(r[2].bytes[0], 1 << 30);
    assert_int_equal(r[2].bytes[1], 1 << 30);
    assert_int_equal(r[3].protocol, CG_FAST_LL128);
    assert_int_equal(r[3].blocks, 132);
    assert_null(r[3].plan);
    assert_string_equal(r[3].source, "text");
    cg_table_free(t);
}

static void mistakes(void **state)
{
    (void) state;
    refuse("\nallreduze any any any any ring general 0", "text, line 2: 'allreduze' is no collective");
    refuse("allreduce gpu any any any ring general 0", "'gpu' is not host, device or any");
    refuse("allreduce any nvlink any any ring general 0", "'nvlink' is not shm, net, p2p or any");
    refuse("allreduce any any 8-2 any ring general 0", "'8-2' is no number or range of ranks");
    refuse("allreduce any any 2- any ring general 0", "'2-' is no");
    refuse("allreduce any any -2 any ring general 0", "'-2' is no");
    refuse("allreduce any any 99999999999 any ring general 0", "'99999999999' is no");
    refuse("allreduce any any any 12Q ring general 0", "'12Q' is no number or range of bytes");
    refuse("allreduce any any any K ring general 0", "'K' is no number");
    refuse("allreduce any any any 99999999999999999999 ring general 0", "is no number");
    refuse("allreduce any any any 18446744073709551615K ring general 0", "is no number");
    refuse("allreduce any any any any tree general 0", "'tree' is no algorithm of allreduce");
    refuse("allreduce any any any any ring simple 0", "'simple' is no protocol");
    refuse("allreduce any any any any - general 0", "general needs an algorithm");
    refuse("allreduce any p2p any any ring general 0", "only - can stand here");
    refuse("allreduce any any any any ring ll 0", "only - can stand here");
    refuse("scan any any any any - ll 0", "'ll' does not serve scan");
    refuse("bcast any any any any - two_shot 0", "'two_shot' does not serve bcast");
    refuse("scan any any any any - copy 0", "'copy' does not serve scan");
    refuse("allreduce any shm any any - ll 0", "'shm' with ll: that needs p2p or any");
    refuse("allreduce host any any any - ll 0", "'host' with ll: that needs device or any");
    refuse("allreduce any any any any ring general 257", "'257' is no number of blocks (0 to 256)");
    refuse("allreduce any any any any ring general max", "'max' is no number of blocks");
    refuse("allreduce any any any any ring general", "'general' is the last of 7 words; a row has 8");
    refuse("allreduce any any any any ring general 0 0", "'0' is one word too many");
    refuse("allreduce any any any any ring general 0;bcast", "line 1: 'bcast' is the last of 1 words");
    refuse("allreducexxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx any any any any ring general 0", "is too long");
    refuse("\033[31m any any any any ring general 0", "'?[31m' is no collective");
}

static void files(void **state)
{
    char path[] = "/tmp/cg_table_XXXXXX", missing[64];
    struct cg_table *t;
    int fd = mkstemp(path);
    static const char text[] = "allreduce any any any any owners general 1\nbcast any any any any chain general x\n";

    (void) state;
    assert_true(fd >= 0 && (ssize_t) sizeof(text) - 1 == write(fd, text, sizeof(text) - 1));
    assert_int_equal(cg_table_open("", path, &t, why, sizeof(why)), CG_ERR_ARG);
    assert_null(t);
    assert_non_null(strstr(why, path));
    assert_non_null(strstr(why, ", line 2: 'x' is no number of blocks"));
    assert_int_equal(ftruncate(fd, (off_t) (strchr(text, '\n') - text)), 0);
    assert_int_equal(cg_table_open("allreduce any any 4 any exchange general 0", path, &t, why, sizeof(why)), CG_OK);
    assert_int_equal(t->n, 2 + cg_table_builtin.n);
    assert_string_equal(t->row[0].source, "coll_gpu_rows");
    assert_string_equal(t->row[1].source, path);
    cg_table_free(t);
    assert_int_equal(pwrite(fd, "", 1, 3), 1);
    assert_int_equal(cg_table_open("", path, &t, why, sizeof(why)), CG_ERR_ARG);
    assert_non_null(strstr(why, "byte 0"));
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    assert_int_equal(cg_table_open("", path, &t, why, sizeof(why)), CG_ERR_ARG);
    assert_non_null(strstr(why, "longer than"));
    close(fd);
    unlink(path);
    assert_int_equal(cg_table_open(NULL, path, &t, why, sizeof(why)), CG_ERR_ARG);
    assert_non_null(strstr(why, "No such file"));
    snprintf(missing, sizeof(missing), "/tmp");
    assert_int_equal(cg_table_open(NULL, missing, &t, why, sizeof(why)), CG_ERR_ARG);
    assert_int_equal(cg_table_open("bcast any any any any ring general 0", NULL, &t, why, sizeof(why)), CG_ERR_ARG);
    assert_non_null(strstr(why, "coll_gpu_rows, line 1: 'ring' is no algorithm of bcast"));
    assert_int_equal(cg_table_open(NULL, NULL, &t, why, sizeof(why)), CG_OK);
    assert_true(cg_table_hash(t) == cg_table_hash(&cg_table_builtin));
    cg_table_free(t);
}

static void hashes(void **state)
{
    struct cg_table *a = parse("allreduce any any 2 0-8K ring general 0"),
                    *b = parse("#\n\n allreduce  any any 2 0-8192 ring general 0;"),
                    *c = parse("allreduce any any 2 0-8193 ring general 0");

    (void) state;
    assert_true(cg_table_hash(a) == cg_table_hash(b));
    assert_true(cg_table_hash(a) != cg_table_hash(c));
    cg_table_free(a);
    cg_table_free(b);
    cg_table_free(c);
}

/* ---- which row ---- */

static void chooses(const char *rows, const struct cg_plan_request *like, const char *plan, int line)
{
    struct cg_plan_request req = *like;
    struct cg_table *t;
    struct cg_plan built;
    const struct cg_row *row;

    assert_int_equal(cg_table_open(rows, NULL, &t, why, sizeof(why)), CG_OK);
    req.table = t;
    assert_string_equal(cg_choose_plan(&req, &row)->name, plan);
    if (line) {
        assert_string_equal(row->source, "coll_gpu_rows");
        assert_int_equal(row->line, line);
    } else {
        assert_string_equal(row->source, "built-in");
    }
    assert_int_equal(cg_plan_build(&req, &built), CG_OK);
    assert_string_equal(built.name, plan);
    assert_ptr_equal(built.row, row);
    if (row->blocks) assert_int_equal(built.nchan, row->blocks);
    cg_table_free(t);
}

static void first_that_matches(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {.coll = CG_COLL_ALLREDUCE, .nranks = 4, .count = 100000, .esize = 4,
                                  .params = &params, .at = CG_AT_HOST, .via = CG_VIA_SHM};

    (void) state;
    cg_params_default(&params);
    chooses("allreduce any any any any exchange general 0", &req, "exchange", 1);
    chooses("bcast any any any any chain general 0\nallreduce any any any any exchange general 0", &req, "exchange", 2);
    chooses("allreduce device any any any exchange general 0", &req, "owners", 0);
    chooses("allreduce host any any any exchange general 0", &req, "exchange", 1);
    chooses("allreduce any net any any exchange general 0", &req, "owners", 0);
    chooses("allreduce any shm any any exchange general 0", &req, "exchange", 1);
    chooses("allreduce any any 5-max any exchange general 0", &req, "owners", 0);
    chooses("allreduce any any 4 any exchange general 0", &req, "exchange", 1);
    chooses("allreduce any any any 0-399999 exchange general 0", &req, "owners", 0);
    chooses("allreduce any any any 0-400000 exchange general 0", &req, "exchange", 1);
    chooses("allreduce any any any 400001-max exchange general 0", &req, "owners", 0);
    chooses("allreduce any any any any owners general 1", &req, "owners", 1);
    chooses("allreduce any any any any owners general 3", &req, "owners", 1);
    /* of another order, and for other numbers of ranks: passed over */
    chooses("allreduce any any any any ring general 0", &req, "owners", 0);
    chooses("allreduce any any any any copy general 0\nallreduce any any any any exchange general 0", &req, "exchange",
            2);
    params.rank_order = 0;
    chooses("allreduce any any any any ring general 0", &req, "ring", 1);
    req.nranks = 9;
    params.rank_order = 1;
    chooses("allreduce any any any any exchange general 0\nallreduce any any any any ring general 0", &req, "ring", 2);
}

static void general_instead_of_fast(void **state)
{
    struct cg_table *t = parse("allreduce any p2p any 0-8 - general 0; allreduce any any any any - ll128 7");

    (void) state;
    assert_int_equal(cg_choose_fast(t, CG_COLL_ALLREDUCE, 2, 8, ALL_PROTOCOLS)->protocol, CG_GENERAL);
    assert_int_equal(cg_choose_fast(t, CG_COLL_ALLREDUCE, 2, 9, ALL_PROTOCOLS)->protocol, CG_FAST_LL128);
    assert_int_equal(cg_choose_blocks(cg_choose_fast(t, CG_COLL_ALLREDUCE, 2, 9, ALL_PROTOCOLS), 9), 7);
    assert_null(cg_choose_fast(t, CG_COLL_ALLREDUCE, 2, 9, 1u << CG_FAST_LL));
    cg_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtin_is_its_text), cmocka_unit_test(builtin_rows_work),
        cmocka_unit_test(measured_tables),
        cmocka_unit_test(builtin_is_complete), cmocka_unit_test(builtin_fast),
        cmocka_unit_test(builtin_blocks),      cmocka_unit_test(words),
        cmocka_unit_test(mistakes),            cmocka_unit_test(files),
        cmocka_unit_test(hashes),              cmocka_unit_test(first_that_matches),
        cmocka_unit_test(general_instead_of_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
