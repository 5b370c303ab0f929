/* SPDX-License-Identifier: BSD-3-Clause
 * The component's parameters and counters as Open MPI and MPI_T show them. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/cuda/fast.h"
#include "kernels/host/host.h"
#include "plan/choose.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cg_settings cg_settings;

static const mca_base_component_t *self(void) { return &mca_coll_gpu_component.collm_version; }

static void reg(const char *name, const char *text, int type, mca_base_var_enum_t *values, int level, void *storage)
{
    (void) mca_base_component_var_register(self(), name, text, type, values, 0, 0,
                                           (mca_base_var_info_lvl_t) (level - 1), MCA_BASE_VAR_SCOPE_READONLY, storage);
}

static void reg_enable(void)
{
    static const mca_base_var_enum_value_t values[] = {
        {CG_ENABLE_AUTO, "auto"}, {CG_ENABLE_ALWAYS, "always"}, {CG_ENABLE_NEVER, "never"}, {0, NULL}};
    mca_base_var_enum_t *e = NULL;

    mca_base_var_enum_create("coll_gpu_enable", values, &e);
    reg("enable",
        "auto: serve communicators in which a process has a GPU; always: all, on the host executor where there is "
        "no GPU; "
        "never: none",
        MCA_BASE_VAR_TYPE_INT, e, 3, &cg_settings.enable);
    if (e) OBJ_RELEASE(e);
}

static int counter_get(const struct mca_base_pvar_t *pvar, void *value, void *obj)
{
    size_t offset = (size_t) (uintptr_t) pvar->ctx;
    struct cg_counters c;

    (void) obj;
    memset(&c, 0, sizeof(c));
    if (cg_state.proc) cg_proc_get_counters(cg_state.proc, &c);
    *(unsigned long long *) value = *(uint64_t *) ((char *) &c + offset);
    return OMPI_SUCCESS;
}

static int own_get(const struct mca_base_pvar_t *pvar, void *value, void *obj)
{
    (void) obj;
    *(unsigned long long *) value = cg_load_relaxed(pvar->ctx);
    return OMPI_SUCCESS;
}

static void reg_counter(const char *name, const char *text, mca_base_get_value_fn_t get, void *ctx)
{
    (void) mca_base_component_pvar_register(
        self(), name, text, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, get, NULL, NULL, ctx);
}

static void reg_counters(void)
{
    static const struct {
        const char *name, *text;
        size_t offset;
    } rows[] = {
        {"posts", "Operations given to the engine", offsetof(struct cg_counters, posts)},
        {"native_host", "Operations that the host executor ran", offsetof(struct cg_counters, native_host)},
        {"native_gpu", "Operations that a GPU kernel ran", offsetof(struct cg_counters, native_gpu)},
        {"native_fast", "Operations that the fast executor ran", offsetof(struct cg_counters, native_fast)},
        {"bounced", "Operations on device memory that the host executor ran", offsetof(struct cg_counters, bounced)},
        {"packed", "Operations whose data a GPU kernel packed or unpacked", offsetof(struct cg_counters, packed)},
        {"setups", "Communicators set up", offsetof(struct cg_counters, setups)},
        {"setup_failures", "Communicators whose set-up failed", offsetof(struct cg_counters, setup_failures)},
        {"errors", "Operations that failed", offsetof(struct cg_counters, errors)},
        {"launches", "Kernels launched", offsetof(struct cg_counters, launches)},
        {"doorbells", "Operations that a resident kernel took", offsetof(struct cg_counters, doorbells)},
        {"longest_ns", "Longest residency of a kernel in nanoseconds", offsetof(struct cg_counters, longest_ns)},
        {"messages", "Network messages of the proxy", offsetof(struct cg_counters, messages)},
        {"gpu_messages", "Network messages sent from GPU memory", offsetof(struct cg_counters, gpu_messages)},
        {"workers", "Workers of the network transport", offsetof(struct cg_counters, workers)},
        {"connections", "Connections to other processes", offsetof(struct cg_counters, connections)},
        {"registrations", "Registrations of memory with the network", offsetof(struct cg_counters, registrations)},
        {"fifo_bytes", "Bytes of GPU memory for network FIFOs", offsetof(struct cg_counters, fifo_bytes)},
        {"chunks", "Chunks of shared memory", offsetof(struct cg_counters, chunks)},
        {"chunk_bytes", "Bytes of shared memory", offsetof(struct cg_counters, chunk_bytes)},
        {"links", "Links to other processes", offsetof(struct cg_counters, links)},
        {"tenants", "Links rented by communicators", offsetof(struct cg_counters, tenants)},
        {"descriptors", "File descriptors held", offsetof(struct cg_counters, descriptors)},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        reg_counter(rows[i].name, rows[i].text, counter_get, (void *) rows[i].offset);
    }
    reg_counter("staged", "Calls staged through host memory into the next component", own_get, &cg_state.calls_staged);
    reg_counter("passed", "Calls passed to the next component untouched", own_get, &cg_state.calls_passed);
}

static int register_get(const struct mca_base_pvar_t *pvar, void *value, void *obj)
{
    (void) pvar;
    (void) obj;
    *(unsigned long long *) value = (uintptr_t) cg_op_register;
    return OMPI_SUCCESS;
}

/* For include/coll_gpu.h. */
static void reg_register(void)
{
    (void) mca_base_component_pvar_register(
        self(), "register", "Address of the function by which coll_gpu.h announces its operations", OPAL_INFO_LVL_9,
        MCA_BASE_PVAR_CLASS_GENERIC, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, register_get, NULL, NULL, NULL);
}

/* The rows of a table as a string that cannot be set: what ompi_info shows is what the component uses. */
static void show(const char *name, const char *text, char *value, char **storage)
{
    *storage = value;
    (void) mca_base_component_var_register(self(), name, text, MCA_BASE_VAR_TYPE_STRING, NULL, 0,
                                           MCA_BASE_VAR_FLAG_DEFAULT_ONLY, OPAL_INFO_LVL_5,
                                           MCA_BASE_VAR_SCOPE_CONSTANT, storage);
    free(value);
}

/* What a table may name: "allreduce exchange owners ...; bcast ..." and "general ll ...". */
static char *plan_names(void)
{
    size_t len = 4096, at = 0;
    char *text = calloc(1, len);
    int coll = CG_COLL_NONE;

    for (const struct cg_algorithm *a = cg_algorithms; text && a->name && at < len; a++) {
        const char *before = a->coll == coll ? " " : coll == CG_COLL_NONE ? "" : "; ";
        at += (size_t) snprintf(text + at, len - at, "%s%s%s%s", before, a->coll == coll ? "" : cg_coll_name(a->coll),
                                a->coll == coll ? "" : " ", a->name);
        coll = a->coll;
    }
    return text;
}

static char *protocol_names(void)
{
    size_t len = 1024, at = 0;
    char *text = calloc(1, len);

    for (int p = CG_GENERAL; text && p < CG_FAST_PROTOCOLS && at < len; p++) {
        at += (size_t) snprintf(text + at, len - at, "%s%s", p == CG_GENERAL ? "" : " ", cg_protocol_name(p));
    }
    return text;
}

static void reg_table(void)
{
    struct cg_settings *s = &cg_settings;
    static char *plans, *protocols;

    reg("table", "File with rows of the table of choices, before the built-in ones; docs/user-guide.md says more",
        MCA_BASE_VAR_TYPE_STRING, NULL, 5, &s->table_file);
    reg("rows", "Rows of the table of choices before those of coll_gpu_table, separated by ;", MCA_BASE_VAR_TYPE_STRING,
        NULL, 5, &s->rows);
    cg_settings_close();
    s->table_error[0] = 0;
    if ((s->rows && s->rows[0]) || (s->table_file && s->table_file[0])) {
        (void) cg_table_open(s->rows, s->table_file, &s->table, s->table_error, sizeof(s->table_error));
    }
    show("rows_in_use", "The rows in force, in order", cg_table_text(s->table ? s->table : &cg_table_builtin),
         &s->rows_in_use);
    show("plans", "Algorithms that rows may name, by collective", plan_names(), &plans);
    show("protocols", "Protocols that rows may name", protocol_names(), &protocols);
}

void cg_settings_close(void)
{
    cg_table_free(cg_settings.table);
    cg_settings.table = NULL;
}

int cg_settings_register(void)
{
    cg_params_default(&cg_settings.params);
    cg_settings.priority = 90;
    cg_settings.enable = CG_ENABLE_AUTO;
    cg_settings.verbose = 0;
    cg_settings.transport = NULL;
    reg("priority", "Priority among components of coll; above coll/cuda and coll/accelerator (78); negative: unused",
        MCA_BASE_VAR_TYPE_INT, NULL, 6, &cg_settings.priority);
    reg_enable();
    reg("verbose", "0: errors; 1 to 3: which path each communicator takes and why; 4 to 9: more", MCA_BASE_VAR_TYPE_INT,
        NULL, 3, &cg_settings.verbose);
    reg("transport", "Network transport between hosts (empty: the first available)", MCA_BASE_VAR_TYPE_STRING, NULL, 5,
        &cg_settings.transport);
#define CG_PARAM(name, def, min, max, agreed, level, text) \
    reg(#name, text, MCA_BASE_VAR_TYPE_INT, NULL, level, &cg_settings.params.name);
#include "core/params.def"
#undef CG_PARAM
    reg_table();
    reg_counters();
    reg_register();
    return OMPI_SUCCESS;
}

static int check_transport(char *why, size_t len)
{
    const char *name = cg_settings.transport ? cg_settings.transport : "";
    size_t n;

    if (strlen(name) < sizeof(cg_settings.params.transport) && (!name[0] || cg_transport_find(name))) {
        strcpy(cg_settings.params.transport, name);
        return CG_OK;
    }
    n = (size_t) snprintf(why, len, "coll_gpu_transport is %s, there are:", name);
    for (int i = 0; cg_transports[i] && n < len; i++)
        n += (size_t) snprintf(why + n, len - n, " %s", cg_transports[i]->name);
    return CG_ERR_ARG;
}

int cg_settings_check(void)
{
    char why[256];

    if (cg_settings.table_error[0]) {
        cg_log(0, "table of choices: %s; the built-in table is used", cg_settings.table_error);
    }
    if (check_transport(why, sizeof(why)) == CG_OK && cg_params_check(&cg_settings.params, why, sizeof(why)) == CG_OK) {
        return CG_OK;
    }
    cg_log(0, "%s; coll/gpu serves no communicator with this process", why);
    return CG_ERR_ARG;
}
