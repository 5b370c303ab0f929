/* SPDX-License-Identifier: BSD-3-Clause
 * LL and LL128 for every collective: each rank writes what each peer needs into that peer's buffers. In which direction
 * data flows, and whether buffers consist of blocks, says the command (CG_CMD_FLOW).
 *
 * Every operation is a full exchange: where no data goes to a peer, a line of LL without data does, and all lines that
 * a peer sends are awaited. So a rank that has ended operation s has heard of every peer's s, and each peer had ended
 * s - 1 before it sent that: the half of s + 1 is free everywhere. Lines lie where the data's words lie in its block,
 * so ranks may differ in kernel, blocks and threads.
 *
 * A block first sends all of its lines; they stay where they are until all are read, so a resumed block sends nothing.
 * Word w of every block is one thread's: what it writes, in place or not, it has sent before. Sums are written pass by
 * pass, when all that the block reads in the pass has arrived, since the operand may lie where the sum goes; data that
 * is only moved is written as it comes, and again by a resumed block. */
#ifndef CG_KERNELS_CUDA_FAST_MOVE_CUH
#define CG_KERNELS_CUDA_FAST_MOVE_CUH

#include "kernels/cuda/fast_ll128.cuh"
#include "kernels/cuda/fast_narrow.cuh"

/* What this rank and rank p exchange; of p itself: what it keeps. Bytes are 0 where nothing flows. */
struct cg_move_way {
    const char *from; /* in the send buffer, out bytes */
    char *to;         /* in the receive buffer, in bytes */
    uint32_t out, in;
};

static __device__ __forceinline__ struct cg_move_way cg_move_way(const struct cg_fast_job &job, uint32_t p)
{
    const uint32_t root = CG_CMD_ROOT(job.misc);
    const bool from_root = job.misc & CG_CMD_FROM_ROOT, to_root = job.misc & CG_CMD_TO_ROOT;
    struct cg_move_way way;

    way.from = job.src + (job.misc & CG_CMD_OUT_BLOCKS ? (uint64_t) p * job.bytes : 0);
    way.to = job.dst + (job.misc & CG_CMD_IN_BLOCKS ? (uint64_t) p * job.bytes : 0);
    way.out = (!from_root || job.rank == root) && (!to_root || p == root) ? job.bytes : 0;
    way.in = (!from_root || p == root) && (!to_root || job.rank == root) ? job.bytes : 0;
    return way;
}

/* The d-th next rank. */
static __device__ __forceinline__ uint32_t cg_move_peer(const struct cg_fast_job &job, uint32_t d)
{
    const uint32_t p = job.rank + d;
    return p < job.nranks ? p : p - job.nranks;
}

/* The job as far as lines of LL without data are concerned. */
static __device__ __forceinline__ struct cg_fast_job cg_move_bare(const struct cg_fast_job &job)
{
    struct cg_fast_job bare = job;

    bare.half = job.seq & 1 ? job.w->half[0] : 0;
    bare.out = job.w->out[0][0] + bare.half;
    bare.in = job.w->in_first[0] + bare.half;
    bare.words = 1;
    return bare;
}

/* Block 0: to those that get no data. */
static __device__ __forceinline__ void cg_move_tell(const struct cg_fast_job &job)
{
    const uint32_t d = threadIdx.x + 1;

    if (blockIdx.x != 0 || d >= job.nranks || cg_move_way(job, cg_move_peer(job, d)).out) return;
    cg_quad_store(cg_lines_out(cg_move_bare(job), 0, d - 1), make_uint4(0, job.seq, 0, job.seq));
}

/* Block 0: from those that send no data; false: a line has not come in time. */
static __device__ __forceinline__ bool cg_move_told(const struct cg_fast_job &job)
{
    const uint32_t d = threadIdx.x + 1, p = cg_move_peer(job, d);
    uint64_t nothing;

    if (blockIdx.x != 0 || d >= job.nranks || cg_move_way(job, p).in) return true;
    return cg_ll_receive(cg_move_bare(job), &nothing, p, 0);
}

/* A way of carrying words: N of them a thread and pass, in groups of lines. Word k of the thread is word(k) of the
 * block. */
struct cg_move_ll {
    enum { N = 1, WHICH = 0 };
    uint32_t first, stride, at; /* of the pass */

    __device__ __forceinline__ cg_move_ll(const struct cg_fast_job &job)
        : first(blockIdx.x * blockDim.x + threadIdx.x), stride(job.blocks * blockDim.x), at(0)
    {
    }
    __device__ __forceinline__ uint32_t passes(const struct cg_fast_job &job) const
    {
        return job.words <= stride ? 1 : (job.words + stride - 1) / stride;
    }
    __device__ __forceinline__ void pass(uint32_t i) { at = i * stride + first; }
    __device__ __forceinline__ uint32_t word(int) const { return at; }
    __device__ __forceinline__ void send(const struct cg_fast_job &job, const uint64_t (&v)[N], uint32_t d,
                                         uint32_t words) const
    {
        const uint4 line = make_uint4((uint32_t) v[0], job.seq, (uint32_t) (v[0] >> 32), job.seq);

        if (at < words) cg_quad_store(cg_lines_out(job, 0, d) + (uint64_t) at * 16, line);
    }
    __device__ __forceinline__ bool receive(const struct cg_fast_job &job, uint64_t (&v)[N], uint32_t source) const
    {
        return cg_ll_receive(job, v, source, at);
    }
};

template <int U> struct cg_move_ll128 {
    enum { N = 2 * U, WHICH = 1 };
    uint32_t warp, warps, mine, at;

    __device__ __forceinline__ cg_move_ll128(const struct cg_fast_job &job)
        : warp((blockIdx.x * blockDim.x + threadIdx.x) >> 5), warps((job.blocks * blockDim.x) >> 5), at(0)
    {
        const uint32_t lane = threadIdx.x & 31;
        mine = (lane >> 3) * 15 + (lane & 7) * 2;
    }
    __device__ __forceinline__ uint32_t passes(const struct cg_fast_job &job) const
    {
        const uint32_t groups = (job.words + CG_LL128_WARP_WORDS - 1) / CG_LL128_WARP_WORDS;
        return groups <= U * warps ? 1 : (groups + U * warps - 1) / (U * warps);
    }
    __device__ __forceinline__ void pass(uint32_t i) { at = i * U * warps + warp; }
    __device__ __forceinline__ uint32_t group(int u) const { return at + u * warps; }
    __device__ __forceinline__ uint32_t word(int k) const
    {
        return (threadIdx.x & 7) == 7 && (k & 1) ? CG_NO_WORD : group(k >> 1) * CG_LL128_WARP_WORDS + mine + (k & 1);
    }
    __device__ __forceinline__ void send(const struct cg_fast_job &job, const uint64_t (&v)[N], uint32_t d,
                                         uint32_t words) const
    {
        const uint32_t lane = threadIdx.x & 31, start = (lane >> 3) * 15;
        char *to = cg_lines_out(job, 1, d) + lane * 16;

#pragma unroll
        for (int u = 0; u < U; u++) {
            uint64_t y = (lane & 7) == 7 ? cg_ll128_flag(job) : v[2 * u + 1];
            if (group(u) * CG_LL128_WARP_WORDS + start < words) {
                cg_pair_store(to + (uint64_t) group(u) * 512, v[2 * u], y);
            }
        }
    }
    __device__ __forceinline__ bool receive(const struct cg_fast_job &job, uint64_t (&v)[N], uint32_t source) const
    {
        return cg_ll128_receive<U>(job, v, source, [this](int u) { return group(u); });
    }
};

template <typename C> static __device__ __forceinline__ void cg_move_send(const struct cg_fast_job &job, C carry)
{
    const uint32_t passes = carry.passes(job);
    uint64_t v[C::N];

    for (uint32_t pass = 0; pass < passes; pass++) {
        CG_ROLLED(pass);
        carry.pass(pass);
        for (uint32_t d = 1; d < job.nranks; d++) {
            CG_ROLLED(d);
            const struct cg_move_way way = cg_move_way(job, cg_move_peer(job, d));
            if (way.out == 0) continue;
            cg_load_words(v, way.from, way.out, [&](int k) { return carry.word(k); });
            carry.send(job, v, d - 1, (way.out + 7) / 8);
        }
    }
}

/* What others send and what the rank keeps; false: some has not come in time. */
template <typename C> static __device__ __forceinline__ bool cg_move_receive(const struct cg_fast_job &job, C carry)
{
    const uint32_t passes = carry.passes(job);
    struct cg_fast_job part = job;
    uint64_t v[C::N];

    for (uint32_t pass = 0; pass < passes; pass++) {
        CG_ROLLED(pass);
        carry.pass(pass);
        auto word = [&](int k) { return carry.word(k); };
        for (uint32_t d = 0; d < job.nranks; d++) { /* the own part first */
            CG_ROLLED(d);
            const uint32_t p = cg_move_peer(job, d);
            const struct cg_move_way way = cg_move_way(job, p);
            if (way.in == 0 || (d == 0 && way.from == way.to)) continue;
            part.words = (way.in + 7) / 8;
            if (d == 0) cg_load_words(v, way.from, way.in, word);
            else if (!carry.receive(part, v, p)) return false;
            cg_store_words(v, way.to, way.in, word);
        }
    }
    return true;
}

/* Sums in rank order, from pass from on. The passes that are committed. */
template <typename S, typename C>
static __device__ __forceinline__ uint32_t cg_move_reduce(const struct cg_fast_job &job, C carry, uint32_t from)
{
    const struct cg_move_way way = cg_move_way(job, job.rank);
    const uint32_t passes = carry.passes(job);
    S sum(CG_CMD_TYPE(job.misc), CG_CMD_REDOP(job.misc));
    uint64_t x[C::N];
    uint32_t pass;

    if (way.in == 0) return passes;
    for (pass = from; pass < passes; pass++) {
        bool all = true;
        CG_ROLLED(pass);
        carry.pass(pass);
        auto word = [&](int k) { return carry.word(k); };
        for (uint32_t r = 0; r < job.nranks && all; r++) {
            CG_ROLLED(r);
            if (r == job.rank) cg_load_words(x, way.from, way.in, word);
            else all = carry.receive(job, x, r);
            if (r == 0) sum.first(x);
            else sum.add(x);
        }
        if (CG_RARE(!cg_block_all(all))) break;
        sum.end(x);
        cg_store_words(x, way.to, way.in, word);
    }
    return pass;
}

/* One block's part of an operation that stands at pass from, ~0u: has ended. Where it stands now. S: how it sums. */
template <typename S, typename C>
static __device__ __forceinline__ uint32_t cg_move_run(const struct cg_fast_job &job, C carry, uint32_t from)
{
    uint32_t at = from;
    bool all;

    if (CG_RARE(from == ~0u)) return from;
    if (CG_USUAL(!(job.misc & CG_CMD_RESUME))) {
        cg_move_tell(job);
        cg_move_send(job, carry);
    }
    if (job.misc & CG_CMD_REDUCES) {
        at = cg_move_reduce<S>(job, carry, from);
        all = at >= carry.passes(job);
    } else {
        all = cg_move_receive(job, carry);
    }
    all = cg_block_all(all && cg_move_told(job));
    return all ? ~0u : at;
}

#endif
