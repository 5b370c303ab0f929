/* SPDX-License-Identifier: BSD-3-Clause
 * The component: open, close, and what Open MPI asks before there is a communicator. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/cuda/gpu.h"

#include <string.h>

struct cg_state cg_state;

static void log_sink(int level, const char *line, void *ctx)
{
    (void) level;
    (void) ctx;
    if (!strncmp(line, "rank ", 5)) opal_output(cg_state.output, "coll_gpu: %s", line);
    else opal_output(cg_state.output, "coll_gpu: rank %u: %s", OMPI_PROC_MY_NAME->vpid, line);
}

/* Open MPI checks the interface's version after open, and not the release: this is what protects against a library
 * whose structures differ from the headers that the component was built with. */
static int same_layout(void)
{
    static const struct {
        const char *name;
        opal_class_t *class;
        size_t bytes;
    } structs[] = {
        {"mca_coll_base_module_t", OBJ_CLASS(mca_coll_base_module_t), sizeof(mca_coll_base_module_t)},
        {"ompi_coll_base_nbc_request_t", OBJ_CLASS(ompi_coll_base_nbc_request_t), sizeof(ompi_coll_base_nbc_request_t)},
        {"ompi_communicator_t", OBJ_CLASS(ompi_communicator_t), sizeof(ompi_communicator_t)},
    };

    for (size_t i = 0; i < sizeof(structs) / sizeof(structs[0]); i++) {
        if (structs[i].class->cls_sizeof == structs[i].bytes) continue;
        CG_LOG(1, "not used: built for Open MPI %s, but this library's %s has %zu bytes instead of %zu; build the "
               "component again with the headers of this Open MPI", OMPI_VERSION, structs[i].name,
               structs[i].class->cls_sizeof, structs[i].bytes);
        return 0;
    }
    return 1;
}

static int open_proc(void)
{
    struct cg_proc_config config = {
        .params = cg_settings.params,
        .self = cg_name_of(*OMPI_PROC_MY_NAME),
        .threads = cg_state.threads = opal_using_threads(),
        .table = cg_settings.table,
        .local_rank = (uint32_t) opal_process_info.my_local_rank,
        .local_size = (uint32_t) opal_process_info.num_local_peers + 1,
    };
    int rc = cg_proc_open(&config, &cg_state.proc, &cg_state.card);

    if (rc != CG_OK) {
        cg_log(0, "not used: %s", cg_status_text(rc));
        cg_state.proc = NULL;
    }
    return rc;
}

/* Every process publishes a card, also one that cannot take part: so that all ranks of a communicator know. */
static void publish(int usable)
{
    struct cg_card *card = &cg_state.card;

    card->version = CG_CARD_VERSION;
    card->local_rank = (uint32_t) opal_process_info.my_local_rank;
    card->local_size = (uint32_t) opal_process_info.num_local_peers + 1;
    if (cg_settings.enable == CG_ENABLE_ALWAYS) card->flags |= CG_CARD_ALWAYS;
    if (!usable) card->flags |= CG_CARD_NEVER;
    if (cg_card_publish(card) != CG_OK) CG_LOG(1, "cannot publish this process's card; peers will not use coll/gpu");
}

static int gpu_open(void)
{
    int usable = 0;

    memset(&cg_state, 0, sizeof(cg_state));
    cg_state.output = opal_output_open(NULL);
    cg_log_set(log_sink, NULL, cg_settings.verbose);
    if (!same_layout()) return OMPI_ERR_NOT_AVAILABLE;
    cg_state.installed = cg_settings.enable != CG_ENABLE_NEVER && cg_settings.priority >= 0;
    if (cg_state.installed) usable = cg_settings_check() == CG_OK && open_proc() == CG_OK;
    publish(usable);
    if (!cg_state.installed) return OMPI_SUCCESS;
    cg_state.gpu = cg_gpu_built() && cg_gpu_present();
    cg_cards_init();
    cg_flats_init();
    cg_pool_init();
    cg_requests_init();
    cg_ops_init();
    opal_progress_register(cg_progress);
    return OMPI_SUCCESS;
}

/* The communicators are gone. Also called after an open that failed. */
static int gpu_close(void)
{
    if (cg_state.installed) {
        opal_progress_unregister(cg_progress);
        cg_requests_fini();
        cg_ops_fini();
        if (cg_state.proc) cg_proc_close(cg_state.proc);
        cg_cards_fini();
        cg_flats_fini();
        cg_pool_fini();
    }
    cg_log_set(NULL, NULL, 0);
    opal_output_close(cg_state.output);
    memset(&cg_state, 0, sizeof(cg_state));
    return OMPI_SUCCESS;
}

static int gpu_init_query(bool progress_threads, bool mpi_threads)
{
    (void) progress_threads;
    (void) mpi_threads;
    return OMPI_SUCCESS;
}

mca_coll_base_component_t mca_coll_gpu_component = {
    .collm_version =
        {
            CG_COLL_VERSION,
            .mca_component_name = "gpu",
            MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
            .mca_open_component = gpu_open,
            .mca_close_component = gpu_close,
            .mca_register_component_params = cg_settings_register,
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_NONE},
    .collm_init_query = gpu_init_query,
    .collm_comm_query = cg_module_query,
};
