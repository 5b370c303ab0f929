/* SPDX-License-Identifier: BSD-3-Clause
 * Plans for several nodes: the checker passes every row for all sorts of nodes, up to 4096 ranks; neighbours. */
#include "plan/choose.h"
#include "plan/rail.h"

#include "core/status.h"
#include "kernels/host/host.h"
#include "test/sim/shape.h"
#include "test/unit/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum layout { EVEN, DEALT, FIRST_SMALL, RANDOM, LAYOUTS };

/* So many ranks a node, one after another, or dealt out like cards; a first node of one; or anything. */
static struct cg_nodes *nodes_of(uint32_t n, uint32_t per, int layout, uint64_t *rng)
{
    uint64_t *host = calloc(n, sizeof(*host));
    struct cg_nodes *nodes;

    assert_non_null(host);
    for (uint32_t r = 0; r < n; r++) {
        host[r] = EVEN == layout          ? r / per
                  : DEALT == layout       ? r % ((n + per - 1) / per)
                  : FIRST_SMALL == layout ? (r + per - 1) / per
                                          : rng_below(rng, (n + per - 1) / per);
    }
    nodes = cg_nodes_new(n, host);
    assert_non_null(nodes);
    free(host);
    return nodes;
}

static struct cg_params params_for(const struct rail_choice *c, int slots)
{
    struct cg_params p;

    cg_params_default(&p);
    p.doubling_max = c->doubling_max;
    p.rail_ring_nodes = c->rail_ring_nodes;
    p.slots = slots;
    return p;
}

static const struct cg_algorithm *choose(const struct cg_plan_request *req)
{
    const struct cg_row *row;

    return cg_choose_plan(req, &row);
}

/* 1 if the row was used. */
static int check(const struct rail_choice *c, const struct cg_nodes *nodes, uint64_t count, int esize, int slots)
{
    static uint64_t rng = 17;
    struct cg_params params = params_for(c, slots);
    struct cg_plan_request req = {.coll = c->coll,
                                  .nranks = nodes->nranks,
                                  .root = rng_below(&rng, nodes->nranks),
                                  .esize = esize,
                                  .params = &params,
                                  .nodes = nodes};
    char why[200] = "";
    struct shape s;
    int used;

    shape_make(&s, &req, count, 0, &rng);
    used = 0 == strcmp(choose(s.reqs)->name, c->name);
    if (cg_plan_check_all(s.reqs, why, sizeof(why)) != CG_OK) {
        fail_msg("%s %s, %u ranks on %u nodes, %u rails, root %u, %llu x %d bytes, %d slots: %s",
                 choose(s.reqs)->name, cg_coll_name(c->coll), nodes->nranks, nodes->n, nodes->rails, req.root,
                 (unsigned long long) count, esize, slots, why);
    }
    shape_free(&s);
    return used;
}

static void every_row_checks(void **state)
{
    static const struct {
        uint64_t count;
        int esize, slots;
    } sizes[] = {{1, 8, 2}, {17, 1, 4}, {8191, 4, 2}, {1000003, 8, 2}, {100003, 4, 4}, {30000001, 4, 8}};
    uint64_t rng = 4;

    (void) state;
    for (size_t i = 0; i < NRAIL_CHOICES; i++) {
        int used = 0;
        for (uint32_t n = 2; n <= 40; n += n < 14 ? 1 : 9) {
            for (uint32_t per = 1; per <= 12 && per < n; per += per < 4 ? 1 : 4) {
                for (int layout = 0; layout < LAYOUTS; layout++) {
                    struct cg_nodes *nodes = nodes_of(n, per, layout, &rng);
                    size_t k = rng_below(&rng, sizeof(sizes) / sizeof(*sizes));
                    used += check(&rail_choices[i], nodes, sizes[k].count, sizes[k].esize, sizes[k].slots);
                    cg_nodes_free(nodes);
                }
            }
        }
        assert_in_range(used, 50, 10000);
    }
}

/* Programs with walks have as many reps as there are nodes, and their proof takes as long, and as much memory. */
static int has_walks(const struct rail_choice *c)
{
    return CG_COLL_ALLGATHER == c->coll || CG_COLL_REDUCE_SCATTER_BLOCK == c->coll || CG_COLL_GATHER == c->coll ||
           CG_COLL_SCATTER == c->coll;
}

/* Samples of what takes too long for all: up to 4096 ranks, with the default slots. */
static void thousands(void **state)
{
    static const uint32_t shapes[][2] = {{4096, 8}, {4096, 1}, {4095, 8}, {4096, 5}, {1024, 4}, {1000, 64}, {513, 2}};
    static const uint32_t walked[][2] = {{1024, 8}, {96, 3}, {150, 7}, {200, 64}};
    uint64_t rng = 9;

    (void) state;
    for (size_t i = 0; i < NRAIL_CHOICES; i++) {
        int used = 0;
        for (size_t k = 0; k < sizeof(walked) / sizeof(*walked) && has_walks(&rail_choices[i]); k++) {
            struct cg_nodes *nodes = nodes_of(walked[k][0], walked[k][1], k % 2 ? DEALT : EVEN, &rng);
            used += check(&rail_choices[i], nodes, k % 2 ? 5003 : 100, 4, 8);
            cg_nodes_free(nodes);
        }
        for (size_t k = i % 3; k < sizeof(shapes) / sizeof(*shapes) && !has_walks(&rail_choices[i]); k += 3) {
            struct cg_nodes *nodes = nodes_of(shapes[k][0], shapes[k][1], EVEN, &rng);
            used += check(&rail_choices[i], nodes, k % 2 ? 20000003 : 100, 4, 8);
            cg_nodes_free(nodes);
        }
        assert_true(used > 0 || rail_choices[i].rail_ring_nodes);
    }
}

/* ---- nodes ---- */

static void numbers(void **state)
{
    static const uint64_t host[] = {7, 3, 7, 3, 3, 9, 7};
    static const uint32_t node[] = {0, 1, 0, 1, 1, 2, 0}, local[] = {0, 0, 1, 1, 2, 0, 2};
    struct cg_nodes *nodes = cg_nodes_new(7, host);

    (void) state;
    assert_non_null(nodes);
    assert_int_equal(nodes->n, 3);
    assert_int_equal(nodes->nhosts, 3);
    assert_int_equal(nodes->rails, 1);
    assert_int_equal(nodes->most, 3);
    assert_false(nodes->contiguous);
    assert_memory_equal(nodes->node, node, sizeof(node));
    assert_memory_equal(nodes->local, local, sizeof(local));
    for (uint32_t r = 0; r < 7; r++) {
        assert_int_equal(cg_node_rank(nodes, nodes->node[r], nodes->local[r]), r);
        assert_int_equal(nodes->member[nodes->place[r]], r);
    }
    cg_nodes_free(nodes);
}

/* 20 ranks of one host are three nodes, and no reason for plans over nodes; on two hosts they are. */
static void large_hosts(void **state)
{
    struct cg_params params;
    struct cg_plan_request req = {
        .coll = CG_COLL_ALLREDUCE, .nranks = 20, .count = 1000000, .esize = 4, .params = &params};
    uint64_t rng = 1;
    struct cg_nodes *one = nodes_of(20, 20, EVEN, &rng), *two = nodes_of(20, 10, EVEN, &rng);

    (void) state;
    cg_params_default(&params);
    assert_int_equal(one->n, 3);
    assert_int_equal(one->nhosts, 1);
    assert_int_equal(one->most, 7);
    assert_int_equal(one->rails, 6);
    req.nodes = one;
    assert_string_equal(choose(&req)->name, "ring");
    req.nodes = two;
    assert_int_equal(two->n, 4);
    assert_string_equal(choose(&req)->name, "rail_ring");
    params.hierarchy = 0;
    assert_string_equal(choose(&req)->name, "ring");
    cg_nodes_free(one);
    cg_nodes_free(two);
}

/* ---- graphs ---- */

static int leads_to(const struct cg_fan *f, uint32_t node)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->down[i] == node) return 1;
    }
    return 0;
}

/* From every node up to the root in few steps; both ends of an edge agree. Returns the longest way. */
static uint32_t check_graph(const struct cg_nodes *nodes, enum cg_graph graph, uint32_t root)
{
    uint32_t longest = 0;

    for (uint32_t node = 0; node < nodes->n; node++) {
        struct cg_fan f = cg_rail_fan(nodes, graph, node, root);
        uint32_t at = node, way = 0;
        for (uint32_t i = 0; i < f.n; i++)
            assert_int_equal(cg_rail_fan(nodes, graph, f.down[i], root).up, node);
        if (CG_GRAPH_BINOMIAL != graph) assert_true(f.n + (f.up >= 0) <= 3);
        for (struct cg_fan g = f; g.up >= 0; way++) {
            struct cg_fan next = cg_rail_fan(nodes, graph, (uint32_t) g.up, root);
            assert_true(leads_to(&next, at));
            at = (uint32_t) g.up;
            g = next;
            assert_true(way < nodes->n);
        }
        if (CG_OWN_ROOT != root) assert_int_equal(at, root);
        longest = way > longest ? way : longest;
    }
    return longest;
}

static void graphs(void **state)
{
    uint64_t rng = 2;

    (void) state;
    for (uint32_t n = 2; n <= 70; n++) {
        struct cg_nodes *nodes = nodes_of(n, 1, EVEN, &rng);
        uint32_t bits = 0, inner[2] = {0};
        while (1u << bits < n) bits++;
        for (int graph = CG_GRAPH_TREE; graph <= CG_GRAPH_BINOMIAL; graph++) {
            for (uint32_t root = 0; root < n; root += 1 + n / 9)
                assert_in_range(check_graph(nodes, (enum cg_graph) graph, root), 0,
                                CG_GRAPH_BINOMIAL == graph ? bits + 1 : 2 * bits);
            if (CG_GRAPH_BINOMIAL == graph) continue;
            assert_in_range(check_graph(nodes, (enum cg_graph) graph, CG_OWN_ROOT), 0, bits);
            for (uint32_t node = 0; node < n; node++)
                inner[graph] += cg_rail_fan(nodes, (enum cg_graph) graph, node, CG_OWN_ROOT).n > 1;
        }
        for (uint32_t node = 0; node < n; node++) { /* who has two below it in one tree has none in the other */
            struct cg_fan a = cg_rail_fan(nodes, CG_GRAPH_TREE, node, CG_OWN_ROOT);
            struct cg_fan b = cg_rail_fan(nodes, CG_GRAPH_TREE2, node, CG_OWN_ROOT);
            assert_true(a.n < 2 || b.n < 2);
        }
        assert_int_equal(inner[0], inner[1]);
        cg_nodes_free(nodes);
    }
}

/* ---- neighbours ---- */

/* Symmetric, and all that any plan uses; a rank of 512 nodes of 8 has no more than those of its node, 9 for doubling, 6
 * for trees. */
static void neighbours(void **state)
{
    static const uint32_t shapes[][2] = {{16, 8}, {9, 3}, {24, 8}, {40, 4}, {512, 8}, {4096, 8}};
    uint64_t rng = 3;

    (void) state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        uint32_t n = shapes[i][0];
        struct cg_nodes *nodes = nodes_of(n, shapes[i][1], EVEN, &rng);
        struct cg_params params;
        cg_params_default(&params);
        for (uint32_t rank = 0; rank < n; rank += 1 + n / 40) {
            uint32_t peers[32], theirs[32];
            int count = cg_plan_neighbors(n, rank, &params, nodes, 1, peers, 32);
            assert_in_range(count, 1, 7 + 9 + 6);
            for (int k = 0; k < count; k++) {
                int other = cg_plan_neighbors(n, peers[k], &params, nodes, 1, theirs, 32), found = 0;
                for (int m = 0; m < other; m++) found |= theirs[m] == rank;
                assert_true(found);
            }
            for (uint64_t bytes = 1; bytes < 1ull << 30; bytes *= 5) {
                struct cg_plan_request req = {.coll = CG_COLL_ALLREDUCE,
                                              .nranks = n,
                                              .rank = rank,
                                              .count = bytes,
                                              .esize = 1,
                                              .params = &params,
                                              .nodes = nodes};
                struct cg_plan plan;
                assert_int_equal(cg_plan_build(&req, &plan), CG_OK);
                for (uint32_t l = 0; l < plan.nlinks; l++) {
                    int found = 0;
                    for (int k = 0; k < count; k++) found |= peers[k] == plan.peer[l];
                    assert_true(found);
                }
            }
        }
        cg_nodes_free(nodes);
    }
}

/* More neighbours than a program has links: some of them meet, the same for both. */
static void meeting(void **state)
{
    struct cg_params params;
    uint64_t rng = 3;
    struct cg_nodes *nodes = nodes_of(4096, 8, EVEN, &rng);
    int many = 0;

    (void) state;
    cg_params_default(&params);
    for (uint32_t rank = 0; rank < 4096; rank += 117) {
        struct cg_plan_request who = {.nranks = 4096, .rank = rank, .params = &params, .nodes = nodes};
        struct cg_plan plan, theirs;
        uint32_t peers[32], k;
        int n = cg_plan_neighbors(4096, rank, &params, nodes, 1, peers, 32);
        assert_in_range(n, 1, 32);
        many += n > CG_MAX_LINKS;
        assert_int_equal(cg_plan_meet(&who, peers, (uint32_t) n, &plan), CG_OK);
        assert_in_range(plan.nlinks, 7, CG_MAX_LINKS);
        for (uint32_t l = 0; l < plan.nlinks; l++) {
            uint32_t more[32];
            who.rank = plan.peer[l];
            n = cg_plan_neighbors(4096, who.rank, &params, nodes, 1, more, 32);
            assert_int_equal(cg_plan_meet(&who, more, (uint32_t) n, &theirs), CG_OK);
            for (k = 0; k < theirs.nlinks && theirs.peer[k] != rank; k++) continue;
            assert_true(k < theirs.nlinks);
        }
    }
    assert_true(many > 20);
    cg_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),    cmocka_unit_test(large_hosts), cmocka_unit_test(graphs),
        cmocka_unit_test(neighbours),
        cmocka_unit_test(meeting), cmocka_unit_test(every_row_checks), cmocka_unit_test(thousands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
