/* SPDX-License-Identifier: BSD-3-Clause
 * LL: 8 bytes of data travel as {low, flag, high, flag}; each 8-byte half of the line vouches for itself.
 *
 * A pass is U words of every thread of the operation. All passes are sent first; then each is received, voted on by the
 * block, and only written when all that the block reads in it has arrived. So a parked block has written whole passes
 * and nothing of the next, whose input is intact: resumed, it sends that one and those behind it again. */
#ifndef CG_KERNELS_CUDA_FAST_LL_CUH
#define CG_KERNELS_CUDA_FAST_LL_CUH

#include "kernels/cuda/fast_mem.cuh"
#include "kernels/cuda/fast_reduce.cuh"

/* What every thread of the operation knows. */
struct cg_fast_job {
    const struct cg_fast_lines *w; /* in shared memory */
    const char *src;
    char *dst;
    uint64_t half; /* offset of this operation's */
    uint64_t misc;
    uint32_t bytes, words, seq, blocks, nranks, rank;
};

template <int U, typename W>
static __device__ __forceinline__ void cg_ll_send(const struct cg_fast_job &job, const uint64_t (&v)[U], W word)
{
#pragma unroll 1
    for (uint32_t d = 0; d + 1 < job.nranks; d++) {
        char *to = job.w->out[0][d] + job.half;
#pragma unroll
        for (int u = 0; u < U; u++) {
            uint4 line = make_uint4((uint32_t) v[u], job.seq, (uint32_t) (v[u] >> 32), job.seq);
            if (word(u) < job.words) cg_quad_store(to + (uint64_t) word(u) * 16, line);
        }
    }
}

/* The thread's words from source; false: not all have come in time. */
template <int U, typename W>
static __device__ __forceinline__ bool cg_ll_receive(const struct cg_fast_job &job, uint64_t (&v)[U], uint32_t source,
                                                     W word)
{
    const char *from = job.w->in[0][source] + job.half;
    struct cg_patience patience = {0, 0};
    bool all;

    do {
        uint4 line[U];
        all = true;
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (word(u) < job.words) line[u] = cg_quad_relaxed(from + (uint64_t) word(u) * 16);
            else line[u] = make_uint4(0, job.seq, 0, job.seq);
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
            all &= line[u].y == job.seq && line[u].w == job.seq;
            v[u] = (uint64_t) line[u].z << 32 | line[u].x;
        }
        if (!all && cg_patience_over(patience, job.w->spin_ns)) return false;
    } while (!all);
    return true;
}

/* Passes committed, and *passes that there are; from: those committed before. */
template <int U>
static __device__ __forceinline__ uint32_t cg_ll_run(const struct cg_fast_job &job, uint32_t from, uint32_t *passes)
{
    const uint32_t stride = job.blocks * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t own[U], sum[U], x[U];
    uint32_t pass;

    *passes = job.words <= U * stride ? 1 : (job.words + U * stride - 1) / (U * stride);
    auto word = [&](int u) { return (pass * U + u) * stride + first; };
    if (from > *passes) from = *passes;
#pragma unroll 1
    for (pass = from; pass < *passes; pass++) {
        cg_load_words(own, job.src, job.bytes, word);
        cg_ll_send(job, own, word);
    }
    /* Worked out while the lines are on their way. */
    const struct cg_lanes lanes = cg_lanes_of(CG_CMD_TYPE(job.misc), CG_CMD_REDOP(job.misc));
#pragma unroll 1
    for (pass = from; pass < *passes; pass++) {
        bool all = true;
        if (*passes - from > 1) cg_load_words(own, job.src, job.bytes, word);
#pragma unroll 1
        for (uint32_t r = 0; r < job.nranks && all; r++) {
            if (r != job.rank) all = cg_ll_receive(job, x, r, word);
#pragma unroll
            for (int u = 0; u < U; u++) {
                if (r == job.rank) x[u] = own[u];
                if (r == 0) sum[u] = x[u];
            }
            if (r != 0) cg_lanes_reduce(lanes, sum, x);
        }
        if (!__syncthreads_and(all)) break;
        cg_store_words(sum, job.dst, job.bytes, word);
    }
    return pass;
}

#endif
