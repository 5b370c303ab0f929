/* SPDX-License-Identifier: BSD-3-Clause
 * Building and using flat descriptions on the CPU. */
#include "kernels/flat.h"

#include <stdlib.h>
#include <string.h>

#define RUN 16  /* so many equal blocks at equal distances are a node of their own */
#define LIST 8  /* so many other blocks in a row are a list */

struct frame {
    struct frame *up;
    struct cg_flat_node *child;
    size_t n, room;
};

struct cg_flat_builder {
    struct frame *top;
    struct cg_flat_node *nodes;
    struct cg_flat_block *blocks;
    size_t nnodes, node_room, nblocks, block_room;
    uint64_t align;
    int failed;
};

/* Room for one more of n entries. */
static void *more(struct cg_flat_builder *b, void *array, size_t n, size_t *room, size_t bytes)
{
    void *grown;

    if (n < *room) return array;
    if (n >= UINT32_MAX / 2) b->failed = 1;
    grown = b->failed ? NULL : realloc(array, (*room = n ? 2 * n : 4) * bytes);
    if (grown) return grown;
    b->failed = 1;
    *room = n;
    return array;
}

struct cg_flat_builder *cg_flat_begin(void)
{
    struct cg_flat_builder *b = calloc(1, sizeof(*b));

    if (b) cg_flat_loop(b);
    return b;
}

void cg_flat_loop(struct cg_flat_builder *b)
{
    struct frame *f = calloc(1, sizeof(*f));

    if (!f) {
        b->failed = 1;
        return;
    }
    f->up = b->top;
    b->top = f;
}

static int is_block(const struct cg_flat_node *c) { return c->n == 1 && c->count == 0; }

/* What continues the last child in memory is one with it. */
static void add(struct cg_flat_builder *b, struct cg_flat_node c)
{
    struct frame *f = b->top;
    struct cg_flat_node *last = f && f->n ? &f->child[f->n - 1] : NULL;

    if (b->failed) return;
    if (last && is_block(last) && is_block(&c) && last->disp + (int64_t) last->body == c.disp) {
        last->body += c.body;
        return;
    }
    f->child = more(b, f->child, f->n, &f->room, sizeof(*f->child));
    if (!b->failed) f->child[f->n++] = c;
}

void cg_flat_leaf(struct cg_flat_builder *b, int64_t disp, uint64_t bytes, uint64_t n, int64_t stride)
{
    if (bytes == 0 || n == 0) return;
    if (n > 1 && stride == (int64_t) bytes) bytes *= n, n = 1;
    add(b, (struct cg_flat_node){.body = bytes, .n = n, .disp = disp, .stride = n > 1 ? stride : 0});
}

static void put_node(struct cg_flat_builder *b, const struct cg_flat_node *c)
{
    b->nodes = more(b, b->nodes, b->nnodes, &b->node_room, sizeof(*b->nodes));
    if (b->failed) return;
    b->nodes[b->nnodes++] = *c;
    b->align |= c->at | c->body | (uint64_t) c->disp | (uint64_t) c->stride;
}

static void put_block(struct cg_flat_builder *b, const struct cg_flat_node *c)
{
    b->blocks = more(b, b->blocks, b->nblocks, &b->block_room, sizeof(*b->blocks));
    if (b->failed) return;
    b->blocks[b->nblocks++] = (struct cg_flat_block){c->at, c->disp};
    b->align |= c->at | c->body | (uint64_t) c->disp;
}

/* Equal blocks at equal distances from child[i] on. */
static size_t run_of(const struct cg_flat_node *child, size_t i, size_t n)
{
    size_t k = i + 1;

    if (!is_block(&child[i])) return 1;
    while (k < n && is_block(&child[k]) && child[k].body == child[i].body &&
           child[k].disp - child[k - 1].disp == child[i + 1].disp - child[i].disp)
        k++;
    return k - i;
}

static void find_runs(struct frame *f)
{
    size_t to = 0;

    for (size_t i = 0; i < f->n;) {
        size_t run = run_of(f->child, i, f->n);
        struct cg_flat_node c = f->child[i];

        if (run > 1 && (run >= RUN || run == f->n)) {
            c.n = run;
            c.stride = f->child[i + 1].disp - c.disp;
        } else {
            run = 1;
        }
        f->child[to++] = c;
        i += run;
    }
    f->n = to;
}

/* Places in the round, and what all children have in common. */
static void measure(struct cg_flat_node *child, size_t n, struct cg_flat_node *whole)
{
    *whole = (struct cg_flat_node){.n = 1, .count = (uint32_t) n, .each = child[0].n * child[0].body};
    for (size_t i = 0; i < n; i++) {
        child[i].at = whole->body;
        whole->body += child[i].n * child[i].body;
        if (child[i].n * child[i].body != whole->each) whole->each = 0;
    }
}

/* children[0..n), all blocks, as a list. */
static struct cg_flat_node list(struct cg_flat_builder *b, struct cg_flat_node *child, size_t n)
{
    struct cg_flat_node whole;

    measure(child, n, &whole);
    whole.blocks = 1;
    whole.first = (uint32_t) b->nblocks;
    for (size_t i = 0; i < n; i++) put_block(b, &child[i]);
    return whole;
}

static void find_lists(struct cg_flat_builder *b, struct frame *f)
{
    size_t to = 0;

    for (size_t i = 0; i < f->n;) {
        size_t k = i;

        while (k < f->n && is_block(&f->child[k])) k++;
        if (k - i >= LIST || (i == 0 && k == f->n && k > 1)) {
            f->child[to++] = list(b, &f->child[i], k - i);
            i = k;
        } else {
            f->child[to++] = f->child[i++];
        }
    }
    f->n = to;
}

/* One round of what the frame holds, as a node with n == 1 or, of a single child, as it is. */
static struct cg_flat_node round_of(struct cg_flat_builder *b, struct frame *f)
{
    struct cg_flat_node whole;

    find_runs(f);
    find_lists(b, f);
    if (f->n == 1) return f->child[0];
    measure(f->child, f->n, &whole);
    whole.first = (uint32_t) b->nnodes;
    for (size_t i = 0; i < f->n; i++) put_node(b, &f->child[i]);
    return whole;
}

/* rounds times c. */
static struct cg_flat_node times(struct cg_flat_builder *b, struct cg_flat_node c, uint64_t rounds, int64_t stride)
{
    struct cg_flat_node outer = {.n = rounds, .stride = stride, .body = c.n * c.body, .count = 1};

    c.at = 0;
    if (rounds == 1) return c;
    if (c.n == 1 && c.count == 0 && stride == (int64_t) c.body) {
        c.body *= rounds;
        return c;
    }
    if (c.n == 1 || stride == (int64_t) c.n * c.stride) {
        if (c.n == 1) c.stride = stride;
        c.n *= rounds;
        return c;
    }
    outer.first = (uint32_t) b->nnodes;
    outer.each = outer.body;
    put_node(b, &c);
    return outer;
}

static void free_frame(struct frame *f)
{
    free(f->child);
    free(f);
}

void cg_flat_loop_end(struct cg_flat_builder *b, uint64_t rounds, int64_t stride)
{
    struct frame *f = b->top;

    if (b->failed || !f->up) return;
    b->top = f->up;
    if (rounds == 1) {
        for (size_t i = 0; i < f->n; i++) add(b, f->child[i]);
    } else if (rounds > 1 && f->n > 0) {
        add(b, times(b, round_of(b, f), rounds, stride));
    }
    free_frame(f);
}

/* Nodes and blocks in one allocation, the whole element last among the nodes. */
static struct cg_flat *finish(struct cg_flat_builder *b, uint64_t id, int64_t extent)
{
    struct cg_flat_node whole = {.n = 1};
    struct cg_flat *f;

    if (b->top->n) whole = round_of(b, b->top);
    whole.at = 0;
    put_node(b, &whole);
    f = b->failed ? NULL : calloc(1, sizeof(*f));
    if (!f) return NULL;
    *f = (struct cg_flat){.refs = 1, .id = id, .size = whole.n * whole.body, .extent = extent, .align = b->align,
                          .nnodes = (uint32_t) b->nnodes, .nblocks = (uint32_t) b->nblocks};
    f->nodes = malloc(cg_flat_bytes(f));
    if (!f->nodes) {
        free(f);
        return NULL;
    }
    f->blocks = (struct cg_flat_block *) (f->nodes + f->nnodes);
    memcpy(f->nodes, b->nodes, f->nnodes * sizeof(*f->nodes));
    if (f->nblocks) memcpy(f->blocks, b->blocks, f->nblocks * sizeof(*f->blocks));
    return f;
}

struct cg_flat *cg_flat_end(struct cg_flat_builder *b, uint64_t id, int64_t extent)
{
    struct cg_flat *f = NULL;

    while (b->top && b->top->up) { /* a loop that was not ended */
        struct frame *open = b->top;
        b->failed = 1;
        b->top = open->up;
        free_frame(open);
    }
    if (b->top && !b->failed) f = finish(b, id, extent);
    if (b->top) free_frame(b->top);
    free(b->nodes);
    free(b->blocks);
    free(b);
    return f;
}

void cg_flat_keep(struct cg_flat *f) { __atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED); }

void cg_flat_drop(struct cg_flat *f)
{
    if (!f || __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    free(f->nodes);
    free(f);
}

struct cg_flat_node cg_flat_top(const struct cg_flat_piece *p)
{
    struct cg_flat_node top = {.n = 1, .body = p->bytes}, one;

    if (!p->flat || p->count == 0) return top;
    one = p->flat->nodes[p->flat->nnodes - 1];
    if (p->count == 1) return one;
    if (one.n == 1 || p->flat->extent == (int64_t) one.n * one.stride) {
        if (one.n == 1) one.stride = p->flat->extent;
        one.n *= p->count;
        return one;
    }
    top = (struct cg_flat_node){.n = p->count, .stride = p->flat->extent, .body = p->flat->size, .each = p->flat->size,
                                .first = p->flat->nnodes - 1, .count = 1};
    return top;
}

uint32_t cg_flat_unit(const struct cg_flat_piece *p, const char *packed)
{
    uint64_t all = 16 | (uint64_t) (uintptr_t) p->at | (uint64_t) (uintptr_t) (packed + p->offset) | p->bytes;

    if (p->flat) all |= p->flat->align | (p->count > 1 ? (uint64_t) p->flat->extent : 0);
    return (uint32_t) (all & -all);
}

static void copy_piece(const struct cg_flat_piece *p, char *packed, int back)
{
    struct cg_flat_node top = cg_flat_top(p);
    const struct cg_flat_node *nodes = p->flat ? p->flat->nodes : NULL;
    const struct cg_flat_block *blocks = p->flat ? p->flat->blocks : NULL;
    uint64_t left;

    for (uint64_t at = 0; at < p->bytes; at += left) {
        char *user = p->at + cg_flat_find(&top, nodes, blocks, at, &left);
        memcpy(back ? user : packed + at, back ? packed + at : user, left);
    }
}

void cg_flat_copy(const struct cg_flat_piece *piece, uint32_t n, char *packed, int back)
{
    for (uint32_t i = 0; i < n; i++) copy_piece(&piece[i], packed + piece[i].offset, back);
}
