/* SPDX-License-Identifier: BSD-3-Clause
 * Where the data of a type lie in memory, in the order in which they are packed: a tree of strided repetitions over
 * blocks of bytes. A vector is one node, a subarray one a dimension, a list of irregular blocks 16 bytes a block. Any
 * packed byte is found on its own, so that threads need no common position: one source for CPU and GPU.
 *
 *   node    n rounds of body packed bytes, round r displaced by disp + r * stride; a round is
 *             count == 0   body bytes that lie together
 *             blocks       blocks first .. first + count - 1
 *             else         nodes  first .. first + count - 1
 *   at      packed bytes of a round before a child; each: bytes of every child if they are equal, else 0 */
#ifndef CG_KERNELS_FLAT_H
#define CG_KERNELS_FLAT_H

#include "core/port.h"

struct cg_flat_node {
    uint64_t at, body, n, each;
    int64_t disp, stride;
    uint32_t first, count, blocks, unused;
};

struct cg_flat_block {
    uint64_t at; /* its length: up to the next one's, or to the end of the round */
    int64_t disp;
};

/* The child of a round in which packed byte at lies; children begin with their at and are step bytes apart. */
CG_HD uint32_t cg_flat_child(const struct cg_flat_node *c, const void *children, size_t step, uint64_t at)
{
    uint32_t low = 0, high = c->count - 1;

    if (high == 0) return 0;
    if (c->each) return (uint32_t) (at / c->each);
    while (low < high) {
        uint32_t mid = low + (high - low + 1) / 2;
        if (*(const uint64_t *) ((const char *) children + mid * step) <= at) low = mid;
        else high = mid - 1;
    }
    return low;
}

/* Displacement of packed byte at; left: bytes from there on that lie together. */
CG_HD int64_t cg_flat_find(const struct cg_flat_node *c, const struct cg_flat_node *nodes,
                           const struct cg_flat_block *blocks, uint64_t at, uint64_t *left)
{
    int64_t disp = 0;

    for (;;) {
        if (c->n > 1) {
            uint64_t round = at / c->body;
            at -= round * c->body;
            disp += (int64_t) round * c->stride;
        }
        disp += c->disp;
        if (c->count == 0) {
            *left = c->body - at;
            return disp + (int64_t) at;
        }
        if (c->blocks) {
            const struct cg_flat_block *b = blocks + c->first;
            uint32_t i = cg_flat_child(c, b, sizeof(*b), at);
            *left = (i + 1 < c->count ? b[i + 1].at : c->body) - at;
            return disp + b[i].disp + (int64_t) (at - b[i].at);
        }
        c = nodes + c->first + cg_flat_child(c, nodes + c->first, sizeof(*c), at);
        at -= c->at;
    }
}

/* ---- host ---- */

/* One element of a type. Immutable; shared by reference. */
struct cg_flat {
    uint64_t refs;
    uint64_t id;     /* names the content for good: what a GPU keeps of it goes by that */
    uint64_t size;   /* packed bytes */
    int64_t extent;
    uint64_t align;  /* all lengths, displacements and strides or-ed together */
    uint32_t nnodes, nblocks;
    struct cg_flat_node *nodes; /* the last is the whole element; blocks follow in the same allocation */
    struct cg_flat_block *blocks;
};
static inline uint64_t cg_flat_bytes(const struct cg_flat *f)
{
    return f->nnodes * sizeof(*f->nodes) + f->nblocks * sizeof(*f->blocks);
}

/* Elements in memory, and where they are in packed form. */
struct cg_flat_piece {
    struct cg_flat *flat; /* NULL: bytes that lie together, count 1 */
    char *at;             /* origin of the first element */
    uint64_t count, bytes, offset; /* bytes: packed; offset: in the packed buffer */
};
struct cg_pieces {
    const struct cg_flat_piece *piece;
    uint32_t n;
    int device;
    char *packed;
};

/* Building: leaves and loops in the order of packing. Loops nest; each end names the displacement from one round to the
 * next. end gives the flat with one reference, or NULL without memory, and the builder is gone. */
struct cg_flat_builder;
struct cg_flat_builder *cg_flat_begin(void);
void cg_flat_leaf(struct cg_flat_builder *b, int64_t disp, uint64_t bytes, uint64_t n, int64_t stride);
void cg_flat_loop(struct cg_flat_builder *b);
void cg_flat_loop_end(struct cg_flat_builder *b, uint64_t rounds, int64_t stride);
struct cg_flat *cg_flat_end(struct cg_flat_builder *b, uint64_t id, int64_t extent);
void cg_flat_keep(struct cg_flat *f);
void cg_flat_drop(struct cg_flat *f);

/* The node of a whole piece, over the nodes and blocks of its flat. */
struct cg_flat_node cg_flat_top(const struct cg_flat_piece *p);
/* Bytes that lie together in every access: a power of two up to 16, for this piece and this packed buffer. */
uint32_t cg_flat_unit(const struct cg_flat_piece *p, const char *packed);
/* The interpreter on the CPU: pack pieces, or back. */
void cg_flat_copy(const struct cg_flat_piece *piece, uint32_t n, char *packed, int back);

#endif
