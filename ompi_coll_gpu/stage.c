/* SPDX-License-Identifier: BSD-3-Clause
 * Host copies that stand for a user's buffer.
 *   image   what lies in device memory, byte for byte, for the next component
 *   packed  the data alone, for the engine, where a type on this rank has gaps and no GPU can pack it (pieces.c)
 * A rank copies whatever of its own needs it; the others need not know. Received data go back piece by piece: bytes
 * between them may belong to another call that is under way. */
#include "ompi_coll_gpu/coll_gpu.h"

#include "kernels/cuda/gpu.h"

#include <string.h>

static int failed(const char *what, int device, const void *user, size_t bytes)
{
    cg_log(0, "staging %zu bytes at %p of GPU %d: %s; the collective fails on this rank", bytes, user, device, what);
    return MPI_ERR_NO_MEM;
}

/* Managed memory is copied as well: the next component may hand it to a network card. */
static void classify(struct cg_side *s)
{
    struct cg_mem mem;
    char *first;

    for (int i = 0; i < s->n && s->device < 0; i++) {
        if (cg_piece_span(cg_piece_of(s, i), &first) == 0) continue;
        cg_gpu_classify(first, &mem);
        if (mem.kind == CG_MEM_DEVICE || mem.kind == CG_MEM_MANAGED) s->device = mem.device;
    }
}

static int allocate(struct cg_side *s, int kind)
{
    s->kind = kind;
    s->copy = cg_pool_get(s->bytes);
    return s->copy ? MPI_SUCCESS : failed("out of host memory", s->device, s->arg, s->bytes);
}

static int image(struct cg_side *s)
{
    char *low = NULL, *high = NULL, *first;
    int rc;

    if (s->n == 0) return MPI_SUCCESS;
    classify(s);
    if (s->device < 0) return MPI_SUCCESS;
    for (int i = 0; i < s->n; i++) {
        size_t bytes = cg_piece_span(cg_piece_of(s, i), &first);
        if (bytes == 0) continue;
        if (!low || first < low) low = first;
        if (first + bytes > high) high = first + bytes;
    }
    s->low = low;
    s->bytes = (size_t) (high - low);
    s->fills = 1;
    rc = allocate(s, CG_COPY_IMAGE);
    if (rc == MPI_SUCCESS) s->arg = s->copy + ((char *) s->arg - low);
    return rc;
}

int cg_job_image(struct cg_job *job)
{
    int rc = image(&job->send);

    return rc == MPI_SUCCESS ? image(&job->recv) : rc;
}

static int may_pack_there(const struct cg_side *s, const struct cg_side *other)
{
    return s->device >= 0 && (other->kind != CG_COPY_GPU || other->device == s->device);
}

int cg_side_packed(struct cg_side *s, const struct cg_side *other)
{
    int rc;

    if (cg_state.gpu) classify(s);
    if (may_pack_there(s, other) && cg_side_pieces(s)) {
        s->kind = CG_COPY_GPU;
        s->arg = s->pieces.packed;
        return MPI_SUCCESS;
    }
    for (int i = 0; i < s->n; i++) s->bytes += cg_piece_bytes(cg_piece_of(s, i));
    rc = allocate(s, CG_COPY_PACKED);
    if (rc == MPI_SUCCESS) s->arg = s->copy;
    return rc;
}

static int to_host(const struct cg_side *s, char *host, const char *user, size_t bytes)
{
    if (bytes == 0 || cg_gpu_memcpy(s->device, host, user, bytes) == CG_OK) return MPI_SUCCESS;
    return failed("the copy to the host failed", s->device, user, bytes);
}

static int to_user(const struct cg_side *s, char *user, const char *host, size_t bytes)
{
    if (bytes == 0 || cg_gpu_memcpy(s->device, user, host, bytes) == CG_OK) return MPI_SUCCESS;
    return failed("the copy to the GPU failed", s->device, user, bytes);
}

/* Between the packed form and memory of the side's kind; in device memory through a copy of the piece's span. */
static int convert(const struct cg_side *s, const struct cg_piece *p, char *packed, int back)
{
    char *first, *span, *at = p->at;
    size_t bytes = cg_piece_span(p, &first);
    int rc;

    if (bytes == 0) return MPI_SUCCESS;
    if (s->device < 0) return back ? cg_unpack(p, at, packed) : cg_pack(p, at, packed);
    span = cg_pool_get(bytes);
    if (!span) return failed("out of host memory", s->device, first, bytes);
    at = span + (p->at - first);
    rc = to_host(s, span, first, bytes);
    if (rc == MPI_SUCCESS) rc = back ? cg_unpack(p, at, packed) : cg_pack(p, at, packed);
    if (rc == MPI_SUCCESS && back) rc = to_user(s, first, span, bytes);
    cg_pool_put(span);
    return rc;
}

static int copy_packed(const struct cg_side *s, int back)
{
    char *packed = s->copy;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < s->n && rc == MPI_SUCCESS; i++) {
        rc = convert(s, cg_piece_of(s, i), packed, back);
        packed += cg_piece_bytes(cg_piece_of(s, i));
    }
    return rc;
}

/* A piece with gaps, from the image to the user. */
static int put_back(const struct cg_side *s, const struct cg_piece *p)
{
    char *packed = cg_pool_get(cg_piece_bytes(p));
    int rc;

    if (!packed) return failed("out of host memory", s->device, p->at, cg_piece_bytes(p));
    rc = cg_pack(p, s->copy + (p->at - s->low), packed);
    if (rc == MPI_SUCCESS) rc = convert(s, p, packed, 1);
    cg_pool_put(packed);
    return rc;
}

/* Pieces that follow each other in memory are one copy. */
static int copy_image(const struct cg_side *s, int back)
{
    char *begin = NULL, *end = NULL, *first;
    int rc = MPI_SUCCESS;

    for (int i = 0; i <= s->n && rc == MPI_SUCCESS; i++) {
        const struct cg_piece *p = i < s->n ? cg_piece_of(s, i) : NULL;
        size_t bytes = p ? cg_piece_span(p, &first) : 0;
        if (p && bytes == 0) continue;
        if (p && back && !cg_piece_dense(p)) {
            rc = put_back(s, p);
        } else if (p && first == end) {
            end += bytes;
        } else {
            size_t n = (size_t) (end - begin);
            char *host = s->copy + (begin - s->low);
            if (n) rc = back ? to_user(s, begin, host, n) : to_host(s, host, begin, n);
            begin = first;
            end = first + bytes;
        }
    }
    return rc;
}

static int copy(const struct cg_side *s, int back)
{
    if (s->kind == CG_COPY_NONE || s->kind == CG_COPY_GPU) return MPI_SUCCESS; /* the engine does it */
    return s->kind == CG_COPY_IMAGE ? copy_image(s, back) : copy_packed(s, back);
}

int cg_job_fill(struct cg_job *job)
{
    int rc = job->send.fills ? copy(&job->send, 0) : MPI_SUCCESS;

    return rc == MPI_SUCCESS && job->recv.fills ? copy(&job->recv, 0) : rc;
}

int cg_job_drain(struct cg_job *job, int rc)
{
    return rc == MPI_SUCCESS && job->recv.drains ? copy(&job->recv, 1) : rc;
}
