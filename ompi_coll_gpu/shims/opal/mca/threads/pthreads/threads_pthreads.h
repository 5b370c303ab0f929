/* SPDX-License-Identifier: BSD-3-Clause
 * Stands in for a header that Open MPI 5.0 and later do not install. */
#ifndef CG_SHIM_THREADS_PTHREADS_H
#define CG_SHIM_THREADS_PTHREADS_H

#include "opal_config.h"

OPAL_DECLSPEC extern void (*opal_threads_pthreads_yield_fn)(void);

#endif
