/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/proxy/ends.h"

#include <time.h>

#define POISON 0xa5

uint64_t test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

int side_open(struct side *side, const struct cg_net_ops *ops, const char *hint)
{
    struct cg_params params;
    char why[256] = "";

    cg_params_default(&params);
    side->ops = ops;
    if (CG_OK != ops->open(&params, hint, &side->net, why, sizeof(why))) {
        print_message("%s: %s\n", ops->name, why);
        return 0;
    }
    assert_int_equal(CG_OK, cg_proxy_open(ops, side->net, &side->proxy));
    return 1;
}

void side_close(struct side *side)
{
    cg_proxy_close(side->proxy);
    side->ops->close(side->net);
}

struct cg_net_ep *side_connect(struct side *from, struct side *to, int remote)
{
    char addr[CG_NET_HANDLE_MAX];
    struct cg_net_ep *ep = NULL;
    size_t len = 0;

    int rc;

    assert_int_equal(CG_OK, to->ops->listen(to->net, addr, &len));
    assert_in_range(len, 1, CG_NET_HANDLE_MAX);
    while (CG_AGAIN == (rc = (from < to ? from->ops->accept : from->ops->connect)(from->net, addr, len, remote, &ep))) {
        to->ops->progress(to->net);
        from->ops->progress(from->net);
    }
    assert_int_equal(CG_OK, rc);
    return ep;
}

static void end_init(struct end *e, struct side *side, struct cg_net_ep *ep, uint32_t local, uint32_t remote,
                     uint32_t slot_bytes, uint32_t slots)
{
    size_t bytes = cg_lanes_bytes(slot_bytes, slots);

    memset(e, 0, sizeof(*e));
    e->side = side;
    e->opno = 1;
    e->config = (struct cg_proxy_link_config){.ep = ep, .local_id = local, .remote_id = remote,
                                              .slot_bytes = slot_bytes, .slots = slots, .line = &e->line,
                                              .out = &e->out, .recv_slots = malloc(bytes),
                                              .send_slots = malloc(bytes), .announce = e->announce};
    memset(e->config.recv_slots, POISON, bytes);
    memset(e->config.send_slots, POISON, bytes);
    assert_int_equal(CG_OK, cg_proxy_link_open(side->proxy, &e->config, &e->link));
    cg_proxy_link_tenant_opened(e->link);
}

void ends_open(struct end *a, struct end *b, struct side *sa, struct side *sb, struct cg_net_ep *ab,
               struct cg_net_ep *ba, uint32_t id, uint32_t slot_bytes, uint32_t slots)
{
    end_init(a, sa, ab, id, id + 1000, slot_bytes, slots);
    end_init(b, sb, ba, id + 1000, id, slot_bytes, slots);
}

void end_free(struct end *e)
{
    free(e->config.recv_slots);
    free(e->config.send_slots);
}

static char byte_of(uint32_t receiver, uint32_t chan, uint64_t seq, uint32_t i)
{
    return (char) (receiver * 31 + chan * 7 + seq * 13 + i * (2 * (uint32_t) seq + 1) + (i >> 8));
}

/* Sent slots are the executor's again: whoever reads them still gets poison. */
static void poison_sent(struct end *e, uint32_t chan, uint64_t head)
{
    const struct cg_proxy_link_config *c = &e->config;

    for (; e->poisoned[chan] < head; e->poisoned[chan]++) {
        memset(cg_slot(c->send_slots, chan, e->poisoned[chan], c->slot_bytes, c->slots), POISON,
               cg_slot_stride(c->slot_bytes));
    }
}

int end_send(struct end *e, uint32_t chan, uint32_t bytes)
{
    const struct cg_proxy_link_config *c = &e->config;
    uint64_t seq = e->sent[chan], head = cg_load_acquire(&e->line.chan[chan].head);
    struct cg_slot_hdr *h = cg_slot(c->send_slots, chan, seq, c->slot_bytes, c->slots);

    poison_sent(e, chan, head);
    if (seq - head >= c->slots) return 0;
    *h = (struct cg_slot_hdr){.seq = seq, .total_bytes = 1000u + e->opno, .opno = e->opno, .stream = c->remote_id,
                              .bytes = bytes, .coll = CG_COLL_ALLREDUCE, .type = 2, .redop = 3};
    for (uint32_t i = 0; i < bytes; i++) cg_slot_payload(h)[i] = byte_of(c->remote_id, chan, seq, i);
    cg_store_release(&e->out.chan[chan].tail, e->sent[chan] = seq + 1);
    return 1;
}

int end_recv(struct end *e, uint32_t chan)
{
    const struct cg_proxy_link_config *c = &e->config;
    uint64_t seq = e->rcvd[chan];
    struct cg_slot_hdr *h = cg_slot(c->recv_slots, chan, seq, c->slot_bytes, c->slots);

    if (cg_load_acquire(&e->line.chan[chan].tail) == seq) return 0;
    assert_int_equal(seq, h->seq);
    assert_int_equal(c->local_id, h->stream);
    assert_in_range(h->bytes, 0, c->slot_bytes);
    for (uint32_t i = 0; i < h->bytes; i++) {
        if (cg_slot_payload(h)[i] != byte_of(c->local_id, chan, seq, i))
            fail_msg("link %u, channel %u, message %d: byte %u of %u is wrong", c->local_id, chan, (int) seq, i,
                     h->bytes);
    }
    assert_int_equal(h->opno, e->announce[h->opno % CG_ANNOUNCE].op);
    memset(h, POISON, cg_slot_stride(c->slot_bytes));
    cg_store_release(&e->out.chan[chan].head, e->rcvd[chan] = seq + 1);
    return 1;
}

void check_credit(const struct end *from, const struct end *to)
{
    for (int c = 0; c < CG_MAX_CHAN; c++) {
        const struct cg_machine *m = &from->link->machine[SENDER + c];
        assert_true(m->granted <= to->rcvd[c]);
        assert_true(to->rcvd[c] <= m->posted);
        assert_true(m->posted <= to->rcvd[c] + from->config.slots);
        assert_true(m->done <= m->posted && m->posted <= from->sent[c]);
        m = &to->link->machine[RECEIVER + c]; /* and no receive lies in a slot that is not consumed */
        assert_true(m->posted <= to->rcvd[c] + from->config.slots);
    }
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

int pair_open(struct pair *p, const struct cg_net_ops *ops, const char *hint, int links, uint32_t slot_bytes,
                     uint32_t slots)
{
    memset(p, 0, sizeof(*p));
    if (!side_open(&p->side[0], ops, hint)) return 0;
    assert_true(side_open(&p->side[1], ops, hint));
    p->ep[0] = side_connect(&p->side[0], &p->side[1], 1);
    p->ep[1] = side_connect(&p->side[1], &p->side[0], 1);
    p->links = links;
    p->end_of_test = seconds() + 60;
    for (int i = 0; i < links; i++) {
        ends_open(&p->end[i][0], &p->end[i][1], &p->side[0], &p->side[1], p->ep[0], p->ep[1], 7u + (uint32_t) i,
                  slot_bytes, slots);
    }
    return 1;
}

void pair_close(struct pair *p)
{
    side_close(&p->side[0]);
    side_close(&p->side[1]);
    for (int i = 0; i < p->links; i++) {
        end_free(&p->end[i][0]);
        end_free(&p->end[i][1]);
    }
}

void pair_progress(struct pair *p, int passes)
{
    while (passes--) {
        cg_proxy_progress(p->side[0].proxy);
        cg_proxy_progress(p->side[1].proxy);
    }
}

void pair_turn(struct pair *p)
{
    pair_progress(p, 1);
    if (seconds() > p->end_of_test) fail_msg("it does not happen");
}

static uint32_t random_bytes(uint64_t *random, uint32_t max)
{
    uint64_t r = test_random(random);

    return r & 1 ? (uint32_t) (r >> 8) % 65 : (uint32_t) (r >> 8) % (max + 1);
}

void pair_act(struct pair *p, uint64_t *random, uint64_t messages)
{
    uint64_t r = test_random(random);
    struct end *e = &p->end[(r >> 8) % (uint64_t) p->links][(r >> 16) & 1];
    uint32_t chan = (r >> 24) % CG_MAX_CHAN;

    if (r & 1) {
        end_recv(e, chan);
    } else if (e->sent[chan] < messages) {
        end_send(e, chan, random_bytes(random, e->config.slot_bytes));
    }
}
