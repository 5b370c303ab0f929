/* SPDX-License-Identifier: BSD-3-Clause
 * Host memory for staging, in powers of two. Freed blocks are kept for reuse up to a limit. */
#include "ompi_coll_gpu/coll_gpu.h"

#include <stdlib.h>
#include <string.h>

#define POOL_KEEP (64u << 20) /* bytes */
#define POOL_MIN 6            /* log2 of the smallest block and of the alignment */

struct block {
    struct block *next;
    unsigned log2;
    char pad[(1 << POOL_MIN) - sizeof(struct block *) - sizeof(unsigned)];
};

static struct {
    opal_mutex_t lock;
    struct block *free[64];
    size_t kept;
} pool;

void *cg_pool_get(size_t bytes)
{
    unsigned log2 = POOL_MIN;
    struct block *b;

    while (((size_t) 1 << log2) < bytes + sizeof(*b)) log2++;
    OPAL_THREAD_LOCK(&pool.lock);
    b = pool.free[log2];
    if (b) {
        pool.free[log2] = b->next;
        pool.kept -= (size_t) 1 << log2;
    }
    OPAL_THREAD_UNLOCK(&pool.lock);
    if (!b) b = aligned_alloc((size_t) 1 << POOL_MIN, (size_t) 1 << log2);
    if (!b) return NULL;
    b->log2 = log2;
    return b + 1;
}

void cg_pool_put(void *p)
{
    struct block *b = (struct block *) p - 1;
    size_t bytes = (size_t) 1 << b->log2;

    OPAL_THREAD_LOCK(&pool.lock);
    if (pool.kept + bytes <= POOL_KEEP) {
        b->next = pool.free[b->log2];
        pool.free[b->log2] = b;
        pool.kept += bytes;
        b = NULL;
    }
    OPAL_THREAD_UNLOCK(&pool.lock);
    free(b);
}

void cg_pool_init(void)
{
    memset(&pool, 0, sizeof(pool));
    OBJ_CONSTRUCT(&pool.lock, opal_mutex_t);
}

void cg_pool_fini(void)
{
    for (int i = 0; i < 64; i++) {
        for (struct block *b = pool.free[i], *next; b; b = next) {
            next = b->next;
            free(b);
        }
    }
    OBJ_DESTRUCT(&pool.lock);
}
