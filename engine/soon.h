/* SPDX-License-Identifier: BSD-3-Clause
 * Is it worth that a kernel lingers for the next call? After `need` calls in a row that each began within linger time
 * of the end of the one before: yes, until one does not. If a spell of lingering served no call, as where each call is
 * followed by a cudaDeviceSynchronize that waits for the lingering kernel, the next spell takes twice as many calls to
 * begin; if it served some, half as many. Pure, no clock of its own. */
#ifndef CG_ENGINE_SOON_H
#define CG_ENGINE_SOON_H

#include <stdint.h>

#define CG_SOON_LEAST 2
#define CG_SOON_MOST 256

struct cg_soon {
    uint32_t run, need; /* calls in a row; need 0: CG_SOON_LEAST */
};

/* A call begins gap us after the end of the one before. 1: linger after it. */
static inline int cg_soon(struct cg_soon *s, uint64_t gap, uint64_t linger)
{
    if (s->need < CG_SOON_LEAST) s->need = CG_SOON_LEAST;
    if (gap <= linger) return ++s->run > s->need;
    if (s->run == s->need + 1 && s->need < CG_SOON_MOST) s->need *= 2;
    else if (s->run > s->need + 1) s->need /= 2;
    s->run = 0;
    return 0;
}

#endif
