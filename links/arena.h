/* SPDX-License-Identifier: BSD-3-Clause
 * The arena of one process: chunks of memory that peers may map, cut into windows and lines.
 *
 * Chunk 0 starts with the lines array. A window's memory is reserved when it is allocated, so that lack of memory is an
 * error here and not SIGBUS at first touch. Chunks live until close; windows and lines given back serve again. */
#ifndef CG_LINKS_ARENA_H
#define CG_LINKS_ARENA_H

#include "core/status.h"
#include "kernels/ring.h"

#define CG_ARENA_LINES 2048
#define CG_ARENA_LINES_BYTES (CG_ARENA_LINES * sizeof(struct cg_line))
#define CG_ARENA_CHUNKS (CG_ARENA_LINES + 1) /* each window has a line, so there are no more chunks than that */

struct cg_chunk {
    int fd;             /* open until close: later peers need it */
    char *base;
    size_t bytes, used; /* used: windows so far */
};

/* Bytes [offset, offset + bytes) of a chunk; whole pages. */
struct cg_window {
    uint32_t chunk;
    uint64_t offset, bytes;
};

struct cg_arena {
    size_t chunk_bytes; /* of an ordinary chunk */
    size_t limit;       /* fault injection: reserve no more than this, 0 = off */
    void (*place)(void *addr, size_t bytes, void *ctx); /* on each fresh chunk before first touch, may be NULL */
    void *place_ctx;
    struct cg_chunk *chunk;
    uint32_t nchunks;
    size_t reserved, mapped; /* bytes */
    struct cg_window *spare;
    uint32_t nspare;
    uint32_t *spare_line;
    uint32_t nlines, nspare_lines;
    const char *told; /* remedy of the last complaint: the same again is for developers only */
};

/* chunk_bytes, limit, place and place_ctx are set by the caller, the rest is zero. No open: the first window opens. */
void cg_arena_close(struct cg_arena *arena);

/* CG_OK, CG_ERR_SHM, CG_ERR_NOMEM or CG_ERR_LIMIT, the reason logged. A window that serves again keeps old contents. */
int cg_arena_window(struct cg_arena *arena, size_t bytes, struct cg_window *window);
void cg_arena_window_free(struct cg_arena *arena, const struct cg_window *window);
char *cg_arena_at(const struct cg_arena *arena, const struct cg_window *window);

/* A zeroed line. Windows first: chunk 0 must exist. */
int cg_arena_line(struct cg_arena *arena, uint32_t *line);
void cg_arena_line_free(struct cg_arena *arena, uint32_t line);
struct cg_line *cg_arena_line_at(const struct cg_arena *arena, uint32_t line);

#endif
