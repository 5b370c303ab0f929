/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of choices from text that somebody has damaged: a line that names the mistake, or rows that mean the same when
 * they are written and read again.
 *
 *     table [texts [first seed]] */
#include "core/status.h"
#include "kernels/cuda/fast.h"
#include "plan/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t *rng)
{
    uint64_t z = *rng += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t *rng, uint64_t n) { return next(rng) % n; }

/* Bytes that mean something, whole words, and anything else. */
static const char *piece(uint64_t *rng, char any[2], size_t *len)
{
    static const char *const words[] = {" ", "\n", ";", "#", "-", "0", "9", "max", "any", "K", "G", "host", "p2p",
                                        "ll128", "general", "ring", "18446744073709551615", "4294967296", "bcast",
                                        "-1"};
    const char *word = words[below(rng, sizeof(words) / sizeof(*words))];

    any[0] = (char) next(rng);
    any[1] = 0;
    *len = 1;
    if (0 == below(rng, 3)) return any;
    *len = strlen(word);
    return word;
}

/* A few of the built-in rows, with bytes put in, taken out or replaced. */
static size_t damaged(uint64_t *rng, char *text, size_t room)
{
    size_t len = 0, n;
    char any[2];

    for (uint64_t rows = 1 + below(rng, 4); rows > 0; rows--) {
        len += (size_t) cg_row_text(&cg_table_builtin.row[below(rng, (uint64_t) cg_table_builtin.n)], text + len,
                                    room - len);
        text[len++] = below(rng, 2) ? '\n' : ';';
    }
    for (uint64_t times = below(rng, 4); times > 0 && len + 64 < room; times--) {
        size_t at = below(rng, len + 1), gone = below(rng, 3) ? 0 : below(rng, len - at + 1) % 12;
        const char *put = piece(rng, any, &n);
        memmove(text + at + n, text + at + gone, len - at - gone);
        memcpy(text + at, put, n);
        len += n - gone;
    }
    return len;
}

static void die(uint64_t seed, const char *text, size_t len, const char *what)
{
    fprintf(stderr, "seed %lu: %s\n%.*s\n", seed, what, (int) len, text);
    exit(1);
}

/* Whoever asks gets an answer, or none; nothing reads beyond the rows. */
static void look_up(uint64_t *rng, const struct cg_table *t)
{
    struct cg_params params;
    struct cg_plan_request req = {.params = &params, .table = t, .esize = 1};
    const struct cg_row *row;

    cg_params_default(&params);
    for (int i = 0; i < 8; i++) {
        req.coll = 1 + (int) below(rng, CG_COLL_COUNT - 1);
        req.nranks = 2 + (uint32_t) below(rng, 15);
        req.count = 1 + (next(rng) >> below(rng, 64));
        if (NULL == cg_choose_plan(&req, &row)) exit(2);
        row = cg_choose_fast(t, CG_COLL_ALLREDUCE, req.nranks, req.count, (unsigned) next(rng));
        if (row && (cg_choose_blocks(row, req.count) < 0 || cg_choose_blocks(row, req.count) > 256)) exit(3);
    }
}

static int run_seed(uint64_t seed)
{
    uint64_t rng = seed;
    char text[4096], why[160] = "", *again;
    size_t len = damaged(&rng, text, sizeof(text));
    char *exact = malloc(len ? len : 1); /* so that a byte too far is noticed */
    struct cg_table *t, *u;
    int rc;

    memcpy(exact, text, len);
    rc = cg_table_parse(exact, len, "text", &t, why, sizeof(why));
    free(exact);
    if (CG_OK != rc) {
        if (CG_ERR_ARG != rc || NULL != t || 0 != strncmp(why, "text, line ", 11)) die(seed, text, len, why);
        for (const char *c = why; *c; c++) {
            if (*c < ' ' || *c > '~') die(seed, text, len, "a message with foreign bytes");
        }
        return 0;
    }
    again = cg_table_text(t);
    rc = cg_table_parse(again, strlen(again), "again", &u, why, sizeof(why));
    if (CG_OK != rc || cg_table_hash(t) != cg_table_hash(u)) die(seed, again, strlen(again), "read again, it differs");
    look_up(&rng, t);
    free(again);
    cg_table_free(t);
    cg_table_free(u);
    return 1;
}

int main(int argc, char **argv)
{
    uint64_t texts = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    uint64_t good = 0;

    for (uint64_t seed = first; seed < first + texts; seed++) good += (uint64_t) run_seed(seed);
    printf("%lu texts, %lu of them tables\n", texts, good);
    return 0;
}
