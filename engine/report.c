/* SPDX-License-Identifier: BSD-3-Clause
 * Lines that explain: who waits for whom, and who called what. */
#include "engine/internal.h"
#include "plan/choose.h"

#include <stdio.h>

static void describe(char *text, size_t len, int coll, uint64_t bytes, int type, int redop)
{
    static const char *const how[] = {" with a type or operation for the next component",
                                      " (a persistent request of the next component)", " (a persistent request)", ""};
    int down = CG_COLL_DOWN == coll;
    const char *name = cg_coll_name(down ? redop % CG_DOWN_INIT : coll);
    char size[32] = "";

    if (bytes) snprintf(size, sizeof(size), " of %llu bytes", (unsigned long long) bytes);
    if (down) {
        snprintf(text, len, "%s%s%s", name, size, how[redop / CG_DOWN_INIT % 4]);
    } else if (cg_call_reduces(coll)) {
        snprintf(text, len, "%s%s of %s with %s", name, size, cg_type_name(type), cg_redop_name(redop));
    } else {
        snprintf(text, len, "%s%s", name, size);
    }
}

void cg_report_fault(const struct cg_req *req)
{
    const struct cg_group *g = req->group;
    const struct cg_fault *f = &req->fault;
    char mine[128], theirs[128];

    describe(mine, sizeof(mine), req->call.coll, req->bytes, req->call.type, req->call.redop);
    if (CG_ERR_MISMATCH != f->status || f->link >= CG_MAX_LINKS) {
        cg_log(0, "rank %u of %s: operation %u, %s: %s", g->rank, g->label, req->opno, mine, cg_status_text(f->status));
        return;
    }
    describe(theirs, sizeof(theirs), f->got_coll, f->got_bytes, f->got_type, f->got_redop);
    cg_log(0, "rank %u of %s called %s (operation %u), but rank %u called %s (operation %u); all ranks must make the "
              "same calls in the same order with the same arguments",
           g->rank, g->label, mine, f->want_opno, req->peer[f->link], theirs, f->got_opno);
}

/* Has the neighbour shown that it is in this operation? Over the network that is seen from its first message only. */
static int entered(const struct cg_link_end *end, uint32_t opno)
{
    if (CG_MEDIUM_NET == end->medium) return cg_load_acquire(&end->announce_in[opno % CG_ANNOUNCE].op) == opno;
    return cg_load_acquire(&end->mine->posted) >= end->op_base + opno;
}

/* A neighbour whose announcement of this operation is another collective: each may wait for a message of the other, so
 * that no header tells. Its index, with its call in text; -1: none. */
static int elsewhere(const struct cg_req *req, char *text, size_t len)
{
    for (int i = 0; i < req->group->nneighbors; i++) {
        const struct cg_link_end *end = req->group->link[i];
        uint64_t op = CG_MEDIUM_NET == end->medium ? req->opno : end->op_base + req->opno;
        const struct cg_announce *a = &end->announce_in[op % CG_ANNOUNCE];
        if (cg_load_acquire(&a->op) != op || a->coll == req->call.coll) continue;
        describe(text, len, a->coll, a->bytes, a->type, a->redop);
        return i;
    }
    return -1;
}

void cg_report_stuck(const struct cg_req *req)
{
    const struct cg_group *g = req->group;
    char mine[128], theirs[128], who[256];
    size_t at = 0;
    int other = elsewhere(req, theirs, sizeof(theirs));

    describe(mine, sizeof(mine), req->call.coll, req->bytes, req->call.type, req->call.redop);
    if (other >= 0) {
        cg_log(0, "rank %u of %s has waited %d s in %s (operation %u), but rank %u called %s; all ranks must make the "
                  "same calls in the same order",
               g->rank, g->label, g->params.stuck_seconds, mine, req->opno, g->neighbor[other], theirs);
        return;
    }
    who[0] = 0;
    for (int i = 0; i < g->nneighbors && at < sizeof(who) - 64; i++) {
        if (entered(g->link[i], req->opno)) continue;
        at += (size_t) snprintf(who + at, sizeof(who) - at, " %u", g->neighbor[i]);
    }
    cg_log(0, "rank %u of %s has waited %d s in %s (operation %u); %s%s", g->rank, g->label, g->params.stuck_seconds,
           mine, req->opno, at ? "not heard of it from rank" : "all neighbours have entered it", who);
}

void cg_report_choice(const struct cg_req *req)
{
    struct cg_group *g = req->group;
    const struct cg_row *row = req->row;
    char text[CG_ROW_TEXT] = "";

    if (cg_log_level() < 4 || req->call.coll >= CG_COLL_COUNT || g->shown[req->call.coll] == row) return;
    g->shown[req->call.coll] = row;
    if (NULL == row) {
        CG_LOG(4, "rank %u of %s: %s of %llu bytes by %s, chosen without the table", g->rank, g->label,
               cg_coll_name(req->call.coll), (unsigned long long) req->bytes, req->plan);
        return;
    }
    cg_row_text(row, text, sizeof(text));
    CG_LOG(4, "rank %u of %s: %s of %llu bytes by %s, chosen by line %u of %s: %s", g->rank, g->label,
           cg_coll_name(req->call.coll), (unsigned long long) req->bytes, req->plan, row->line, row->source, text);
}
