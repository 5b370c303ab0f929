/* SPDX-License-Identifier: BSD-3-Clause
 * What goes wrong under way: peers that listen late or never, strangers, lost descriptors, a failing network. */
#define _GNU_SOURCE
#include "links/arena.h"
#include "links/fdpass.h"
#include "test/links/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* A peer that says more than its chunk has. */
static void test_chunk_too_small(void **state)
{
    struct cg_link_msg offer, answer;
    struct pair p;
    struct rent r;
    int rc = CG_AGAIN;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &r.lo, &offer), CG_OK);
    offer.chunk_bytes += 4096;
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_OK);
    assert_int_equal(cg_link_take(p.lo.links, r.lo, &answer), CG_OK);
    log_watch();
    for (int i = 0; i < 100 && rc == CG_AGAIN; i++) rc = cg_link_ready(p.hi.links, r.hi);
    assert_int_equal(rc, CG_ERR_SHM);
    assert_int_equal(log_lines(), 1);
    pair_close(&p);
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

/* The answer of a peer whose socket nobody has bound; what is queued for it is given up in time. */
static void test_peer_does_not_listen(void **state)
{
    struct cg_link_msg offer, answer;
    struct cg_link_end *end;
    struct side lo, hi;
    uint64_t start;
    int rc;

    (void) state;
    side_init(&lo, 1);
    side_init(&hi, 2);
    side_open(&lo, &media_rows[0], 60);
    assert_int_equal(cg_link_offer(lo.links, &hi.info, CG_MEDIUM_SHM, SMALL, &end, &offer), CG_OK);
    answer = offer;
    log_watch();
    start = now_ms();
    assert_int_equal(cg_link_take(lo.links, end, &answer), CG_OK);
    assert_true(cg_links_busy(lo.links));
    while ((rc = cg_link_ready(lo.links, end)) == CG_AGAIN) usleep(1000);
    assert_int_equal(rc, CG_ERR_SHM);
    assert_true(now_ms() - start >= 60);
    assert_int_equal(log_lines(), 1);
    assert_non_null(strstr(log_last(), hi.info.socket));
    cg_link_abandon(lo.links, end);
    assert_false(cg_links_busy(lo.links));
    cg_links_close(lo.links);
}

/* It may listen late, as long as that is in time; what was refused is sent again. */
static void test_peer_listens_late(void **state)
{
    struct cg_link_msg offer, answer;
    struct rent r;
    struct pair p;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &r.lo, &offer), CG_OK);
    answer = offer; /* as the peer's will be, since both arenas are alike */
    assert_int_equal(cg_link_take(p.lo.links, r.lo, &answer), CG_OK);
    for (int i = 0; i < 50; i++) assert_int_equal(cg_link_ready(p.lo.links, r.lo), CG_AGAIN);
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_OK);
    while (cg_link_ready(p.lo.links, r.lo) || cg_link_ready(p.hi.links, r.hi)) continue;
    pair_exchange(&p, &r, 9);
    pair_close(&p);
}

/* A chunk that comes before we have heard of its sender is kept for it. */
static void test_chunk_of_unknown_peer(void **state)
{
    struct cg_links_counters c;
    struct pair p, q;
    struct cg_link_msg offer, answer;
    struct rent r, s;

    (void) state;
    pair_open(&p, &media_rows[0]);
    side_init(&q.lo, 0);
    side_open(&q.lo, &media_rows[0], 0);
    q.hi = p.hi;
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r), CG_OK);
    assert_int_equal(cg_link_offer(q.lo.links, &q.hi.info, CG_MEDIUM_SHM, SMALL, &s.lo, &offer), CG_OK);
    answer = offer; /* take before the answer: q.lo's chunk arrives at one who does not know it */
    answer.line = 1;
    answer.offset += 4096 * 9;
    assert_int_equal(cg_link_take(q.lo.links, s.lo, &answer), CG_OK);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r), CG_OK); /* serves the socket */
    cg_links_get_counters(p.hi.links, &c);
    assert_int_equal(c.peers, 2);
    assert_int_equal(cg_link_answer(q.hi.links, &q.lo.info, &offer, &s.hi, &answer), CG_OK);
    assert_int_equal(cg_link_ready(q.hi.links, s.hi), CG_OK);
    cg_links_close(q.lo.links);
    pair_close(&p);
}

static unsigned regions(const struct side *s)
{
    unsigned n = 0;
    size_t bytes;
    void *addr;

    while (cg_links_region(s->links, n, &addr, &bytes)) n++;
    return n;
}

/* Datagrams of strangers, and of friends that make no sense, change nothing. */
static void test_foreign_datagrams(void **state)
{
    struct cg_fdpass_msg msg = {.magic = CG_FDPASS_MAGIC};
    struct cg_fdpass stranger;
    struct cg_links_counters before, after;
    int fd = memfd_create("stranger", MFD_CLOEXEC), fds;
    char name[48];
    struct pair p;
    struct rent r;

    (void) state;
    assert_int_equal(ftruncate(fd, 4096), 0);
    pair_open(&p, &media_rows[0]);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r), CG_OK);
    cg_links_get_counters(p.hi.links, &before);
    cg_links_socket_name(p.lo.info.name + 100, 5, name, sizeof(name));
    assert_int_equal(cg_fdpass_open(&stranger, name, 5), CG_OK);
    fds = open_descriptors();
    msg.bytes = 4096;
    msg.from = p.lo.info.name; /* with a wrong key */
    assert_int_equal(cg_fdpass_send(&stranger, p.hi.info.socket, &msg, fd), CG_OK);
    msg.key = p.hi.info.key; /* a chunk that is there already */
    assert_int_equal(cg_fdpass_send(&stranger, p.hi.info.socket, &msg, fd), CG_OK);
    msg.chunk = CG_ARENA_CHUNKS; /* no such chunk */
    assert_int_equal(cg_fdpass_send(&stranger, p.hi.info.socket, &msg, fd), CG_OK);
    msg.from = p.hi.info.name; /* its own */
    msg.chunk = 0;
    assert_int_equal(cg_fdpass_send(&stranger, p.hi.info.socket, &msg, fd), CG_OK);
    pair_leave(&p, &r, 1);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, SMALL, &r), CG_OK);
    pair_leave(&p, &r, 1);
    assert_int_equal(pair_join(&p, CG_MEDIUM_SHM, (struct cg_geometry){2048, 4}, &r), CG_OK); /* reads the socket */
    pair_exchange(&p, &r, 9);
    cg_links_get_counters(p.hi.links, &after);
    assert_int_equal(after.peers, before.peers);
    assert_int_equal(regions(&p.hi), 2);
    assert_int_equal(after.descriptors, before.descriptors);
    assert_int_equal(open_descriptors(), fds);
    cg_fdpass_close(&stranger);
    close(fd);
    pair_close(&p);
}

/* lo's chunk, as someone else would send it who knows all that lo does. */
static void send_as_lo(struct pair *p, uint32_t chunk, uint64_t said, off_t bytes)
{
    struct cg_fdpass_msg msg = {.magic = CG_FDPASS_MAGIC, .key = p->hi.info.key, .from = p->lo.info.name,
                                .bytes = said, .chunk = chunk};
    int fd = memfd_create("friend", MFD_CLOEXEC);
    struct cg_fdpass friend;
    char name[48];

    assert_int_equal(ftruncate(fd, bytes), 0);
    cg_links_socket_name(p->lo.info.name + 100, 1, name, sizeof(name));
    assert_int_equal(cg_fdpass_open(&friend, name, 1), CG_OK);
    assert_int_equal(cg_fdpass_send(&friend, p->hi.info.socket, &msg, fd), CG_OK);
    cg_fdpass_close(&friend);
    close(fd);
}

/* A file shorter than it was said to be is not mapped: access would be SIGBUS. */
static void test_short_file(void **state)
{
    struct cg_link_msg offer, answer;
    struct rent r;
    struct pair p;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &r.lo, &offer), CG_OK);
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_OK);
    send_as_lo(&p, 0, offer.chunk_bytes, 4096);
    log_watch();
    assert_int_equal(cg_link_ready(p.hi.links, r.hi), CG_ERR_SHM);
    assert_int_equal(log_lines(), 1);
    pair_close(&p);
}

/* A link whose window and line lie in two chunks waits for both. */
static void test_one_chunk_of_two(void **state)
{
    struct cg_link_msg offer, answer;
    struct rent r;
    struct pair p;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &r.lo, &offer), CG_OK);
    offer.chunk = 1;
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_OK);
    assert_int_equal(cg_link_ready(p.hi.links, r.hi), CG_AGAIN);
    send_as_lo(&p, 1, offer.chunk_bytes, (off_t) offer.chunk_bytes);
    assert_int_equal(cg_link_ready(p.hi.links, r.hi), CG_AGAIN);
    send_as_lo(&p, 0, offer.chunk_bytes, (off_t) offer.chunk_bytes);
    assert_int_equal(cg_link_ready(p.hi.links, r.hi), CG_OK);
    pair_close(&p);
}

/* A receiver without a free descriptor learns so at once. */
static void test_no_descriptor_left(void **state)
{
    struct cg_link_msg offer, answer;
    struct rlimit old, low;
    struct rent r;
    struct pair p;
    int rc;

    (void) state;
    pair_open(&p, &media_rows[0]);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_SHM, SMALL, &r.lo, &offer), CG_OK);
    assert_int_equal(cg_link_answer(p.hi.links, &p.lo.info, &offer, &r.hi, &answer), CG_OK);
    assert_int_equal(cg_link_take(p.lo.links, r.lo, &answer), CG_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 0;
    log_watch();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    rc = cg_link_ready(p.hi.links, r.hi);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(rc, CG_ERR_SHM);
    assert_non_null(strstr(log_last(), "ulimit -n"));
    pair_close(&p);
}

/* A dead network ends the link at both, and it serves no further tenant. */
static void test_net_fails(void **state)
{
    static const struct medium_row row = {"fails", CG_MEDIUM_NET, &cg_net_loop, "fail=1"};
    struct pair p;
    struct rent r, next;

    (void) state;
    pair_open(&p, &row);
    assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_OK);
    log_watch();
    end_send(r.lo, 0);
    for (int i = 0; i < 1000; i++) cg_links_progress(p.lo.links);
    assert_int_not_equal(cg_proxy_link_status(r.lo->proxy), CG_OK);
    assert_true(log_lines() > 0);
    pair_leave(&p, &r, 1);
    assert_int_not_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &next), CG_OK);
    assert_ptr_not_equal(next.lo, r.lo);
    pair_close(&p);
}

/* One side's last word is lost: it knows, and does not offer that link again. */
static void test_net_fails_at_last(void **state)
{
    static const struct medium_row fails = {"fails", CG_MEDIUM_NET, &cg_net_loop, "fail=1"};
    struct cg_link_msg offer;
    struct cg_link_end *end;
    struct pair p;
    struct rent r;

    (void) state;
    side_init(&p.lo, 1);
    side_init(&p.hi, 2);
    side_open(&p.lo, &fails, 0);
    side_open(&p.hi, &media_rows[1], 0);
    assert_int_equal(pair_join(&p, CG_MEDIUM_NET, SMALL, &r), CG_OK);
    cg_link_release(p.hi.links, r.hi, 1);
    pair_settle(&p);
    assert_int_equal(cg_load_acquire(&r.lo->mine->closed), 1);
    cg_link_release(p.lo.links, r.lo, 1);
    log_watch();
    pair_settle(&p);
    assert_int_equal(log_lines(), 1);
    assert_int_equal(cg_link_offer(p.lo.links, &p.hi.info, CG_MEDIUM_NET, SMALL, &end, &offer), CG_OK);
    assert_ptr_not_equal(end, r.lo);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_too_small),
        cmocka_unit_test(test_peer_does_not_listen),
        cmocka_unit_test(test_peer_listens_late),
        cmocka_unit_test(test_chunk_of_unknown_peer),
        cmocka_unit_test(test_foreign_datagrams),
        cmocka_unit_test(test_short_file),
        cmocka_unit_test(test_one_chunk_of_two),
        cmocka_unit_test(test_no_descriptor_left),
        cmocka_unit_test(test_net_fails),
        cmocka_unit_test(test_net_fails_at_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
