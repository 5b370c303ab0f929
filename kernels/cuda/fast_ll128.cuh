/* SPDX-License-Identifier: BSD-3-Clause
 * LL128: 120 bytes of data and an 8-byte flag in lines of 128, each stored and loaded by 8 lanes of a warp in one
 * access. Rests on NVLink and the GPUs keeping such an access whole, as NCCL does. Passes and parking as in LL. */
#ifndef CG_KERNELS_CUDA_FAST_LL128_CUH
#define CG_KERNELS_CUDA_FAST_LL128_CUH

#include "kernels/cuda/fast_ll.cuh"

#define CG_LL128_WARP_WORDS 60u /* of data in the 4 lines of a warp */

static __device__ __forceinline__ uint64_t cg_ll128_flag(const struct cg_fast_job &job)
{
    return (uint64_t) job.seq << 32 | job.seq;
}

/* v holds two words for each of U groups of four lines; group(u) is its index. */
template <int U, typename G>
static __device__ __forceinline__ void cg_ll128_send(const struct cg_fast_job &job, const uint64_t (&v)[2 * U], G group)
{
    const uint32_t lane = threadIdx.x & 31, first = (lane >> 3) * 15;

    for (uint32_t d = 0; d + 1 < job.nranks; d++) {
        CG_ROLLED(d);
        char *to = cg_lines_out(job, 1, d) + lane * 16;
#pragma unroll
        for (int u = 0; u < U; u++) {
            uint64_t y = (lane & 7) == 7 ? cg_ll128_flag(job) : v[2 * u + 1];
            if (group(u) * CG_LL128_WARP_WORDS + first < job.words) {
                cg_pair_store(to + (uint64_t) group(u) * 512, v[2 * u], y);
            }
        }
    }
}

/* false for the whole warp: not all has come in time. */
template <int U, typename G>
static __device__ __forceinline__ bool cg_ll128_receive(const struct cg_fast_job &job, uint64_t (&v)[2 * U],
                                                        uint32_t source, G group)
{
    const uint32_t lane = threadIdx.x & 31, first = (lane >> 3) * 15;
    const char *from = cg_lines_in(job, 1, source) + lane * 16;
    const uint64_t flag = cg_ll128_flag(job);
    struct cg_patience patience = {0, 0};
    bool all;

    do {
        all = true;
#pragma unroll
        for (int u = 0; u < U; u++) {
            ulonglong2 x = make_ulonglong2(0, flag);
            if (group(u) * CG_LL128_WARP_WORDS + first < job.words) {
                x = cg_pair_relaxed(from + (uint64_t) group(u) * 512);
            }
            v[2 * u] = x.x;
            v[2 * u + 1] = x.y;
        }
#pragma unroll
        for (int u = 0; u < U; u++) all &= (lane & 7) != 7 || v[2 * u + 1] == flag;
        all = __all_sync(~0u, all);
        if (!all && __any_sync(~0u, cg_patience_over(patience, job.spin_ns))) return false;
    } while (!all);
    return true;
}

template <int U>
static __device__ __forceinline__ uint32_t cg_ll128_run(const struct cg_fast_job &job, uint32_t from, uint32_t *passes)
{
    const uint32_t warps = (job.blocks * blockDim.x) >> 5, warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const uint32_t lane = threadIdx.x & 31, mine = (lane >> 3) * 15 + (lane & 7) * 2;
    const uint32_t groups = (job.words + CG_LL128_WARP_WORDS - 1) / CG_LL128_WARP_WORDS;
    uint64_t own[2 * U], sum[2 * U], x[2 * U];
    uint32_t pass;

    *passes = groups <= U * warps ? 1 : (groups + U * warps - 1) / (U * warps);
    auto group = [&](int u) { return (pass * U + u) * warps + warp; };
    auto word = [&](int k) {
        return (lane & 7) == 7 && (k & 1) ? CG_NO_WORD : group(k >> 1) * CG_LL128_WARP_WORDS + mine + (k & 1);
    };
    for (pass = from; pass < *passes; pass++) {
        CG_ROLLED(pass);
        cg_load_words(own, job.src, job.bytes, word);
        cg_ll128_send<U>(job, own, group);
    }
    const struct cg_lanes lanes = cg_lanes_of(CG_CMD_TYPE(job.misc), CG_CMD_REDOP(job.misc));
    for (pass = from; pass < *passes; pass++) {
        bool all = true;
        CG_ROLLED(pass);
        if (*passes - from > 1) cg_load_words(own, job.src, job.bytes, word);
        for (uint32_t r = 0; r < job.nranks && all; r++) {
            CG_ROLLED(r);
            if (r != job.rank) all = cg_ll128_receive<U>(job, x, r, group);
#pragma unroll
            for (int k = 0; k < 2 * U; k++) {
                if (r == job.rank) x[k] = own[k];
                if (r == 0) sum[k] = x[k];
            }
            if (r != 0) cg_lanes_reduce(lanes, sum, x);
        }
        if (!cg_block_all(all)) break;
        cg_store_words(sum, job.dst, job.bytes, word);
    }
    return pass;
}

#endif
