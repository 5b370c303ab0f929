/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "proxy/cache.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct cg_cached {
    struct cg_cached *next, *prev; /* in a ring with the cache's head, used last first */
    struct cg_net_region region;   /* whole pages */
    struct cg_net_mem *mem;
    int local;
    uint32_t users;
};

struct cg_cache {
    const struct cg_net_ops *ops;
    struct cg_net *net;
    unsigned idle_max, idle;
    struct cg_cached head;
    struct cg_cache_counters counters;
};

static char *end_of(const struct cg_net_region *r) { return (char *) r->addr + r->bytes; }

static int touches(const struct cg_net_region *r, const void *addr, size_t bytes)
{
    return end_of(r) > (const char *) addr && (char *) r->addr < (const char *) addr + bytes;
}

/* Device memory is registered as it is: who allocated it knows its pages. */
static struct cg_net_region whole_pages(const struct cg_net_region *region)
{
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE), from = (uintptr_t) region->addr, to = from + region->bytes;
    struct cg_net_region r = *region;

    if (CG_NET_HOST != region->kind) return r;
    from &= ~(page - 1);
    to = (to + page - 1) & ~(page - 1);
    r.addr = (void *) from;
    r.bytes = to - from;
    return r;
}

static void unlink_entry(struct cg_cached *e)
{
    e->next->prev = e->prev;
    e->prev->next = e->next;
}

static void to_front(struct cg_cache *cache, struct cg_cached *e)
{
    e->next = cache->head.next;
    e->prev = &cache->head;
    e->next->prev = e->prev->next = e;
}

static void keep_from_children(const struct cg_cached *e, int advice)
{
    if (e->local && CG_NET_HOST == e->region.kind) (void) madvise(e->region.addr, e->region.bytes, advice);
}

/* Memory that is still part of another registration stays out of children. */
static void let_children_have(const struct cg_cache *cache, const struct cg_cached *e)
{
    keep_from_children(e, MADV_DOFORK);
    for (const struct cg_cached *o = cache->head.next; o != &cache->head; o = o->next) {
        if (touches(&o->region, e->region.addr, e->region.bytes)) keep_from_children(o, MADV_DONTFORK);
    }
}

static void drop(struct cg_cache *cache, struct cg_cached *e)
{
    unlink_entry(e);
    cache->idle -= !e->users;
    cache->counters.entries--;
    cache->counters.used -= e->users > 0;
    cache->ops->dereg(cache->net, e->mem);
    let_children_have(cache, e);
    free(e);
}

static void drop_idle(struct cg_cache *cache, unsigned most)
{
    for (struct cg_cached *e = cache->head.prev, *prev; e != &cache->head && cache->idle > most; e = prev) {
        prev = e->prev;
        if (e->users) continue;
        drop(cache, e);
        cache->counters.evictions++;
    }
}

static struct cg_cached *find(const struct cg_cache *cache, const struct cg_net_region *r)
{
    struct cg_cached *e = cache->head.next;

    while (e != &cache->head && (e->region.kind != r->kind || (char *) r->addr < (char *) e->region.addr ||
                                 end_of(r) > end_of(&e->region))) {
        e = e->next;
    }
    return e == &cache->head ? NULL : e;
}

/* Where memory cannot be locked any more, what nobody uses is given back first. */
static int add(struct cg_cache *cache, const struct cg_net_region *r, int local, struct cg_cached **out)
{
    struct cg_cached *e = calloc(1, sizeof(*e));
    int rc = e ? CG_OK : CG_ERR_NOMEM;

    if (rc) return rc;
    e->region = *r;
    e->local = local;
    keep_from_children(e, MADV_DONTFORK);
    rc = cache->ops->reg(cache->net, r, &e->mem);
    if (rc && CG_ERR_UNSUPPORTED != rc && cache->idle) {
        drop_idle(cache, 0);
        keep_from_children(e, MADV_DONTFORK);
        rc = cache->ops->reg(cache->net, r, &e->mem);
    }
    if (rc) {
        let_children_have(cache, e);
        free(e);
        return rc;
    }
    e->region.dmabuf = -1; /* the caller's */
    to_front(cache, e);
    cache->idle++;
    cache->counters.registrations++;
    cache->counters.entries++;
    *out = e;
    return CG_OK;
}

int cg_cache_get(struct cg_cache *cache, const struct cg_net_region *region, int local, struct cg_cached **entry)
{
    struct cg_net_region r = whole_pages(region);
    struct cg_cached *e = find(cache, &r);
    int rc = CG_OK;

    if (e) {
        cache->counters.hits++;
        unlink_entry(e);
        to_front(cache, e);
    } else {
        rc = add(cache, &r, local, &e);
    }
    if (rc) return rc;
    cache->idle -= !e->users;
    cache->counters.used += !e->users++;
    drop_idle(cache, cache->idle_max);
    *entry = e;
    return CG_OK;
}

void cg_cache_put(struct cg_cache *cache, struct cg_cached *e)
{
    if (--e->users) return;
    cache->counters.used--;
    cache->idle++;
    drop_idle(cache, cache->idle_max);
}

struct cg_net_mem *cg_cached_mem(const struct cg_cached *entry) { return entry->mem; }

int cg_cache_forget(struct cg_cache *cache, const void *addr, size_t bytes)
{
    int rc = CG_OK;

    for (struct cg_cached *e = cache->head.next, *next; e != &cache->head; e = next) {
        next = e->next;
        if (!touches(&e->region, addr, bytes)) continue;
        if (e->users) rc = CG_ERR_ARG;
        else drop(cache, e);
    }
    return rc;
}

void cg_cache_get_counters(const struct cg_cache *cache, struct cg_cache_counters *c) { *c = cache->counters; }

int cg_cache_open(const struct cg_net_ops *ops, struct cg_net *net, unsigned idle_max, struct cg_cache **out)
{
    struct cg_cache *cache = ops->reg ? calloc(1, sizeof(*cache)) : NULL;

    if (!cache) return ops->reg ? CG_ERR_NOMEM : CG_ERR_UNSUPPORTED;
    cache->ops = ops;
    cache->net = net;
    cache->idle_max = idle_max;
    cache->head.next = cache->head.prev = &cache->head;
    *out = cache;
    return CG_OK;
}

void cg_cache_close(struct cg_cache *cache)
{
    if (!cache) return;
    while (cache->head.next != &cache->head) drop(cache, cache->head.next);
    free(cache);
}
