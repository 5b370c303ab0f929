/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/symbolic.h"

#include <stdlib.h>
#include <string.h>

/* first and last: in the order in which operands appear. round: each is followed by the next rank, the highest by 0;
 * a bit for each order of ranks. */
struct node {
    uint32_t left, right, ranks, first, last, round;
};

struct cg_exprs {
    uint32_t nranks, words, count, cap; /* words of a set of ranks; nodes used and allocated, a power of two */
    uint32_t *place; /* the second order, or NULL */
    struct node *node;
    uint64_t *set;  /* words for each node */
    uint32_t *hash; /* 2 * cap entries, open addressing */
};

uint32_t cg_expr_leaf(uint32_t rank) { return rank + 1; }

int cg_expr_is(const struct cg_exprs *e, uint32_t expr, uint32_t lo, uint32_t hi)
{
    const uint64_t *set = &e->set[(size_t) expr * e->words];

    if (CG_EXPR_NONE == expr || e->node[expr].ranks != hi - lo || !e->node[expr].round) return 0;
    if (hi - lo == e->nranks) return 1;
    for (uint32_t r = lo; r < hi; r++) {
        if (!(set[r / 64] >> r % 64 & 1)) return 0;
    }
    return 1;
}

void cg_exprs_free(struct cg_exprs *e)
{
    if (!e) return;
    free(e->place);
    free(e->node);
    free(e->set);
    free(e->hash);
    free(e);
}

/* Entry of the node with these operands, or the empty one where it belongs. */
static uint32_t *find(struct cg_exprs *e, uint32_t left, uint32_t right)
{
    uint64_t mask = 2 * (uint64_t) e->cap - 1;
    uint64_t at = ((uint64_t) left << 32 | right) * 0x9e3779b97f4a7c15u >> 20 & mask;

    while (e->hash[at] && (e->node[e->hash[at]].left != left || e->node[e->hash[at]].right != right)) {
        at = (at + 1) & mask;
    }
    return &e->hash[at];
}

static int grow(struct cg_exprs *e, uint32_t cap)
{
    struct node *node = realloc(e->node, cap * sizeof(*node));
    if (node) e->node = node;
    uint64_t *set = realloc(e->set, cap * sizeof(*set) * e->words);
    if (set) e->set = set;
    uint32_t *hash = calloc(2 * (size_t) cap, sizeof(*hash));

    if (!node || !set || !hash) {
        free(hash);
        return 0;
    }
    free(e->hash);
    e->hash = hash;
    e->cap = cap;
    for (uint32_t i = 1; i < e->count; i++) {
        if (e->node[i].left) *find(e, e->node[i].left, e->node[i].right) = i;
    }
    return 1;
}

struct cg_exprs *cg_exprs_new(uint32_t nranks, const uint32_t *place)
{
    struct cg_exprs *e = calloc(1, sizeof(*e));
    uint32_t cap = 64;

    if (!e) return NULL;
    while (cap < 2 * (nranks + 1))
        cap *= 2;
    e->nranks = nranks;
    e->words = (nranks + 63) / 64;
    if (place) e->place = malloc(nranks * sizeof(*place));
    if (e->place) memcpy(e->place, place, nranks * sizeof(*place));
    if ((place && !e->place) || !grow(e, cap)) {
        cg_exprs_free(e);
        return NULL;
    }
    e->count = nranks + 1;
    memset(e->node, 0, e->count * sizeof(*e->node));
    memset(e->set, 0, e->count * sizeof(*e->set) * e->words);
    for (uint32_t r = 0; r < nranks; r++) {
        e->node[r + 1] = (struct node){.ranks = 1, .first = r, .last = r, .round = place ? 3 : 1};
        e->set[(size_t) (r + 1) * e->words + r / 64] = 1ull << r % 64;
    }
    return e;
}

uint32_t cg_expr_join(struct cg_exprs *e, uint32_t left, uint32_t right)
{
    if (CG_EXPR_NONE == left || CG_EXPR_NONE == right) return CG_EXPR_NONE;
    uint32_t *entry = find(e, left, right);
    if (*entry) return *entry;
    if (e->count == e->cap) {
        if (!grow(e, 2 * e->cap)) return CG_EXPR_NONE;
        entry = find(e, left, right);
    }
    const uint64_t *a = &e->set[(size_t) left * e->words], *b = &e->set[(size_t) right * e->words];
    for (uint32_t w = 0; w < e->words; w++) {
        if (a[w] & b[w]) return CG_EXPR_NONE;
        e->set[(size_t) e->count * e->words + w] = a[w] | b[w];
    }
    const struct node *l = &e->node[left], *r = &e->node[right];
    uint32_t round = l->round & r->round;
    if ((l->last + 1) % e->nranks != r->first) round &= ~1u;
    if (e->place && (e->place[l->last] + 1) % e->nranks != e->place[r->first]) round &= ~2u;
    e->node[e->count] = (struct node){left, right, l->ranks + r->ranks, l->first, r->last, round};
    *entry = e->count;
    return e->count++;
}
