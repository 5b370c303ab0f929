/* SPDX-License-Identifier: BSD-3-Clause
 * Open MPI's internal headers, and everything that differs between its versions 4.1, 5.0 and 6.0. */
#ifndef CG_OMPI_COMPAT_H
#define CG_OMPI_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/attribute/attribute.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/datatype/ompi_datatype_internal.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/mca.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"
#include "opal/class/opal_hash_table.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

/* Type of a request that failed: 4.1 calls the communicator's error handler for point-to-point requests only, and
 * MPI_COMM_WORLD's for others. It looks at the type for nothing else by then. */
#if OMPI_MAJOR_VERSION >= 5
#define CG_FAILED_REQUEST OMPI_REQUEST_COLL
#else
#define CG_FAILED_REQUEST OMPI_REQUEST_PML
#endif

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/mutex.h"
#define CG_MODEX_GLOBAL PMIX_GLOBAL
#else
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/mutex.h"
#define CG_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#endif

/* What copies an attribute of a type gets the new type as well in 4.1, which has no MPIX_SHORT_FLOAT. */
#if OMPI_MAJOR_VERSION >= 5
#define CG_ATTR_COPY_REST
#define CG_HAVE_SHORT_FLOAT 1
#else
#define CG_ATTR_COPY_REST , MPI_Datatype to __attribute__((unused))
#endif

/* The coll interface; counts and arrays in it. wdisps: displacements of neighbor_alltoallw, in bytes. */
#if OMPI_MAJOR_VERSION >= 6
#define CG_COLL_VERSION MCA_COLL_BASE_VERSION_3_0_0
typedef size_t cg_count_t;
typedef ompi_count_array_t cg_counts_t;
typedef ompi_disp_array_t cg_disps_t, cg_wdisps_t;
#define CG_COUNT_AT(counts, i) ((size_t) ompi_count_array_get(counts, i))
#define CG_DISP_AT(disps, i) ((ptrdiff_t) ompi_disp_array_get(disps, i))
#else
#if OMPI_MAJOR_VERSION == 5
#define CG_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#else
#define CG_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#endif
typedef int cg_count_t;
typedef const int *cg_counts_t;
typedef const int *cg_disps_t;
typedef const MPI_Aint *cg_wdisps_t;
#define CG_COUNT_AT(counts, i) ((size_t) (counts)[i])
#define CG_DISP_AT(disps, i) ((ptrdiff_t) (disps)[i])
#endif

/* Up to 5.0 the framework copies the module's functions into the communicator after enable, unless they are NULL. From
 * 6.0 on the module writes them there itself in enable, and puts back what it displaced in disable. */
#if OMPI_MAJOR_VERSION >= 6
#define CG_COMM_INSTALL(comm, name, function, module) MCA_COLL_INSTALL_API(comm, name, function, module, "gpu")
#else
#define CG_COMM_INSTALL(comm, name, function, module) ((void) 0)
#endif

#endif
