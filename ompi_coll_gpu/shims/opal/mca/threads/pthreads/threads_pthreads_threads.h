/* SPDX-License-Identifier: BSD-3-Clause
 * Stands in for a header that Open MPI 5.0 and later do not install. */
#ifndef CG_SHIM_THREADS_PTHREADS_THREADS_H
#define CG_SHIM_THREADS_PTHREADS_THREADS_H

#include "opal/mca/threads/pthreads/threads_pthreads.h"
#include "opal/mca/threads/threads.h"

#include <pthread.h>
#include <signal.h>

static inline void opal_thread_yield(void) { opal_threads_pthreads_yield_fn(); }

#endif
