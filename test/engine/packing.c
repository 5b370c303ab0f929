/* SPDX-License-Identifier: BSD-3-Clause
 * Operations whose data do not lie together on some ranks: packed and unpacked on a pretended GPU, beside ranks with
 * other layouts and other memory; several under way; a kernel that fails. */
#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"
#include "test/engine/fake_gpu.h"
#include "test/engine/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MANY 3    /* operations under way */
#define MOST 700  /* ints of a block */
#define GAP 0x6d6d6d6d

/* One rank's buffers: blocks of n ints for every rank, stride apart; stride 1: dense. */
struct side {
    uint32_t *at;
    int device, stride;
    size_t bytes;
    struct cg_flat *flat;
    struct cg_flat_piece piece;
    struct cg_pieces pieces;
};
struct rank_op {
    struct side send, recv;
    struct mesh_op op;
};

static uint32_t value(uint32_t from, uint32_t to, uint64_t i, int key)
{
    return from * 7919 + to * 104729 + (uint32_t) i * 31 + (uint32_t) key;
}

static void open_side(struct side *s, struct cg_proc *proc, uint32_t ranks, uint64_t n, int device, int stride)
{
    struct cg_flat_builder *b = cg_flat_begin();

    *s = (struct side){.device = device, .stride = stride, .bytes = ranks * n * 4 * (size_t) stride};
    s->at = device < 0 ? malloc(s->bytes) : fake_alloc(device, s->bytes);
    for (size_t i = 0; i < s->bytes / 4; i++) s->at[i] = GAP;
    cg_flat_leaf(b, 0, 4, n, 4 * stride);
    s->flat = cg_flat_end(b, (uint64_t) stride, (int64_t) n * 4 * stride);
    assert_non_null(s->flat);
    if (stride == 1) return;
    s->piece = (struct cg_flat_piece){s->flat, (char *) s->at, ranks, ranks * n * 4, 0};
    s->pieces = (struct cg_pieces){&s->piece, 1, device, cg_proc_room(proc, device, ranks * n * 4)};
    assert_non_null(s->pieces.packed);
}

static void close_side(struct side *s, struct cg_proc *proc)
{
    if (s->pieces.packed) cg_proc_room_free(proc, s->device, s->pieces.packed);
    cg_flat_drop(s->flat);
    if (s->device < 0) free(s->at);
    else fake_free(s->at);
}

/* Strided where the GPU is, or dense anywhere: by rank and operation. */
static void begin(struct mesh *m, struct mesh_comm *c, uint32_t r, struct rank_op *o, uint64_t n, int key, int apart)
{
    int kind = apart ? 0 : (int) (r + (uint32_t) key) % 4, gpu = (int) r % 2;
    struct cg_call call = {.coll = CG_COLL_ALLTOALL, .type = CG_TYPE_U8, .count = n * 4};

    open_side(&o->send, m->proc[r], m->n, n, kind == 3 ? -1 : gpu, kind == 0 || kind == 1 ? 3 : 1);
    open_side(&o->recv, m->proc[r], m->n, n, kind == 3 ? -1 : gpu, kind == 0 || kind == 2 ? 2 : 1);
    for (uint32_t to = 0; to < m->n; to++) {
        for (uint64_t i = 0; i < n; i++)
            o->send.at[(to * n + i) * (uint64_t) o->send.stride] = value(r, to, i, key);
    }
    call.src = o->send.pieces.packed ? (void *) o->send.pieces.packed : o->send.at;
    call.dst = o->recv.pieces.packed ? (void *) o->recv.pieces.packed : o->recv.at;
    if (o->send.pieces.packed) call.pack = &o->send.pieces;
    if (o->recv.pieces.packed) call.unpack = &o->recv.pieces;
    assert_int_equal(mesh_post(c, r, &call, &o->op), CG_OK);
}

static void check(const struct mesh *m, uint32_t r, const struct rank_op *o, uint64_t n, int key)
{
    int stride = o->recv.stride;

    assert_int_equal(o->op.status, CG_OK);
    for (uint64_t k = 0; k < m->n * n * (uint64_t) stride; k++) {
        uint64_t i = k / (uint64_t) stride;
        uint32_t want = k % (uint64_t) stride ? GAP : value((uint32_t) (i / n), r, i % n, key);
        assert_int_equal(o->recv.at[k], want);
    }
}

static void finish(struct mesh *m, uint32_t r, struct rank_op *o)
{
    close_side(&o->send, m->proc[r]);
    close_side(&o->recv, m->proc[r]);
}

static void open_mesh(struct mesh *m, struct mesh_comm *c, uint32_t n)
{
    mesh_init(m, n);
    for (uint32_t r = 0; r < n; r++) m->params[r].slot_bytes = 1024;
    for (uint32_t r = 0; r < n; r++) m->params[r].slots = 2;
    assert_int_equal(mesh_open(m), CG_OK);
    assert_int_equal(mesh_comm_open(m, "test", c), CG_OK);
}

static void close_mesh(struct mesh *m, struct mesh_comm *c)
{
    mesh_comm_close(c);
    mesh_close(m);
}

static void rounds(uint32_t n, unsigned seed)
{
    static struct rank_op o[MANY][MESH_MAX];
    struct mesh_comm c;
    struct mesh m;

    open_mesh(&m, &c, n);
    for (int round = 0; round < 20; round++) {
        uint64_t len = 1 + (uint64_t) rand_r(&seed) % (round % 2 ? MOST : 20);
        for (int k = 0; k < MANY; k++) {
            for (uint32_t r = 0; r < n; r++) begin(&m, &c, r, &o[k][r], len, round * MANY + k, 0);
            mesh_spin(&m, rand_r(&seed) % 20, &seed);
        }
        for (int k = 0; k < MANY; k++) {
            for (uint32_t r = 0; r < n; r++) assert_true(mesh_run(&m, &o[k][r].op, 1, &seed));
        }
        for (int k = 0; k < MANY; k++) {
            for (uint32_t r = 0; r < n; r++) {
                check(&m, r, &o[k][r], len, round * MANY + k);
                finish(&m, r, &o[k][r]);
            }
        }
    }
    close_mesh(&m, &c);
}

static void test_layouts(void **state)
{
    (void) state;
    fake_packs = 0;
    for (uint32_t n = 1; n <= 5; n++) rounds(n, n);
    assert_true(fake_packs > 100);
}

static void good_round(struct mesh *m, struct mesh_comm *c, unsigned *seed)
{
    struct rank_op o[MESH_MAX];

    for (uint32_t r = 0; r < m->n; r++) begin(m, c, r, &o[r], 50, 4, 0);
    for (uint32_t r = 0; r < m->n; r++) {
        assert_true(mesh_run(m, &o[r].op, 1, seed));
        check(m, r, &o[r], 50, 4);
        finish(m, r, &o[r]);
    }
}

/* The packing, or the unpacking, of rank 0's first operation fails: an error there and on the others, nothing is used
 * after it was given back, and a second communicator goes on. */
static void fail_at(int pack)
{
    struct rank_op first[2], second[2];
    struct mesh_comm c, other;
    struct mesh m;
    unsigned seed = 5;

    open_mesh(&m, &c, 2);
    assert_int_equal(mesh_comm_open(&m, "other", &other), CG_OK);
    good_round(&m, &c, &seed); /* links are set up */
    fake_pack_fails = pack;
    for (uint32_t r = 0; r < 2; r++) {
        begin(&m, &c, r, &first[r], 100, 0, 1);
        begin(&m, &c, r, &second[r], 100, 1, 1);
    }
    assert_true(mesh_run(&m, &first[0].op, 1, &seed));
    assert_int_equal(first[0].op.status, CG_ERR_GPU);
    fake_pack_fails = 0;
    for (uint32_t r = 0; r < 2; r++) {
        assert_true(mesh_run(&m, &first[r].op, 1, &seed));
        assert_true(mesh_run(&m, &second[r].op, 1, &seed));
        if (pack == 1) assert_true(second[r].op.status < 0); /* else their messages may have been through */
    }
    for (uint32_t r = 0; r < 2; r++) {
        finish(&m, r, &first[r]);
        finish(&m, r, &second[r]);
    }
    good_round(&m, &other, &seed);
    mesh_comm_close(&other);
    close_mesh(&m, &c);
}

static void test_failure(void **state)
{
    (void) state;
    fail_at(1); /* first's packing */
    fail_at(3); /* first's unpacking: two were packed before */
}

/* Room comes from the GPU only. */
static void test_no_room(void **state)
{
    struct mesh_comm c;
    struct mesh m;

    (void) state;
    open_mesh(&m, &c, 1);
    fake_no_gpu = 1;
    assert_null(cg_proc_room(m.proc[0], 0, 100));
    fake_no_gpu = 0;
    close_mesh(&m, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts), cmocka_unit_test(test_failure),
                                       cmocka_unit_test(test_no_room)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
