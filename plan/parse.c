/* SPDX-License-Identifier: BSD-3-Clause
 * Tables from text, and back. */
#include "plan/choose.h"

#include "core/status.h"
#include "kernels/cuda/fast.h"
#include "kernels/cuda/fast_flow.h"
#include "kernels/host/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 8
#define WORD_LEN 32
#define MAX_BLOCKS 256
#define MAX_FILE (1u << 20)

/* A table that is being made; the table itself first, so that it can be freed through it. */
struct building {
    struct cg_table table;
    struct cg_row *rows;
    char *own;              /* a source that rows name */
    int room;
    const char *source;     /* where we are */
    uint32_t line;
    char *why;
    size_t len;
};

static const char *const ats[] = {[CG_AT_HOST] = "host", [CG_AT_DEVICE] = "device", [CG_AT_ANY] = "any"};
static const char *const vias[CG_VIA_ANY + 1] = {
    [CG_VIA_SHM] = "shm", [CG_VIA_NET] = "net", [CG_VIA_P2P] = "p2p", [CG_VIA_ANY] = "any"};

/* Foreign bytes do not reach the terminal. */
static int bad(struct building *b, const char *value, const char *fmt, ...)
{
    char what[160], shown[WORD_LEN];
    size_t i = 0;
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    for (; value[i] && i < sizeof(shown) - 1; i++) shown[i] = value[i] > ' ' && value[i] < 127 ? value[i] : '?';
    shown[i] = 0;
    snprintf(b->why, b->len, "%s, line %u: '%s' %s", b->source, b->line, shown, what);
    return CG_ERR_ARG;
}

/* ---- words ---- */

static int find(const char *const *names, int n, const char *word)
{
    for (int i = 0; i < n; i++) {
        if (names[i] && 0 == strcmp(names[i], word)) return i;
    }
    return -1;
}

static int parse_coll(const char *word)
{
    for (int c = CG_COLL_NONE + 1; c < CG_COLL_COUNT; c++) {
        if (0 == strcmp(cg_coll_name(c), word)) return c;
    }
    return -1;
}

/* Digits and K, M or G, or max. 0 if it is not that, or above limit. */
static int parse_number(const char *word, size_t len, uint64_t limit, uint64_t *value)
{
    uint64_t v = 0, unit = 1;

    if (3 == len && 0 == memcmp(word, "max", 3)) {
        *value = limit;
        return 1;
    }
    if (len > 1 && 'K' == word[len - 1]) unit = 1ull << 10;
    if (len > 1 && 'M' == word[len - 1]) unit = 1ull << 20;
    if (len > 1 && 'G' == word[len - 1]) unit = 1ull << 30;
    len -= unit > 1;
    for (size_t i = 0; i < len; i++) {
        uint64_t digit = (uint64_t) (word[i] - '0');
        if (digit > 9 || v > (limit - digit) / 10) return 0;
        v = v * 10 + digit;
    }
    *value = v * unit;
    return len > 0 && v <= limit / unit;
}

/* "2", "2-8", "9-max", "any". */
static int parse_range(const char *word, uint64_t limit, uint64_t range[2])
{
    const char *dash = strchr(word, '-');
    size_t first = dash ? (size_t) (dash - word) : strlen(word);

    range[0] = 0;
    range[1] = limit;
    if (0 == strcmp(word, "any")) return 1;
    if (!parse_number(word, first, limit, &range[0])) return 0;
    range[1] = range[0];
    return !dash || (parse_number(dash + 1, strlen(dash + 1), limit, &range[1]) && range[0] <= range[1]);
}

static const char *find_plan(int coll, const char *word)
{
    for (const struct cg_algorithm *a = cg_algorithms; a->name; a++) {
        if (a->coll == coll && 0 == strcmp(a->name, word)) return a->name;
    }
    return NULL;
}

static int parse_protocol(const char *word)
{
    for (int p = CG_GENERAL; p < CG_FAST_PROTOCOLS; p++) {
        if (0 == strcmp(cg_protocol_name(p), word)) return p;
    }
    return -2;
}

/* ---- rows ---- */

/* The fast executor: what is a full exchange by one-shot protocols and copy engines, allreduce by all. */
static int serves(int protocol, int coll)
{
    if (CG_COLL_ALLREDUCE == coll) return 1;
    return (CG_FAST_LL == protocol || CG_FAST_LL128 == protocol || CG_FAST_COPY == protocol) && cg_fast_flow(coll, 0);
}

/* plan and protocol, which go together. */
static int parse_how(struct building *b, char word[WORDS][WORD_LEN], struct cg_row *row)
{
    int protocol = parse_protocol(word[6]), none = 0 == strcmp(word[5], "-");

    if (protocol < CG_GENERAL) return bad(b, word[6], "is no protocol");
    row->protocol = (int8_t) protocol;
    row->plan = none ? NULL : find_plan(row->coll, word[5]);
    if (!none && NULL == row->plan) return bad(b, word[5], "is no algorithm of %s", word[0]);
    if (CG_GENERAL == protocol) {
        if (none && CG_VIA_P2P != row->via) return bad(b, word[5], "only where via is p2p: general needs an algorithm");
        if (!none && CG_VIA_P2P == row->via) return bad(b, word[5], "where via is p2p: only - can stand here");
        return CG_OK;
    }
    if (!none) return bad(b, word[5], "with %s: that has no step program, so only - can stand here", word[6]);
    if (!serves(protocol, row->coll)) return bad(b, word[6], "does not serve %s", word[0]);
    if (!(row->via & CG_VIA_P2P)) return bad(b, word[2], "with %s: that needs p2p or any", word[6]);
    return row->at & CG_AT_DEVICE ? CG_OK : bad(b, word[1], "with %s: that needs device or any", word[6]);
}

static int parse_row(struct building *b, char word[WORDS][WORD_LEN], struct cg_row *row)
{
    uint64_t ranks[2], blocks;
    int coll = parse_coll(word[0]), at = find(ats, CG_AT_ANY + 1, word[1]), via = find(vias, CG_VIA_ANY + 1, word[2]);

    if (coll < 0) return bad(b, word[0], "is no collective");
    if (at < 0) return bad(b, word[1], "is not host, device or any");
    if (via < 0) return bad(b, word[2], "is not shm, net, p2p or any");
    if (!parse_range(word[3], UINT32_MAX, ranks)) return bad(b, word[3], "is no number or range of ranks");
    if (!parse_range(word[4], UINT64_MAX, row->bytes)) return bad(b, word[4], "is no number or range of bytes");
    if (!parse_number(word[7], strlen(word[7]), UINT32_MAX, &blocks) || blocks > MAX_BLOCKS) {
        return bad(b, word[7], "is no number of blocks (0 to %d)", MAX_BLOCKS);
    }
    row->coll = (uint8_t) coll;
    row->at = (uint8_t) at;
    row->via = (uint8_t) via;
    row->ranks[0] = (uint32_t) ranks[0];
    row->ranks[1] = (uint32_t) ranks[1];
    row->blocks = (uint16_t) blocks;
    row->source = b->source;
    row->line = b->line;
    return parse_how(b, word, row);
}

static int append(struct building *b, const struct cg_row *row)
{
    if (b->table.n == b->room) {
        int room = b->room ? 2 * b->room : 64;
        struct cg_row *rows = realloc(b->rows, (size_t) room * sizeof(*rows));
        if (NULL == rows) {
            snprintf(b->why, b->len, "%s: out of memory", b->source);
            return CG_ERR_NOMEM;
        }
        b->rows = rows;
        b->room = room;
    }
    b->rows[b->table.n++] = *row;
    b->table.row = b->rows;
    return CG_OK;
}

/* A line, or what stands between two ';', without its comment. */
static int parse_line(struct building *b, const char *text, size_t bytes)
{
    char word[WORDS][WORD_LEN];
    struct cg_row row = {0};
    int n = 0, rc;

    for (size_t at = 0; at < bytes;) {
        size_t end = at;
        while (end < bytes && !strchr(" \t\r\f\v", text[end])) end++; /* also ends at a NUL */
        if (end == at) {
            if (0 == text[at]) return bad(b, "", "holds a byte 0: not a text file");
            at++;
            continue;
        }
        snprintf(word[n < WORDS ? n : WORDS - 1], WORD_LEN, "%.*s", (int) (end - at < WORD_LEN ? end - at : WORD_LEN),
                 text + at);
        if (end - at >= WORD_LEN) return bad(b, word[n < WORDS ? n : WORDS - 1], "... is too long");
        if (n++ == WORDS) return bad(b, word[WORDS - 1], "is one word too many: a row has %d", WORDS);
        at = end;
    }
    if (0 == n) return CG_OK;
    if (n < WORDS) return bad(b, word[n - 1], "is the last of %d words; a row has %d", n, WORDS);
    rc = parse_row(b, word, &row);
    return CG_OK == rc ? append(b, &row) : rc;
}

static int parse_text(struct building *b, const char *source, const char *text, size_t bytes)
{
    int rc = CG_OK;

    b->source = source;
    b->line = 1;
    for (size_t at = 0, end; at < bytes && CG_OK == rc; at = end + 1) {
        for (end = at; end < bytes && '\n' != text[end] && ';' != text[end] && '#' != text[end]; end++) {}
        rc = parse_line(b, text + at, end - at);
        if (end < bytes && '#' == text[end]) {
            while (end < bytes && '\n' != text[end]) end++;
        }
        b->line += end < bytes && '\n' == text[end];
    }
    return rc;
}

static struct building *begin(const char *own, char *why, size_t len)
{
    struct building *b = calloc(1, sizeof(*b));

    if (b) b->own = strdup(own ? own : "");
    if (b && b->own) {
        b->why = why;
        b->len = len;
        why[0] = 0;
        return b;
    }
    free(b);
    snprintf(why, len, "no memory for a table");
    return NULL;
}

void cg_table_free(struct cg_table *table)
{
    struct building *b = (struct building *) table;

    if (NULL == b) return;
    free(b->rows);
    free(b->own);
    free(b);
}

static int end(struct building *b, int rc, struct cg_table **table)
{
    *table = CG_OK == rc ? &b->table : NULL;
    if (CG_OK != rc) cg_table_free(&b->table);
    return rc;
}

int cg_table_parse(const char *text, size_t bytes, const char *source, struct cg_table **table, char *why, size_t len)
{
    struct building *b = begin(source, why, len);

    *table = NULL;
    return b ? end(b, parse_text(b, b->own, text, bytes), table) : CG_ERR_NOMEM;
}

static int parse_file(struct building *b)
{
    char *text = malloc(MAX_FILE);
    FILE *file = text ? fopen(b->own, "r") : NULL;
    size_t bytes = file ? fread(text, 1, MAX_FILE, file) : 0;
    int rc = CG_ERR_ARG;

    if (NULL == text) snprintf(b->why, b->len, "%s: no memory for it", b->own);
    else if (NULL == file || ferror(file)) snprintf(b->why, b->len, "%s: %s", b->own, strerror(errno));
    else if (MAX_FILE == bytes) snprintf(b->why, b->len, "%s: longer than %u bytes", b->own, MAX_FILE - 1);
    else rc = parse_text(b, b->own, text, bytes);
    if (file) fclose(file);
    free(text);
    return rc;
}

int cg_table_open(const char *rows, const char *path, struct cg_table **table, char *why, size_t len)
{
    struct building *b = begin(path, why, len);
    int rc = b ? CG_OK : CG_ERR_NOMEM;

    *table = NULL;
    if (CG_OK == rc && rows) rc = parse_text(b, "coll_gpu_rows", rows, strlen(rows));
    if (CG_OK == rc && path && path[0]) rc = parse_file(b);
    for (int i = 0; CG_OK == rc && i < cg_table_builtin.n; i++) rc = append(b, &cg_table_builtin.row[i]);
    return b ? end(b, rc, table) : rc;
}

/* ---- back ---- */

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *) data)[i]) * 0x100000001b3u;
    return hash;
}

uint64_t cg_table_hash(const struct cg_table *table)
{
    uint64_t hash = 0xcbf29ce484222325u;
    char text[CG_ROW_TEXT];

    for (int i = 0; i < table->n; i++) {
        cg_row_text(&table->row[i], text, sizeof(text));
        hash = mix(hash, text, strlen(text) + 1);
    }
    return hash;
}

static int range_text(const uint64_t range[2], uint64_t limit, char *text, size_t len)
{
    unsigned long long a = range[0], b = range[1];

    if (0 == a && b == limit) return snprintf(text, len, "any");
    if (b == limit) return snprintf(text, len, "%llu-max", a);
    return a == b ? snprintf(text, len, "%llu", a) : snprintf(text, len, "%llu-%llu", a, b);
}

int cg_row_text(const struct cg_row *row, char *text, size_t len)
{
    uint64_t nranks[2] = {row->ranks[0], row->ranks[1]};
    char ranks[48], bytes[48];

    range_text(nranks, UINT32_MAX, ranks, sizeof(ranks));
    range_text(row->bytes, UINT64_MAX, bytes, sizeof(bytes));
    return snprintf(text, len, "%s %s %s %s %s %s %s %u", cg_coll_name(row->coll), ats[row->at], vias[row->via], ranks,
                    bytes, row->plan ? row->plan : "-", cg_protocol_name(row->protocol), row->blocks);
}

char *cg_table_text(const struct cg_table *table)
{
    char *text = calloc((size_t) table->n + 1, CG_ROW_TEXT);
    size_t at = 0;

    for (int i = 0; text && i < table->n; i++) {
        at += (size_t) snprintf(text + at, CG_ROW_TEXT, "%s", i ? "; " : "");
        at += (size_t) cg_row_text(&table->row[i], text + at, CG_ROW_TEXT - 2);
    }
    return text;
}
