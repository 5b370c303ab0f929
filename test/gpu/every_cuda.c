/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of every kind for test/mpi/every: bench/buffer.h's. With CG_TEST_HOST=1 all of it is host memory. */
#include "bench/buffer.h"
#include "test/mpi/every.h"

#include <stdlib.h>
#include <string.h>

const char every_kinds[] = "hprdmqv"; /* in the order of enum cg_buf_kind */

static struct cg_buf bufs[8 * KINDS_MOST];
static int nbufs;

static int host_only(void)
{
    const char *env = getenv("CG_TEST_HOST");

    return env && !strcmp(env, "1");
}

int every_memory_open(void)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    if (host_only() || cg_buf_select_gpu(local ? atoi(local) : test_rank) == 0) return 0;
    if (test_rank == 0) printf("mpi_every: skipped, no GPU\n");
    return 77;
}

int every_on_gpu(char kind) { return !host_only() && strchr("dmqv", kind); }

char *every_alloc(size_t *bytes, char kind, int *guarded)
{
    struct cg_buf *b = &bufs[nbufs++];

    *guarded = 0;
    if (cg_buf_alloc(b, host_only() ? CG_BUF_HOST : (int) (strchr(every_kinds, kind) - every_kinds), *bytes) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return b->p;
}

static const struct cg_buf *buffer_of(const char *p)
{
    for (int i = 0; i < nbufs; i++) {
        if (p >= bufs[i].p && p < bufs[i].p + bufs[i].bytes) return &bufs[i];
    }
    return NULL;
}

/* One side is an image, which is none of these. */
void every_copy(char *dst, const char *src, size_t bytes)
{
    const struct cg_buf *to = buffer_of(dst), *from = buffer_of(src);

    if (to) cg_buf_write(to, (size_t) (dst - to->p), src, bytes);
    else if (from) cg_buf_read(from, (size_t) (src - from->p), dst, bytes);
}
