/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "links/arena.h"
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

#define LARGE_BYTES ((size_t) 16 << 20)

static int complain(struct cg_arena *a, int status, const char *what, size_t bytes, const char *cause,
                    const char *remedy)
{
    int level = a->told == remedy ? 3 : 0;

    a->told = remedy;
    CG_LOG(level, "shared memory: %s of %zu bytes failed: %s (%zu bytes in use); %s", what, bytes, cause,
           a->reserved, remedy);
    return status;
}

/* Bytes that the machine can still give without ending processes; SIZE_MAX if it does not say. */
static size_t memory_available(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "re");

    if (!f) return SIZE_MAX;
    while (fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %llu", &kib) != 1) continue;
    fclose(f);
    return kib ? (size_t) kib * 1024 : SIZE_MAX;
}

static int reserve(struct cg_arena *a, const struct cg_chunk *c, size_t offset, size_t bytes)
{
    int rc;

    if (a->limit > 0 && a->reserved + bytes > a->limit) {
        return complain(a, CG_ERR_SHM, "reserving", bytes, "coll_gpu_stage_limit is reached",
                        "raise it, or set it to 0 to switch it off");
    }
    /* The kernel would hand out the last page and then kill someone. */
    if (bytes >= LARGE_BYTES && bytes > memory_available() / 2) {
        return complain(a, CG_ERR_SHM, "reserving", bytes, "the machine has less than twice as much memory left",
                        "lower coll_gpu_slots or coll_gpu_slot_bytes");
    }
    do {
        rc = fallocate(c->fd, 0, (off_t) offset, (off_t) bytes);
    } while (rc && errno == EINTR);
    if (rc) {
        return complain(a, CG_ERR_SHM, "reserving", bytes, strerror(errno),
                        "raise the memory limit of the job or lower coll_gpu_slots or coll_gpu_slot_bytes");
    }
    a->reserved += bytes;
    return CG_OK;
}

/* A file larger than RLIMIT_FSIZE would raise SIGXFSZ. */
static int size_allowed(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

static int chunk_file(struct cg_arena *a, size_t bytes, int *fd)
{
    if (!size_allowed(bytes)) {
        return complain(a, CG_ERR_SHM, "a chunk", bytes, "it exceeds the limit on file sizes",
                        "raise it (ulimit -f) or lower coll_gpu_arena_bytes");
    }
    *fd = memfd_create("coll_gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0) return complain(a, CG_ERR_SHM, "memfd_create", bytes, strerror(errno), "raise ulimit -n");
    if (ftruncate(*fd, (off_t) bytes)) {
        close(*fd);
        return complain(a, CG_ERR_SHM, "a chunk", bytes, strerror(errno), "lower coll_gpu_arena_bytes");
    }
    /* Nobody can shrink what others have mapped. A kernel without seals is as good otherwise. */
    (void) fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return CG_OK;
}

static int chunk_add(struct cg_arena *a, size_t bytes)
{
    struct cg_chunk c = {.bytes = bytes};
    struct cg_chunk *grown;
    int rc;

    if (a->nchunks == CG_ARENA_CHUNKS) {
        return complain(a, CG_ERR_LIMIT, "a chunk", bytes, "too many chunks", "raise coll_gpu_arena_bytes");
    }
    grown = realloc(a->chunk, (a->nchunks + 1) * sizeof(*grown));
    if (!grown) return CG_ERR_NOMEM;
    a->chunk = grown;
    rc = chunk_file(a, bytes, &c.fd);
    if (rc != CG_OK) return rc;
    c.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c.fd, 0);
    if (c.base == MAP_FAILED) {
        rc = complain(a, CG_ERR_SHM, "mapping", bytes, strerror(errno),
                      "raise ulimit -v or lower coll_gpu_arena_bytes");
        close(c.fd);
        return rc;
    }
    if (a->place) a->place(c.base, bytes, a->place_ctx);
    a->chunk[a->nchunks++] = c;
    a->mapped += bytes;
    return CG_OK;
}

/* Chunk 0 with its lines. */
static int first_chunk(struct cg_arena *a)
{
    size_t lines = whole_pages(CG_ARENA_LINES_BYTES);
    int rc = CG_OK;

    if (a->nchunks == 0) rc = chunk_add(a, whole_pages(a->chunk_bytes > lines ? a->chunk_bytes : lines));
    if (rc != CG_OK || a->chunk[0].used > 0) return rc;
    rc = reserve(a, &a->chunk[0], 0, lines);
    if (rc == CG_OK) a->chunk[0].used = lines;
    return rc;
}

static int take_spare(struct cg_arena *a, size_t bytes, struct cg_window *w)
{
    for (uint32_t i = 0; i < a->nspare; i++) {
        if (a->spare[i].bytes != bytes) continue;
        *w = a->spare[i];
        a->spare[i] = a->spare[--a->nspare];
        return 1;
    }
    return 0;
}

static uint32_t chunk_with_room(const struct cg_arena *a, size_t bytes)
{
    uint32_t i = 0;
    while (i < a->nchunks && a->chunk[i].bytes - a->chunk[i].used < bytes) i++;
    return i;
}

int cg_arena_window(struct cg_arena *a, size_t bytes, struct cg_window *w)
{
    uint32_t i;
    int rc = first_chunk(a);

    if (rc != CG_OK) return rc;
    bytes = whole_pages(bytes);
    if (take_spare(a, bytes, w)) return CG_OK;
    i = chunk_with_room(a, bytes);
    if (i == a->nchunks) rc = chunk_add(a, bytes > a->chunk_bytes ? bytes : whole_pages(a->chunk_bytes));
    if (rc != CG_OK) return rc;
    *w = (struct cg_window){.chunk = i, .offset = a->chunk[i].used, .bytes = bytes};
    rc = reserve(a, &a->chunk[i], w->offset, bytes);
    if (rc == CG_OK) a->chunk[i].used += bytes;
    return rc;
}

void cg_arena_window_free(struct cg_arena *a, const struct cg_window *w)
{
    struct cg_window *grown = realloc(a->spare, (a->nspare + 1) * sizeof(*grown));

    if (!grown) return; /* lost until close */
    a->spare = grown;
    a->spare[a->nspare++] = *w;
}

char *cg_arena_at(const struct cg_arena *a, const struct cg_window *w) { return a->chunk[w->chunk].base + w->offset; }

int cg_arena_line(struct cg_arena *a, uint32_t *line)
{
    if (a->nspare_lines > 0) {
        *line = a->spare_line[--a->nspare_lines];
    } else if (a->nlines < CG_ARENA_LINES) {
        *line = a->nlines++;
    } else {
        return complain(a, CG_ERR_LIMIT, "a further link", sizeof(struct cg_line), "all lines are taken",
                        "free communicators, or use fewer at a time");
    }
    memset(cg_arena_line_at(a, *line), 0, sizeof(struct cg_line));
    return CG_OK;
}

void cg_arena_line_free(struct cg_arena *a, uint32_t line)
{
    uint32_t *grown = realloc(a->spare_line, (a->nspare_lines + 1) * sizeof(*grown));

    if (!grown) return; /* lost until close */
    a->spare_line = grown;
    a->spare_line[a->nspare_lines++] = line;
}

struct cg_line *cg_arena_line_at(const struct cg_arena *a, uint32_t line)
{
    return (struct cg_line *) a->chunk[0].base + line;
}

void cg_arena_close(struct cg_arena *a)
{
    for (uint32_t i = 0; i < a->nchunks; i++) {
        munmap(a->chunk[i].base, a->chunk[i].bytes);
        close(a->chunk[i].fd);
    }
    free(a->chunk);
    free(a->spare);
    free(a->spare_line);
    memset(a, 0, sizeof(*a));
}
