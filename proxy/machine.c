/* SPDX-License-Identifier: BSD-3-Clause
 * The proxy's state machines, see machine.h. */
#include "core/log.h"
#include "proxy/machine.h"

#include <string.h>

#define PASSED_STEP (CG_ANNOUNCE / 4)
#define TAG_MARK 0x636770u /* 24 bits */

static int send_idle(struct cg_proxy_link *link, struct cg_machine *m);
static int send_posted(struct cg_proxy_link *link, struct cg_machine *m);
static int recv_idle(struct cg_proxy_link *link, struct cg_machine *m);
static int recv_posted(struct cg_proxy_link *link, struct cg_machine *m);
static int recv_flushing(struct cg_proxy_link *link, struct cg_machine *m);
static int report_idle(struct cg_proxy_link *link, struct cg_machine *m);
static int report_posted(struct cg_proxy_link *link, struct cg_machine *m);
static int listen_idle(struct cg_proxy_link *link, struct cg_machine *m);
static int listen_posted(struct cg_proxy_link *link, struct cg_machine *m);
static int ended(struct cg_proxy_link *link, struct cg_machine *m);

#define TO(state) (1u << (state))
/* step returns the number of events, or an error, which ends the link. */
static const struct {
    const char *name;
    int (*step)(struct cg_proxy_link *link, struct cg_machine *m);
    unsigned next;
} states[STATES] = {
    [SEND_IDLE] = {"waits for a published slot and credit", send_idle, TO(SEND_POSTED) | TO(ENDED)},
    [SEND_POSTED] = {"sends", send_posted, TO(SEND_IDLE) | TO(ENDED)},
    [RECV_IDLE] = {"waits for a tenant or a free slot", recv_idle, TO(RECV_POSTED) | TO(ENDED)},
    [RECV_POSTED] = {"receives", recv_posted, TO(RECV_IDLE) | TO(RECV_FLUSHING) | TO(ENDED)},
    [RECV_FLUSHING] = {"flushes GPU memory", recv_flushing, TO(RECV_POSTED) | TO(ENDED)},
    [REPORT_IDLE] = {"has nothing due to report", report_idle, TO(REPORT_POSTED) | TO(ENDED)},
    [REPORT_POSTED] = {"sends a report", report_posted, TO(REPORT_IDLE) | TO(ENDED)},
    [LISTEN_IDLE] = {"has no receive for reports", listen_idle, TO(LISTEN_POSTED) | TO(ENDED)},
    [LISTEN_POSTED] = {"waits for a report", listen_posted, TO(LISTEN_IDLE) | TO(ENDED)},
    [ENDED] = {"has ended", ended, TO(ENDED)},
};

/* CG_OK, or CG_ERR_INTERNAL if the table has no such transition. */
static int set_state(struct cg_proxy_link *link, struct cg_machine *m, enum cg_proxy_state to)
{
    if (!(states[m->state].next & TO(to))) {
        cg_log(0, "net link %u, channel %u: from \"%s\" to \"%s\" is no transition: please report this",
               link->config.local_id, m->chan, states[m->state].name, states[to].name);
        return CG_ERR_INTERNAL;
    }
    m->state = to;
    return CG_OK;
}

static int advance(struct cg_proxy_link *link, struct cg_machine *m, enum cg_proxy_state to, int events)
{
    int rc = m->state == to ? CG_OK : set_state(link, m, to);

    return rc ? rc : events;
}

/* --- the transport --- */

static uint64_t tag_of(uint32_t receiver, uint32_t lane)
{
    return (uint64_t) receiver << 32 | (uint64_t) lane << 24 | TAG_MARK;
}

static struct cg_net_req **req_of(const struct cg_proxy_link *link, const struct cg_machine *m, uint64_t seq)
{
    return &m->req[seq & (link->config.slots - 1)];
}

static int post_send(struct cg_proxy_link *link, struct cg_machine *m, uint32_t lane, const void *buf, size_t bytes,
                     struct cg_net_mem *mem)
{
    struct cg_proxy *proxy = link->proxy;
    int rc = proxy->ops->isend(proxy->net, link->config.ep, tag_of(link->config.remote_id, lane), buf, bytes, mem,
                               req_of(link, m, m->posted));

    m->posted += CG_OK == rc;
    proxy->messages += CG_OK == rc;
    return rc;
}

static int post_recv(struct cg_proxy_link *link, struct cg_machine *m, uint32_t lane, void *buf, size_t capacity,
                     struct cg_net_mem *mem)
{
    struct cg_proxy *proxy = link->proxy;
    int rc = proxy->ops->irecv(proxy->net, tag_of(link->config.local_id, lane), buf, capacity, mem,
                               req_of(link, m, m->posted));

    m->posted += CG_OK == rc;
    return rc;
}

/* The oldest message: CG_OK and it is done, CG_AGAIN, or an error. */
static int test_oldest(struct cg_proxy_link *link, struct cg_machine *m, size_t *bytes)
{
    struct cg_proxy *proxy = link->proxy;
    int rc;

    if (m->done == m->posted) return CG_AGAIN;
    rc = proxy->ops->test(proxy->net, *req_of(link, m, m->done), bytes);
    m->done += CG_AGAIN != rc;
    return rc;
}

void cg_machine_cancel(struct cg_proxy_link *link, struct cg_machine *m)
{
    struct cg_proxy *proxy = link->proxy;

    for (; m->done != m->posted; m->done++) proxy->ops->cancel(proxy->net, *req_of(link, m, m->done));
    if (m->flush) proxy->ops->cancel(proxy->net, m->flush);
    m->flush = NULL;
}

/* --- sender --- */

static int slot_ok(const struct cg_proxy_link *link, const struct cg_machine *m, const struct cg_slot_hdr *h)
{
    if (h->bytes <= link->config.slot_bytes && h->seq == m->posted) return 1;
    cg_log(0, "net link %u, channel %u: the slot of message %llu says number %llu, %u bytes: please report this",
           link->config.local_id, m->chan, (unsigned long long) m->posted, (unsigned long long) h->seq, h->bytes);
    return 0;
}

/* Returns the number of messages posted. */
static int send_slot(struct cg_proxy_link *link, struct cg_machine *m, const struct cg_slot_hdr *h)
{
    const struct cg_proxy_link_config *c = &link->config;
    int rc;

    if (!h->in_gpu) return post_send(link, m, m->chan, h, sizeof(*h) + h->bytes, c->mem);
    if (!link->fifo.send_slots) return CG_ERR_INTERNAL;
    rc = post_send(link, m, m->chan, cg_slot(link->fifo.send_slots, m->chan, m->posted, c->slot_bytes, c->slots),
                   sizeof(*h) + h->bytes, link->fifo.mem);
    link->proxy->gpu_messages += CG_OK == rc;
    return rc;
}

static int send_more(struct cg_proxy_link *link, struct cg_machine *m)
{
    const struct cg_proxy_link_config *c = &link->config;
    uint64_t tail = cg_load_acquire(&c->out->chan[m->chan].tail);
    uint64_t end = cg_min_u64(tail, cg_min_u64(m->granted, m->done) + c->slots);
    int n = 0;

    while (m->posted < end) {
        struct cg_slot_hdr *h = cg_slot(c->send_slots, m->chan, m->posted, c->slot_bytes, c->slots);
        int rc;
        if (!slot_ok(link, m, h)) return CG_ERR_INTERNAL;
        rc = send_slot(link, m, h);
        if (CG_AGAIN == rc) break;
        if (rc < 0) return rc;
        n++;
    }
    return n;
}

/* Small sends are mostly complete at once. */
static int send_idle(struct cg_proxy_link *link, struct cg_machine *m)
{
    int n = send_more(link, m), rc;

    if (n <= 0) return n;
    if ((rc = set_state(link, m, SEND_POSTED))) return rc;
    rc = send_posted(link, m);
    return rc < 0 ? rc : n + rc;
}

static int send_posted(struct cg_proxy_link *link, struct cg_machine *m)
{
    uint64_t done = m->done;
    size_t bytes;
    int rc, n;

    while (CG_OK == (rc = test_oldest(link, m, &bytes))) continue;
    if (rc < 0) return rc;
    if (m->done != done) cg_store_release(&link->config.line->chan[m->chan].head, m->done);
    n = send_more(link, m);
    if (n < 0) return n;
    return advance(link, m, m->done == m->posted ? SEND_IDLE : SEND_POSTED, n + (int) (m->done - done));
}

/* --- receiver --- */

/* What arrives while no tenant is here is the next tenant's: it waits until that has been announced to us. */
int cg_proxy_has_tenant(const struct cg_proxy_link *link)
{
    return link->opened > link->now.closed || link->opened > cg_load_relaxed(&link->config.line->closed);
}

static int recv_slot(struct cg_proxy_link *link, struct cg_machine *m, int in_gpu)
{
    const struct cg_proxy_link_config *c = &link->config;
    uint64_t bit = 1ull << (m->posted & (c->slots - 1));
    char *slots = in_gpu ? link->fifo.recv_slots : c->recv_slots;

    m->in_gpu = in_gpu ? m->in_gpu | bit : m->in_gpu & ~bit;
    return post_recv(link, m, m->chan, cg_slot(slots, m->chan, m->posted, c->slot_bytes, c->slots),
                     cg_slot_stride(c->slot_bytes), in_gpu ? link->fifo.mem : c->mem);
}

static int recv_more(struct cg_proxy_link *link, struct cg_machine *m)
{
    const struct cg_proxy_link_config *c = &link->config;
    uint64_t consumed = cg_load_acquire(&c->out->chan[m->chan].head);
    int n = 0;

    if (consumed > m->done) return CG_ERR_INTERNAL;
    while (m->posted < consumed + c->slots) {
        int place = cg_fifo_place(link, m);
        int rc = place < 0 ? CG_AGAIN : recv_slot(link, m, place);
        if (CG_AGAIN == rc) break;
        if (rc < 0) return rc;
        n++;
    }
    return n;
}

static void announce(struct cg_announce *ring, const struct cg_announce *a)
{
    struct cg_announce *entry = &ring[a->op & (CG_ANNOUNCE - 1)];

    if (cg_load_relaxed(&entry->op) >= a->op) return;
    entry->bytes = a->bytes;
    entry->coll = a->coll;
    entry->type = a->type;
    entry->redop = a->redop;
    cg_store_release(&entry->op, a->op);
}

/* In GPU memory nothing is looked at here; the executor checks headers all the same. */
static int arrived(struct cg_proxy_link *link, struct cg_machine *m, uint64_t seq, size_t bytes)
{
    const struct cg_proxy_link_config *c = &link->config;
    struct cg_slot_hdr *h = cg_slot(c->recv_slots, m->chan, seq, c->slot_bytes, c->slots);

    if (m->in_gpu >> (seq & (c->slots - 1)) & 1) return CG_OK;
    if (bytes < sizeof(*h) || h->bytes != bytes - sizeof(*h) || h->seq != seq) {
        cg_log(0, "net link %u, channel %u: message %llu arrived with %zu bytes, its header is wrong: do all ranks run "
               "the same build?", c->local_id, m->chan, (unsigned long long) seq, bytes);
        return CG_ERR_INTERNAL;
    }
    announce(c->announce, &(struct cg_announce){.op = h->opno, .bytes = h->total_bytes, .coll = h->coll,
                                                .type = h->type, .redop = h->redop});
    return CG_OK;
}

static int recv_idle(struct cg_proxy_link *link, struct cg_machine *m)
{
    int n = cg_proxy_has_tenant(link) ? recv_more(link, m) : 0;

    return n > 0 ? advance(link, m, RECV_POSTED, 0) : n;
}

static int publish_arrivals(struct cg_proxy_link *link, struct cg_machine *m)
{
    cg_store_release(&link->config.line->chan[m->chan].tail, m->done);
    m->shown = m->done;
    return CG_OK;
}

/* Is any slot of those that arrived in GPU memory? */
static int any_in_gpu(const struct cg_proxy_link *link, const struct cg_machine *m)
{
    uint64_t any = 0;

    for (uint64_t seq = m->shown; seq != m->done; seq++) any |= m->in_gpu >> (seq & (link->config.slots - 1));
    return (int) (any & 1);
}

/* What has arrived: published, or given to a flush that CG_AGAIN says is under way or to be tried again. */
static int show_arrivals(struct cg_proxy_link *link, struct cg_machine *m)
{
    const struct cg_proxy_fifo *fifo = &link->fifo;
    const struct cg_net_ops *ops = link->proxy->ops;
    int rc = CG_OK;

    if (m->shown == m->done) return CG_OK;
    if (!any_in_gpu(link, m)) return publish_arrivals(link, m);
    if (fifo->net_flush) {
        rc = ops->flush(link->proxy->net, fifo->mem, &m->flush);
        if (CG_OK == rc) rc = set_state(link, m, RECV_FLUSHING);
        return rc < 0 ? rc : CG_AGAIN;
    }
    if (fifo->flush) rc = fifo->flush(fifo->ctx);
    return rc < 0 ? rc : publish_arrivals(link, m);
}

static int recv_posted(struct cg_proxy_link *link, struct cg_machine *m)
{
    uint64_t done = m->done;
    size_t bytes;
    int rc, n;

    if (!cg_proxy_has_tenant(link)) return 0;
    while (CG_OK == (rc = test_oldest(link, m, &bytes))) {
        if ((rc = arrived(link, m, m->done - 1, bytes))) return rc;
    }
    if (rc < 0) return rc;
    if ((rc = show_arrivals(link, m))) return rc < 0 ? rc : (int) (m->done - done);
    if ((n = recv_more(link, m)) < 0) return n;
    return advance(link, m, m->done == m->posted ? RECV_IDLE : RECV_POSTED, (int) (m->done - done));
}

static int recv_flushing(struct cg_proxy_link *link, struct cg_machine *m)
{
    size_t bytes;
    int rc = link->proxy->ops->test(link->proxy->net, m->flush, &bytes);

    if (CG_AGAIN == rc) return 0;
    m->flush = NULL;
    if (rc < 0) return rc;
    publish_arrivals(link, m);
    return advance(link, m, RECV_POSTED, 1);
}

/* --- reports --- */

static struct cg_report report_now(const struct cg_proxy_link *link)
{
    struct cg_report r = link->now;

    for (int c = 0; c < CG_MAX_CHAN; c++) r.consumed[c] = cg_load_acquire(&link->config.out->chan[c].head);
    return r;
}

/* Seen in every pass: nothing is copied before it has to be. */
static int is_due(const struct cg_proxy_link *link)
{
    const struct cg_report *now = &link->now, *last = &link->reported;

    if (now->closed != last->closed || now->failed != last->failed || now->passed - last->passed >= PASSED_STEP)
        return 1;
    for (int c = 0; c < CG_MAX_CHAN; c++) {
        uint64_t consumed = cg_load_acquire(&link->config.out->chan[c].head);
        if (consumed - last->consumed[c] >= link->config.slots / 2) return 1;
    }
    if (link->quiet < IDLE_PASSES) return 0;
    struct cg_report r = report_now(link);
    return 0 != memcmp(&r, last, sizeof(r));
}

int cg_proxy_report_due(const struct cg_proxy_link *link) { return is_due(link); }

static int report_idle(struct cg_proxy_link *link, struct cg_machine *m)
{
    int rc;

    if (!is_due(link)) return 0;
    link->out = report_now(link);
    rc = post_send(link, m, LANE_CONTROL, &link->out, sizeof(link->out), NULL);
    if (rc) return CG_AGAIN == rc ? 0 : rc;
    link->reported = link->out;
    return advance(link, m, REPORT_POSTED, 1);
}

static int report_posted(struct cg_proxy_link *link, struct cg_machine *m)
{
    size_t bytes;
    int rc = test_oldest(link, m, &bytes);

    if (rc) return CG_AGAIN == rc ? 0 : rc;
    return advance(link, m, REPORT_IDLE, 1);
}

static void raise_word(uint64_t *word, uint64_t value)
{
    if (value > cg_load_relaxed(word)) cg_store_release(word, value);
}

static int take_report(struct cg_proxy_link *link, const struct cg_report *r)
{
    struct cg_line *line = link->config.line;

    for (int c = 0; c < CG_MAX_CHAN; c++) {
        struct cg_machine *m = &link->machine[SENDER + c];
        if (r->consumed[c] < m->granted || r->consumed[c] > m->posted) return CG_ERR_INTERNAL;
        m->granted = r->consumed[c];
    }
    if (r->announced.op) announce(link->config.announce, &r->announced);
    raise_word(&line->passed, r->passed);
    raise_word(&line->failed, r->failed);
    raise_word(&line->closed, r->closed);
    return CG_OK;
}

static int listen_idle(struct cg_proxy_link *link, struct cg_machine *m)
{
    int rc = post_recv(link, m, LANE_CONTROL, &link->in, sizeof(link->in), NULL);

    if (rc) return CG_AGAIN == rc ? 0 : rc;
    return advance(link, m, LISTEN_POSTED, 0);
}

static int listen_posted(struct cg_proxy_link *link, struct cg_machine *m)
{
    size_t bytes;
    int rc = test_oldest(link, m, &bytes);

    if (rc) return CG_AGAIN == rc ? 0 : rc;
    if (bytes != sizeof(link->in)) return CG_ERR_INTERNAL;
    if ((rc = take_report(link, &link->in))) return rc;
    if ((rc = set_state(link, m, LISTEN_IDLE))) return rc;
    rc = listen_idle(link, m);
    return rc < 0 ? rc : 1;
}

static int ended(struct cg_proxy_link *link, struct cg_machine *m)
{
    (void) link;
    (void) m;
    return 0;
}

/* --- for proxy.c --- */

int cg_proxy_sends_pending(const struct cg_proxy_link *link)
{
    for (int c = 0; c < CG_MAX_CHAN; c++) {
        const struct cg_machine *m = &link->machine[SENDER + c];
        if (SEND_IDLE != m->state || cg_load_acquire(&link->config.out->chan[c].tail) > m->posted) return 1;
    }
    return REPORT_IDLE != link->machine[REPORTER].state;
}

int cg_machine_step(struct cg_proxy_link *link, struct cg_machine *m)
{
    uint32_t bit = 1u << (m - link->machine);
    int rc = states[m->state].step(link, m);

    m->idle = rc ? 0 : m->idle + 1;
    link->awake = m->idle < REST_AFTER ? link->awake | bit : link->awake & ~bit;
    return rc;
}

void cg_machine_end(struct cg_proxy_link *link, struct cg_machine *m) { set_state(link, m, ENDED); }

const char *cg_machine_text(const struct cg_machine *m) { return states[m->state].name; }
