/* SPDX-License-Identifier: BSD-3-Clause
 * Staging: what lies in device memory is copied to host memory for the next component, and back. A rank stages whatever
 * of its own needs it; the others need not know, since the next component is called either way. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/cuda/gpu.h"

#include <string.h>

/* Managed memory is staged as well: the next component may hand it to a network card. */
static int needs_copy(const void *p, int *device)
{
    struct cg_mem mem;

    cg_gpu_classify(p, &mem);
    *device = mem.device;
    return mem.kind == CG_MEM_DEVICE || mem.kind == CG_MEM_MANAGED;
}

static int failed(const char *what, const struct cg_side *side)
{
    cg_log(0, "staging %zu bytes at %p of GPU %d: %s; the collective fails on this rank", side->bytes, side->user,
           side->device, what);
    return MPI_ERR_NO_MEM;
}

static void side_end(struct cg_side *side)
{
    if (side->copy) cg_pool_put(side->copy);
    side->copy = NULL;
}

/* The span runs from the true lower bound of the first element to the true upper bound of the last. */
static int side_begin(struct cg_side *side, const void *buf, size_t count, struct ompi_datatype_t *dt)
{
    ptrdiff_t gap = 0;

    memset(side, 0, sizeof(*side));
    side->arg = (void *) buf;
    if (buf == MPI_IN_PLACE || count == 0) return MPI_SUCCESS;
    side->bytes = (size_t) opal_datatype_span(&dt->super, (int64_t) count, &gap);
    side->user = (char *) buf + gap;
    if (side->bytes == 0 || !needs_copy(side->user, &side->device)) return MPI_SUCCESS;
    side->copy = cg_pool_get(side->bytes);
    if (!side->copy) return failed("out of host memory", side);
    side->arg = (char *) side->copy - gap;
    if (cg_gpu_memcpy(side->device, side->copy, side->user, side->bytes) == CG_OK) return MPI_SUCCESS;
    side_end(side);
    return failed("the copy to the host failed", side);
}

int cg_stage_begin(struct cg_stage *stage, const void *sbuf, size_t scount, struct ompi_datatype_t *sdt, void *rbuf,
                   size_t rcount, struct ompi_datatype_t *rdt)
{
    int rc = side_begin(&stage->send, sbuf, scount, sdt);

    if (rc != MPI_SUCCESS) return rc;
    rc = side_begin(&stage->recv, rbuf, rcount, rdt);
    if (rc != MPI_SUCCESS) side_end(&stage->send);
    return rc;
}

int cg_stage_end(struct cg_stage *stage, int rc)
{
    struct cg_side *recv = &stage->recv;

    if (rc == MPI_SUCCESS && recv->copy && cg_gpu_memcpy(recv->device, recv->user, recv->copy, recv->bytes) != CG_OK) {
        rc = failed("the copy to the GPU failed", recv);
    }
    side_end(&stage->send);
    side_end(&stage->recv);
    return rc;
}
