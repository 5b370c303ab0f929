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
    const struct cg_fast_view *w; /* in shared memory */
    const char *src;
    char *dst;
    uint32_t bytes, words, seq, blocks, type, redop;
};

/* Where source's part lies at receiver. */
static __device__ __forceinline__ char *cg_ll_slot(const struct cg_fast_job &job, uint32_t source, uint32_t receiver)
{
    const struct cg_fast_view *w = job.w;
    return w->base[receiver] + w->l.ll +
           (uint64_t) ((job.seq & 1) * (w->nranks - 1) + cg_fast_part(source, receiver)) * w->l.ll_slot;
}

template <int U, typename W>
static __device__ __forceinline__ void cg_ll_send(const struct cg_fast_job &job, const uint64_t (&v)[U], W word)
{
    const struct cg_fast_view *w = job.w;

    for (uint32_t d = 1, p = w->rank; d < w->nranks; d++) {
        p = p + 1 == w->nranks ? 0 : p + 1;
        char *to = cg_ll_slot(job, w->rank, p);
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
    const char *from = cg_ll_slot(job, source, job.w->rank);
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
    const struct cg_fast_view *w = job.w;
    const uint32_t stride = job.blocks * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t own[U], sum[U], x[U];
    uint32_t pass;

    *passes = job.words <= U * stride ? 1 : (job.words + U * stride - 1) / (U * stride);
    auto word = [&](int u) { return (pass * U + u) * stride + first; };
    for (pass = from; pass < *passes; pass++) {
        cg_load_words(own, job.src, job.bytes, word);
        cg_ll_send(job, own, word);
    }
    const struct cg_lanes lanes = cg_lanes_of(job.type, job.redop); /* while the lines are on their way */
    for (pass = from; pass < *passes; pass++) {
        bool all = true;
        if (*passes - from > 1) cg_load_words(own, job.src, job.bytes, word);
        for (uint32_t r = 0; r < w->nranks && all; r++) {
            if (r != w->rank) all = cg_ll_receive(job, x, r, word);
#pragma unroll
            for (int u = 0; u < U; u++) {
                if (r == w->rank) x[u] = own[u];
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
