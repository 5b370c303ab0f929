/* SPDX-License-Identifier: BSD-3-Clause
 * LL: 8 bytes of data travel as {low, flag, high, flag}; each 8-byte half of the line vouches for itself.
 *
 * A pass is one word of every thread of the operation. All passes are sent first; then each is received, voted on by
 * the block, and only written when all that the block reads in it has arrived. So a parked block has written whole
 * passes and nothing of the next, whose input is intact: resumed, it sends that one and those behind it again. */
#ifndef CG_KERNELS_CUDA_FAST_LL_CUH
#define CG_KERNELS_CUDA_FAST_LL_CUH

#include "kernels/cuda/fast_mem.cuh"
#include "kernels/cuda/fast_reduce.cuh"

/* What a thread keeps of a window between operations. Of the pointers to lines the first is here, the others are in
 * shared memory: with two ranks there are no others. Index 0 is LL, 1 is LL128. */
struct cg_fast_paths {
    char *out[2];      /* to the next rank */
    const char *in[2]; /* from the lowest other rank */
    uint64_t half[2], spin_ns;
    struct cg_fast_position *position; /* this block's */
    uint32_t nranks, rank;
};

/* What every thread of the operation knows. Pointers to lines are those of the operation's half. */
struct cg_fast_job {
    const struct cg_fast_lines *w; /* in shared memory; not to be looked at with two ranks */
    const char *src;
    char *dst;
    char *out;
    const char *in;
    uint64_t half, misc, spin_ns;
    uint32_t bytes, words, seq, blocks, nranks, rank;
};

/* Where the lines for the d-th next rank go, and where those of source arrive. which: 0 LL, 1 LL128. */
static __device__ __forceinline__ char *cg_lines_out(const struct cg_fast_job &job, int which, uint32_t d)
{
    return d == 0 ? job.out : job.w->out[which][d] + job.half;
}

static __device__ __forceinline__ const char *cg_lines_in(const struct cg_fast_job &job, int which, uint32_t source)
{
    return source == (job.rank == 0) ? job.in : job.w->in[which][source] + job.half;
}

/* May the block write? Only if all of it has all. */
static __device__ __forceinline__ bool cg_block_all(bool all)
{
    return blockDim.x == 32 ? __all_sync(~0u, all) : __syncthreads_and(all);
}

static __device__ __forceinline__ void cg_block_meet(void)
{
    if (blockDim.x == 32) __syncwarp();
    else __syncthreads();
}

static __device__ __forceinline__ void cg_ll_send(const struct cg_fast_job &job, uint64_t v, uint32_t word)
{
    const uint4 line = make_uint4((uint32_t) v, job.seq, (uint32_t) (v >> 32), job.seq);

    if (word >= job.words) return;
    cg_quad_store(job.out + (uint64_t) word * 16, line);
    for (uint32_t d = 1; CG_RARE(d + 1 < job.nranks); d++) {
        CG_ROLLED(d);
        cg_quad_store(cg_lines_out(job, 0, d) + (uint64_t) word * 16, line);
    }
}

/* The thread's word from source; false: it has not come in time. */
static __device__ __forceinline__ bool cg_ll_receive(const struct cg_fast_job &job, uint64_t *v, uint32_t source,
                                                     uint32_t word)
{
    const char *from = cg_lines_in(job, 0, source) + (uint64_t) word * 16;
    struct cg_patience patience = {0, 0};
    uint4 line;

    if (word >= job.words) return true;
    for (;;) {
        line = cg_quad_relaxed(from);
        if (line.y == job.seq && line.w == job.seq) break;
        if (CG_RARE(cg_patience_over(patience, job.spin_ns))) return false;
    }
    *v = (uint64_t) line.z << 32 | line.x;
    return true;
}

/* The thread's word of every rank, reduced in rank order; false: one has not come in time. */
static __device__ __forceinline__ bool cg_ll_gather(const struct cg_fast_job &job, const struct cg_lanes &lanes,
                                                    uint64_t own, uint64_t (&sum)[1], uint32_t word)
{
    uint64_t x[1] = {0};

    for (uint32_t r = 0; r < job.nranks; r++) {
        CG_ROLLED(r);
        if (r == job.rank) x[0] = own;
        else if (!cg_ll_receive(job, x, r, word)) return false;
        if (r == 0) sum[0] = x[0];
        else cg_lanes_reduce(lanes, sum, x);
    }
    return true;
}

/* Passes committed, and *passes that there are; from: those committed before. */
static __device__ __forceinline__ uint32_t cg_ll_run(const struct cg_fast_job &job, uint32_t from, uint32_t *passes)
{
    const uint32_t stride = job.blocks * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t own[1], sum[1] = {0}, x[1] = {0};
    uint32_t pass;

    *passes = CG_USUAL(job.words <= stride) ? 1 : (job.words + stride - 1) / stride;
    auto word = [&](int) { return pass * stride + first; };
    for (pass = from; pass < *passes; pass++) {
        CG_ROLLED(pass);
        cg_load_words(own, job.src, job.bytes, word);
        cg_ll_send(job, own[0], word(0));
    }
    /* Worked out while the lines are on their way. */
    const struct cg_lanes lanes = cg_lanes_of(CG_CMD_TYPE(job.misc), CG_CMD_REDOP(job.misc));
    for (pass = from; pass < *passes; pass++) {
        bool all = true;
        CG_ROLLED(pass);
        if (CG_RARE(*passes - from > 1)) cg_load_words(own, job.src, job.bytes, word);
        if (CG_USUAL(job.nranks == 2)) {
            all = cg_ll_receive(job, x, job.rank ^ 1, word(0));
            sum[0] = job.rank == 0 ? own[0] : x[0];
            if (job.rank == 1) x[0] = own[0];
            cg_lanes_reduce(lanes, sum, x);
        } else {
            all = cg_ll_gather(job, lanes, own[0], sum, word(0));
        }
        if (CG_RARE(!cg_block_all(all))) break;
        cg_store_words(sum, job.dst, job.bytes, word);
    }
    return pass;
}

#endif
