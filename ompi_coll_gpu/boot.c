/* SPDX-License-Identifier: BSD-3-Clause
 * Set-up messages of a communicator through Open MPI's point-to-point layer, under a tag of its own. A pending request
 * keeps the communicator; so the context is needed for posting only. */
#include "ompi_coll_gpu/coll_gpu.h"

static int boot_isend(void *ctx, uint32_t peer, const void *buf, size_t bytes, void **req)
{
    const struct cg_boot_at *at = ctx;
    int rc = MCA_PML_CALL(isend(buf, bytes, MPI_BYTE, (int) peer, at->tag, MCA_PML_BASE_SEND_STANDARD, at->comm,
                                (ompi_request_t **) req));

    return rc == OMPI_SUCCESS ? CG_OK : CG_ERR_PEER;
}

static int boot_irecv(void *ctx, uint32_t peer, void *buf, size_t bytes, void **req)
{
    const struct cg_boot_at *at = ctx;
    int rc = MCA_PML_CALL(irecv(buf, bytes, MPI_BYTE, (int) peer, at->tag, at->comm, (ompi_request_t **) req));

    return rc == OMPI_SUCCESS ? CG_OK : CG_ERR_PEER;
}

static int boot_test(void *ctx, void *req)
{
    ompi_request_t *r = req;
    int rc;

    (void) ctx;
    if (!REQUEST_COMPLETE(r)) return CG_AGAIN;
    rc = r->req_status.MPI_ERROR;
    ompi_request_free(&r);
    return rc == MPI_SUCCESS ? CG_OK : CG_ERR_PEER;
}

const struct cg_boot_ops cg_boot_pml = {.isend = boot_isend, .irecv = boot_irecv, .test = boot_test};
