/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/links/side.h"
#include "core/log.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE 1000000 /* passes until a test gives up */
#define QUIET 300        /* passes without events after which nothing is on its way */

const struct medium_row media_rows[] = {
    {"shm", CG_MEDIUM_SHM, NULL, NULL},
    {"net", CG_MEDIUM_NET, &cg_net_loop, NULL},
    {"net, late and out of order", CG_MEDIUM_NET, &cg_net_loop, "seed=7,delay=9,reorder=1,room=5"},
    {NULL, 0, NULL, NULL},
};

void side_init(struct side *s, unsigned n)
{
    memset(s, 0, sizeof(*s));
    cg_params_default(&s->params);
    s->info.name = (uint64_t) getpid() << 16 | n;
    s->info.key = 0x1234567u * (n + 1);
    cg_links_socket_name(s->info.name, s->info.key, s->info.socket, sizeof(s->info.socket));
}

void side_open(struct side *s, const struct medium_row *row, unsigned timeout_ms)
{
    struct cg_links_config c = {.params = &s->params,
                                .self = s->info.name,
                                .key = s->info.key,
                                .socket = s->info.socket,
                                .net = row->net,
                                .net_hint = row->hint,
                                .timeout_ms = timeout_ms};

    assert_int_equal(cg_links_open(&c, &s->links), CG_OK);
}

void pair_open(struct pair *p, const struct medium_row *row)
{
    side_init(&p->lo, 1);
    side_init(&p->hi, 2);
    side_open(&p->lo, row, 0);
    side_open(&p->hi, row, 0);
}

void pair_close(struct pair *p)
{
    cg_links_close(p->lo.links);
    cg_links_close(p->hi.links);
}

static int until_ready(struct pair *p, struct rent *r)
{
    int lo = CG_AGAIN, hi = CG_AGAIN;

    for (int i = 0; i < PATIENCE && (lo == CG_AGAIN || hi == CG_AGAIN); i++) {
        lo = cg_link_ready(p->lo.links, r->lo);
        hi = cg_link_ready(p->hi.links, r->hi);
        cg_links_progress(p->lo.links);
        cg_links_progress(p->hi.links);
        if (lo < 0 || hi < 0) return lo < 0 ? lo : hi;
    }
    assert_int_equal(lo, CG_OK);
    assert_int_equal(hi, CG_OK);
    return CG_OK;
}

int pair_join(struct pair *p, int medium, struct cg_geometry g, struct rent *r)
{
    struct cg_link_msg offer, answer;
    int rc = cg_link_offer(p->lo.links, &p->hi.info, medium, g, &r->lo, &offer);
    int rc2 = cg_link_answer(p->hi.links, &p->lo.info, &offer, &r->hi, &answer);

    assert_int_equal(offer.status, rc);
    assert_int_equal(answer.status, rc2);
    if (rc == CG_OK) rc = cg_link_take(p->lo.links, r->lo, &answer);
    if (rc == CG_OK) rc = until_ready(p, r);
    if (rc == CG_OK) return CG_OK;
    if (r->lo) cg_link_abandon(p->lo.links, r->lo);
    if (r->hi) cg_link_abandon(p->hi.links, r->hi);
    return rc;
}

void pair_settle(struct pair *p)
{
    for (int quiet = 0; quiet < QUIET && (cg_links_busy(p->lo.links) || cg_links_busy(p->hi.links)); quiet++) {
        if (cg_links_progress(p->lo.links) + cg_links_progress(p->hi.links) > 0) quiet = 0;
    }
}

void pair_leave(struct pair *p, struct rent *r, uint64_t ops)
{
    cg_link_release(p->lo.links, r->lo, ops);
    cg_link_release(p->hi.links, r->hi, ops);
    pair_settle(p);
}

static uint8_t pattern(uint32_t chan, uint64_t seq, uint32_t i) { return (uint8_t) (chan * 101 + seq * 7 + i); }

int end_send(struct cg_link_end *e, uint32_t chan)
{
    const struct cg_geometry *g = &e->geometry;
    uint64_t seq = e->send_next[chan];
    struct cg_slot_hdr *h;

    if (cg_load_acquire(&e->mine->chan[chan].head) + g->slots <= seq) return 0;
    h = cg_slot(e->send_slots, chan, seq, g->slot_bytes, g->slots);
    memset(h, 0, sizeof(*h));
    h->seq = seq;
    h->opno = 1;
    h->bytes = (uint32_t) (1 + seq * 97 % g->slot_bytes);
    h->total_bytes = h->bytes;
    h->coll = CG_COLL_ALLREDUCE;
    for (uint32_t i = 0; i < h->bytes; i++) cg_slot_payload(h)[i] = (char) pattern(chan, seq, i);
    e->send_next[chan] = seq + 1;
    cg_store_release(&e->peer->chan[chan].tail, seq + 1);
    return 1;
}

int end_recv(struct cg_link_end *e, uint32_t chan)
{
    const struct cg_geometry *g = &e->geometry;
    uint64_t seq = e->recv_next[chan];
    struct cg_slot_hdr *h;

    if (cg_load_acquire(&e->mine->chan[chan].tail) <= seq) return 0;
    h = cg_slot(e->recv_slots, chan, seq, g->slot_bytes, g->slots);
    assert_int_equal(h->seq, seq);
    assert_int_equal(h->bytes, 1 + seq * 97 % g->slot_bytes);
    for (uint32_t i = 0; i < h->bytes; i++) assert_int_equal((uint8_t) cg_slot_payload(h)[i], pattern(chan, seq, i));
    e->recv_next[chan] = seq + 1;
    cg_store_release(&e->peer->chan[chan].head, seq + 1);
    return 1;
}

/* 1 if the end has sent and received up to goal on every channel. */
static int end_move(struct cg_link_end *e, const uint64_t *goal)
{
    int done = 1;

    for (uint32_t c = 0; c < CG_MAX_CHAN; c++) {
        if (e->send_next[c] < goal[c]) end_send(e, c);
        if (e->recv_next[c] < goal[c]) end_recv(e, c);
        done = done && e->send_next[c] == goal[c] && e->recv_next[c] == goal[c];
    }
    return done;
}

void pair_exchange(struct pair *p, struct rent *r, uint64_t n)
{
    uint64_t goal[CG_MAX_CHAN];
    int done = 0;

    for (uint32_t c = 0; c < CG_MAX_CHAN; c++) goal[c] = r->lo->send_next[c] + n;
    for (int i = 0; i < PATIENCE && !done; i++) {
        done = end_move(r->lo, goal) + end_move(r->hi, goal) == 2;
        cg_links_progress(p->lo.links);
        cg_links_progress(p->hi.links);
    }
    assert_true(done);
}

int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

long resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long total, resident;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &total, &resident), 2);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static int lines;
static char last[1024];

static void sink(int level, const char *line, void *ctx)
{
    (void) ctx;
    if (level > 0) return;
    lines++;
    snprintf(last, sizeof(last), "%s", line);
}

void log_watch(void)
{
    lines = 0;
    last[0] = 0;
    cg_log_set(sink, NULL, 0);
}

int log_lines(void) { return lines; }

const char *log_last(void) { return last; }
