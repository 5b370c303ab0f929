/* SPDX-License-Identifier: BSD-3-Clause
 * A communicator's module: installed on every one (also of size 1, also between groups), decided at its first call. */
#include "ompi_coll_gpu/coll_gpu.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void module_construct(cg_module_t *m)
{
    memset((char *) m + sizeof(m->super), 0, sizeof(*m) - sizeof(m->super));
}

/* May run in MPI_Finalize, for communicators that the program leaked. No traffic. */
static void module_destruct(cg_module_t *m)
{
    if (m->group) cg_group_release(m->group);
    cg_memo_free(m);
#define CG_ENTRY(name) \
    if (m->saved.coll_##name##_module) OBJ_RELEASE(m->saved.coll_##name##_module);
    CG_ENTRY_TABLE
#undef CG_ENTRY
}

OBJ_CLASS_INSTANCE(cg_module_t, mca_coll_base_module_t, module_construct, module_destruct);

/* Where nobody else serves a collective (some are missing between groups), this module does not either. */
static int module_enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
    cg_module_t *m = (cg_module_t *) module;

    m->comm = m->boot.comm = comm;
#define CG_ENTRY(name)                                                            \
    if (comm->c_coll->coll_##name) {                                              \
        m->saved.coll_##name = comm->c_coll->coll_##name;                         \
        m->saved.coll_##name##_module = comm->c_coll->coll_##name##_module;       \
        OBJ_RETAIN(m->saved.coll_##name##_module);                                \
        CG_COMM_INSTALL(comm, name, cg_##name, module);                           \
    } else {                                                                      \
        module->coll_##name = NULL;                                               \
    }
    CG_ENTRY_TABLE
#undef CG_ENTRY
    /* Again: between two sessions Open MPI forgets the functions, but keeps components open where a tool uses MPI_T. */
    opal_progress_register(cg_progress);
    return OMPI_SUCCESS;
}

/* Called once or once per installed function, depending on the version. */
static int module_disable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
    cg_module_t *m = (cg_module_t *) module;

    (void) m;
    (void) comm;
#define CG_ENTRY(name)                                           \
    if (comm->c_coll && comm->c_coll->coll_##name##_module == module) \
        CG_COMM_INSTALL(comm, name, m->saved.coll_##name, m->saved.coll_##name##_module);
    CG_ENTRY_TABLE
#undef CG_ENTRY
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *cg_module_query(ompi_communicator_t *comm, int *priority)
{
    cg_module_t *m;

    (void) comm;
    *priority = -1;
    if (!cg_state.installed) return NULL;
    m = OBJ_NEW(cg_module_t);
    if (!m) return NULL;
    m->super.coll_module_enable = module_enable;
    m->super.coll_module_disable = module_disable;
#define CG_ENTRY(name) m->super.coll_##name = cg_##name;
    CG_ENTRY_TABLE
#undef CG_ENTRY
    *priority = cg_settings.priority;
    return &m->super;
}

/* Fill in the members. The reason why they are not served natively, or NULL. */
static const char *look_up(ompi_communicator_t *comm, uint64_t *names, struct cg_card *cards)
{
    for (int i = 0; i < ompi_comm_size(comm); i++) {
        opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, i);
        const struct cg_card *card = cg_card_find(name);
        if (!card) return "a member has no coll/gpu";
        names[i] = cg_name_of(name);
        cards[i] = *card;
    }
    return NULL;
}

/* Who the members are, and why they are or are not served natively. */
struct members {
    uint64_t *names;
    struct cg_card *cards;
    const char *why;
    int wanted;
};

static int members_find(struct members *mem, ompi_communicator_t *comm)
{
    size_t n = (size_t) ompi_comm_size(comm);

    *mem = (struct members){.why = cg_state.proc ? "between two groups" : "unusable in this process"};
    if (!cg_state.proc || OMPI_COMM_IS_INTER(comm)) return CG_OK;
    mem->names = malloc(n * sizeof(*mem->names));
    mem->cards = malloc(n * sizeof(*mem->cards));
    if (!mem->names || !mem->cards) return CG_ERR_NOMEM;
    mem->why = look_up(comm, mem->names, mem->cards);
    mem->wanted = !mem->why && cg_group_wanted(mem->cards, (uint32_t) n, &cg_settings.params, &mem->why);
    return CG_OK;
}

static void members_free(struct members *mem)
{
    free(mem->names);
    free(mem->cards);
}

static int open_group(cg_module_t *m, const struct members *mem, struct cg_boot_at *at, struct cg_group **group)
{
    struct cg_group_config config = {
        .rank = (uint32_t) ompi_comm_rank(at->comm),
        .size = (uint32_t) ompi_comm_size(at->comm),
        .names = mem->names,
        .cards = mem->cards,
        .label = at->comm->c_name,
        .boot = &cg_boot_pml,
        .boot_ctx = at,
    };

    at->tag = CG_BOOT_TAG - m->groups++;
    return cg_group_open(cg_state.proc, &config, group);
}

static int refused(const cg_module_t *m, int rc)
{
    cg_log(0, "%s: cannot take part: %s", m->comm->c_name, cg_status_text(rc));
    return cg_mpi_error(rc);
}

/* From the cards, equal on all ranks: for the next component or wanted. An error leaves the module as it was. */
static int decide(cg_module_t *m)
{
    struct members mem;
    int rc = members_find(&mem, m->comm);

    if (rc == CG_OK && mem.wanted) rc = open_group(m, &mem, &m->boot, &m->group);
    members_free(&mem);
    if (rc != CG_OK) return refused(m, rc);
    m->state = mem.wanted ? CG_MODULE_WANTED : CG_MODULE_DOWN;
    CG_LOG(2, "%s, %d ranks: %s: %s", m->comm->c_name, ompi_comm_size(m->comm),
           mem.wanted ? "native" : "next component", mem.why ? mem.why : "");
    return MPI_SUCCESS;
}

void cg_turn(unsigned *turn)
{
    if (cg_proc_progress(cg_state.proc) > 0 || (++*turn & 15)) return;
    /* Others' progress is in there, and the yield of ranks that are more than the cores. */
    opal_progress();
    /* Open MPI counts ranks, not their threads. */
    if (cg_state.threads) sched_yield();
}

/* Wait for the outcome of set-up, which all ranks share. */
static int settle(struct cg_group *group)
{
    unsigned turn = 0;
    int rc = cg_group_start(group);

    while (rc >= 0 && (rc = cg_group_status(group)) == CG_AGAIN) cg_turn(&turn);
    return rc;
}

static enum cg_way way_of(const cg_module_t *m, int coll)
{
    if (m->state < CG_MODULE_WANTED) return CG_WAY_APART;
    if (coll != CG_COLL_DOWN && cg_group_serves(m->group, coll)) return CG_WAY_NATIVE;
    return cg_group_serves(m->group, CG_COLL_DOWN) ? CG_WAY_DOWN : CG_WAY_APART;
}

int cg_module_way(cg_module_t *m, int coll, int wait, enum cg_way *way)
{
    int rc = m->state == CG_MODULE_NEW ? decide(m) : MPI_SUCCESS;

    *way = way_of(m, coll);
    if (*way == CG_WAY_APART || !wait || m->state != CG_MODULE_WANTED) return rc;
    rc = settle(m->group);
    m->state = rc == CG_OK ? CG_MODULE_READY : CG_MODULE_DOWN;
    if (rc == CG_OK) return MPI_SUCCESS;
    CG_LOG(1, "%s: next component from now on: set-up failed: %s", m->comm->c_name, cg_status_text(rc));
    *way = CG_WAY_APART;
    return MPI_SUCCESS;
}

int cg_module_group(cg_module_t *m, struct cg_boot_at *at, struct cg_group **group)
{
    struct members mem;
    int rc = members_find(&mem, m->comm);

    at->comm = m->comm;
    if (rc == CG_OK) rc = open_group(m, &mem, at, group);
    members_free(&mem);
    if (rc != CG_OK) return refused(m, rc);
    rc = settle(*group);
    if (rc == CG_OK) return MPI_SUCCESS;
    CG_LOG(1, "%s: a persistent request for the next component: set-up failed: %s", m->comm->c_name,
           cg_status_text(rc));
    cg_group_release(*group);
    *group = NULL;
    return MPI_SUCCESS;
}
