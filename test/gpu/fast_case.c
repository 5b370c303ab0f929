/* SPDX-License-Identifier: BSD-3-Clause
 * One operation of the fast executor: input, output and what is expected, for each collective. */
#include "test/gpu/fast_world.h"

#include "core/status.h"
#include "kernels/host/host.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define FW_POISON 0xa5

static uint32_t hash(uint64_t seed, int rank, uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull + (uint64_t) rank * 0x94d049bb133111ebull;

    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93ull;
    return (uint32_t) (x >> 32);
}

/* Elements of rank's send buffer from first on. Floats of moderate size whose sums round, so that the order shows. */
static void generate(char *to, const struct fw_case *c, int rank, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t h = hash(c->seed, rank, first + i);
        if (c->type == CG_TYPE_F32) ((float *) to)[i] = (float) ((int) (h & 0xffffff) - 0x800000) * 0x1p-20f;
        else if (c->type == CG_TYPE_F64) ((double *) to)[i] = (double) (int) h * 0x1p-28 / 3;
        else if (cg_type_size(c->type) == 8) ((uint64_t *) to)[i] = (uint64_t) h << 32 | (h * 2654435761u);
        else if (cg_type_size(c->type) == 4) ((uint32_t *) to)[i] = h % 5 ? h : 0;
        else if (cg_type_size(c->type) == 2) ((uint16_t *) to)[i] = (uint16_t) (h % 5 ? h >> 9 : 0);
        else ((uint8_t *) to)[i] = (uint8_t) (h % 5 ? h >> 9 : 0);
    }
}

/* ---- shape of a collective ---- */

static int coll_of(const struct fw_case *c) { return c->coll ? c->coll : CG_COLL_ALLREDUCE; }

int fw_blocks_out(int coll)
{
    return coll == CG_COLL_ALLTOALL || coll == CG_COLL_SCATTER || coll == CG_COLL_REDUCE_SCATTER_BLOCK;
}

int fw_blocks_in(int coll)
{
    return coll == CG_COLL_ALLTOALL || coll == CG_COLL_GATHER || coll == CG_COLL_ALLGATHER;
}

int fw_reduces(int coll)
{
    return coll == CG_COLL_ALLREDUCE || coll == CG_COLL_REDUCE || coll == CG_COLL_REDUCE_SCATTER_BLOCK;
}

static int from_root(int coll) { return coll == CG_COLL_BCAST || coll == CG_COLL_SCATTER; }
static int to_root(int coll) { return coll == CG_COLL_REDUCE || coll == CG_COLL_GATHER; }

static int sends(const struct fw *w, const struct fw_case *c)
{
    return !from_root(coll_of(c)) || (uint32_t) w->rank == c->root;
}

static int receives(const struct fw *w, const struct fw_case *c)
{
    return !to_root(coll_of(c)) || (uint32_t) w->rank == c->root;
}

/* Does the send buffer lie in the receive buffer, or the other way round? */
static int in_place(const struct fw *w, const struct fw_case *c)
{
    return coll_of(c) == CG_COLL_BCAST || (c->inplace && sends(w, c) && receives(w, c));
}

static uint64_t block_bytes(const struct fw_case *c) { return c->count * (uint64_t) cg_type_size(c->type); }

static uint64_t sent_bytes(const struct fw *w, const struct fw_case *c)
{
    return block_bytes(c) * (fw_blocks_out(coll_of(c)) ? (uint64_t) w->size : 1);
}

static uint64_t received_bytes(const struct fw *w, const struct fw_case *c)
{
    return block_bytes(c) * (fw_blocks_in(coll_of(c)) ? (uint64_t) w->size : 1);
}

/* The memory in which the result appears; for checks it has 128 bytes before and after. */
static char *area(struct fw *w, const struct fw_case *c)
{
    return in_place(w, c) ? w->src + c->shift_in : w->dst + c->shift_out;
}

static uint64_t area_bytes(const struct fw *w, const struct fw_case *c)
{
    uint64_t sent = sent_bytes(w, c), received = received_bytes(w, c);
    return in_place(w, c) && sent > received ? sent : received;
}

/* Within the area: where the operand of a call in place is, and where the result is. */
static uint64_t operand_at(const struct fw *w, const struct fw_case *c)
{
    return fw_blocks_in(coll_of(c)) && !fw_blocks_out(coll_of(c)) ? block_bytes(c) * (uint64_t) w->rank : 0;
}

static uint64_t result_at(const struct fw *w, const struct fw_case *c)
{
    return in_place(w, c) && coll_of(c) == CG_COLL_SCATTER ? block_bytes(c) * (uint64_t) w->rank : 0;
}

/* ---- before and after ---- */

/* The area before the call. */
static void image(struct fw *w, const struct fw_case *c, char *to)
{
    memset(to, FW_POISON, area_bytes(w, c));
    if (in_place(w, c) && sends(w, c))
        generate(to + operand_at(w, c), c, w->rank, 0, sent_bytes(w, c) / (uint64_t) cg_type_size(c->type));
}

/* In float from rank 0's operand to the last, rounded once. */
static void add_narrow(struct fw *w, const struct fw_case *c, char *to, char *operand, uint64_t first)
{
    cg_reduce_fn reduce = cg_reduce_host(CG_TYPE_F32, c->redop);
    float *sum = malloc((c->count + 1) * sizeof *sum), *x = malloc((c->count + 1) * sizeof *x);

    cg_widen_host(c->type, sum, to, c->count);
    for (int r = 1; r < w->size; r++) {
        generate(operand, c, r, first, c->count);
        cg_widen_host(c->type, x, operand, c->count);
        reduce(sum, sum, x, c->count);
    }
    cg_narrow_host(c->type, to, sum, c->count);
    free(sum);
    free(x);
}

static void add_sum(struct fw *w, const struct fw_case *c, char *to, uint64_t first)
{
    cg_reduce_fn reduce = cg_reduce_host(c->type, c->redop);
    char *operand = malloc(block_bytes(c) + 1);

    generate(to, c, 0, first, c->count);
    if (cg_type_narrow(c->type)) add_narrow(w, c, to, operand, first);
    for (int r = 1; r < w->size && !cg_type_narrow(c->type); r++) {
        generate(operand, c, r, first, c->count);
        reduce(to, to, operand, c->count);
    }
    free(operand);
}

/* The result over it. */
static void result(struct fw *w, const struct fw_case *c, char *to)
{
    uint64_t first = fw_blocks_out(coll_of(c)) ? c->count * (uint64_t) w->rank : 0;

    if (!receives(w, c)) return;
    to += result_at(w, c);
    if (fw_reduces(coll_of(c))) {
        add_sum(w, c, to, first);
    } else if (from_root(coll_of(c))) {
        generate(to, c, (int) c->root, first, c->count);
    } else {
        for (int r = 0; r < w->size; r++) generate(to + (uint64_t) r * block_bytes(c), c, r, first, c->count);
    }
}

static void copy(struct fw *w, void *to, const void *from, size_t bytes)
{
    fw_must(w, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, w->stream), "cudaMemcpyAsync");
    fw_must(w, cudaStreamSynchronize(w->stream), "cudaStreamSynchronize");
}

void fw_fill(struct fw *w, const struct fw_case *c)
{
    uint64_t bytes = area_bytes(w, c);

    memset(w->host, FW_POISON, bytes + 256);
    image(w, c, w->host + 128);
    copy(w, area(w, c) - 128, w->host, bytes + 256);
    if (!sends(w, c) || in_place(w, c)) return;
    generate(w->host, c, w->rank, 0, sent_bytes(w, c) / (uint64_t) cg_type_size(c->type));
    copy(w, w->src + c->shift_in, w->host, sent_bytes(w, c));
}

int fw_post(struct fw *w, const struct fw_case *c)
{
    struct cg_fast_op op = {.coll = coll_of(c), .root = c->root, .count = c->count, .type = c->type,
                            .redop = c->redop, .esize = cg_type_size(c->type), .protocol = c->protocol,
                            .blocks = c->blocks, .expect_soon = c->soon, .now_us = (uint64_t) fw_us()};
    int id = -1;

    if (receives(w, c)) op.dst = area(w, c) + result_at(w, c);
    if (in_place(w, c)) op.src = area(w, c) + operand_at(w, c);
    else if (sends(w, c)) op.src = w->src + c->shift_in;
    fw_must(w, cg_fast_post(w->fast, w->window[c->window], &op, &id), "cg_fast_post");
    return id;
}

int fw_wait(struct fw *w, int id)
{
    double start = 0;
    int rc;

    for (uint32_t spins = 1; (rc = cg_fast_test(w->fast, id)) == CG_AGAIN; spins++) {
        cg_fast_progress(w->fast);
        if (w->crowded) sched_yield();
        if (spins % 65536) continue;
        if (w->shares) sched_yield();
        if (start == 0) start = fw_us();
        if (fw_us() - start > FW_PATIENCE) fw_die(w, "an operation does not end");
    }
    return rc;
}

void fw_verify(struct fw *w, const struct fw_case *c)
{
    uint64_t bytes = area_bytes(w, c), bad = 0, first = 0, around = 0;
    const char *got = w->host + 128;

    image(w, c, w->ref);
    result(w, c, w->ref);
    copy(w, w->host, area(w, c) - 128, bytes + 256);
    for (uint64_t i = 0; i < bytes; i++) {
        if (got[i] == w->ref[i]) continue;
        if (bad++ == 0) first = i;
    }
    for (int i = 0; i < 128; i++) around += (uint8_t) got[-1 - i] != FW_POISON || (uint8_t) got[bytes + i] != FW_POISON;
    fw_check(w, !bad && !around,
             "%s root %u protocol %d window %d %s %s count %llu shifts %u %u in place %d soon %d blocks %d: "
             "%llu bytes wrong from %llu (%02x, not %02x), %llu around",
             cg_coll_name(coll_of(c)), c->root, c->protocol, c->window, cg_type_name(c->type), cg_redop_name(c->redop),
             (unsigned long long) c->count, c->shift_in, c->shift_out, c->inplace, c->soon, c->blocks,
             (unsigned long long) bad, (unsigned long long) first, (uint8_t) got[first], (uint8_t) w->ref[first],
             (unsigned long long) around);
}

/* Copy engines do not exchange blocks in place, and need room for operands that they cannot push into dst. */
int fw_may_refuse(const struct fw *w, const struct fw_case *c)
{
    const int slots = coll_of(c) == CG_COLL_REDUCE || coll_of(c) == CG_COLL_REDUCE_SCATTER_BLOCK;

    if (c->protocol != CG_FAST_COPY || coll_of(c) == CG_COLL_ALLREDUCE) return 0;
    return (c->inplace && coll_of(c) == CG_COLL_ALLTOALL) || (slots && c->window && (w->size > 2 || c->inplace));
}

void fw_do(struct fw *w, const struct fw_case *c)
{
    fw_fill(w, c);
    int rc = fw_wait(w, fw_post(w, c));

    w->took = cg_fast_window_took(w->window[c->window]);
    if (rc == CG_ERR_UNSUPPORTED && fw_may_refuse(w, c)) return;
    fw_must(w, rc, "an operation");
    fw_verify(w, c);
}
