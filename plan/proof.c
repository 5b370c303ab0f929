/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of a proof. */
#include "plan/proof.h"

#include "core/status.h"

#include "plan/nodes.h"

#include <stdlib.h>
#include <string.h>

static int fill_pieces(struct cg_proof *p)
{
    struct cg_piece *all = malloc(p->nranks * sizeof(*all));
    int rc = all ? CG_OK : CG_ERR_NOMEM;

    for (uint32_t rank = 0; rank < p->nranks && CG_OK == rc; rank++) {
        uint32_t n = p->npieces[rank] = cg_spec(p->reqs, rank, all);
        p->pieces = n > p->pieces ? n : p->pieces;
        p->piece[rank] = malloc((n ? n : 1) * sizeof(*all));
        if (!p->piece[rank]) rc = CG_ERR_NOMEM;
        if (CG_OK == rc) memcpy(p->piece[rank], all, n * sizeof(*all));
    }
    free(all);
    if (p->plans[0].nwalks) p->seen = calloc(p->nranks, p->pieces + 1);
    return p->plans[0].nwalks && !p->seen ? CG_ERR_NOMEM : rc;
}

static void free_all(struct cg_proof *p)
{
    for (uint32_t rank = 0; p->piece && rank < p->nranks; rank++)
        free(p->piece[rank]);
    cg_exprs_free(p->exprs);
    free(p->back);
    free(p->lane);
    free(p->msg);
    free(p->cell);
    free(p->at);
    free(p->npieces);
    free(p->seen);
    free(p->piece);
    free(p->sent);
    free(p->rcvd);
    free(p->covered);
}

int cg_plan_prove(const struct cg_plan_request *reqs, const struct cg_plan *plans, char *why, size_t len)
{
    size_t n = reqs->nranks, links = cg_proof_link(reqs->nranks, 0);
    struct cg_proof p = {.reqs = reqs, .plans = plans, .params = reqs->params, .nranks = reqs->nranks};
    int rc = CG_ERR_NOMEM;

    p.why = why;
    p.len = len;
    for (uint32_t rank = 0; rank < n; rank++)
        p.cells = cg_plan_cells(&plans[rank]) > p.cells ? cg_plan_cells(&plans[rank]) : p.cells;
    p.exprs = cg_exprs_new(p.nranks, reqs->nodes ? reqs->nodes->place : NULL);
    p.back = calloc(links, sizeof(*p.back));
    p.lane = calloc(links, sizeof(*p.lane));
    p.msg = calloc(links * (size_t) p.params->slots, sizeof(*p.msg));
    p.cell = calloc(n * p.cells, sizeof(*p.cell));
    p.at = calloc(n, sizeof(*p.at));
    p.npieces = calloc(n, sizeof(*p.npieces));
    p.piece = calloc(n, sizeof(*p.piece));
    p.sent = calloc(links, sizeof(*p.sent));
    p.rcvd = calloc(links, sizeof(*p.rcvd));
    p.covered = calloc(n, sizeof(*p.covered));
    if (p.exprs && p.back && p.lane && p.msg && p.cell && p.at && p.npieces && p.piece && p.sent && p.rcvd &&
        p.covered) {
        rc = fill_pieces(&p);
    }
    if (CG_OK == rc) rc = cg_proof_bounds(&p);
    if (CG_OK == rc) rc = cg_proof_run(&p);
    free_all(&p);
    return rc;
}
