/* SPDX-License-Identifier: BSD-3-Clause
 * What processes publish about themselves, through Open MPI's modex; looked up once per process name. */
#include "ompi_coll_gpu/coll_gpu.h"

#include <stdlib.h>

static const struct cg_card no_card; /* looked for, not there */

uint64_t cg_name_of(opal_process_name_t name) { return (uint64_t) name.jobid << 32 | name.vpid; }

int cg_card_publish(struct cg_card *card)
{
    int rc;

    OPAL_MODEX_SEND(rc, CG_MODEX_GLOBAL, &mca_coll_gpu_component.collm_version, card, sizeof(*card));
    return rc == OPAL_SUCCESS ? CG_OK : CG_ERR_NET;
}

/* A card of another size is of another version: as good as none. */
static const struct cg_card *receive(opal_process_name_t name)
{
    void *card = NULL;
    size_t bytes = 0;
    int rc;

    OPAL_MODEX_RECV(rc, &mca_coll_gpu_component.collm_version, &name, &card, &bytes);
    if (rc == OPAL_SUCCESS && card && bytes == sizeof(struct cg_card)) return card;
    if (rc == OPAL_SUCCESS) free(card);
    return &no_card;
}

const struct cg_card *cg_card_find(opal_process_name_t name)
{
    uint64_t key = cg_name_of(name);
    void *card = NULL;

    OPAL_THREAD_LOCK(&cg_state.cards_lock);
    if (opal_hash_table_get_value_uint64(&cg_state.cards, key, &card) != OPAL_SUCCESS) {
        card = (void *) receive(name);
        opal_hash_table_set_value_uint64(&cg_state.cards, key, card);
    }
    OPAL_THREAD_UNLOCK(&cg_state.cards_lock);
    return card == &no_card ? NULL : card;
}

void cg_cards_init(void)
{
    OBJ_CONSTRUCT(&cg_state.cards_lock, opal_mutex_t);
    OBJ_CONSTRUCT(&cg_state.cards, opal_hash_table_t);
    opal_hash_table_init(&cg_state.cards, 64);
}

void cg_cards_fini(void)
{
    uint64_t key;
    void *card, *node;

    for (int rc = opal_hash_table_get_first_key_uint64(&cg_state.cards, &key, &card, &node); rc == OPAL_SUCCESS;
         rc = opal_hash_table_get_next_key_uint64(&cg_state.cards, &key, &card, node, &node)) {
        if (card != &no_card) free(card);
    }
    OBJ_DESTRUCT(&cg_state.cards);
    OBJ_DESTRUCT(&cg_state.cards_lock);
}
