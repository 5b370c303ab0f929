/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/mpi/random_type.h"

#define MOST 6 /* blocks */

uint32_t random_draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) ((*seed >> 33) % n);
}

static int draw(uint64_t *seed, int from, int to) { return from + (int) random_draw(seed, (uint32_t) (to - from + 1)); }

static MPI_Aint span(MPI_Datatype t, MPI_Aint *low)
{
    MPI_Aint extent;

    MPI_Type_get_true_extent(t, low, &extent);
    return extent;
}

static MPI_Aint extent_of(MPI_Datatype t)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(t, &lb, &extent);
    return extent;
}

static MPI_Datatype leaf(uint64_t *seed)
{
    const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_BYTE};
    MPI_Datatype t;

    MPI_Type_dup(types[random_draw(seed, sizeof(types) / sizeof(types[0]))], &t);
    return t;
}

static void shuffle(uint64_t *seed, int n, int *len, MPI_Aint *at, MPI_Datatype *types)
{
    for (int i = n - 1; i > 0; i--) {
        int k = draw(seed, 0, i), l = len[i];
        MPI_Aint a = at[i];
        MPI_Datatype t = types[i];
        len[i] = len[k], at[i] = at[k], types[i] = types[k];
        len[k] = l, at[k] = a, types[k] = t;
    }
}

enum { CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, STRUCT, SUBARRAY, DARRAY, RESIZED,
       DUP, KINDS };

/* Blocks one after another with holes, named in any order; unit: bytes of a displacement. */
static MPI_Datatype indexed(uint64_t *seed, int kind, MPI_Datatype old)
{
    MPI_Aint extent = extent_of(old), at[MOST], end = draw(seed, -3, 3) * extent;
    int n = draw(seed, 1, MOST), len[MOST], equal = kind == INDEXED_BLOCK || kind == HINDEXED_BLOCK, disp[MOST];
    MPI_Datatype types[MOST], t;

    for (int i = 0; i < n; i++) {
        len[i] = equal && i ? len[0] : draw(seed, equal, 3);
        end += draw(seed, 0, 3) * extent;
        if (kind == HINDEXED || kind == HINDEXED_BLOCK) end += draw(seed, 0, 2) * 8 + draw(seed, 0, 1);
        at[i] = end;
        end += len[i] * extent;
        types[i] = old;
    }
    shuffle(seed, n, len, at, types);
    for (int i = 0; i < n; i++) disp[i] = extent ? (int) (at[i] / extent) : 0;
    switch (kind) {
    case INDEXED: MPI_Type_indexed(n, len, disp, old, &t); break;
    case HINDEXED: MPI_Type_create_hindexed(n, len, at, old, &t); break;
    case INDEXED_BLOCK: MPI_Type_create_indexed_block(n, len[0], disp, old, &t); break;
    case HINDEXED_BLOCK: MPI_Type_create_hindexed_block(n, len[0], at, old, &t); break;
    default: MPI_Type_create_struct(n, len, at, types, &t);
    }
    return t;
}

/* Members of different types. */
static MPI_Datatype structure(uint64_t *seed, MPI_Datatype a, MPI_Datatype b)
{
    MPI_Aint at[MOST], end = draw(seed, -64, 64), low;
    MPI_Datatype types[MOST], t;
    int n = draw(seed, 1, MOST), len[MOST];

    for (int i = 0; i < n; i++) {
        types[i] = draw(seed, 0, 1) ? a : b;
        len[i] = draw(seed, 0, 2);
        end += draw(seed, 0, 12);
        span(types[i], &low);
        at[i] = end - low;
        end += len[i] * extent_of(types[i]);
    }
    shuffle(seed, n, len, at, types);
    MPI_Type_create_struct(n, len, at, types, &t);
    return t;
}

static MPI_Datatype array(uint64_t *seed, int kind, MPI_Datatype old)
{
    int n = draw(seed, 1, 3), size[3], sub[3], start[3], distrib[3], arg[3], grid[3], ranks = 1;
    int order = draw(seed, 0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, bytes;
    MPI_Datatype t;

    for (int i = 0; i < n; i++) {
        size[i] = draw(seed, 1, 5);
        sub[i] = draw(seed, 1, size[i]);
        start[i] = draw(seed, 0, size[i] - sub[i]);
        distrib[i] = draw(seed, 0, 1) ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK;
        arg[i] = MPI_DISTRIBUTE_DFLT_DARG;
        grid[i] = draw(seed, 1, size[i] < 2 ? size[i] : 2);
        ranks *= grid[i];
    }
    MPI_Type_size(old, &bytes);
    if (kind == SUBARRAY || bytes == 0) MPI_Type_create_subarray(n, size, sub, start, order, old, &t);
    else MPI_Type_create_darray(ranks, draw(seed, 0, ranks - 1), n, size, distrib, arg, grid, order, old, &t);
    return t;
}

static MPI_Datatype construct(uint64_t *seed, MPI_Datatype old, MPI_Datatype other)
{
    int kind = draw(seed, 0, KINDS - 1), n = draw(seed, 1, 5), len = draw(seed, 1, 3), sign = draw(seed, 0, 4) ? 1 : -1;
    MPI_Aint extent = extent_of(old);
    MPI_Datatype t;

    switch (kind) {
    case CONTIGUOUS: MPI_Type_contiguous(n, old, &t); break;
    case VECTOR: MPI_Type_vector(n, len, sign * (len + draw(seed, 0, 3)), old, &t); break;
    case HVECTOR: MPI_Type_create_hvector(n, len, sign * (len * extent + draw(seed, 0, 20)), old, &t); break;
    case STRUCT: t = structure(seed, old, other); break;
    case SUBARRAY:
    case DARRAY: t = array(seed, kind, old); break;
    case RESIZED: MPI_Type_create_resized(old, draw(seed, -16, 16), extent + draw(seed, 0, 24), &t); break;
    case DUP: MPI_Type_dup(old, &t); break;
    default: t = indexed(seed, kind, old);
    }
    return t;
}

/* Elements must not overlap: blocks of several take them extent bytes apart. */
static MPI_Datatype spread(MPI_Datatype t)
{
    MPI_Aint low, bytes = span(t, &low), lb, extent;
    MPI_Datatype wide;

    MPI_Type_get_extent(t, &lb, &extent);
    if (extent >= bytes && extent > 0) return t;
    MPI_Type_create_resized(t, low, bytes > 0 ? bytes : 1, &wide);
    MPI_Type_free(&t);
    return wide;
}

static int fits(MPI_Datatype t, MPI_Aint bytes)
{
    MPI_Aint low;
    int size;

    MPI_Type_size(t, &size);
    return size <= bytes && span(t, &low) <= 16 * bytes && extent_of(t) <= 16 * bytes;
}

static MPI_Datatype nested(uint64_t *seed, int depth, MPI_Aint bytes)
{
    MPI_Datatype a, b, t;

    if (depth == 0) return leaf(seed);
    a = spread(nested(seed, depth - 1, bytes));
    b = spread(nested(seed, draw(seed, 0, depth - 1), bytes));
    t = spread(construct(seed, a, b));
    MPI_Type_free(&b);
    if (fits(t, bytes)) {
        MPI_Type_free(&a);
        return t;
    }
    MPI_Type_free(&t);
    return a;
}

MPI_Datatype random_type(uint64_t *seed, int depth, MPI_Aint bytes)
{
    MPI_Datatype t = spread(nested(seed, depth, bytes));

    MPI_Type_commit(&t);
    return t;
}

void random_type_span(MPI_Datatype type, int count, MPI_Aint *low, MPI_Aint *high)
{
    MPI_Aint bytes = span(type, low);

    *high = *low + bytes + (count - 1) * extent_of(type);
}
