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
#define CG_ENTRY(name) \
    if (m->saved.coll_##name##_module) OBJ_RELEASE(m->saved.coll_##name##_module);
    CG_ENTRY_TABLE(CG_ENTRY)
#undef CG_ENTRY
}

OBJ_CLASS_INSTANCE(cg_module_t, mca_coll_base_module_t, module_construct, module_destruct);

/* Where nobody else serves a collective (some are missing between groups), this module does not either. */
static int module_enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
    cg_module_t *m = (cg_module_t *) module;

    m->comm = comm;
#define CG_ENTRY(name)                                                            \
    if (comm->c_coll->coll_##name) {                                              \
        m->saved.coll_##name = comm->c_coll->coll_##name;                         \
        m->saved.coll_##name##_module = comm->c_coll->coll_##name##_module;       \
        OBJ_RETAIN(m->saved.coll_##name##_module);                                \
        CG_COMM_INSTALL(comm, name, cg_##name, module);                           \
    } else {                                                                      \
        module->coll_##name = NULL;                                               \
    }
    CG_ENTRY_TABLE(CG_ENTRY)
#undef CG_ENTRY
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
    CG_ENTRY_TABLE(CG_ENTRY)
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
    CG_ENTRY_TABLE(CG_ENTRY)
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

static int open_group(cg_module_t *m, const uint64_t *names, const struct cg_card *cards)
{
    struct cg_group_config config = {
        .rank = (uint32_t) ompi_comm_rank(m->comm),
        .size = (uint32_t) ompi_comm_size(m->comm),
        .names = names,
        .cards = cards,
        .label = m->comm->c_name,
        .boot = &cg_boot_pml,
        .boot_ctx = m,
    };

    m->tag = ompi_coll_base_nbc_reserve_tags(m->comm, 1);
    return cg_group_open(cg_state.proc, &config, &m->group);
}

/* From the cards, equal on all ranks: for the next component or wanted. An error leaves the module as it was. */
static int decide(cg_module_t *m)
{
    size_t n = (size_t) ompi_comm_size(m->comm);
    const char *why = cg_state.proc ? "between two groups" : "unusable in this process";
    uint64_t *names = NULL;
    struct cg_card *cards = NULL;
    int rc = CG_OK, wanted = 0;

    if (cg_state.proc && !OMPI_COMM_IS_INTER(m->comm)) {
        names = malloc(n * sizeof(*names));
        cards = malloc(n * sizeof(*cards));
        if (!names || !cards) rc = CG_ERR_NOMEM;
        if (rc == CG_OK) why = look_up(m->comm, names, cards);
        wanted = rc == CG_OK && !why && cg_group_wanted(cards, (uint32_t) n, &cg_settings.params, &why);
        if (wanted) rc = open_group(m, names, cards);
    }
    free(names);
    free(cards);
    if (rc != CG_OK) {
        cg_log(0, "%s: cannot take part: %s", m->comm->c_name, cg_status_text(rc));
        return cg_mpi_error(rc);
    }
    m->state = wanted ? CG_MODULE_WANTED : CG_MODULE_DOWN;
    CG_LOG(2, "%s, %zu ranks: %s: %s", m->comm->c_name, n, wanted ? "native" : "next component", why ? why : "");
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
static void settle(cg_module_t *m)
{
    unsigned turn = 0;
    int rc = cg_group_start(m->group);

    while (rc >= 0 && (rc = cg_group_status(m->group)) == CG_AGAIN) cg_turn(&turn);
    m->state = rc == CG_OK ? CG_MODULE_READY : CG_MODULE_DOWN;
    if (rc != CG_OK)
        CG_LOG(1, "%s: next component from now on: set-up failed: %s", m->comm->c_name, cg_status_text(rc));
}

int cg_module_native(cg_module_t *m, int wait, int *native)
{
    int rc = m->state == CG_MODULE_NEW ? decide(m) : MPI_SUCCESS;

    if (m->state == CG_MODULE_WANTED && wait) settle(m);
    *native = m->state >= CG_MODULE_WANTED;
    return rc;
}
