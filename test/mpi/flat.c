/* SPDX-License-Identifier: BSD-3-Clause
 * Flat descriptions of random types against MPI_Pack and MPI_Unpack, byte for byte: the code that finds a packed byte
 * in memory is the GPU's (kernels/flat.h). argv: number of types, seed. */
#include "ompi_coll_gpu/compat.h"
#include "ompi_coll_gpu/flatten.h"
#include "test/mpi/mpi_test.h"
#include "test/mpi/random_type.h"

#include <stdlib.h>
#include <string.h>

static struct {
    MPI_Datatype type;
    struct cg_flat *flat;
    struct cg_flat_piece piece;
    MPI_Aint low, high;
    int count, size, position;
    char *image, *packed, *mine, *back;
    uint64_t seed;
} t;

/* Open MPI 4.1 says of some types made from blocks of length 0 that their elements follow each other without a gap, and
 * packs them so, where there is one. */
static int mistaken(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    int size;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &size);
    return (type->super.flags & OPAL_DATATYPE_FLAG_NO_GAPS) && extent != size;
}

static void open_case(uint64_t seed)
{
    MPI_Aint bytes;

    t.seed = seed;
    t.type = random_type(&seed, 1 + (int) random_draw(&seed, 5), 1 << random_draw(&seed, 14));
    t.count = mistaken(t.type) ? 1 : 1 + (int) random_draw(&seed, 4);
    MPI_Pack_size(t.count, t.type, MPI_COMM_SELF, &t.size);
    random_type_span(t.type, t.count, &t.low, &t.high);
    bytes = t.high - t.low;
    t.image = malloc((size_t) bytes + 1);
    t.back = malloc(2 * (size_t) bytes + 2);
    t.packed = malloc((size_t) t.size + 1);
    t.mine = calloc(1, (size_t) t.size + 1);
    for (MPI_Aint i = 0; i < bytes; i++) t.image[i] = (char) random_draw(&seed, 256);
    t.flat = cg_flatten(t.type, 1);
    CHECK(t.flat != NULL, "type of seed %llu is not understood", (unsigned long long) t.seed);
}

static void close_case(void)
{
    cg_flat_drop(t.flat);
    MPI_Type_free(&t.type);
    free(t.image);
    free(t.back);
    free(t.packed);
    free(t.mine);
}

static void at_random(uint64_t seed)
{
    struct cg_flat_node top = cg_flat_top(&t.piece);

    for (int i = 0; i < 20 && t.position; i++) {
        uint64_t at = random_draw(&seed, (uint32_t) t.position), left;
        int64_t disp = cg_flat_find(&top, t.flat->nodes, t.flat->blocks, at, &left);
        int good = disp >= t.low && disp + (int64_t) left <= t.high && left > 0 && at + left <= t.piece.bytes;
        CHECK(good, "seed %llu: byte %llu is said to be at %lld", (unsigned long long) t.seed, (unsigned long long) at,
              (long long) disp);
        if (good && memcmp(t.image - t.low + disp, t.packed + at, left))
            CHECK(0, "seed %llu: byte %llu is not at %lld", (unsigned long long) t.seed, (unsigned long long) at,
                  (long long) disp);
    }
}

/* Everything that a unit covers must lie together, on both sides. */
static void units(void)
{
    struct cg_flat_node top = cg_flat_top(&t.piece);
    uint64_t unit = cg_flat_unit(&t.piece, NULL), left;

    for (uint64_t at = 0; at < t.piece.bytes; at += unit) {
        int64_t disp = cg_flat_find(&top, t.flat->nodes, t.flat->blocks, at, &left);
        if (left >= unit && ((uintptr_t) (t.piece.at + disp) & (unit - 1)) == 0) continue;
        CHECK(0, "seed %llu: a unit of %llu bytes at %lld", (unsigned long long) t.seed, (unsigned long long) unit,
              (long long) disp);
        return;
    }
}

static void one_case(uint64_t seed)
{
    size_t bytes;
    char *theirs, *ours;

    open_case(seed);
    bytes = (size_t) (t.high - t.low);
    theirs = t.back;
    ours = t.back + bytes;
    MPI_Pack(t.image - t.low, t.count, t.type, t.packed, t.size, &t.position, MPI_COMM_SELF);
    if (!t.flat) {
        close_case();
        return;
    }
    t.piece = (struct cg_flat_piece){t.flat, t.image - t.low, (uint64_t) t.count, t.flat->size * (uint64_t) t.count, 0};
    CHECK((int) t.piece.bytes == t.position, "seed %llu: %d bytes instead of %d", (unsigned long long) seed,
          (int) t.piece.bytes, t.position);
    cg_flat_copy(&t.piece, 1, t.mine, 0);
    CHECK(!memcmp(t.mine, t.packed, (size_t) t.position), "seed %llu packs differently", (unsigned long long) seed);
    at_random(seed);
    units();
    memset(t.back, 0x6d, 2 * bytes);
    int position = 0;
    MPI_Unpack(t.packed, t.position, &position, theirs - t.low, t.count, t.type, MPI_COMM_SELF);
    t.piece.at = ours - t.low;
    cg_flat_copy(&t.piece, 1, t.packed, 1);
    CHECK(!memcmp(ours, theirs, bytes), "seed %llu unpacks differently", (unsigned long long) seed);
    t.position = 0;
    close_case();
}

/* Large regular types are small descriptions. */
static void check_sizes(void)
{
    int sizes[] = {200, 100, 300}, sub[] = {100, 50, 70}, start[] = {7, 5, 3}, disp[1000];
    MPI_Datatype cube, lattice, irregular;

    MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &cube);
    MPI_Type_vector(1000000, 1, 3, cube, &lattice);
    for (int i = 0; i < 1000; i++) disp[i] = 3 * i + i % 2;
    MPI_Type_create_indexed_block(1000, 1, disp, MPI_INT, &irregular);
    const struct {
        MPI_Datatype type;
        uint32_t nodes, blocks;
    } want[] = {{cube, 2, 0}, {lattice, 3, 0}, {irregular, 1, 1000}};
    for (int i = 0; i < 3; i++) {
        struct cg_flat *f = cg_flatten(want[i].type, 1);
        CHECK(f && f->nnodes <= want[i].nodes && f->nblocks == want[i].blocks, "type %d has %u nodes and %u blocks", i,
              f ? f->nnodes : 0, f ? f->nblocks : 0);
        cg_flat_drop(f);
    }
    MPI_Type_free(&irregular);
    MPI_Type_free(&lattice);
    MPI_Type_free(&cube);
}

int main(int argc, char **argv)
{
    uint64_t seed;

    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    seed = strtoull(argv[2], NULL, 0);
    for (int i = 0; i < atoi(argv[1]); i++) one_case(seed + (uint64_t) i);
    check_sizes();
    return test_end();
}
