/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/sim/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char fatal_context[256];

void fatal(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s%s\n", *fatal_context ? "; " : "", fatal_context);
    exit(1);
}

uint64_t rng_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du;
}

uint32_t rng_below(uint64_t *state, uint32_t bound) { return (uint32_t) ((rng_next(state) >> 32) * bound >> 32); }

static uint64_t some_len(uint64_t most, uint64_t *rng)
{
    static const uint64_t few[] = {0, 1, 3};
    uint64_t len = rng_below(rng, 2) ? few[rng_below(rng, 3)] : 1 + rng_next(rng) % most;

    return len < most ? len : most;
}

static void some_lens(uint64_t *len, uint32_t n, uint64_t most, uint64_t *rng)
{
    for (uint32_t i = 0; i < n; i++)
        len[i] = some_len(most, rng);
}

/* Blocks in any order, gaps between some. */
static void place(uint64_t *disp, const uint64_t *len, uint32_t n, uint64_t *rng)
{
    uint32_t first = rng_below(rng, n), step = rng_below(rng, 2) ? 1 : n - 1;
    uint64_t at = rng_below(rng, 3);

    for (uint32_t k = 0, i = first; k < n; k++, i = (i + step) % n) {
        disp[i] = at;
        at += len[i] + (rng_below(rng, 2) ? rng_below(rng, 5) : 0);
    }
}

/* Rows of src_len, src_disp, dst_len, dst_disp of all ranks. */
static void fill_alltoallv(uint64_t *a, uint32_t n, uint64_t most, int symmetric, uint64_t *rng)
{
    uint64_t *src_len = a, *src_disp = a + n * n, *dst_len = a + 2 * n * n, *dst_disp = a + 3 * n * n;

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++)
            src_len[i * n + j] = symmetric && j < i ? src_len[j * n + i] : some_len(most, rng);
    }
    for (uint32_t i = 0; i < n * n; i++)
        dst_len[i] = src_len[i % n * n + i / n];
    for (uint32_t i = 0; i < n; i++) {
        place(src_disp + i * n, src_len + i * n, n, rng);
        place(dst_disp + i * n, dst_len + i * n, n, rng);
        for (uint32_t j = 0; j < n && symmetric; j++)
            dst_disp[i * n + j] = src_disp[i * n + j];
    }
}

void shape_make(struct shape *s, const struct cg_plan_request *req, uint64_t most, int symmetric, uint64_t *rng)
{
    uint32_t n = req->nranks, coll = (uint32_t) req->coll;
    struct cg_plan_request one = *req;
    size_t words = CG_COLL_ALLTOALLV == coll ? 4 * (size_t) n * n : 2 * (size_t) n;
    uint64_t *a = s->arrays = calloc(words, sizeof(*a));

    s->reqs = calloc(n, sizeof(*s->reqs));
    if (!a || !s->reqs) fatal("out of memory");
    one.count = one.count ? one.count : 1 + rng_next(rng) % most;
    if (CG_COLL_ALLTOALLV == coll) {
        fill_alltoallv(a, n, most, symmetric, rng);
        one.src_len = a;
        one.src_disp = a + n * n;
        one.dst_len = a + 2 * n * n;
        one.dst_disp = a + 3 * n * n;
    } else if (CG_COLL_SCATTERV == coll || CG_COLL_REDUCE_SCATTER == coll) {
        some_lens(a, n, most, rng);
        if (CG_COLL_SCATTERV == coll) place(a + n, a, n, rng);
        one.src_len = a;
        one.src_disp = CG_COLL_SCATTERV == coll ? a + n : NULL;
    } else if (CG_COLL_GATHERV == coll || CG_COLL_ALLGATHERV == coll) {
        some_lens(a, n, most, rng);
        place(a + n, a, n, rng);
        one.dst_len = a;
        one.dst_disp = a + n;
    }
    cg_spec_requests(&one, s->reqs);
}

void shape_free(struct shape *s)
{
    free(s->reqs);
    free(s->arrays);
}
