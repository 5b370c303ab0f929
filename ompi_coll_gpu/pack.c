/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces of data: where their bytes lie, and copies of them without gaps. */
#include "ompi_coll_gpu/coll_gpu.h"

/* OPAL_DATATYPE_FLAG_NO_GAPS is not to be trusted: 4.1 sets it for some types whose extent is larger. */
int cg_piece_dense(const struct cg_piece *p)
{
    const opal_datatype_t *t = p->count ? &p->type->super : NULL;

    return !t || ((t->flags & OPAL_DATATYPE_FLAG_CONTIGUOUS) &&
                  (p->count == 1 || t->ub - t->lb == (ptrdiff_t) t->size));
}

size_t cg_piece_bytes(const struct cg_piece *p) { return p->count ? p->count * p->type->super.size : 0; }

/* From the lowest true lower bound of an element to the highest true upper bound; extents may be negative. */
size_t cg_piece_span(const struct cg_piece *p, char **first)
{
    const opal_datatype_t *t;
    ptrdiff_t reach;

    *first = p->at;
    if (p->count == 0) return 0;
    t = &p->type->super;
    reach = (t->ub - t->lb) * (ptrdiff_t) (p->count - 1);
    *first += t->true_lb + (reach < 0 ? reach : 0);
    return (size_t) (t->true_ub - t->true_lb + (reach < 0 ? -reach : reach));
}

static int convert(const struct cg_piece *p, char *at, char *packed, int pack)
{
    struct iovec iov = {packed, cg_piece_bytes(p)};
    size_t left = iov.iov_len, bytes = left;
    opal_convertor_t conv, *local = ompi_mpi_local_convertor;
    uint32_t n = 1;
    int rc;

    if (left == 0) return MPI_SUCCESS;
    OBJ_CONSTRUCT(&conv, opal_convertor_t);
    rc = pack ? opal_convertor_copy_and_prepare_for_send(local, &p->type->super, p->count, at, 0, &conv)
              : opal_convertor_copy_and_prepare_for_recv(local, &p->type->super, p->count, at, 0, &conv);
    while (rc >= 0 && left > 0 && bytes > 0) {
        rc = pack ? opal_convertor_pack(&conv, &iov, &n, &bytes) : opal_convertor_unpack(&conv, &iov, &n, &bytes);
        left -= bytes;
        iov.iov_base = (char *) iov.iov_base + bytes;
        iov.iov_len = left;
    }
    OBJ_DESTRUCT(&conv);
    return left == 0 ? MPI_SUCCESS : MPI_ERR_TYPE;
}

int cg_pack(const struct cg_piece *p, const char *at, char *packed) { return convert(p, (char *) at, packed, 1); }
int cg_unpack(const struct cg_piece *p, char *at, const char *packed) { return convert(p, at, (char *) packed, 0); }
