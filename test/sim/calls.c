/* SPDX-License-Identifier: BSD-3-Clause
 * Operations of a world: buffers of all ranks and what has to be in them at the end. */
#include "test/elements.h"
#include "test/sim/world.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE ((char *) 1) /* insignificant */

static void take_buffer(struct world *w, struct buffer *b, uint64_t bytes, uint64_t *rng)
{
    char *p = world_take(w, bytes + 2 * WORLD_GUARD + 16);

    p += rng_below(rng, 16);
    memset(p, WORLD_FILL, bytes + 2 * WORLD_GUARD);
    b->p = p + WORLD_GUARD;
    b->bytes = bytes;
}

/* Small integers, so that floating point is exact and results do not depend on the order. */
static void fill_input(char *p, int type, int redop, uint64_t count, uint64_t *rng)
{
    for (uint64_t i = 0; i < count; i++) {
        int v = CG_REDOP_PROD == redop ? 1 + (int) rng_below(rng, 2) : (int) rng_below(rng, 7) - 3;
        element_set(type, p + i * (size_t) cg_type_size(type), v, (int) rng_below(rng, 3) - 1);
    }
}

static void fill_bytes(char *p, uint64_t bytes, uint64_t *rng)
{
    for (uint64_t i = 0; i < bytes; i++)
        p[i] = (char) rng_next(rng);
}

/* src and dst, in place or not. Shifted, the buffer that is named by its own block lies inside the other. */
static void place_buffers(struct world *w, struct operation *o, uint32_t rank, int in_place, uint64_t *rng)
{
    const struct cg_plan_request *reqs = o->shape.reqs;
    uint64_t esize = (uint64_t) reqs->esize;
    uint64_t src = cg_spec_src(reqs, rank) * esize, dst = cg_spec_dst(reqs, rank) * esize;
    struct part *part = &o->part[rank];
    int64_t shift;
    enum cg_in_place may = cg_spec_in_place(reqs, rank, &shift);

    shift *= (int64_t) esize;
    if (CG_PLACE_ALWAYS == may || (CG_PLACE_MAY == may && (1 == in_place || (2 == in_place && rng_below(rng, 2))))) {
        take_buffer(w, &part->dst_mem, src > dst ? src : dst, rng);
        part->dst = part->dst_mem.p + (shift < 0 ? -shift : 0);
        part->src = part->dst_mem.p + (shift > 0 ? shift : 0);
        return;
    }
    if (dst || CG_PLACE_NEVER != may) take_buffer(w, &part->dst_mem, dst, rng);
    if (src) take_buffer(w, &part->src_mem, src, rng);
    part->dst = part->dst_mem.p ? part->dst_mem.p : NOWHERE;
    part->src = part->src_mem.p ? part->src_mem.p : NOWHERE;
}

static char *copy_of(const char *p, uint64_t bytes)
{
    char *copy = malloc(bytes + 1);

    if (!copy) fatal("out of memory");
    if (p) memcpy(copy, p, bytes);
    return copy;
}

static void add_part(struct world *w, struct operation *o, uint32_t rank, int in_place, uint64_t *rng)
{
    struct part *part = &o->part[rank];
    uint64_t count = cg_spec_src(o->shape.reqs, rank), bytes = count * (uint64_t) o->shape.reqs->esize;
    int reads = CG_COLL_BCAST != o->coll || rank == o->shape.reqs->root;

    part->pos = world_take(w, CG_MAX_CHAN * sizeof(*part->pos));
    place_buffers(w, o, rank, in_place, rng);
    if (reads && cg_coll_reduces(o->coll)) fill_input(part->src, o->type, o->redop, count, rng);
    if (reads && !cg_coll_reduces(o->coll)) fill_bytes(part->src, bytes, rng);
    part->input = copy_of(count ? part->src : NULL, bytes);
    if (part->src_mem.p) part->src_mem.want = copy_of(part->src_mem.p, part->src_mem.bytes);
    if (part->dst_mem.p) part->dst_mem.want = copy_of(part->dst_mem.p, part->dst_mem.bytes);
}

static void want_piece(struct operation *o, struct part *part, const struct cg_piece *piece)
{
    uint64_t esize = (uint64_t) o->shape.reqs->esize;
    char *to = part->dst_mem.want + (part->dst - part->dst_mem.p) + piece->dst * esize;

    const char *x[WORLD_RANKS];
    int n = 0;

    for (uint32_t rank = piece->lo; rank < piece->hi && piece->len; rank++)
        x[n++] = o->part[rank].input + piece->src * esize;
    if (n == 1) elements_copy(o->type, to, x[0], piece->len);
    if (n > 1) cg_fold_host(o->type, o->redop, to, x, n, piece->len);
}

#define KNOWN(name, text, reduces, known, reach) [CG_COLL_##name] = known,
static const int known[CG_COLL_COUNT] = {CG_COLL_TABLE(KNOWN)};
#undef KNOWN

/* Alike on all ranks. */
static uint64_t bytes_of(const struct operation *o)
{
    uint64_t elems = CG_COLL_ALLGATHERV == o->coll ? 0 : cg_spec_src(o->shape.reqs, o->shape.reqs->root);

    for (uint32_t rank = 0; CG_COLL_ALLGATHERV == o->coll && rank < o->shape.reqs->nranks; rank++)
        elems += cg_spec_src(o->shape.reqs, rank);
    return known[o->coll] ? elems * (uint64_t) o->shape.reqs->esize : 0;
}

int world_add_op(struct world *w, int comm, const struct call *call, int in_place, uint64_t *rng)
{
    struct operation *o = &w->op[w->nops];
    struct comm *c = &w->comm[comm];
    struct cg_piece piece[WORLD_RANKS];
    int reduces = cg_coll_reduces(call->coll);
    struct cg_plan_request req = {
        .coll = call->coll, .nranks = c->size, .root = call->root, .count = call->count, .params = &w->params,
        .nodes = c->nodes};

    o->comm = comm;
    o->index = c->nops;
    o->coll = call->coll;
    o->type = reduces ? call->type : CG_TYPE_U8;
    o->redop = reduces ? call->redop : 0;
    req.esize = cg_type_size(o->type);
    req.wide = reduces ? cg_type_wide(o->type) : 0;
    shape_make(&o->shape, &req, call->count, in_place > 0, rng);
    for (uint32_t rank = 0; rank < c->size; rank++)
        add_part(w, o, rank, in_place, rng);
    for (uint32_t rank = 0; rank < c->size; rank++) {
        uint32_t n = cg_spec(o->shape.reqs, rank, piece);
        for (uint32_t i = 0; i < n; i++)
            want_piece(o, &o->part[rank], &piece[i]);
    }
    o->bytes = bytes_of(o);
    c->op[c->nops++] = w->nops;
    return w->nops++;
}
