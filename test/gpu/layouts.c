/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/gpu/layouts.h"

#include "test/gpu/gpu_test.h"

#include <stdlib.h>

static int draw(uint64_t *seed, int n) { return (int) cgt_draw(seed, (uint32_t) n); }

static int divisor(uint64_t *seed, int n)
{
    int d = 1 + draw(seed, 8);

    while (n % d) d--;
    return d;
}

/* Blocks of any length, in any order, with gaps that need not be multiples of anything. */
static MPI_Datatype irregular(uint64_t *seed, int n)
{
    int blocks = 0, *len = malloc((size_t) n * sizeof(*len)), odd = draw(seed, 2), most = n / 20 + 3;
    MPI_Aint at = 4 * draw(seed, 9), *disp = malloc((size_t) n * sizeof(*disp));
    MPI_Datatype type;

    for (int left = n; left > 0; left -= len[blocks++]) {
        len[blocks] = 1 + draw(seed, left < most ? left : most);
        disp[blocks] = at;
        at += 4 * len[blocks] + (odd ? draw(seed, 7) : 4 * draw(seed, 4));
    }
    for (int i = blocks - 1; i > 0; i--) {
        int k = draw(seed, i + 1), l = len[i];
        MPI_Aint d = disp[i];
        len[i] = len[k], disp[i] = disp[k], len[k] = l, disp[k] = d;
    }
    MPI_Type_create_hindexed(blocks, len, disp, MPI_INT, &type);
    free(len);
    free(disp);
    return type;
}

/* Elements side by side, with room between them; the lower bound is moved. */
static MPI_Datatype spaced(uint64_t *seed, MPI_Datatype old)
{
    MPI_Aint low, bytes;
    MPI_Datatype type;

    MPI_Type_get_true_extent(old, &low, &bytes);
    MPI_Type_create_resized(old, low - 4 * draw(seed, 4), (bytes + 3) / 4 * 4 + 4 * draw(seed, 3), &type);
    MPI_Type_free(&old);
    return type;
}

static MPI_Datatype ints_in(uint64_t *seed, int n, int depth);

static MPI_Datatype two_members(uint64_t *seed, int n, int depth)
{
    int first = 1 + draw(seed, n - 1), one[] = {1, 1};
    MPI_Datatype type, member[] = {ints_in(seed, first, depth), ints_in(seed, n - first, depth)};
    MPI_Aint at[2], bytes[2];

    for (int i = 0; i < 2; i++) MPI_Type_get_true_extent(member[i], &at[i], &bytes[i]);
    at[0] = -at[0];
    at[1] = bytes[0] + draw(seed, 20) - at[1];
    MPI_Type_create_struct(2, one, at, member, &type);
    MPI_Type_free(&member[0]);
    MPI_Type_free(&member[1]);
    return type;
}

static MPI_Datatype rows_of(uint64_t *seed, int n, int depth)
{
    int d = divisor(seed, n);
    MPI_Datatype type, row = spaced(seed, ints_in(seed, d, depth));
    MPI_Aint lb, extent;

    MPI_Type_get_extent(row, &lb, &extent);
    MPI_Type_create_hvector(n / d, 1, extent + 4 * draw(seed, 4), row, &type);
    MPI_Type_free(&row);
    return type;
}

/* Data begin at the origin or behind it. */
static MPI_Datatype ints_in(uint64_t *seed, int n, int depth)
{
    int d = divisor(seed, n), sizes[] = {n / d + 2, d + 3}, sub[] = {n / d, d}, start[] = {1, 2};
    MPI_Datatype type;

    switch (draw(seed, depth > 0 && n > 1 ? 6 : 4)) {
    case 0: MPI_Type_contiguous(n, MPI_INT, &type); break;
    case 1: MPI_Type_vector(n / d, d, d + 1 + draw(seed, 4), MPI_INT, &type); break;
    case 2: MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_INT, &type); break;
    case 3: type = irregular(seed, n); break;
    case 4: type = rows_of(seed, n, depth - 1); break;
    default: type = two_members(seed, n, depth - 1);
    }
    return type;
}

static MPI_Datatype strided(int rank, int peer)
{
    MPI_Datatype two, type;

    MPI_Type_vector(2, 1, 2 + (rank + peer) % 3, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 32, &type);
    MPI_Type_free(&two);
    return type;
}

static MPI_Datatype random_layout(uint64_t *seed, int n)
{
    MPI_Datatype type = spaced(seed, ints_in(seed, n, draw(seed, 3))), moved;
    MPI_Aint before = -64;

    if (draw(seed, 4)) return type;
    MPI_Type_create_hindexed_block(1, 1, &before, type, &moved);
    MPI_Type_free(&type);
    return moved;
}

struct layout_of layout_make(enum layouts kind, uint64_t seed, int n, int rank, int peer)
{
    struct layout_of l = {.count = 1};
    MPI_Aint lb, bytes;

    seed = seed * 2654435761u + (uint64_t) peer;
    if (kind == LAYOUTS_RANDOM) {
        int d = divisor(&seed, n);
        l.count = d;
        l.type = random_layout(&seed, n / d);
    } else if (kind == LAYOUTS_STRIDES) {
        l.count = n / 2;
        l.type = strided(rank, peer);
    } else {
        l.count = rank == 0 ? n / 4 : n;
        l.type = MPI_INT;
        if (rank == 0) MPI_Type_contiguous(4, MPI_INT, &l.type);
    }
    if (l.type != MPI_INT) MPI_Type_commit(&l.type);
    MPI_Type_get_extent(l.type, &lb, &l.extent);
    MPI_Type_get_true_extent(l.type, &l.low, &bytes);
    return l;
}

void layout_free(struct layout_of *l)
{
    if (l->type != MPI_INT) MPI_Type_free(&l->type);
}
