/* SPDX-License-Identifier: BSD-3-Clause
 * Stands in for a header that Open MPI 5.0 and later do not install: what opal_mutex_t and wait_sync.h are made of.
 * The two types are part of Open MPI's binary interface; the functions are called by its inline functions only. */
#ifndef CG_SHIM_THREADS_PTHREADS_MUTEX_H
#define CG_SHIM_THREADS_PTHREADS_MUTEX_H

#include "opal_config.h"
#include "opal/class/opal_object.h"
#include "opal/constants.h"

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER
#ifdef PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
#define OPAL_THREAD_INTERNAL_RECURSIVE_MUTEX_INITIALIZER PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
#endif

static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t *m, bool recursive)
{
    (void) recursive; /* its callers in the headers want none */
    return pthread_mutex_init(m, NULL) ? OPAL_ERR_IN_ERRNO : OPAL_SUCCESS;
}

static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t *m)
{
    return pthread_mutex_trylock(m) != 0;
}

static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t *m) { pthread_mutex_lock(m); }
static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t *m) { pthread_mutex_unlock(m); }
static inline void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t *m) { pthread_mutex_destroy(m); }

static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t *c)
{
    return pthread_cond_init(c, NULL) ? OPAL_ERR_IN_ERRNO : OPAL_SUCCESS;
}

static inline void opal_thread_internal_cond_wait(opal_thread_internal_cond_t *c, opal_thread_internal_mutex_t *m)
{
    pthread_cond_wait(c, m);
}

static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t *c) { pthread_cond_signal(c); }
static inline void opal_thread_internal_cond_broadcast(opal_thread_internal_cond_t *c) { pthread_cond_broadcast(c); }
static inline void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t *c) { pthread_cond_destroy(c); }

#endif
