/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/sim/world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define OPEN(addr, bytes) __asan_unpoison_memory_region(addr, bytes)
#define CLOSE(addr, bytes) __asan_poison_memory_region(addr, bytes)
#else
#define OPEN(addr, bytes) ((void) (addr), (void) (bytes))
#define CLOSE(addr, bytes) ((void) (addr), (void) (bytes))
#endif

/* ---- memory ---- */

static void *take(struct world *w, size_t bytes)
{
    size_t at = (w->used + 63) & ~(size_t) 63;

    if (at + bytes > w->size) fatal("the world's block is too small");
    w->used = at + bytes;
    return w->block + at;
}

struct world *world_new(const struct cg_params *params, uint32_t nprocs, size_t block_bytes)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!w) fatal("out of memory");
    w->params = *params;
    w->nprocs = nprocs;
    w->size = (block_bytes + 63) & ~(size_t) 63;
    w->block = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == w->block) fatal("out of memory");
    return w;
}

static void free_part(struct part *part)
{
    free(part->op);
    free(part->src_mem.want);
    free(part->dst_mem.want);
    free(part->input);
}

void world_free(struct world *w)
{
    OPEN(w->block, w->used);
    for (int i = 0; i < w->ncomms; i++) cg_nodes_free(w->comm[i].nodes);
    for (int i = 0; i < w->nops; i++) {
        for (int r = 0; r < WORLD_RANKS; r++)
            free_part(&w->op[i].part[r]);
        shape_free(&w->op[i].shape);
    }
    munmap(w->block, w->size);
    free(w);
}

/* ---- communicators ---- */

static struct end *end_of(struct comm *c, uint32_t rank, uint32_t peer)
{
    int i = 0;

    while (i < c->nends[rank] && c->end[rank][i].peer != peer)
        i++;
    if (i == c->nends[rank]) fatal("rank %u has no link to %u", rank, peer);
    return &c->end[rank][i];
}

static void open_end(struct world *w, struct end *e, uint64_t base)
{
    size_t bytes = cg_lanes_bytes((uint32_t) w->params.slot_bytes, (uint32_t) w->params.slots);

    e->line = take(w, sizeof(*e->line));
    e->slots = take(w, bytes);
    memset(e->slots, WORLD_FILL, bytes);
    if (w->guard_slots) CLOSE(e->slots, bytes);
    for (int chan = 0; chan < CG_MAX_CHAN; chan++) {
        e->line->chan[chan] = (struct cg_words){base, base};
        e->send_next[chan] = e->recv_next[chan] = base;
    }
}

int world_add_comm(struct world *w, uint32_t size, const uint32_t *members, uint64_t base, const uint64_t *hosts)
{
    struct comm *c = &w->comm[w->ncomms];

    c->size = size;
    if (hosts && !(c->nodes = cg_nodes_new(size, hosts))) fatal("out of memory");
    memcpy(c->member, members, size * sizeof(*members));
    for (uint32_t rank = 0; rank < size; rank++) {
        uint32_t peers[CG_MAX_LINKS];
        c->nends[rank] = cg_plan_neighbors(size, rank, &w->params, c->nodes, 2, peers, CG_MAX_LINKS);
        if (c->nends[rank] < 0) fatal("cg_plan_neighbors: %s", cg_status_text(c->nends[rank]));
        for (int i = 0; i < c->nends[rank]; i++) {
            c->end[rank][i].peer = peers[i];
            open_end(w, &c->end[rank][i], base);
        }
    }
    return w->ncomms++;
}

int comm_rank(const struct comm *c, uint32_t proc)
{
    for (uint32_t i = 0; i < c->size; i++) {
        if (c->member[i] == proc) return (int) i;
    }
    return -1;
}

/* ---- operations: test/sim/calls.c makes them ---- */

void *world_take(struct world *w, size_t bytes) { return take(w, bytes); }

static void bind_link(const struct world *w, struct comm *c, uint32_t rank, const struct cg_plan *plan, uint32_t l,
                      struct cg_link *link)
{
    struct end *mine = end_of(c, rank, plan->peer[l]), *peer = end_of(c, plan->peer[l], rank);

    (void) w;
    link->mine = mine->line;
    link->peer = peer->line;
    link->recv_slots = mine->slots;
    link->send_slots = peer->slots;
    link->send_headers = NULL;
    for (uint32_t chan = 0; chan < CG_MAX_CHAN; chan++) {
        uint64_t sends = 0, recvs = 0;
        if (chan < plan->nchan) cg_plan_count(plan, chan, l, &sends, &recvs);
        link->send_base[chan] = mine->send_next[chan];
        link->recv_base[chan] = mine->recv_next[chan];
        mine->send_next[chan] += sends;
        mine->recv_next[chan] += recvs;
    }
}

void world_post(struct world *w, int i, uint32_t rank)
{
    struct operation *o = &w->op[i];
    struct comm *c = &w->comm[o->comm];
    struct part *part = &o->part[rank];
    struct cg_plan plan;
    int rc = cg_plan_build(&o->shape.reqs[rank], &plan);

    if (rc != CG_OK) fatal("cg_plan_build: %s", cg_status_text(rc));
    part->op = calloc(1, CG_OP_BYTES);
    if (!part->op) fatal("out of memory");
    *part->op = (struct cg_op){.id = (uint64_t) i + 1,
                               .src = part->src,
                               .dst = part->dst,
                               .total_bytes = o->bytes,
                               .opno = (uint32_t) o->index + 1,
                               .stream = (uint32_t) o->comm + 7,
                               .coll = (uint8_t) o->coll,
                               .type = (uint8_t) o->type,
                               .redop = (uint8_t) o->redop,
                               .usize = (uint16_t) o->shape.reqs[rank].esize,
                               .slot_bytes = (uint32_t) w->params.slot_bytes,
                               .slots = (uint32_t) w->params.slots};
    cg_plan_to_op(&plan, part->op);
    if (part->op->size > CG_OP_BYTES) fatal("descriptor of %u bytes", part->op->size);
    for (uint32_t l = 0; l < plan.nlinks; l++)
        bind_link(w, c, rank, &plan, l, &cg_op_links(part->op)[l]);
    part->posted = 1;
}

int world_turn(const struct world *w, int i, uint32_t rank, uint32_t chan)
{
    const struct operation *o = &w->op[i];
    const struct comm *c = &w->comm[o->comm];

    for (int k = 0; k < o->index; k++) {
        const struct part *before = &w->op[c->op[k]].part[rank];
        if (chan < before->op->nchan && !before->pos[chan].done) return 0;
    }
    return 1;
}

/* ---- steps ---- */

/* Sequence numbers, by link, of the oldest message not given back and of the next one to be sent. */
struct lanes {
    uint64_t in[CG_MAX_LINKS], out[CG_MAX_LINKS];
};

static void read_lanes(const struct cg_op *op, uint32_t chan, struct lanes *at)
{
    for (uint32_t l = 0; l < op->nlinks; l++) {
        at->in[l] = cg_op_links(op)[l].peer->chan[chan].head;
        at->out[l] = cg_op_links(op)[l].peer->chan[chan].tail;
    }
}

/* Open the slots that a step may touch, known from the lines alone, or close them all. */
static void guard(const struct world *w, const struct cg_op *op, uint32_t chan, const struct lanes *at, int open)
{
    size_t stride = cg_slot_stride(op->slot_bytes);

    for (uint32_t l = 0; w->guard_slots && l < op->nlinks; l++) {
        const struct cg_link *k = &cg_op_links(op)[l];
        void *in = cg_slot(k->recv_slots, chan, at->in[l], op->slot_bytes, op->slots);
        void *out = cg_slot(k->send_slots, chan, at->out[l], op->slot_bytes, op->slots);
        if (open && k->mine->chan[chan].tail > at->in[l]) OPEN(in, stride);
        if (open && at->out[l] < k->mine->chan[chan].head + op->slots) OPEN(out, stride);
        if (!open) {
            CLOSE(in, stride);
            CLOSE(out, stride);
        }
    }
}

/* Overwrite what this step has given back. */
static void forget(const struct cg_op *op, uint32_t chan, const struct lanes *at)
{
    for (uint32_t l = 0; l < op->nlinks; l++) {
        const struct cg_link *k = &cg_op_links(op)[l];
        if (k->peer->chan[chan].head == at->in[l]) continue;
        memset(cg_slot(k->recv_slots, chan, at->in[l], op->slot_bytes, op->slots), WORLD_FILL,
               cg_slot_stride(op->slot_bytes));
    }
}

static void check_lanes(const struct cg_op *op, uint32_t chan, const struct cg_pos *pos)
{
    for (uint32_t l = 0; l < op->nlinks; l++) {
        const struct cg_link *k = &cg_op_links(op)[l];
        uint64_t arrived = k->mine->chan[chan].tail, read = k->peer->chan[chan].head;
        uint64_t sent = k->peer->chan[chan].tail, consumed = k->mine->chan[chan].head;
        if (read > arrived || arrived > read + op->slots) fatal("lane in: read %lu of %lu", read, arrived);
        if (consumed > sent || sent > consumed + op->slots) fatal("lane out: %lu of %lu consumed", consumed, sent);
        if (read != k->recv_base[chan] + pos->rcvd[l] || sent != k->send_base[chan] + pos->sent[l]) {
            fatal("position and words differ");
        }
    }
}

int world_step(struct world *w, int i, uint32_t rank, uint32_t chan)
{
    struct part *part = &w->op[i].part[rank];
    struct cg_fault fault = {0};
    struct lanes at;
    int rc;

    read_lanes(part->op, chan, &at);
    guard(w, part->op, chan, &at, 1);
    rc = cg_host_step(part->op, chan, &part->pos[chan], ~0u, &fault);
    if (rc < 0)
        fatal("operation %d, rank %u, channel %u: %s on link %u", i, rank, chan, cg_status_text(rc), fault.link);
    if (CG_RUN_STEP == rc) {
        check_lanes(part->op, chan, &part->pos[chan]);
        forget(part->op, chan, &at);
    }
    guard(w, part->op, chan, &at, 0);
    return rc;
}

void world_move(struct world *w, int i, uint32_t rank)
{
    struct part *part = &w->op[i].part[rank];
    struct cg_op *copy = malloc(CG_OP_BYTES);

    if (!copy) fatal("out of memory");
    memcpy(copy, part->op, CG_OP_BYTES);
    memset(part->op, WORLD_FILL, CG_OP_BYTES);
    free(part->op);
    part->op = copy;
}

int world_part_done(const struct world *w, int i, uint32_t rank)
{
    const struct part *part = &w->op[i].part[rank];

    if (!part->posted) return 0;
    for (uint32_t chan = 0; chan < part->op->nchan; chan++) {
        if (!part->pos[chan].done) return 0;
    }
    return 1;
}

int world_done(const struct world *w)
{
    for (int i = 0; i < w->nops; i++) {
        for (uint32_t rank = 0; rank < w->comm[w->op[i].comm].size; rank++) {
            if (!world_part_done(w, i, rank)) return 0;
        }
    }
    return 1;
}

/* The last byte of two zeros of different sign? That of a complex product's zero depends on the order of factors. */
static int are_zeros(const struct operation *o, const struct buffer *b, uint64_t i)
{
    uint64_t w = CG_TYPE_C32 == o->type ? 4 : 8;
    char got = b->p[i], want = b->want[i];

    if ((CG_TYPE_C32 != o->type && CG_TYPE_C64 != o->type) || CG_REDOP_PROD != o->redop || i % w != w - 1) return 0;
    for (uint64_t k = i - w + 1; k < i; k++) {
        if (b->p[k] || b->want[k]) return 0;
    }
    return 0 == ((got | want) & 0x7f);
}

static void check_buffer(const struct operation *o, uint32_t rank, const char *name, const struct buffer *b)
{
    for (int i = 0; b->p && i < WORLD_GUARD; i++) {
        const unsigned char *before = (unsigned char *) b->p - WORLD_GUARD, *behind = (unsigned char *) b->p + b->bytes;
        if (WORLD_FILL != before[i] || WORLD_FILL != behind[i]) fatal("rank %u wrote beside its buffer", rank);
    }
    for (uint64_t i = 0; i < b->bytes; i++) {
        if (b->p[i] != b->want[i] && !are_zeros(o, b, i)) {
            fatal("rank %u of %s %s %s, %s of %lu bytes: wrong at byte %lu", rank, cg_coll_name(o->coll),
                  cg_type_name(o->type), cg_redop_name(o->redop), name, b->bytes, i);
        }
    }
}

static void check_part(const struct operation *o, uint32_t rank)
{
    check_buffer(o, rank, "src", &o->part[rank].src_mem);
    check_buffer(o, rank, "dst", &o->part[rank].dst_mem);
}

void world_check(const struct world *w)
{
    for (int i = 0; i < w->nops; i++) {
        for (uint32_t rank = 0; rank < w->comm[w->op[i].comm].size; rank++)
            check_part(&w->op[i], rank);
    }
    for (int i = 0; i < w->ncomms; i++) {
        const struct comm *c = &w->comm[i];
        for (uint32_t rank = 0; rank < c->size; rank++) {
            for (int l = 0; l < c->nends[rank]; l++) {
                const struct end *e = &c->end[rank][l];
                for (int chan = 0; chan < CG_MAX_CHAN; chan++) {
                    if (e->line->chan[chan].tail != e->recv_next[chan] ||
                        e->line->chan[chan].head != e->send_next[chan]) {
                        fatal("lane counters at the end differ from the plans'");
                    }
                }
            }
        }
    }
}
