/* SPDX-License-Identifier: BSD-3-Clause
 * GPU memory of windows. CUDA gives memory that is exported in whole pages of 2 MiB, so small windows share one. */
#include <stdlib.h>

#include "kernels/cuda/fast_host.h"

#define PIECE (CG_SHARE_PAGE / 2) /* cg_fast_window_alloc: a small window is no larger */

/* Without memory for the note the piece is not used again, and is freed with the context. */
static void keep(struct cg_fast *fast, struct cg_fast_piece piece)
{
    struct cg_fast_spare *spare = calloc(1, sizeof *spare);

    if (!spare) return;
    spare->piece = piece;
    spare->next = fast->spares;
    fast->spares = spare;
}

static uint64_t whole(uint64_t bytes)
{
    return bytes <= PIECE ? PIECE : (bytes + CG_SHARE_PAGE - 1) / CG_SHARE_PAGE * CG_SHARE_PAGE;
}

/* One that is kept, if there is one of that size. */
static int reuse(struct cg_fast *fast, uint64_t bytes, struct cg_fast_piece *piece)
{
    for (struct cg_fast_spare **p = &fast->spares; *p; p = &(*p)->next) {
        struct cg_fast_spare *spare = *p;
        if (spare->piece.bytes != bytes) continue;
        *piece = spare->piece;
        *p = spare->next;
        free(spare);
        return 1;
    }
    return 0;
}

int cg_fx_piece_get(struct cg_fast *fast, uint64_t bytes, struct cg_fast_piece *piece)
{
    struct cg_fast_piece fresh = {.bytes = whole(bytes)};
    void *slab = NULL;

    if (reuse(fast, fresh.bytes, piece)) return CG_OK;
    if (!cg_cuda_ok(cudaMalloc(&slab, fresh.bytes == PIECE ? CG_SHARE_PAGE : fresh.bytes))) return CG_ERR_GPU_NOMEM;
    fresh.slab = fresh.memory = slab;
    *piece = fresh;
    if (fresh.bytes == PIECE) {
        fresh.memory += PIECE;
        keep(fast, fresh);
    }
    return CG_OK;
}

void cg_fx_piece_put(struct cg_fast *fast, const struct cg_fast_piece *piece) { keep(fast, *piece); }

void cg_fx_pieces_close(struct cg_fast *fast)
{
    while (fast->spares) {
        struct cg_fast_spare *spare = fast->spares;
        fast->spares = spare->next;
        if (spare->piece.memory == spare->piece.slab) (void) cg_cuda_ok(cudaFree(spare->piece.slab));
        free(spare);
    }
}
