/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CG_OMPI_FLATTEN_H
#define CG_OMPI_FLATTEN_H

#include "kernels/flat.h"

struct ompi_datatype_t;

/* A committed type's flat description under this id, with one reference; NULL without memory, or if Open MPI's
 * description of the type is not understood. */
struct cg_flat *cg_flatten(const struct ompi_datatype_t *type, uint64_t id);

#endif
