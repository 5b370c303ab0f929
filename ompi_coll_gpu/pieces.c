/* SPDX-License-Identifier: BSD-3-Clause
 * Data with gaps in GPU memory: a side's pieces as the engine has them packed there, by flat descriptions that are kept
 * as attributes of their types. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "ompi_coll_gpu/flatten.h"

#include <string.h>

#define OWN_IDS 1024 /* ids below are predefined types' */

/* ---- flat descriptions ---- */

/* Open MPI's own keyval flag: the program can neither delete the attribute nor is the library held open by it. A copy
 * of the type makes its own. */
static int copy_none(MPI_Datatype type, int key, void *extra, void *value, void *copy, int *flag CG_ATTR_COPY_REST)
{
    (void) type;
    (void) key;
    (void) extra;
    (void) value;
    (void) copy;
    *flag = 0;
    return MPI_SUCCESS;
}

/* The type is gone, or was flattened by two threads at once. */
static int drop_flat(MPI_Datatype type, int key, void *value, void *extra)
{
    (void) type;
    (void) key;
    (void) extra;
    cg_flat_drop(value);
    return MPI_SUCCESS;
}

static int keyval(void)
{
    ompi_attribute_fn_ptr_union_t copy = {.attr_datatype_copy_fn = copy_none};
    ompi_attribute_fn_ptr_union_t drop = {.attr_datatype_delete_fn = drop_flat};

    OPAL_THREAD_LOCK(&cg_state.flats_lock);
    if (!cg_state.flats_made) {
        cg_state.flats_made = ompi_attr_create_keyval(TYPE_ATTR, copy, drop, &cg_state.flats_key, NULL,
                                                      OMPI_KEYVAL_PREDEFINED, NULL) == OMPI_SUCCESS;
        cg_state.flats_id = OWN_IDS;
    }
    OPAL_THREAD_UNLOCK(&cg_state.flats_lock);
    return cg_state.flats_made;
}

struct cg_flat *cg_flat_of(struct ompi_datatype_t *type)
{
    struct cg_flat *flat = NULL;
    void *found = NULL;
    int have = 0;

    if (ompi_datatype_is_predefined(type)) return cg_flatten(type, (uint64_t) type->id + 1);
    if (!keyval()) return NULL;
    if (ompi_attr_get_c(type->d_keyhash, cg_state.flats_key, &found, &have) == OMPI_SUCCESS && have) {
        cg_flat_keep(found);
        return found;
    }
    flat = cg_flatten(type, __atomic_fetch_add(&cg_state.flats_id, 1, __ATOMIC_RELAXED));
    if (!flat) return NULL;
    cg_flat_keep(flat);
    if (ompi_attr_set_c(TYPE_ATTR, type, &type->d_keyhash, cg_state.flats_key, flat, true) != OMPI_SUCCESS)
        cg_flat_drop(flat);
    return flat;
}

void cg_flats_init(void) { OBJ_CONSTRUCT(&cg_state.flats_lock, opal_mutex_t); }

/* The key stays: Open MPI's attributes may be gone by now. Types that live on find only memory in their attribute. */
void cg_flats_fini(void) { OBJ_DESTRUCT(&cg_state.flats_lock); }

/* ---- pieces ---- */

static int add(struct cg_side *s, struct cg_flat_piece *to, const struct cg_piece *p)
{
    char *first;

    *to = (struct cg_flat_piece){.count = 1, .bytes = cg_piece_bytes(p), .offset = s->bytes};
    cg_piece_span(p, &first);
    to->at = first;
    if (cg_piece_dense(p)) return 1;
    to->flat = cg_flat_of(p->type);
    to->at = p->at;
    to->count = p->count;
    return to->flat != NULL;
}

void cg_side_unpiece(struct cg_side *s)
{
    struct cg_flat_piece *piece = (struct cg_flat_piece *) s->pieces.piece;

    for (uint32_t i = 0; i < s->pieces.n; i++) cg_flat_drop(piece[i].flat);
    if (piece) cg_pool_put(piece);
    if (s->pieces.packed) cg_proc_room_free(cg_state.proc, s->pieces.device, s->pieces.packed);
    memset(&s->pieces, 0, sizeof(s->pieces));
}

int cg_side_pieces(struct cg_side *s)
{
    struct cg_flat_piece *piece = cg_pool_get((size_t) s->n * sizeof(*piece));
    int good = piece != NULL;

    s->pieces = (struct cg_pieces){.piece = piece, .device = s->device};
    for (int i = 0; i < s->n && good; i++) {
        if (cg_piece_bytes(cg_piece_of(s, i)) == 0) continue;
        good = add(s, &piece[s->pieces.n], cg_piece_of(s, i));
        s->bytes += piece[s->pieces.n++].bytes;
    }
    if (good) s->pieces.packed = cg_proc_room(cg_state.proc, s->device, s->bytes);
    if (s->pieces.packed) return 1;
    cg_side_unpiece(s);
    s->bytes = 0;
    return 0;
}
