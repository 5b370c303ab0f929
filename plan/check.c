/* SPDX-License-Identifier: BSD-3-Clause
 * The checker: bounds of every plan, then the programs of all ranks together, symbolically.
 *
 * Why two iterations prove all of them: channels share no lane. Within a channel a program is a sequence of steps that
 * wait on bounded single-reader queues; a step that may run may still run after any step of another rank, so whether
 * it ends, and with what, does not depend on the interleaving. Each iteration is run alone and must leave all lanes
 * empty; all but the last have the same sizes. */
#include "plan/build.h"
#include "plan/symbolic.h"

#include "kernels/interp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct msg {
    uint32_t chunk, n, expr;
};

struct lane { /* what one rank has been sent on one link */
    uint64_t head, tail;
};

struct proof {
    const struct cg_plan_request *req;
    const struct cg_plan *plans;
    struct cg_exprs *exprs;
    uint8_t *back;         /* [rank][link]: the link's number at its peer */
    struct lane *lane;     /* [rank][link] */
    struct msg *msg;       /* [rank][link][slot] */
    uint32_t *dst, *at;    /* [rank][chunk]: expression; [rank]: step */
    uint64_t *sent, *rcvd; /* [rank][link], weighted by how often the iteration occurs */
    uint32_t chan, iter;
    int in_place;
    char *why;
    size_t len;
};

static int fail(const struct proof *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, p->len, fmt, ap);
    va_end(ap);
    return CG_ERR_INTERNAL;
}

static size_t link_index(uint32_t rank, uint32_t l) { return (size_t) rank * CG_MAX_LINKS + l; }

/* ---- bounds ---- */

static int check_ranges(const struct proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint64_t next = 0;

    for (uint32_t c = 0; c < plan->nchan; c++) {
        const struct cg_range *r = &plan->range[c];
        if (r->begin != next || r->end < r->begin || (r->end > r->begin && 0 == r->chunk)) {
            return fail(p, "rank %u: channel %u begins at a gap or is not cut", rank, c);
        }
        if ((uint64_t) r->chunk * p->req->esize > (uint64_t) p->req->params->slot_bytes && plan->nlinks > 0) {
            return fail(p, "rank %u: channel %u has chunks larger than a slot", rank, c);
        }
        if (r->iters != (r->chunk ? cg_ceil_div(r->end - r->begin, (uint64_t) plan->nchunks * r->chunk) : 0)) {
            return fail(p, "rank %u: channel %u has %u iterations", rank, c, r->iters);
        }
        if ((uint64_t) r->iters * plan->nsteps > UINT32_MAX) return fail(p, "rank %u: counters overflow", rank);
        next = r->end;
    }
    if (next != p->req->count) return fail(p, "rank %u: ranges end at %llu", rank, (unsigned long long) next);
    return CG_OK;
}

static int check_links(const struct proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint32_t lower = 0;

    for (uint32_t l = 0; l < plan->nlinks; l++) {
        uint32_t peer = plan->peer[l], back = 0;
        if (peer >= p->req->nranks || peer == rank || (l > 0 && peer <= plan->peer[l - 1])) {
            return fail(p, "rank %u: link %u leads to rank %u", rank, l, peer);
        }
        while (back < p->plans[peer].nlinks && p->plans[peer].peer[back] != rank)
            back++;
        if (back == p->plans[peer].nlinks) return fail(p, "rank %u has a link to %u, which has none", rank, peer);
        p->back[link_index(rank, l)] = (uint8_t) back;
        lower += peer < rank;
    }
    return plan->self_pos == lower ? CG_OK : fail(p, "rank %u: self_pos %u", rank, plan->self_pos);
}

static int check_steps(const struct proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];

    for (uint32_t i = 0; i < plan->nsteps; i++) {
        const struct cg_step *s = &plan->step[i];
        int all = cg_step_all(s->opcode);
        if (s->opcode >= CG_STEP_COUNT || s->chunk >= plan->nchunks || (all && 0 == plan->nlinks) ||
            (!all && cg_step_recvs(s->opcode) && s->rlink >= plan->nlinks) ||
            (!all && cg_step_sends(s->opcode) && s->slink >= plan->nlinks)) {
            return fail(p, "rank %u: step %u is out of bounds", rank, i);
        }
    }
    return CG_OK;
}

static int check_numbers(const struct proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank], *first = &p->plans[0];

    if (0 == plan->nsteps || plan->nsteps > CG_MAX_STEPS || plan->nlinks > CG_MAX_LINKS || 0 == plan->nchan ||
        plan->nchan > CG_MAX_CHAN || plan->nchan > (uint32_t) p->req->params->channels || 0 == plan->nchunks ||
        plan->nchunks > UINT16_MAX) {
        return fail(p, "rank %u: a number of the plan is out of bounds", rank);
    }
    if (plan->nchan != first->nchan || plan->nchunks != first->nchunks || strcmp(plan->name, first->name) ||
        memcmp(plan->range, first->range, sizeof(plan->range))) {
        return fail(p, "rank %u has another plan than rank 0", rank);
    }
    return CG_OK;
}

/* Each check may rely on those before it, of all ranks. */
static int check_bounds(const struct proof *p)
{
    static int (*const checks[])(const struct proof *, uint32_t) = {check_numbers, check_ranges, check_links,
                                                                    check_steps};
    int rc = CG_OK;

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        for (uint32_t rank = 0; rank < p->req->nranks && CG_OK == rc; rank++)
            rc = checks[i](p, rank);
    }
    return rc;
}

/* ---- the symbolic run ---- */

static uint32_t *dst_of(const struct proof *p, uint32_t rank, uint32_t chunk)
{
    return &p->dst[(size_t) rank * p->plans[rank].nchunks + chunk];
}

static uint32_t input_of(const struct proof *p, uint32_t rank)
{
    return CG_COLL_BCAST == p->req->coll && rank != p->req->root ? CG_EXPR_NONE : cg_expr_leaf(rank);
}

static struct msg *slot(const struct proof *p, size_t link, uint64_t seq)
{
    return &p->msg[link * (size_t) p->req->params->slots + seq % (uint64_t) p->req->params->slots];
}

static size_t peer_lane(const struct proof *p, uint32_t rank, uint32_t l)
{
    return link_index(p->plans[rank].peer[l], p->back[link_index(rank, l)]);
}

/* First and behind the last link that a step reads or writes. */
struct span {
    uint32_t from, to;
};

static struct span span_of(const struct cg_plan *plan, const struct cg_step *s, int takes, uint32_t l)
{
    if (!takes) return (struct span){0, 0};
    return cg_step_all(s->opcode) ? (struct span){0, plan->nlinks} : (struct span){l, l + 1};
}

static int ready(const struct proof *p, uint32_t rank, struct span in, struct span out)
{
    for (uint32_t l = in.from; l < in.to; l++) {
        const struct lane *lane = &p->lane[link_index(rank, l)];
        if (lane->head == lane->tail) return 0;
    }
    for (uint32_t l = out.from; l < out.to; l++) {
        const struct lane *lane = &p->lane[peer_lane(p, rank, l)];
        if (lane->tail - lane->head >= (uint64_t) p->req->params->slots) return 0;
    }
    return 1;
}

static uint32_t take(struct proof *p, uint32_t rank, uint32_t l, const struct cg_step *s, uint32_t n)
{
    struct lane *lane = &p->lane[link_index(rank, l)];
    const struct msg *m = slot(p, link_index(rank, l), lane->head++);

    p->rcvd[link_index(rank, l)]++;
    return m->chunk == s->chunk && m->n == n ? m->expr : CG_EXPR_NONE;
}

/* What a step computes: its operand, what it received, or both joined. */
static uint32_t value_of(struct proof *p, uint32_t rank, const struct cg_step *s, struct span in, uint32_t n)
{
    const struct cg_plan *plan = &p->plans[rank];
    int has_operand = cg_step_operand(s->opcode), all = cg_step_all(s->opcode);
    uint32_t operand = (s->flags & CG_F_DST_OPERAND) || p->in_place ? *dst_of(p, rank, s->chunk) : input_of(p, rank);
    uint32_t sum = CG_EXPR_NONE, got = 0;

    if (in.from == in.to) return operand;
    for (uint32_t l = in.from; l < in.to; l++) {
        if (all && l == plan->self_pos) sum = got++ ? cg_expr_join(p->exprs, sum, operand) : operand;
        uint32_t x = take(p, rank, l, s, n);
        sum = got++ ? cg_expr_join(p->exprs, sum, x) : x;
    }
    if (all) return plan->self_pos == plan->nlinks ? cg_expr_join(p->exprs, sum, operand) : sum;
    if (!has_operand) return sum;
    return s->flags & CG_F_SLOT_FIRST ? cg_expr_join(p->exprs, sum, operand) : cg_expr_join(p->exprs, operand, sum);
}

/* Run one step if it may run: CG_OK, CG_AGAIN or an error. */
static int run_step(struct proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    const struct cg_step *s = &plan->step[p->at[rank]];
    struct span in = span_of(plan, s, cg_step_recvs(s->opcode), s->rlink);
    struct span out = span_of(plan, s, cg_step_sends(s->opcode), s->slink);
    uint64_t first;
    uint32_t n = cg_chunk_elems(&plan->range[p->chan], plan->nchunks, p->iter, s->chunk, &first);

    if (n > 0) {
        if (!ready(p, rank, in, out)) return CG_AGAIN;
        uint32_t value = value_of(p, rank, s, in, n);
        if (CG_EXPR_NONE == value) {
            return fail(p, "rank %u, step %u, channel %u: wrong message or operand", rank, p->at[rank], p->chan);
        }
        if (cg_step_writes(s->opcode)) *dst_of(p, rank, s->chunk) = value;
        for (uint32_t l = out.from; l < out.to; l++) {
            size_t lane = peer_lane(p, rank, l);
            *slot(p, lane, p->lane[lane].tail++) = (struct msg){s->chunk, n, value};
            p->sent[link_index(rank, l)]++;
        }
    }
    p->at[rank]++;
    return CG_OK;
}

static int run_all(struct proof *p)
{
    for (int moved = 1; moved;) {
        moved = 0;
        for (uint32_t rank = 0; rank < p->req->nranks; rank++) {
            int rc = CG_OK;
            while (CG_OK == rc && p->at[rank] < p->plans[rank].nsteps) {
                rc = run_step(p, rank);
                moved |= CG_OK == rc;
            }
            if (rc < 0) return rc;
        }
    }
    return CG_OK;
}

static int check_rank_result(const struct proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    uint32_t want = CG_COLL_BCAST == p->req->coll ? 1 : p->req->nranks;
    uint64_t first;

    if (p->at[rank] != plan->nsteps) {
        return fail(p, "deadlock: rank %u waits in step %u of channel %u", rank, p->at[rank], p->chan);
    }
    for (uint32_t l = 0; l < plan->nlinks; l++) {
        const struct lane *lane = &p->lane[link_index(rank, l)];
        if (lane->head != lane->tail) return fail(p, "rank %u never receives a message on link %u", rank, l);
    }
    for (uint32_t c = 0; c < plan->nchunks; c++) {
        uint32_t expr = *dst_of(p, rank, c);
        if (0 == cg_chunk_elems(&plan->range[p->chan], plan->nchunks, p->iter, c, &first)) continue;
        if (cg_expr_ranks(p->exprs, expr) != want || expr != *dst_of(p, 0, c)) {
            return fail(p, "rank %u: chunk %u is not the result, or not the same expression as at rank 0", rank, c);
        }
    }
    return CG_OK;
}

static int run_iteration(struct proof *p, uint32_t iter)
{
    int rc;

    p->iter = iter;
    memset(p->at, 0, p->req->nranks * sizeof(*p->at));
    for (uint32_t rank = 0; rank < p->req->nranks; rank++) {
        for (uint32_t c = 0; c < p->plans[rank].nchunks; c++) {
            *dst_of(p, rank, c) = p->in_place ? input_of(p, rank) : CG_EXPR_NONE;
        }
    }
    rc = run_all(p);
    for (uint32_t rank = 0; rank < p->req->nranks && CG_OK == rc; rank++)
        rc = check_rank_result(p, rank);
    return rc;
}

static int check_counts(const struct proof *p)
{
    for (uint32_t rank = 0; rank < p->req->nranks; rank++) {
        for (uint32_t l = 0; l < p->plans[rank].nlinks; l++) {
            size_t i = link_index(rank, l);
            uint64_t sends, recvs;
            cg_plan_count(&p->plans[rank], p->chan, l, &sends, &recvs);
            if (sends != p->sent[i] || recvs != p->rcvd[i]) {
                return fail(p, "rank %u, link %u: the count of messages is wrong", rank, l);
            }
        }
    }
    return CG_OK;
}

static int run_channel(struct proof *p, uint32_t chan)
{
    uint32_t iters = p->plans[0].range[chan].iters;
    size_t links = link_index(p->req->nranks, 0);
    int rc = CG_OK;

    p->chan = chan;
    memset(p->sent, 0, links * sizeof(*p->sent));
    memset(p->rcvd, 0, links * sizeof(*p->rcvd));
    if (iters > 1) rc = run_iteration(p, 0);
    for (size_t i = 0; i < links; i++) {
        p->sent[i] *= iters - 1;
        p->rcvd[i] *= iters - 1;
    }
    if (CG_OK == rc && iters > 0) rc = run_iteration(p, iters - 1);
    return CG_OK == rc ? check_counts(p) : rc;
}

static int run(struct proof *p)
{
    int rc = check_bounds(p);

    for (p->in_place = CG_COLL_BCAST == p->req->coll; p->in_place < 2 && CG_OK == rc; p->in_place++) {
        for (uint32_t chan = 0; chan < p->plans[0].nchan && CG_OK == rc; chan++)
            rc = run_channel(p, chan);
    }
    return rc;
}

int cg_plan_prove(const struct cg_plan_request *req, const struct cg_plan *plans, char *why, size_t len)
{
    size_t links = link_index(req->nranks, 0);
    struct proof p = {.req = req, .plans = plans, .why = why, .len = len};
    int rc;

    p.exprs = cg_exprs_new(req->nranks);
    p.back = calloc(links, sizeof(*p.back));
    p.lane = calloc(links, sizeof(*p.lane));
    p.msg = calloc(links * (size_t) req->params->slots, sizeof(*p.msg));
    p.dst = calloc((size_t) req->nranks * plans[0].nchunks, sizeof(*p.dst));
    p.at = calloc(req->nranks, sizeof(*p.at));
    p.sent = calloc(links, sizeof(*p.sent));
    p.rcvd = calloc(links, sizeof(*p.rcvd));
    rc = p.exprs && p.back && p.lane && p.msg && p.dst && p.at && p.sent && p.rcvd ? run(&p) : CG_ERR_NOMEM;
    cg_exprs_free(p.exprs);
    free(p.back);
    free(p.lane);
    free(p.msg);
    free(p.dst);
    free(p.at);
    free(p.sent);
    free(p.rcvd);
    return rc;
}

int cg_plan_check(const struct cg_plan_request *req, char *why, size_t len)
{
    struct cg_plan *plans = calloc(req->nranks, sizeof(*plans));
    int rc = plans ? CG_OK : CG_ERR_NOMEM;

    for (uint32_t rank = 0; rank < req->nranks && CG_OK == rc; rank++) {
        struct cg_plan_request own = *req;
        own.rank = rank;
        rc = cg_plan_build(&own, &plans[rank]);
        if (rc != CG_OK) snprintf(why, len, "rank %u: no plan: %s", rank, cg_status_text(rc));
    }
    if (CG_OK == rc) rc = cg_plan_prove(req, plans, why, len);
    free(plans);
    return rc;
}
