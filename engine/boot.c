/* SPDX-License-Identifier: BSD-3-Clause
 * Set-up of a communicator, carried by a few messages of its own, in three parts:
 *   hello     rank 0's parameters and stream tag go down a binary tree; they apply everywhere. With them the hash of
 *             its table of choices: a rank that has another says so in the verdict, and all use the built-in one
 *   links     every pair of neighbours agrees on a link: shared memory if they can, else network (a conversation of
 *             offer, answer, and a verdict from each side that says whether it worked there)
 *   verdict   the worst status goes up the tree and down again: all ranks have it, or none
 * Between two ranks messages are in order and both sides know which comes next, so one ordered channel suffices. */
#include "engine/boot.h"
#include "plan/choose.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- tree ---- */

static int children(const struct cg_group *g, uint32_t child[2])
{
    int n = 0;

    for (uint32_t c = 2 * g->rank + 1; c <= 2 * g->rank + 2 && c < g->size; c++) child[n++] = c;
    return n;
}

static uint32_t parent(const struct cg_group *g) { return (g->rank - 1) / 2; }

static int to_children(struct cg_group *g, const void *buf, size_t bytes)
{
    uint32_t child[2];
    int n = children(g, child), rc = CG_OK;

    for (int i = 0; i < n && CG_OK == rc; i++) rc = cg_msg_send(g, child[i], buf, bytes, &g->boot->msg[i]);
    return rc;
}

static int from_parent(struct cg_group *g, void *buf, size_t bytes)
{
    return 0 == g->rank ? CG_OK : cg_msg_recv(g, parent(g), buf, bytes, &g->boot->msg[0]);
}

/* ---- hello ---- */

static int hello_in_begin(struct cg_group *g)
{
    if (0 == g->rank) {
        g->boot->hello.magic = BOOT_MAGIC;
        g->boot->hello.stream = ++g->proc->next_stream ^ (uint32_t) (g->proc->self * 2654435761u);
        g->boot->hello.table = g->proc->table_hash;
        g->boot->hello.builtin = g->proc->builtin_hash;
        cg_params_get_agreed(&g->proc->params, &g->boot->hello.agreed);
    }
    return from_parent(g, &g->boot->hello, sizeof(g->boot->hello));
}

/* Who shares a host, pretended ones included: from the cards and agreed parameters, so alike on all ranks. */
static int find_nodes(struct cg_group *g)
{
    uint64_t *host = malloc(g->size * sizeof(*host));

    if (NULL == host) return CG_ERR_NOMEM;
    for (uint32_t r = 0; r < g->size; r++) host[r] = cg_talk_host(&g->cards[r], &g->params);
    g->nodes = cg_nodes_new(g->size, host);
    free(host);
    return g->nodes ? CG_OK : CG_ERR_NOMEM;
}

static int hello_in_end(struct cg_group *g)
{
    struct cg_agreed mine;
    const char *name;

    if (BOOT_MAGIC != g->boot->hello.magic) return CG_ERR_INTERNAL;
    cg_params_get_agreed(&g->proc->params, &mine);
    name = cg_agreed_differ(&mine, &g->boot->hello.agreed);
    if (name) {
        CG_LOG(g->proc->told_differ == name ? 1 : 0,
               "rank %u of %s: coll_gpu_%s differs from rank 0's; rank 0's value applies. Set it alike on all ranks",
               g->rank, g->label, name);
        g->proc->told_differ = name;
    }
    if (g->proc->builtin_hash != g->boot->hello.builtin) g->boot->verdict.status = CG_ERR_MISMATCH;
    if (g->proc->table_hash != g->boot->hello.table) {
        g->boot->verdict.flags |= BOOT_TABLE;
        g->boot->verdict.other = g->rank;
    }
    cg_params_set_agreed(&g->params, &g->boot->hello.agreed);
    g->stream = g->boot->hello.stream;
    return g->nodes ? CG_OK : find_nodes(g);
}

static int hello_out_begin(struct cg_group *g) { return to_children(g, &g->boot->hello, sizeof(g->boot->hello)); }

/* ---- links ---- */

static int is_neighbor(const struct cg_group *g, uint32_t rank)
{
    for (int i = 0; i < g->nneighbors; i++) {
        if (g->neighbor[i] == rank) return 1;
    }
    return 0;
}

/* Conversations with those who are not neighbours yet. */
static int links_begin(struct cg_group *g)
{
    uint32_t peers[CG_MAX_NEIGHBORS];
    int n = cg_plan_neighbors(g->size, g->rank, &g->params, g->nodes, g->boot->reach, peers, CG_MAX_NEIGHBORS);

    if (n < 0) {
        cg_log(0, "rank %u of %s: more than %d neighbours in a communicator of %u ranks", g->rank, g->label,
               CG_MAX_NEIGHBORS, g->size);
        g->boot->verdict.status = n;
        return CG_OK; /* the verdict tells the others */
    }
    for (int i = 0; i < n; i++) {
        if (is_neighbor(g, peers[i])) continue;
        cg_talk_init(g, &g->boot->talk[g->boot->npeers], peers[i]);
        g->boot->peer[g->boot->npeers++] = peers[i];
    }
    return CG_OK;
}

/* Every conversation as far as it goes. */
static int links_test(struct cg_group *g)
{
    int again = 0;

    for (int i = 0; i < g->boot->npeers; i++) {
        int rc = cg_talk_step(g, &g->boot->talk[i], g->boot->peer[i]);
        if (rc < 0) return rc;
        again |= CG_AGAIN == rc;
    }
    return again ? CG_AGAIN : CG_OK;
}

static int links_end(struct cg_group *g)
{
    for (int i = 0; i < g->boot->npeers; i++) {
        const struct boot_talk *t = &g->boot->talk[i];
        if (NULL == t->link && CG_OK == g->boot->verdict.status) {
            g->boot->verdict.status = t->status < 0 ? t->status : CG_ERR_INTERNAL;
        }
        if (t->link && CG_MEDIUM_NET == t->link->medium) g->boot->verdict.flags |= BOOT_NET;
    }
    return CG_OK;
}

/* ---- verdict ---- */

static int up_in_begin(struct cg_group *g)
{
    uint32_t child[2];
    int n = children(g, child), rc = CG_OK;

    g->boot->verdict.magic = BOOT_MAGIC;
    g->boot->verdict.rank = g->rank;
    for (int i = 0; i < n && CG_OK == rc; i++) {
        rc = cg_msg_recv(g, child[i], &g->boot->child[i], sizeof(g->boot->child[i]), &g->boot->msg[i]);
    }
    return rc;
}

static int up_in_end(struct cg_group *g)
{
    struct boot_verdict *mine = &g->boot->verdict;
    uint32_t child[2];
    int n = children(g, child);

    for (int i = 0; i < n; i++) {
        const struct boot_verdict *his = &g->boot->child[i];
        if (mine->status >= 0 && his->status < 0) {
            mine->status = his->status;
            mine->rank = his->rank;
        }
        if (his->flags & BOOT_TABLE) mine->other = his->other;
        mine->flags |= his->flags;
    }
    return CG_OK;
}

static int up_out_begin(struct cg_group *g)
{
    return 0 == g->rank ? CG_OK
                        : cg_msg_send(g, parent(g), &g->boot->verdict, sizeof(g->boot->verdict), &g->boot->msg[0]);
}

static int down_in_begin(struct cg_group *g) { return from_parent(g, &g->boot->verdict, sizeof(g->boot->verdict)); }
static int down_out_begin(struct cg_group *g) { return to_children(g, &g->boot->verdict, sizeof(g->boot->verdict)); }

/* ---- the stages ---- */

static const struct {
    int (*begin)(struct cg_group *g);
    int (*test)(struct cg_group *g); /* NULL: the stage's messages */
    int (*end)(struct cg_group *g);
} stages[BOOT_END] = {
    [BOOT_HELLO_IN] = {hello_in_begin, NULL, hello_in_end},
    [BOOT_HELLO_OUT] = {hello_out_begin, NULL, NULL},
    [BOOT_LINKS] = {links_begin, links_test, links_end},
    [BOOT_UP_IN] = {up_in_begin, NULL, up_in_end},
    [BOOT_UP_OUT] = {up_out_begin, NULL, NULL},
    [BOOT_DOWN_IN] = {down_in_begin, NULL, NULL},
    [BOOT_DOWN_OUT] = {down_out_begin, NULL, NULL},
};

int cg_boot_open(struct cg_group *group, int reach)
{
    uint32_t most = group->size - 1 < CG_MAX_NEIGHBORS ? group->size - 1 : CG_MAX_NEIGHBORS;

    group->boot = calloc(1, sizeof(*group->boot) + most * sizeof(group->boot->talk[0]));
    if (NULL == group->boot) return CG_ERR_NOMEM;
    group->boot->reach = reach;
    group->boot->since = cg_now_us();
    return CG_OK;
}

/* What the choice depends on, from the verdict that all ranks have. Links that come later change nothing. */
static void settle_choice(struct cg_group *g)
{
    const struct boot_verdict *v = &g->boot->verdict;

    if (CG_GROUP_SETUP != g->state) return;
    g->via = v->flags & BOOT_NET ? CG_VIA_NET : CG_VIA_SHM;
    g->table = v->flags & BOOT_TABLE ? &cg_table_builtin : g->proc->table;
    if (0 != g->rank || !(v->flags & BOOT_TABLE)) return;
    CG_LOG(g->proc->tables_differ++ ? 2 : 0,
           "rank 0 of %s: rank %u has another table of choices; all ranks use the built-in one. Give all ranks the "
           "same coll_gpu_table and coll_gpu_rows", g->label, v->other);
}

static int finish(struct cg_group *g, int status)
{
    cg_proc_lock(g->proc);
    for (int i = 0; i < g->boot->npeers; i++) {
        struct cg_link_end *link = g->boot->talk[i].link;
        if (status >= 0) {
            g->neighbor[g->nneighbors] = g->boot->peer[i];
            g->link[g->nneighbors++] = link;
        } else if (link) {
            cg_link_release(g->proc->links, link, 0);
        }
    }
    if (status >= 0) g->reach = g->boot->reach;
    if (status >= 0) settle_choice(g);
    cg_proc_unlock(g->proc);
    if (status >= 0) return CG_OK;
    if (0 == g->rank) {
        CG_LOG(g->proc->counters.setup_failures ? 1 : 0, "%s is not served by coll/gpu: set-up failed on rank %u: %s",
               g->label, g->boot->verdict.rank, cg_status_text(status));
    }
    return status;
}

/* Whom this rank waits for, once in stuck_seconds. */
static void report_wait(struct cg_group *g)
{
    struct cg_boot *b = g->boot;
    char who[256] = "";
    uint32_t child[2];
    int n = children(g, child);
    size_t at = 0;

    if (!g->params.stuck_seconds || cg_now_us() - b->since < (uint64_t) g->params.stuck_seconds * 1000000) return;
    b->since = cg_now_us();
    if (BOOT_LINKS == b->stage) {
        for (int i = 0; i < b->npeers && at < sizeof(who) - 16; i++) {
            if (TALK_DONE != b->talk[i].state) at += (size_t) snprintf(who + at, sizeof(who) - at, " %u", b->peer[i]);
        }
    } else if (BOOT_HELLO_IN == b->stage || BOOT_DOWN_IN == b->stage) {
        snprintf(who, sizeof(who), " %u", parent(g));
    } else {
        for (int i = 0; i < n; i++) {
            if (b->msg[i].active) at += (size_t) snprintf(who + at, sizeof(who) - at, " %u", child[i]);
        }
    }
    cg_log(0, "rank %u of %s has waited %d s in the set-up of this communicator, which every rank takes part in at its "
              "first call; not heard from rank%s",
           g->rank, g->label, g->params.stuck_seconds, who);
}

int cg_boot_step(struct cg_group *g)
{
    struct cg_boot *b = g->boot;
    int rc = CG_OK;

    while (b->stage < BOOT_END) {
        if (!b->begun) {
            b->begun = 1;
            rc = stages[b->stage].begin(g);
        }
        if (rc >= 0) rc = stages[b->stage].test ? stages[b->stage].test(g) : cg_msgs_test(g, &b->msg[0], &b->msg[1]);
        if (CG_OK == rc && stages[b->stage].end) rc = stages[b->stage].end(g);
        if (CG_AGAIN == rc) {
            report_wait(g);
            return CG_AGAIN;
        }
        if (rc < 0) {
            cg_log(0, "rank %u of %s: a message of the set-up failed: %s", g->rank, g->label, cg_status_text(rc));
            return rc;
        }
        b->stage++;
        b->begun = 0;
    }
    return finish(g, b->verdict.status);
}

static int under_way(const struct cg_boot *b)
{
    int active = b->msg[0].active | b->msg[1].active;

    for (int i = 0; i < b->npeers; i++) active |= b->talk[i].send.active | b->talk[i].recv.active;
    return active;
}

/* MPI may still write to where a message is to go, and no message can be called back once MPI has begun to finalize:
 * such memory is kept, and found from here. */
static struct cg_boot *kept;

void cg_boot_close(struct cg_group *group)
{
    struct cg_boot *b = group->boot;

    group->boot = NULL;
    if (NULL == b) return;
    if (!under_way(b)) {
        free(b);
        return;
    }
    b->kept = __atomic_load_n(&kept, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&kept, &b->kept, b, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) continue;
}
