/* SPDX-License-Identifier: BSD-3-Clause
 * From Open MPI's description of a type to a flat one (kernels/flat.h). Every constructor ends up in that description,
 * and Open MPI itself packs by it: entries of blocks, and loops around them, in the order of packing. */
#include "ompi_coll_gpu/flatten.h"

#include "ompi_coll_gpu/compat.h"
#include "opal/datatype/opal_datatype_internal.h"

/* An entry is count blocks of blocklen basic elements, extent bytes apart; a loop repeats the entries up to its end.
 * Displacements in a loop are those of its first round. */
static void entry(struct cg_flat_builder *b, const union dt_elem_desc *d)
{
    if (d->elem.common.type == OPAL_DATATYPE_LOOP) {
        cg_flat_loop(b);
    } else if (d->elem.common.flags & OPAL_DATATYPE_FLAG_DATA) {
        size_t bytes = d->elem.blocklen * opal_datatype_basicDatatypes[d->elem.common.type]->size;
        cg_flat_leaf(b, d->elem.disp, bytes, d->elem.count, d->elem.extent);
    }
}

static int entries(struct cg_flat_builder *b, const dt_type_desc_t *desc)
{
    const union dt_elem_desc *d = desc->desc;

    for (size_t i = 0; i < desc->used; i++) {
        if (d[i].elem.common.type == OPAL_DATATYPE_END_LOOP) {
            size_t items = d[i].end_loop.items; /* from its loop to here */
            if (items > i || d[i - items].elem.common.type != OPAL_DATATYPE_LOOP) return 0;
            cg_flat_loop_end(b, d[i - items].loop.loops, d[i - items].loop.extent);
        } else {
            entry(b, &d[i]);
        }
    }
    return 1;
}

struct cg_flat *cg_flatten(const struct ompi_datatype_t *type, uint64_t id)
{
    const opal_datatype_t *t = &type->super;
    struct cg_flat_builder *b = cg_flat_begin();
    struct cg_flat *flat;
    int known;

    if (!b) return NULL;
    known = entries(b, &t->desc); /* not opt_desc: that joins equal blocks in pairs, wherever they lie */
    flat = cg_flat_end(b, id, t->ub - t->lb);
    if (flat && known && flat->size == t->size) return flat;
    cg_flat_drop(flat);
    return NULL;
}
