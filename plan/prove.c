/* SPDX-License-Identifier: BSD-3-Clause
 * The checker's second half: the programs of all ranks together, symbolically.
 *
 * Why some iterations prove all of them: channels share no lane. Within a channel a program is a sequence of steps that
 * wait on bounded single-reader queues; a step that may run may still run after any step of another rank, so whether
 * it ends, and with what, does not depend on the interleaving. Each iteration is run alone and must leave all lanes
 * empty; of iterations in a row that have the same sizes on all ranks one is run. With walks all reps of a slice are
 * one such iteration, and ranks may have different numbers of them. */
#include "plan/proof.h"

#include "core/status.h"

#include "kernels/interp.h"

#include <stdlib.h>
#include <string.h>

static const struct cg_value no_value = {CG_EXPR_NONE, 0};

static struct cg_cell *cell_of(const struct cg_proof *p, uint32_t rank, uint32_t chunk)
{
    return &p->cell[(size_t) rank * p->cells + chunk];
}

static struct cg_value join(const struct cg_proof *p, struct cg_value left, struct cg_value right)
{
    if (left.first != right.first) return no_value;
    return (struct cg_value){cg_expr_join(p->exprs, left.expr, right.expr), left.first};
}

/* ---- one step ---- */

static struct cg_msg *slot(const struct cg_proof *p, size_t link, uint64_t seq)
{
    return &p->msg[link * (size_t) p->params->slots + seq % (uint64_t) p->params->slots];
}

static size_t peer_lane(const struct cg_proof *p, uint32_t rank, uint32_t l)
{
    return cg_proof_link(p->plans[rank].peer[l], p->back[cg_proof_link(rank, l)]);
}

static int ready(const struct cg_proof *p, uint32_t rank, struct cg_span in, struct cg_span out)
{
    for (uint32_t l = in.from; l < in.to; l++) {
        const struct cg_lane *lane = &p->lane[cg_proof_link(rank, l)];
        if (lane->head == lane->tail) return 0;
    }
    for (uint32_t l = out.from; l < out.to; l++) {
        const struct cg_lane *lane = &p->lane[peer_lane(p, rank, l)];
        if (lane->tail - lane->head >= (uint64_t) p->params->slots) return 0;
    }
    return 1;
}

static struct cg_value received(const struct cg_proof *p, uint32_t rank, uint32_t l, uint32_t n)
{
    size_t link = cg_proof_link(rank, l);
    const struct cg_msg *m = slot(p, link, p->lane[link].head);

    return m->n == n ? m->value : no_value;
}

static uint32_t step_of(const struct cg_proof *p, uint32_t rank) { return p->at[rank] % p->plans[rank].nsteps; }

/* Elements of a rank's present step, and where they are in dst, or in the operand. */
static uint32_t elems_of(const struct cg_proof *p, uint32_t rank, int operand, uint64_t *first)
{
    const struct cg_plan *plan = &p->plans[rank];
    struct cg_step s = plan->step[step_of(p, rank)];
    uint32_t iter = p->iter * cg_plan_reps(plan) + p->at[rank] / plan->nsteps;

    *first = 0;
    if (p->chan >= plan->nchan || iter >= plan->range[p->chan].iters) return 0;
    if (operand && plan->nblocks) s.chunk = s.from;
    return cg_plan_elems(plan, &s, p->chan, iter, first);
}

/* What this iteration, or rep, has written to a place of dst: by the step's name for it, or by another walk. */
static struct cg_value written(const struct cg_proof *p, uint32_t rank, uint32_t name, uint64_t at, uint32_t n)
{
    for (uint32_t c = 0; c < cg_plan_cells(&p->plans[rank]); c++) {
        const struct cg_cell *cell = cell_of(p, rank, (name + c) % cg_plan_cells(&p->plans[rank]));
        if (cell->n == n && cell->at == at) return cell->value;
    }
    return no_value;
}

static struct cg_value operand_of(const struct cg_proof *p, uint32_t rank, const struct cg_step *s, uint32_t n)
{
    uint64_t first;

    if (elems_of(p, rank, 1, &first) != n) return no_value;
    if (s->flags & CG_F_DST_OPERAND) return written(p, rank, p->plans[rank].nblocks ? s->from : s->chunk, first, n);
    return (struct cg_value){cg_expr_leaf(rank), first};
}

/* What a step computes: its operand, what it received, or both joined. */
static struct cg_value value_of(const struct cg_proof *p, uint32_t rank, const struct cg_step *s, struct cg_span in,
                                uint32_t n)
{
    const struct cg_plan *plan = &p->plans[rank];
    int all = cg_step_all_in(s->opcode), got = 0;
    struct cg_value sum = no_value, operand = no_value;

    if (cg_step_operand(s->opcode)) operand = operand_of(p, rank, s, n);
    if (in.from == in.to) return operand;
    for (uint32_t l = in.from; l < in.to; l++) {
        if (all && l == plan->self_pos) sum = got++ ? join(p, sum, operand) : operand;
        struct cg_value x = received(p, rank, l, n);
        sum = got++ ? join(p, sum, x) : x;
    }
    if (all) return plan->self_pos == in.to ? join(p, sum, operand) : sum;
    if (!cg_step_operand(s->opcode)) return sum;
    return s->flags & CG_F_SLOT_FIRST ? join(p, sum, operand) : join(p, operand, sum);
}

static void write_value(struct cg_proof *p, uint32_t rank, const struct cg_step *s, uint64_t at, uint32_t n,
                        struct cg_value value)
{
    size_t link = cg_proof_link(rank, s->rlink);

    if (s->flags & CG_F_INTO_SLOT) {
        slot(p, link, p->lane[link].head)->value = value;
    } else {
        *cell_of(p, rank, s->chunk) = (struct cg_cell){n, at, value};
    }
}

static void move(struct cg_proof *p, uint32_t rank, const struct cg_step *s, struct cg_span in, struct cg_span out,
                 struct cg_msg msg)
{
    for (uint32_t l = out.from; l < out.to; l++) {
        size_t lane = peer_lane(p, rank, l);
        *slot(p, lane, p->lane[lane].tail++) = msg;
        p->sent[cg_proof_link(rank, l)]++;
    }
    for (uint32_t l = in.from; l < in.to && cg_step_frees(s); l++) {
        p->lane[cg_proof_link(rank, l)].head++;
        p->rcvd[cg_proof_link(rank, l)]++;
    }
}

/* ---- results ---- */

/* The piece to which a cell belongs, with its content; -1 if there is none. */
static int64_t piece_of(const struct cg_proof *p, uint32_t rank, const struct cg_cell *cell)
{
    uint64_t len = p->plans[rank].block_len, n = p->npieces[rank];

    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = ((len ? cell->at / len : 0) + k) % n; /* of equal ones it is the first that is looked at */
        const struct cg_piece *piece = &p->piece[rank][i];
        if (cell->at < piece->dst || cell->at + cell->n > piece->dst + piece->len) continue;
        if (cell->value.first - piece->src != cell->at - piece->dst) continue;
        if (cg_expr_is(p->exprs, cell->value.expr, piece->lo, piece->hi)) return (int64_t) i;
    }
    return -1;
}

/* With walks several reps may write one cell, so that it is checked, and forgotten, at the end of each; and each piece
 * is written once for each slice. */
static int check_cells(const struct cg_proof *p, uint32_t rank)
{
    for (uint32_t c = 0; c < cg_plan_cells(&p->plans[rank]); c++) {
        struct cg_cell *cell = cell_of(p, rank, c);
        if (0 == cell->n) continue;
        int64_t piece = piece_of(p, rank, cell);
        uint8_t *seen = p->seen ? &p->seen[rank * p->pieces + (size_t) (piece < 0 ? 0 : piece)] : NULL;
        if (piece < 0 || (seen && *seen)) {
            return cg_proof_fail(p, "rank %u: chunk or block %u has not the result, or does not belong to it", rank, c);
        }
        if (CG_COLL_ALLREDUCE == p->reqs->coll && cell->value.expr != cell_of(p, 0, c)->value.expr) {
            return cg_proof_fail(p, "rank %u: chunk %u is not the same expression as at rank 0", rank, c);
        }
        p->covered[rank] += cell->n * p->weight;
        cell->n = 0;
        if (seen) *seen = 1;
    }
    return CG_OK;
}

/* ---- one iteration ---- */

/* Run one step if it may run: CG_OK, CG_AGAIN or an error. */
static int run_step(struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];
    const struct cg_step *s = &plan->step[step_of(p, rank)];
    struct cg_span in = cg_step_in(s, plan->nall), out = cg_step_out(s, plan->nall);
    uint64_t at;
    uint32_t n = elems_of(p, rank, 0, &at);

    if (n > 0) {
        if (!ready(p, rank, in, out)) return CG_AGAIN;
        struct cg_value value = value_of(p, rank, s, in, n);
        if (CG_EXPR_NONE == value.expr) {
            return cg_proof_fail(p, "rank %u, step %u, channel %u: wrong message or operand", rank, step_of(p, rank),
                                 p->chan);
        }
        if (cg_step_writes(s->opcode)) write_value(p, rank, s, at, n, value);
        move(p, rank, s, in, out, (struct cg_msg){n, value});
    }
    p->at[rank]++;
    return plan->nwalks && 0 == step_of(p, rank) ? check_cells(p, rank) : CG_OK;
}

/* Steps of a rank in an iteration. */
static uint32_t steps_of(const struct cg_proof *p, uint32_t rank)
{
    return p->plans[rank].nsteps * cg_plan_reps(&p->plans[rank]);
}

static int run_all(struct cg_proof *p)
{
    for (int moved = 1; moved;) {
        moved = 0;
        for (uint32_t rank = 0; rank < p->nranks; rank++) {
            int rc = CG_OK;
            while (CG_OK == rc && p->at[rank] < steps_of(p, rank)) {
                rc = run_step(p, rank);
                moved |= CG_OK == rc;
            }
            if (rc < 0) return rc;
        }
    }
    return CG_OK;
}

static int check_end(const struct cg_proof *p, uint32_t rank)
{
    const struct cg_plan *plan = &p->plans[rank];

    if (p->at[rank] != steps_of(p, rank)) {
        return cg_proof_fail(p, "deadlock: rank %u waits in step %u of channel %u", rank, step_of(p, rank), p->chan);
    }
    for (uint32_t l = 0; l < plan->nlinks; l++) {
        const struct cg_lane *lane = &p->lane[cg_proof_link(rank, l)];
        if (lane->head != lane->tail) return cg_proof_fail(p, "rank %u never takes a message of link %u", rank, l);
    }
    return CG_OK;
}

static void add_counts(struct cg_proof *p, const uint64_t *sent, const uint64_t *rcvd, uint64_t weight)
{
    for (size_t i = 0; i < cg_proof_link(p->nranks, 0); i++) {
        p->sent[i] = sent[i] + (p->sent[i] - sent[i]) * weight;
        p->rcvd[i] = rcvd[i] + (p->rcvd[i] - rcvd[i]) * weight;
    }
}

/* Stands for weight iterations from iter on. */
static int run_iteration(struct cg_proof *p)
{
    size_t links = cg_proof_link(p->nranks, 0);
    uint64_t *before = malloc(2 * links * sizeof(*before));
    int rc;

    if (!before) return CG_ERR_NOMEM;
    memcpy(before, p->sent, links * sizeof(*before));
    memcpy(before + links, p->rcvd, links * sizeof(*before));
    memset(p->at, 0, p->nranks * sizeof(*p->at));
    memset(p->cell, 0, (size_t) p->nranks * p->cells * sizeof(*p->cell));
    if (p->seen) memset(p->seen, 0, p->nranks * p->pieces);
    rc = run_all(p);
    for (uint32_t rank = 0; rank < p->nranks && CG_OK == rc; rank++)
        rc = check_end(p, rank);
    for (uint32_t rank = 0; rank < p->nranks && CG_OK == rc; rank++)
        rc = check_cells(p, rank);
    add_counts(p, before, before + links, p->weight);
    free(before);
    return rc;
}

/* ---- all iterations ---- */

/* Iterations from iter on in which a block has whole slices only, or none: 1 if there is a part of one in the first. */
static uint64_t alike(const struct cg_plan *plan, const struct cg_block *b, uint32_t chan, uint64_t iter, uint64_t most)
{
    uint64_t whole = b->len / plan->range[chan].chunk, u = iter * plan->nchan + chan;

    if (u < whole) return cg_min_u64(most, (whole - u - 1) / plan->nchan + 1);
    return u == whole && b->len % plan->range[chan].chunk ? 1 : most;
}

static uint64_t weight_of(const struct cg_proof *p, uint64_t iters)
{
    uint64_t weight = iters - p->iter;

    if (!p->plans[0].nblocks) return weight > 1 ? weight - 1 : 1;
    for (uint32_t rank = 0; rank < p->nranks; rank++) {
        const struct cg_plan *plan = &p->plans[rank];
        const struct cg_block equal = {0, plan->block_len};
        if (plan->block_len && p->chan < plan->nchan) weight = alike(plan, &equal, p->chan, p->iter, weight);
        for (uint32_t i = 0; i < cg_plan_listed(plan) && p->chan < plan->nchan; i++)
            weight = alike(plan, &plan->block[i], p->chan, p->iter, weight);
    }
    return weight;
}

static int check_counts(const struct cg_proof *p)
{
    for (uint32_t rank = 0; rank < p->nranks; rank++) {
        for (uint32_t l = 0; l < p->plans[rank].nlinks && p->chan < p->plans[rank].nchan; l++) {
            size_t i = cg_proof_link(rank, l);
            uint64_t sends, recvs;
            cg_plan_count(&p->plans[rank], p->chan, l, &sends, &recvs);
            if (sends != p->sent[i] || recvs != p->rcvd[i] || sends > UINT32_MAX || recvs > UINT32_MAX) {
                return cg_proof_fail(p, "rank %u, link %u: the count of messages is wrong", rank, l);
            }
        }
    }
    return CG_OK;
}

static int run_channel(struct cg_proof *p)
{
    size_t links = cg_proof_link(p->nranks, 0);
    uint64_t iters = 0;
    int rc = CG_OK;

    memset(p->sent, 0, links * sizeof(*p->sent));
    memset(p->rcvd, 0, links * sizeof(*p->rcvd));
    for (uint32_t rank = 0; rank < p->nranks; rank++) {
        const struct cg_plan *plan = &p->plans[rank];
        uint32_t mine = p->chan < plan->nchan ? plan->range[p->chan].iters / cg_plan_reps(plan) : 0;
        iters = mine > iters ? mine : iters;
    }
    for (uint64_t iter = 0; iter < iters && CG_OK == rc; iter += p->weight) {
        p->iter = (uint32_t) iter;
        p->weight = weight_of(p, iters);
        rc = run_iteration(p);
    }
    return CG_OK == rc ? check_counts(p) : rc;
}

static int check_coverage(const struct cg_proof *p, uint32_t rank)
{
    uint64_t want = 0;

    for (uint32_t i = 0; i < p->npieces[rank]; i++)
        want += p->piece[rank][i].len;
    if (p->covered[rank] == want) return CG_OK;
    return cg_proof_fail(p, "rank %u: %llu elements of %llu are written", rank, (unsigned long long) p->covered[rank],
                         (unsigned long long) want);
}

int cg_proof_run(struct cg_proof *p)
{
    int rc = CG_OK;

    for (p->chan = 0; p->chan < CG_MAX_CHAN && CG_OK == rc; p->chan++)
        rc = run_channel(p);
    for (uint32_t rank = 0; rank < p->nranks && CG_OK == rc; rank++)
        rc = check_coverage(p, rank);
    return rc;
}
