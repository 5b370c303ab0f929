/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/predict.h"

#include "core/status.h"
#include "kernels/interp.h"
#include "plan/build.h"
#include "plan/nodes.h"

#include <stdlib.h>
#include <string.h>

#define ITERATIONS 4 /* that are run; with walks: slices */
#define LOOKED_AT 16 /* ranks, of many, whose neighbours are counted */

/* What one rank is sent on one link and channel; times in us, by sequence number modulo slots. */
struct lane {
    uint64_t head, tail;
};

struct run {
    const struct cg_plan_request *reqs;
    const struct cg_machine *m;
    struct cg_plan *plan;     /* [rank] */
    uint32_t n, slots;
    uint8_t *back;            /* [rank][link]: the link's number at its peer */
    struct lane *lane;        /* [rank][chan][link] */
    double *arrived, *freed;  /* [rank][chan][link][slot] */
    uint32_t *step, *iter;    /* [rank][chan] */
    double *clock;            /* [rank][chan] */
    double *memory, *out, *in; /* [rank]: when its memory and its ports in the node are free */
    double *nic_out, *nic_in;  /* [node][nic] */
    double ended[ITERATIONS];  /* when the last rank ended an iteration */
    struct event {
        double at;
        uint32_t part; /* rank * CG_MAX_CHAN + chan */
    } *heap;
    size_t nheap;
    uint8_t *queued; /* [part] */
};

static size_t lane_at(const struct run *r, uint32_t part, uint32_t l)
{
    (void) r;
    return (size_t) part * CG_MAX_LINKS + l;
}

static double later(double a, double b) { return a > b ? a : b; }

/* ---- events, the earliest first ---- */

static void push(struct run *r, double at, uint32_t part)
{
    size_t i = r->nheap;

    if (r->queued[part]) return;
    r->queued[part] = 1;
    for (r->nheap++; i > 0 && r->heap[(i - 1) / 2].at > at; i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = (struct event){at, part};
}

static struct event pop(struct run *r)
{
    struct event first = r->heap[0], last = r->heap[--r->nheap];
    size_t i = 0;

    for (size_t k; (k = 2 * i + 1) < r->nheap; i = k) {
        if (k + 1 < r->nheap && r->heap[k + 1].at < r->heap[k].at) k++;
        if (last.at <= r->heap[k].at) break;
        r->heap[i] = r->heap[k];
    }
    r->heap[i] = last;
    r->queued[first.part] = 0;
    return first;
}

/* ---- one step ---- */

static uint32_t node_of(const struct run *r, uint32_t rank)
{
    return r->reqs->nodes ? r->reqs->nodes->node[rank] : 0;
}

/* Ranks that share a host, whose nodes may be several. */
static double *nic_of(struct run *r, double *nics, uint32_t rank)
{
    uint32_t local = r->reqs->nodes ? r->reqs->nodes->local[rank] : rank;

    return &nics[(size_t) node_of(r, rank) * r->m->nics + local % r->m->nics];
}

/* Bytes in GB/s are 1000 a us. */
static double us_of(double bytes, double gbs) { return bytes / (gbs * 1000); }

/* A message leaves at t. Within a node the sender stores it itself, and goes on when it has; between nodes the proxy
 * takes it from the slot. Returns when the sender may go on. */
static double deliver(struct run *r, uint32_t part, uint32_t l, double t, double bytes)
{
    uint32_t rank = part / CG_MAX_CHAN, peer = r->plan[rank].peer[l], there = peer * CG_MAX_CHAN + part % CG_MAX_CHAN;
    size_t at = lane_at(r, there, r->back[(size_t) rank * CG_MAX_LINKS + l]);
    int net = node_of(r, rank) != node_of(r, peer);
    double *out = net ? nic_of(r, r->nic_out, rank) : &r->out[rank];
    double *in = net ? nic_of(r, r->nic_in, peer) : &r->in[peer];
    double takes = us_of(bytes, net ? r->m->net_gbs : r->m->node_gbs);
    double begins = later(t, *out), latency = net ? r->m->net_latency_us : r->m->node_latency_us;

    *out = begins + takes;
    *in = later(begins + latency, *in) + takes;
    r->arrived[at * r->slots + r->lane[at].tail++ % r->slots] = *in;
    push(r, *in, there);
    return net ? t : *out;
}

static uint32_t elems_of(const struct run *r, uint32_t part, const struct cg_step *s)
{
    uint64_t first;

    return cg_plan_elems(&r->plan[part / CG_MAX_CHAN], s, part % CG_MAX_CHAN, r->iter[part], &first);
}

/* Iterations of a part that are run. */
static uint32_t iters_of(const struct run *r, uint32_t part)
{
    const struct cg_plan *plan = &r->plan[part / CG_MAX_CHAN];
    uint32_t most = ITERATIONS * cg_plan_reps(plan), iters = plan->range[part % CG_MAX_CHAN].iters;

    return iters < most ? iters : most;
}

/* When all that the step waits for is there; below 0: that is not known yet. */
static double ready_at(const struct run *r, uint32_t part, struct cg_span in, struct cg_span out)
{
    uint32_t rank = part / CG_MAX_CHAN;
    double t = r->clock[part];

    for (uint32_t l = in.from; l < in.to; l++) {
        size_t at = lane_at(r, part, l);
        if (r->lane[at].head == r->lane[at].tail) return -1;
        t = later(t, r->arrived[at * r->slots + r->lane[at].head % r->slots]);
    }
    for (uint32_t l = out.from; l < out.to; l++) {
        uint32_t there = r->plan[rank].peer[l] * CG_MAX_CHAN + part % CG_MAX_CHAN;
        size_t at = lane_at(r, there, r->back[(size_t) rank * CG_MAX_LINKS + l]);
        if (r->lane[at].tail - r->lane[at].head >= r->slots) return -1;
        if (r->lane[at].tail >= r->slots) t = later(t, r->freed[at * r->slots + r->lane[at].tail % r->slots]);
    }
    return t;
}

static void give_back(struct run *r, uint32_t part, uint32_t l, double t)
{
    uint32_t rank = part / CG_MAX_CHAN, peer = r->plan[rank].peer[l];
    size_t at = lane_at(r, part, l);
    int net = node_of(r, rank) != node_of(r, peer);

    t += net ? r->m->net_latency_us : r->m->node_latency_us;
    r->freed[at * r->slots + r->lane[at].head++ % r->slots] = t;
    push(r, t, peer * CG_MAX_CHAN + part % CG_MAX_CHAN);
}

static void run_step(struct run *r, uint32_t part, const struct cg_step *s, double t, uint32_t n)
{
    const struct cg_plan *plan = &r->plan[part / CG_MAX_CHAN];
    struct cg_span in = cg_step_in(s, plan->nall), out = cg_step_out(s, plan->nall);
    double bytes = (double) n * r->reqs->esize, *memory = &r->memory[part / CG_MAX_CHAN];
    uint32_t passes = in.to - in.from + out.to - out.from + (uint32_t) cg_step_operand(s->opcode) +
                      (uint32_t) cg_step_writes(s->opcode);

    *memory = later(t, *memory) + us_of(bytes * passes, r->m->memory_gbs);
    t = later(t + r->m->step_us, *memory);
    double end = t;
    for (uint32_t l = out.from; l < out.to; l++)
        end = later(end, deliver(r, part, l, t, bytes));
    for (uint32_t l = in.from; l < in.to && cg_step_frees(s); l++)
        give_back(r, part, l, end);
    r->clock[part] = end;
}

/* As far as the part gets until it has to wait. */
static void run_part(struct run *r, uint32_t part)
{
    const struct cg_plan *plan = &r->plan[part / CG_MAX_CHAN];
    uint32_t iters = iters_of(r, part), reps = cg_plan_reps(plan);

    while (r->iter[part] < iters) {
        if (r->step[part] == plan->nsteps) {
            double *ended = &r->ended[r->iter[part] / reps];
            *ended = later(*ended, r->clock[part]);
            r->step[part] = 0;
            r->iter[part]++;
            continue;
        }
        const struct cg_step *s = &plan->step[r->step[part]];
        uint32_t n = elems_of(r, part, s);
        if (n > 0) {
            double t = ready_at(r, part, cg_step_in(s, plan->nall), cg_step_out(s, plan->nall));
            if (t < 0) return; /* who changes that pushes this part again */
            if (r->nheap && t > r->heap[0].at) {
                push(r, t, part); /* others have their turn first */
                return;
            }
            run_step(r, part, s, t, n);
        }
        r->step[part]++;
    }
}

/* ---- all of it ---- */

static int all_done(const struct run *r)
{
    for (uint32_t part = 0; part < r->n * CG_MAX_CHAN; part++) {
        const struct cg_plan *plan = &r->plan[part / CG_MAX_CHAN];
        if (part % CG_MAX_CHAN < plan->nchan && r->iter[part] < iters_of(r, part)) return 0;
    }
    return 1;
}

static double time_of(const struct run *r)
{
    uint32_t iters = 0, last;
    double end = 0;

    for (uint32_t rank = 0; rank < r->n; rank++) {
        for (uint32_t c = 0; c < r->plan[rank].nchan; c++) {
            uint32_t mine = r->plan[rank].range[c].iters / cg_plan_reps(&r->plan[rank]);
            iters = mine > iters ? mine : iters;
        }
    }
    for (uint32_t i = 0; i < ITERATIONS; i++)
        end = later(end, r->ended[i]);
    if (iters <= ITERATIONS) return end;
    last = ITERATIONS - 1;
    return r->ended[last] + (iters - ITERATIONS) * (r->ended[last] - r->ended[last - 1]);
}

static int build_plans(struct run *r)
{
    int rc = CG_OK;

    for (uint32_t rank = 0; rank < r->n && CG_OK == rc; rank++)
        rc = cg_plan_build(&r->reqs[rank], &r->plan[rank]);
    for (uint32_t rank = 0; rank < r->n && CG_OK == rc; rank++) {
        for (uint32_t l = 0; l < r->plan[rank].nlinks; l++) {
            const struct cg_plan *peer = &r->plan[r->plan[rank].peer[l]];
            uint8_t back = 0;
            while (back < peer->nlinks && peer->peer[back] != rank)
                back++;
            if (back == peer->nlinks) return CG_ERR_INTERNAL;
            r->back[(size_t) rank * CG_MAX_LINKS + l] = back;
        }
    }
    return rc;
}

/* Memory of all lanes of some ranks, since every rank's neighbours depend on all roots. */
static void count_neighbors(const struct run *r, struct cg_prediction *p)
{
    const struct cg_params *params = r->reqs->params;
    uint64_t lanes = cg_lanes_bytes((uint32_t) params->slot_bytes, (uint32_t) params->slots);

    for (uint32_t rank = 0; rank < r->n; rank += 1 + r->n / LOOKED_AT) {
        uint32_t peers[64];
        uint64_t bytes = 0;
        int n = cg_plan_neighbors(r->n, rank, params, r->reqs->nodes, 1, peers, 64);
        for (int i = 0; i < n; i++)
            bytes += node_of(r, rank) == node_of(r, peers[i]) ? lanes : 2 * lanes;
        if (n > 0 && (uint32_t) n > p->neighbors) p->neighbors = (uint32_t) n;
        if (bytes > p->fifo_bytes) p->fifo_bytes = bytes;
    }
}

static void count_links(const struct run *r, struct cg_prediction *p)
{
    for (uint32_t rank = 0; rank < r->n; rank++) {
        uint32_t net = 0;
        for (uint32_t l = 0; l < r->plan[rank].nlinks; l++)
            net += node_of(r, rank) != node_of(r, r->plan[rank].peer[l]);
        if (r->plan[rank].nlinks > p->links) p->links = r->plan[rank].nlinks;
        if (net > p->net_links) p->net_links = net;
    }
}

static int allocate(struct run *r)
{
    size_t parts = (size_t) r->n * CG_MAX_CHAN, links = parts * CG_MAX_LINKS;
    size_t nics = (size_t) (r->reqs->nodes ? r->reqs->nodes->n : 1) * r->m->nics;

    r->plan = calloc(r->n, sizeof(*r->plan));
    r->back = calloc((size_t) r->n * CG_MAX_LINKS, sizeof(*r->back));
    r->lane = calloc(links, sizeof(*r->lane));
    r->arrived = calloc(links * r->slots, sizeof(*r->arrived));
    r->freed = calloc(links * r->slots, sizeof(*r->freed));
    r->step = calloc(parts, sizeof(*r->step));
    r->iter = calloc(parts, sizeof(*r->iter));
    r->clock = calloc(parts, sizeof(*r->clock));
    r->memory = calloc(r->n, sizeof(double));
    r->out = calloc(r->n, sizeof(double));
    r->in = calloc(r->n, sizeof(double));
    r->nic_out = calloc(nics, sizeof(double));
    r->nic_in = calloc(nics, sizeof(double));
    r->heap = calloc(parts + 1, sizeof(*r->heap));
    r->queued = calloc(parts, sizeof(*r->queued));
    return r->plan && r->back && r->lane && r->arrived && r->freed && r->step && r->iter && r->clock && r->memory &&
                   r->out && r->in && r->nic_out && r->nic_in && r->heap && r->queued
               ? CG_OK
               : CG_ERR_NOMEM;
}

static void free_all(struct run *r)
{
    void *all[] = {r->plan, r->back, r->lane, r->arrived, r->freed, r->step,   r->iter, r->clock,
                   r->memory, r->out, r->in, r->nic_out, r->nic_in, r->heap, r->queued};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
}

int cg_plan_predict(const struct cg_plan_request *reqs, const struct cg_machine *m, struct cg_prediction *p)
{
    struct run r = {.reqs = reqs, .m = m, .n = reqs->nranks, .slots = (uint32_t) reqs->params->slots};
    int rc = allocate(&r);

    memset(p, 0, sizeof(*p));
    if (CG_OK == rc) rc = build_plans(&r);
    for (uint32_t part = 0; CG_OK == rc && part < r.n * CG_MAX_CHAN; part++) {
        if (part % CG_MAX_CHAN < r.plan[part / CG_MAX_CHAN].nchan) push(&r, 0, part);
    }
    while (CG_OK == rc && r.nheap)
        run_part(&r, pop(&r).part);
    if (CG_OK == rc && !all_done(&r)) rc = CG_ERR_INTERNAL;
    if (CG_OK == rc) {
        p->plan = r.plan[0].name;
        p->us = time_of(&r);
        count_links(&r, p);
        count_neighbors(&r, p);
    }
    free_all(&r);
    return rc;
}
