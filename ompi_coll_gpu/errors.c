/* SPDX-License-Identifier: BSD-3-Clause */
#include "ompi_coll_gpu/coll_gpu.h"

int cg_mpi_error(int status)
{
    switch (status) {
    case CG_OK: return MPI_SUCCESS;
    case CG_ERR_ARG: return MPI_ERR_ARG;
    case CG_ERR_NOMEM:
    case CG_ERR_SHM:
    case CG_ERR_GPU_NOMEM: return MPI_ERR_NO_MEM;
    case CG_ERR_MISMATCH: return MPI_ERR_TRUNCATE;
    case CG_ERR_UNSUPPORTED: return MPI_ERR_UNSUPPORTED_OPERATION;
    case CG_ERR_INTERNAL: return MPI_ERR_INTERN;
    default: return MPI_ERR_OTHER;
    }
}
