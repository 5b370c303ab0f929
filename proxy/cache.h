/* SPDX-License-Identifier: BSD-3-Clause
 * Registrations of one transport, shared by all who use the same memory: whole pages, found by containment, counted
 * references. What nobody uses stays registered, so that it costs nothing when it is used again, up to a bound.
 *
 * Fork. A child gets copies of the pages that its parent writes next, unless they are shared; the parent may then write
 * other pages than the network reads. Private memory is therefore kept out of children (MADV_DONTFORK) while it is
 * registered: whole pages, so it should not share them with anything that a child needs.
 *
 * All functions: as those of the transport (proxy/net.h). */
#ifndef CG_PROXY_CACHE_H
#define CG_PROXY_CACHE_H

#include "proxy/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cg_cache;
struct cg_cached; /* a registration; the cache's */

/* The transport has reg. idle_max: registrations that are kept though nobody uses them; the oldest go first. */
int cg_cache_open(const struct cg_net_ops *ops, struct cg_net *net, unsigned idle_max, struct cg_cache **cache);
/* Gives all registrations back, in use or not. Before the transport is closed. */
void cg_cache_close(struct cg_cache *cache);

/* A registration in which the region lies: one that there is, or a new one, of whole pages for host memory. local: host
 * memory of this process alone, not shared. CG_OK with *entry, or the error of the transport. */
int cg_cache_get(struct cg_cache *cache, const struct cg_net_region *region, int local, struct cg_cached **entry);
/* The user is done with it, and its requests have ended. */
void cg_cache_put(struct cg_cache *cache, struct cg_cached *entry);
struct cg_net_mem *cg_cached_mem(const struct cg_cached *entry);

/* The memory is about to be unmapped or freed: unused registrations that touch it are given back. CG_ERR_ARG if one of
 * them is in use; then the others are gone all the same. */
int cg_cache_forget(struct cg_cache *cache, const void *addr, size_t bytes);

struct cg_cache_counters {
    uint64_t registrations, hits, evictions; /* so far */
    uint64_t entries, used;                  /* now */
};
void cg_cache_get_counters(const struct cg_cache *cache, struct cg_cache_counters *c);

#ifdef __cplusplus
}
#endif
#endif
