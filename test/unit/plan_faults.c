/* SPDX-License-Identifier: BSD-3-Clause
 * The checker refuses plans with a fault in them. */
#include "plan/nodes.h"
#include "plan/spec.h"

#include "core/status.h"
#include "kernels/host/host.h"
#include "test/unit/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void swap_steps(struct cg_plan *p, uint32_t a, uint32_t b)
{
    struct cg_step s = p->step[a];

    p->step[a] = p->step[b];
    p->step[b] = s;
}

static void no_step(struct cg_plan *p) { p->nsteps = 0; }
static void missing_step(struct cg_plan *p) { p[1].nsteps--; }
static void wrong_chunk(struct cg_plan *p) { p[1].step[1].chunk ^= 1; }
static void chunk_outside(struct cg_plan *p) { p[1].step[1].chunk = (uint16_t) p->nchunks; }
static void wrong_order(struct cg_plan *p) { p[0].step[p->nsteps - 1].flags ^= CG_F_SLOT_FIRST; }
static void wrong_opcode(struct cg_plan *p) { p[1].step[1].opcode = CG_STEP_COUNT; }
static void reduced_twice(struct cg_plan *p) { p[1].step[p[1].nsteps - 1].opcode = CG_STEP_RECV_REDUCE; }
static void not_written(struct cg_plan *p) { p[1].step[p[1].nsteps - 1].opcode = CG_STEP_RECV_REDUCE_SEND; }
static void link_outside(struct cg_plan *p) { p[1].step[1].rlink = (uint8_t) p[1].nlinks; }
static void to_itself(struct cg_plan *p) { p[1].peer[0] = 1; }
static void one_sided(struct cg_plan *p) { p[1].nlinks = 1; }
static void too_many_links(struct cg_plan *p) { p[1].nlinks = CG_MAX_LINKS + 1; }
static void position(struct cg_plan *p) { p[1].self_pos++; }
static void large_chunk(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].chunk *= 64;
}
static void gap(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].end -= 16;
}
static void other_ranges(struct cg_plan *p) { p[2].range[0].chunk -= 4; }
static void few_iterations(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].iters--;
}
static void uncut(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].chunk = p[rank].range[0].iters = 0;
}
static void other_name(struct cg_plan *p) { p[3].name = "other"; }
static void swapped(struct cg_plan *p) { swap_steps(&p[1], 0, p->nsteps / 2); }
static void all_receive_first(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        swap_steps(&p[rank], 0, p->nsteps - 1);
}

static const struct fault {
    const char *text;
    void (*inject)(struct cg_plan *plans);
} faults[] = {
#define FAULT(name)                                                                                                    \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    FAULT(no_step),      FAULT(missing_step), FAULT(wrong_chunk),       FAULT(chunk_outside),  FAULT(wrong_opcode),
    FAULT(link_outside), FAULT(to_itself),    FAULT(one_sided),         FAULT(too_many_links), FAULT(position),
    FAULT(large_chunk),  FAULT(gap),          FAULT(other_ranges),      FAULT(few_iterations), FAULT(uncut),
    FAULT(other_name),   FAULT(swapped),      FAULT(all_receive_first), FAULT(reduced_twice),  FAULT(not_written),
#undef FAULT
};

/* Builds the plans of four ranks, injects the fault, and returns the proof's verdict. Blocks are uneven. */
static int verdict(int coll, const struct cg_params *params, void (*inject)(struct cg_plan *), char *why, size_t len)
{
    static const uint64_t lens[16] = {100, 60000, 7, 50001, 60000, 3, 9000, 11, 7, 9000, 2, 500, 50001, 11, 500, 9};
    static const uint64_t disps[16] = {0,     100, 60100, 60107, 0, 60000, 60003, 69003,
                                       60500, 0,   9000,  9002,  0, 50001, 50012, 50512};
    struct cg_plan_request req = {
        .coll = coll, .nranks = 4, .root = 2, .count = 200001, .esize = 4, .params = params}, reqs[4];
    struct cg_plan plans[4];
    int gathers = CG_COLL_GATHERV == coll || CG_COLL_ALLGATHERV == coll;

    if (CG_COLL_ALLTOALLV == coll || gathers) req.dst_len = lens, req.dst_disp = disps;
    if (CG_COLL_ALLTOALLV == coll || CG_COLL_SCATTERV == coll) req.src_len = lens, req.src_disp = disps;
    if (CG_COLL_REDUCE_SCATTER == coll) req.src_len = lens;
    cg_spec_requests(&req, reqs);
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_int_equal(cg_plan_build(&reqs[rank], &plans[rank]), CG_OK);
    if (inject) inject(plans);
    return cg_plan_prove(reqs, plans, why, len);
}

static void expect(int coll, const struct cg_params *params, void (*inject)(struct cg_plan *), const char *text)
{
    char why[200] = "";

    assert_int_equal(verdict(coll, params, NULL, why, sizeof(why)), CG_OK);
    if (CG_OK == verdict(coll, params, inject, why, sizeof(why)) || !*why)
        fail_msg("%s of %s is not found", text, cg_coll_name(coll));
}

static void faults_are_found(void **state)
{
    struct cg_params ring = params_of(&choices[4], 2), doubling = params_of(&choices[3], 2);

    (void) state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        expect(CG_COLL_ALLREDUCE, &ring, faults[i].inject, faults[i].text);
    expect(CG_COLL_ALLREDUCE, &doubling, wrong_order, "wrong_order");
}

/* Right unless in place, where the sum is sent instead of the operand: rank 0 receives, reduces into dst, and only then
 * sends src. */
static void receives_first(struct cg_plan *p) { swap_steps(&p[0], 0, 1); }

static void in_place_is_tried(void **state)
{
    struct cg_params doubling = params_of(&choices[3], 2);

    (void) state;
    expect(CG_COLL_ALLREDUCE, &doubling, receives_first, "receives_first");
}

/* ---- faults of other collectives ---- */

static uint32_t step_with(const struct cg_plan *p, int opcode)
{
    uint32_t i = 0;

    while (i < p->nsteps && p->step[i].opcode != opcode)
        i++;
    assert_true(i < p->nsteps);
    return i;
}

static void with_opcode(struct cg_plan *p, int from, int to) { p->step[step_with(p, from)].opcode = (uint8_t) to; }

static void dropped(struct cg_plan *p) { p[1].nsteps--; }
static void dropped_everywhere(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].nsteps--;
}
static void written_outside_root(struct cg_plan *p)
{
    with_opcode(&p[1], CG_STEP_RECV_REDUCE_SEND, CG_STEP_RECV_REDUCE_COPY_SEND);
}
static void forward_is_kept(struct cg_plan *p) { with_opcode(&p[3], CG_STEP_FORWARD, CG_STEP_RECV_SEND); }
static void not_kept(struct cg_plan *p) { p[1].step[0].flags &= (uint8_t) ~CG_F_KEEP; }
static void kept(struct cg_plan *p) { p[1].step[0].flags |= CG_F_KEEP; }
static void left_right(struct cg_plan *p) { p[1].step[0].flags ^= CG_F_SLOT_FIRST; }
static void operand_first(struct cg_plan *p) { p[1].step[1].opcode = CG_STEP_COPY; }
static void first_writes(struct cg_plan *p)
{
    p[0].step[p[0].nsteps++] = (struct cg_step){.opcode = CG_STEP_COPY};
}
static void no_copy(struct cg_plan *p) { p[2].step[step_with(&p[2], CG_STEP_COPY)].from ^= 1; }
static void beside(struct cg_plan *p) { p[2].block[p[2].step[p[2].nsteps - 1].chunk].offset++; }
static void other_operand(struct cg_plan *p) { p[2].block[p[2].step[step_with(&p[2], CG_STEP_SEND)].from].offset++; }
static void short_block(struct cg_plan *p) { p[2].block[p[2].step[p[2].nsteps - 1].chunk].len--; }
static void blocks_overlap(struct cg_plan *p)
{
    p[1].block[p[1].step[p[1].nsteps - 1].chunk].offset = p[1].block[p[1].step[p[1].nsteps - 2].chunk].offset;
}
static void block_outside(struct cg_plan *p) { p[3].step[0].chunk = (uint16_t) p[3].nblocks; }
static void operand_outside(struct cg_plan *p)
{
    p[2].block[p[2].step[step_with(&p[2], CG_STEP_SEND)].from].offset += 1 << 20;
}
static void fewer_channels(struct cg_plan *p) { p[1].nchan = 1; }
static void large_slices(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++) {
        for (uint32_t c = 0; c < p[rank].nchan; c++)
            p[rank].range[c].chunk *= 4, p[rank].range[c].iters = (p[rank].range[c].iters + 3) / 4;
    }
}
static void other_slices(struct cg_plan *p) { p[3].range[0].chunk -= 16; }
static void iteration_less(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].iters--;
}
static void over_its_operand(struct cg_plan *p)
{
    struct cg_step *s = &p[1].step[p[1].nsteps - 2];

    s->flags &= (uint8_t) ~(CG_F_KEEP | CG_F_INTO_SLOT);
    p[1].nsteps--;
}
static void channels_overtake(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++) {
        p[rank].nchan = 2;
        p[rank].range[0].iters = (p[rank].range[0].iters + 1) / 2;
        p[rank].range[1] = p[rank].range[0];
    }
}
static void received_before_sent(struct cg_plan *p)
{
    swap_steps(&p[0], step_with(&p[0], CG_STEP_SEND), p[0].nsteps - 1);
}
static void all_wait(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        swap_steps(&p[rank], 0, p[rank].nsteps - 1);
}

static void low_to_high(struct cg_plan *p) { p[2].step[p[2].nsteps - 2].flags ^= CG_F_DST_OPERAND; }
static void sent_too_late(struct cg_plan *p) { swap_steps(&p[1], 0, p[1].nsteps - 1); }

static void faults_of_others(void **state)
{
    static const struct {
        int coll, direct;
        const struct fault fault;
    } cases[] = {
#define CASE(coll, name) {CG_COLL_##coll, 0, {#name, name}}
#define DIRECT(coll, name) {CG_COLL_##coll, 1, {#name, name}}
        CASE(BCAST, dropped), CASE(REDUCE, dropped), CASE(REDUCE, written_outside_root), CASE(REDUCE, left_right),
        CASE(SCAN, dropped), CASE(SCAN, kept), CASE(SCAN, left_right), CASE(EXSCAN, dropped), CASE(EXSCAN, not_kept),
        CASE(EXSCAN, left_right), CASE(EXSCAN, operand_first), CASE(EXSCAN, first_writes), CASE(ALLGATHER, no_copy),
        CASE(ALLGATHER, beside), CASE(ALLGATHER, other_operand), CASE(ALLGATHER, short_block),
        CASE(ALLGATHER, blocks_overlap), CASE(ALLGATHER, all_wait), CASE(ALLGATHER, dropped_everywhere),
        CASE(ALLGATHER, fewer_channels), CASE(ALLGATHER, large_slices), CASE(ALLGATHER, other_slices),
        CASE(ALLGATHER, iteration_less), CASE(ALLGATHER, block_outside), CASE(ALLGATHERV, no_copy),
        CASE(ALLGATHERV, beside), CASE(ALLGATHERV, other_operand), CASE(ALLGATHERV, short_block), CASE(GATHER, no_copy),
        CASE(GATHER, dropped), CASE(GATHER, forward_is_kept), CASE(SCATTER, no_copy), CASE(SCATTER, dropped),
        CASE(SCATTER, beside), CASE(GATHERV, no_copy), CASE(GATHERV, dropped),
        CASE(GATHERV, beside), CASE(SCATTERV, no_copy), CASE(SCATTERV, dropped), CASE(SCATTERV, operand_outside),
        CASE(ALLTOALL, no_copy), CASE(ALLTOALL, dropped), CASE(ALLTOALL, beside), CASE(ALLTOALL, other_operand),
        CASE(ALLTOALL, blocks_overlap), CASE(ALLTOALL, received_before_sent), CASE(ALLTOALL, all_wait),
        CASE(ALLTOALLV, no_copy), CASE(ALLTOALLV, dropped), CASE(ALLTOALLV, beside), CASE(ALLTOALLV, short_block),
        CASE(REDUCE_SCATTER, dropped), CASE(REDUCE_SCATTER, beside), CASE(REDUCE_SCATTER, over_its_operand),
        CASE(REDUCE_SCATTER, channels_overtake), CASE(REDUCE_SCATTER_BLOCK, dropped),
        CASE(REDUCE_SCATTER_BLOCK, beside), CASE(REDUCE_SCATTER_BLOCK, all_wait),
        DIRECT(BCAST, dropped), DIRECT(REDUCE, dropped), DIRECT(SCAN, dropped), DIRECT(SCAN, low_to_high),
        DIRECT(SCAN, sent_too_late), DIRECT(EXSCAN, dropped), DIRECT(EXSCAN, sent_too_late),
        DIRECT(ALLGATHER, no_copy), DIRECT(ALLGATHER, beside), DIRECT(ALLGATHERV, all_wait),
        DIRECT(REDUCE_SCATTER_BLOCK, beside), DIRECT(REDUCE_SCATTER_BLOCK, all_wait),
        DIRECT(REDUCE_SCATTER_BLOCK, sent_too_late),
#undef CASE
#undef DIRECT
    };
    struct cg_params params[] = {params_of(&choices[3], 2), params_of(&choices[1], 2)};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect(cases[i].coll, &params[cases[i].direct], cases[i].fault.inject, cases[i].fault.text);
}

/* ---- faults of programs with walks: 2 nodes of 2 ranks ---- */

static struct cg_walk *walk_of(struct cg_plan *p, int opcode) { return &p->walk[p->step[step_with(p, opcode)].chunk]; }

static void walk_outside(struct cg_plan *p) { p[1].step[0].chunk = (uint16_t) p[1].nwalks; }
static void from_outside(struct cg_plan *p) { p[1].step[0].from = (uint16_t) p[1].nwalks; }
static void many_walks(struct cg_plan *p) { p[1].nwalks = CG_MAX_WALKS + 1; }
static void no_reps(struct cg_plan *p) { p[1].reps = 0; }
static void half_a_slice(struct cg_plan *p) { p[1].range[0].iters++; }
static void slice_less(struct cg_plan *p)
{
    for (int rank = 0; rank < 4; rank++)
        p[rank].range[0].iters -= p[rank].reps;
}
static void rep_too_late(struct cg_plan *p) { p[2].walk[p[2].step[p[2].nsteps - 1].chunk].to++; }
static void rep_left_out(struct cg_plan *p) { p[2].walk[p[2].step[p[2].nsteps - 1].chunk].from++; }
static void other_block(struct cg_plan *p) { p[2].walk[p[2].step[p[2].nsteps - 1].chunk].base ^= 1; }
static void no_such_block(struct cg_plan *p) { walk_of(&p[2], CG_STEP_SEND)->base += 8; }
static void other_way(struct cg_plan *p)
{
    struct cg_walk *w = walk_of(&p[0], CG_STEP_SEND);

    w->at ^= 1;
}
static void written_twice(struct cg_plan *p)
{
    struct cg_step *copy = &p[2].step[step_with(&p[2], CG_STEP_COPY)];

    p[2].step[p[2].nsteps++] = *copy;
    for (uint32_t i = p[2].nwalks; i-- > 0;) { /* instead of what comes last */
        if (p[2].walk[i].to == p[2].reps) p[2].walk[i].to--, i = 0;
    }
}
static void over_operand(struct cg_plan *p)
{
    struct cg_plan *q = &p[1];
    struct cg_step *all = &q->step[step_with(q, CG_STEP_SEND_ALL)], *copy = &q->step[step_with(q, CG_STEP_COPY)];
    struct cg_step s = *all;

    *all = *copy; /* written before it is sent: in place at the same place */
    *copy = s;
}

static void no_copy_rep(struct cg_plan *p) { walk_of(&p[2], CG_STEP_COPY)->at ^= 1; }

static void faults_of_walks(void **state)
{
    static const struct {
        int coll;
        const struct fault fault;
    } cases[] = {
#define CASE(coll, name) {CG_COLL_##coll, {#name, name}}
        CASE(ALLGATHER, walk_outside), CASE(ALLGATHER, from_outside), CASE(ALLGATHER, many_walks),
        CASE(ALLGATHER, no_reps), CASE(ALLGATHER, half_a_slice), CASE(ALLGATHER, slice_less),
        CASE(ALLGATHER, rep_too_late), CASE(ALLGATHER, rep_left_out), CASE(ALLGATHER, other_block),
        CASE(ALLGATHER, written_twice), CASE(ALLGATHER, over_operand), CASE(ALLGATHER, all_wait),
        CASE(ALLGATHER, other_slices), CASE(ALLGATHER, missing_step), CASE(REDUCE_SCATTER_BLOCK, walk_outside),
        CASE(REDUCE_SCATTER_BLOCK, rep_too_late), CASE(REDUCE_SCATTER_BLOCK, rep_left_out),
        CASE(REDUCE_SCATTER_BLOCK, other_block), CASE(REDUCE_SCATTER_BLOCK, no_such_block),
        CASE(REDUCE_SCATTER_BLOCK, other_way), CASE(REDUCE_SCATTER_BLOCK, missing_step),
        CASE(GATHER, rep_left_out), CASE(GATHER, other_block), CASE(GATHER, no_copy_rep), CASE(GATHER, missing_step),
        CASE(SCATTER, rep_left_out), CASE(SCATTER, other_block), CASE(SCATTER, missing_step),
#undef CASE
    };
    static const uint64_t hosts[] = {1, 1, 2, 2};
    struct cg_nodes *nodes = cg_nodes_new(4, hosts);
    struct cg_params params;
    struct cg_plan plans[4];
    char why[200] = "";

    (void) state;
    cg_params_default(&params);
    params.exchange_max = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct cg_plan_request reqs[4], req = {.coll = cases[i].coll, .nranks = 4, .root = 2, .count = 50001,
                                               .esize = 4, .params = &params, .nodes = nodes};
        cg_spec_requests(&req, reqs);
        for (int faulty = 0; faulty < 2; faulty++) {
            for (uint32_t rank = 0; rank < 4; rank++)
                assert_int_equal(cg_plan_build(&reqs[rank], &plans[rank]), CG_OK);
            assert_memory_equal(plans[0].name, "rail_", 5);
            if (faulty) cases[i].fault.inject(plans);
            int rc = cg_plan_prove(reqs, plans, why, sizeof(why));
            if ((CG_OK == rc) == faulty) fail_msg("%s of %s: %s", cases[i].fault.text, cg_coll_name(req.coll), why);
        }
    }
    cg_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(in_place_is_tried),
        cmocka_unit_test(faults_of_others),
        cmocka_unit_test(faults_of_walks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
