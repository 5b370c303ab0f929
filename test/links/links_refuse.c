/* SPDX-License-Identifier: BSD-3-Clause
 * Conversations that are refused: messages that lie, callers that err, memory or transport that is not there. */
#include "test/links/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BOTH = 3, OFFER = 1, ANSWER = 2, SHM = 1, NET = 2 };

/* One lie each. */
static void lie_magic(struct cg_link_msg *m) { m->magic ^= 1; }
static void lie_index(struct cg_link_msg *m) { m->index = UINT32_MAX; }
static void lie_other_index(struct cg_link_msg *m) { m->index++; }
static void lie_medium(struct cg_link_msg *m) { m->medium = 2; }
static void lie_medium_low(struct cg_link_msg *m) { m->medium = -1; }
static void lie_other_medium(struct cg_link_msg *m) { m->medium = !m->medium; }
static void lie_slot_bytes(struct cg_link_msg *m) { m->geometry.slot_bytes = 1025; }
static void lie_slot_bytes_max(struct cg_link_msg *m) { m->geometry.slot_bytes = 0x80000000u; }
static void lie_slots_none(struct cg_link_msg *m) { m->geometry.slots = 0; }
static void lie_slots(struct cg_link_msg *m) { m->geometry.slots = 8; }
static void lie_chunk(struct cg_link_msg *m) { m->chunk = 0x7fffffff; }
static void lie_line(struct cg_link_msg *m) { m->line = 2048; }
static void lie_line_max(struct cg_link_msg *m) { m->line = UINT32_MAX; }
static void lie_lines_bytes(struct cg_link_msg *m) { m->lines_bytes = m->line * sizeof(struct cg_line); }
static void lie_offset_end(struct cg_link_msg *m) { m->offset = m->chunk_bytes; }
static void lie_offset_wraps(struct cg_link_msg *m) { m->offset = UINT64_MAX - 63; }
static void lie_offset_odd(struct cg_link_msg *m) { m->offset += 8; }
static void lie_offset_lines(struct cg_link_msg *m) { m->offset = 0; }
static void lie_chunk_bytes(struct cg_link_msg *m) { m->chunk_bytes = 4096; }
static void lie_status(struct cg_link_msg *m) { m->status = CG_AGAIN; }
static void lie_status_low(struct cg_link_msg *m) { m->status = -1000; }
static void lie_no_handle(struct cg_link_msg *m) { m->handle_len = 0; }
static void lie_handle(struct cg_link_msg *m) { m->handle_len = CG_NET_HANDLE_MAX + 1; }

static const struct lie {
    void (*tell)(struct cg_link_msg *m);
    int where, medium;
} lies[] = {
    {lie_magic, BOTH, BOTH},        {lie_index, BOTH, BOTH},         {lie_other_index, ANSWER, BOTH},
    {lie_medium, BOTH, BOTH},       {lie_medium_low, BOTH, BOTH},    {lie_other_medium, ANSWER, BOTH},
    {lie_slot_bytes, BOTH, BOTH},   {lie_slot_bytes_max, BOTH, BOTH}, {lie_slots_none, BOTH, BOTH},
    {lie_slots, ANSWER, BOTH},      {lie_chunk, BOTH, BOTH},         {lie_line, BOTH, BOTH},
    {lie_line_max, BOTH, BOTH},     {lie_lines_bytes, BOTH, BOTH},   {lie_offset_end, BOTH, BOTH},
    {lie_offset_wraps, BOTH, BOTH}, {lie_offset_odd, BOTH, BOTH},    {lie_offset_lines, BOTH, BOTH},
    {lie_chunk_bytes, BOTH, BOTH},  {lie_status, BOTH, BOTH},        {lie_status_low, BOTH, BOTH},
    {lie_no_handle, BOTH, NET},    {lie_handle, BOTH, NET},
};

/* A lie in the offer or the answer is refused, said so to the other side, and costs only that link. */
static void try_lie(struct pair *p, const struct medium_row *row, const struct lie *lie, int where)
{
    struct cg_link_msg offer, answer;
    struct rent r;
    int rc;

    assert_int_equal(cg_link_offer(p->lo.links, &p->hi.info, row->medium, SMALL, &r.lo, &offer), CG_OK);
    if (where == OFFER) lie->tell(&offer);
    rc = cg_link_answer(p->hi.links, &p->lo.info, &offer, &r.hi, &answer);
    assert_int_equal(answer.status, rc);
    if (where == OFFER) {
        assert_int_equal(rc, CG_ERR_ARG);
        assert_null(r.hi);
    } else {
        assert_int_equal(rc, CG_OK);
        lie->tell(&answer);
    }
    assert_int_equal(cg_link_take(p->lo.links, r.lo, &answer), CG_ERR_ARG);
    if (r.hi) assert_int_equal(cg_link_ready(p->hi.links, r.hi), CG_OK); /* who has answered does not wait for ever */
    cg_link_abandon(p->lo.links, r.lo);
    if (r.hi) cg_link_abandon(p->hi.links, r.hi);
}

/* A transport that believes in the length of a handle. */
static int trusting_connect(struct cg_net *net, const void *addr, size_t len, int remote, struct cg_net_ep **ep)
{
    (void) len;
    return cg_net_loop.connect(net, addr, 3 * sizeof(uint64_t), remote, ep);
}

static void test_lies(void **state)
{
    struct cg_net_ops trusting = cg_net_loop;
    const struct medium_row rows[] = {media_rows[0], {"net", CG_MEDIUM_NET, &trusting, NULL}};

    (void) state;
    trusting.connect = trusting.accept = trusting_connect;
    for (const struct medium_row *row = rows; row < rows + 2; row++) {
        for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            for (int where = OFFER; where <= ANSWER; where++) {
                struct pair p;
                struct rent r;

                if (!(lies[i].where & where)) continue;
                if (!(lies[i].medium & (row->medium == CG_MEDIUM_NET ? NET : SHM))) continue;
                pair_open(&p, row);
                try_lie(&p, row, &lies[i], where);
                assert_int_equal(pair_join(&p, row->medium, SMALL, &r), CG_OK);
                pair_exchange(&p, &r, 2);
                pair_close(&p);
            }
        }
    }
}

static void move_offset(struct cg_link_msg *m) { m->offset += 4096; }
static void change_line(struct cg_link_msg *m) { m->line++; }
static void change_net_id(struct cg_link_msg *m) { m->net_id++; }

/* A link that is known stays where it was. */
static void test_known_links_do_not_move(void **state)
{
    void (*changes[])(struct cg_link_msg *m) = {move_offset, change_line, change_net_id};

    (void) state;
    for (int i = 0; i < 3; i++) {
        struct cg_link_msg offer, answer;
        struct pair p;
        struct rent r;

        pair_open(&p, &media_rows[1]);
        assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_OK);
        pair_leave(&p, &r, 1);
        assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_NET, SMALL, &r.lo, &offer), CG_OK);
        changes[i](&offer);
        assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_ERR_ARG);
        cg_link_abandon(p.lo.links, r.lo);
        assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_OK);
        pair_close(&p);
    }
}

/* An offer of a link that has a tenant here does that tenant no harm. */
static void test_offered_twice(void **state)
{
    struct cg_link_msg offer, answer;
    struct cg_link_end *end;
    struct pair p;
    struct rent r;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &r.lo, &offer), CG_OK);
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_OK);
    assert_int_equal(cg_link_take(p.lo.links, r.lo, &answer), CG_OK);
    assert_int_equal(cg_link_take(p.lo.links, r.lo, &answer), CG_ERR_ARG);
    while (cg_link_ready(p.lo.links, r.lo) || cg_link_ready(p.hi.links, r.hi)) continue;
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &end, &answer), CG_ERR_ARG);
    pair_exchange(&p, &r, 9);
    pair_close(&p);
}

static void test_wrong_callers(void **state)
{
    struct cg_link_msg msg, answer;
    struct cg_link_end *end;
    struct cg_peer_info far;
    struct pair p;

    (void) state;
    pair_open(&p, &media_rows[0]);
    far = p.hi.info;
    far.remote = 1;
    assert_int_equal(cg_link_offer(p.lo.links, &p.lo.info, CG_MEDIUM_SHM, SMALL, &end, &msg), CG_ERR_ARG);
    assert_int_equal(cg_link_offer(p.hi.links, &p.lo.info, CG_MEDIUM_SHM, SMALL, &end, &msg), CG_ERR_ARG);
    assert_int_equal(cg_link_offer(p.lo.links, &far, CG_MEDIUM_SHM, SMALL, &end, &msg), CG_ERR_ARG);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &end, &msg), CG_OK);
    assert_int_equal(cg_link_ready(p.lo.links, end), CG_ERR_ARG);
    assert_int_equal(cg_link_answer(p.lo.links, &p.hi.info, &msg, &end, &answer), CG_ERR_ARG);
    assert_int_equal(answer.status, CG_ERR_ARG);
    assert_int_equal(cg_link_answer(p.hi.links, &p.hi.info, &msg, &end, &answer), CG_ERR_ARG); /* itself */
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &msg, &end, &answer), CG_OK);
    pair_close(&p);
}

/* Either side without memory: both learn of it, in the conversation. A transport with memory of its own needs little of
 * the arena. */
static void test_no_memory(void **state)
{
    struct cg_net_ops without = cg_net_loop;
    const struct medium_row rows[] = {media_rows[0], {"net", CG_MEDIUM_NET, &without, NULL}};

    (void) state;
    without.alloc = NULL;
    without.free = NULL;
    for (const struct medium_row *row = rows; row < rows + 2; row++) {
        for (int lo = 0; lo < 2; lo++) {
            struct pair p;
            struct rent r;

            pair_open(&p, row);
            pair_close(&p);
            (lo ? &p.lo : &p.hi)->params.stage_limit = 400000;
            side_open(&p.lo, row, 0);
            side_open(&p.hi, row, 0);
            log_watch();
            assert_int_equal(pair_join(&p, row->medium, SMALL, &r), CG_OK); /* 262,144 of lines and a small window */
            assert_int_equal(pair_join(&p, row->medium, (struct cg_geometry){65536, 8}, &r), CG_ERR_SHM);
            assert_int_equal(log_lines(), 1);
            assert_non_null(strstr(log_last(), "coll_gpu_stage_limit"));
            pair_close(&p);
        }
    }
}

static int no_alloc(struct cg_net *net, int kind, int device, size_t bytes, void **addr, struct cg_net_mem **mem)
{
    (void) net, (void) kind, (void) device, (void) bytes, (void) addr, (void) mem;
    return CG_ERR_NOMEM;
}

/* The transport's memory: slots lie there, not in the arena; where it has none left, the link cannot be made. */
static void test_transport_memory(void **state)
{
    struct cg_net_ops out_of_memory = cg_net_loop;
    const struct medium_row rows[] = {media_rows[1], {"net", CG_MEDIUM_NET, &out_of_memory, NULL}};
    struct cg_geometry large = {65536, 8};

    (void) state;
    out_of_memory.alloc = no_alloc;
    for (int i = 0; i < 2; i++) {
        struct cg_links_counters c;
        struct pair p;
        struct rent r;

        pair_open(&p, &rows[i]);
        log_watch();
        assert_int_equal(pair_join(&p, CG_MEDIUM_NET, large, &r), i ? CG_ERR_NOMEM : CG_OK);
        if (!i) pair_exchange(&p, &r, 20);
        cg_links_get_counters(p.lo.links, &c);
        assert_int_equal(0, c.registrations);
        assert_int_equal(0, c.fifo_bytes);
        pair_close(&p);
    }
}

static void test_no_transport(void **state)
{
    static const struct medium_row none = {"none", CG_MEDIUM_NET, NULL, NULL};
    static const struct medium_row bad_hint = {"bad", CG_MEDIUM_NET, &cg_net_loop, "nonsense=1"};
    const struct medium_row *rows[] = {&none, &bad_hint};

    (void) state;
    for (int i = 0; i < 2; i++) {
        struct pair p;
        struct rent r;

        pair_open(&p, rows[i]);
        log_watch();
        assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_ERR_NET);
        assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_ERR_NET);
        assert_int_equal(log_lines(), 1);
        assert_non_null(strstr(log_last(), "coll_gpu_transport"));
        pair_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_known_links_do_not_move),
        cmocka_unit_test(test_offered_twice),
        cmocka_unit_test(test_wrong_callers),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_transport_memory),
        cmocka_unit_test(test_no_transport),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
