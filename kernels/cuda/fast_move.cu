/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor's kernel of every collective by LL and LL128. It has allreduce too, so that one that lingers serves
 * whatever comes next; the kernels of allreduce alone are smaller, which counts where a launch fetches its code. Sums
 * of half and bfloat16 are in a kernel of their own, which has all the rest as well. */
#include "kernels/cuda/fast_cmd.cuh"
#include "kernels/cuda/fast_move.cuh"

static __device__ __forceinline__ void cg_move_take(struct cg_fast_job &job, const struct cg_fast_lines &w,
                                                    const struct cg_fast_cmd &cmd)
{
    const int which = cmd.misc & CG_CMD_LL128 ? 1 : 0;

    job.w = &w;
    job.src = (const char *) cmd.src;
    job.dst = (char *) cmd.dst;
    job.half = cmd.seq & 1 ? w.half[which] : 0;
    job.out = w.out[which][0] + job.half;
    job.in = w.in_first[which] + job.half;
    job.misc = cmd.misc;
    job.spin_ns = w.spin_ns;
    job.nranks = w.nranks;
    job.rank = w.rank;
    job.bytes = cmd.count << CG_CMD_LOG(cmd.misc);
    job.words = (job.bytes + 7) / 8;
    job.seq = cmd.seq;
    job.blocks = CG_CMD_BLOCKS(cmd.misc);
}

/* U: groups of LL128's lines a thread takes at a time. */
template <template <int> class S, int U>
static __device__ __forceinline__ uint32_t cg_move_carry(const struct cg_fast_job &job, uint32_t at)
{
    const bool few = job.words <= job.blocks * blockDim.x / 32 * CG_LL128_WARP_WORDS;

    if (!(job.misc & CG_CMD_LL128)) return cg_move_run<S<1>>(job, cg_move_ll(job), at);
    if (few) return cg_move_run<S<2>>(job, cg_move_ll128<1>(job), at);
    return cg_move_run<S<2 * U>>(job, cg_move_ll128<U>(job), at);
}

template <bool NARROW>
static __device__ __forceinline__ void cg_move_serve(const struct cg_fast_launch &l, const struct cg_fast_lines &w,
                                                     const struct cg_fast_cmd &cmd, uint32_t n)
{
    struct cg_fast_position *position = w.positions + blockIdx.x;
    struct cg_fast_job job;
    uint32_t at = 0;

    cg_move_take(job, w, cmd);
    if (CG_RARE(cmd.misc & CG_CMD_RESUME)) at = cg_resume_at(position, cmd.seq);
    if (NARROW && cg_type_narrow((int) CG_CMD_TYPE(cmd.misc))) at = cg_move_carry<cg_sum_narrow, 2>(job, at);
    else at = cg_move_carry<cg_sum_lanes, NARROW ? 2 : 3>(job, at);
    cg_block_meet();
    if (threadIdx.x != 0) return;
    if (CG_RARE(at != ~0u || (cmd.misc & CG_CMD_RESUME))) {
        position->seq = cmd.seq;
        position->passes = at;
    }
    cg_fence_gpu();
    cg_end(l.ctl, n, cmd.misc, at == ~0u ? CG_END_DONE : CG_END_PARKED);
}

/* The whole block. */
static __device__ __forceinline__ void cg_move_window(struct cg_fast_shared &s, const struct cg_fast_lines *lines)
{
    cg_block_meet();
    if (threadIdx.x < 32) cg_copy_lines(&s.lines, lines);
    cg_block_meet();
}

template <bool NARROW>
__global__ void __launch_bounds__(CG_FAST_THREADS, 1) cg_fast_move(const __grid_constant__ struct cg_fast_launch l)
{
    __shared__ struct cg_fast_shared s;
    const uint64_t start = cg_now_ns();
    struct cg_fast_cmd cmd = l.cmd;
    uint32_t n = l.n, taken = n, window = CG_CMD_WINDOW(cmd.misc);

    if (CG_RARE(cmd.misc & CG_CMD_RETRY) && cg_taken_before(l)) return;
    cg_move_window(s, &l.lines);
    if (CG_RARE(cmd.misc & CG_CMD_CHECK)) cmd = cg_first_checked(l, s);
    while (!(cmd.misc & CG_CMD_EXIT)) {
        taken = n;
        if (CG_RARE(cmd.misc & (CG_CMD_SKIP | CG_CMD_AHEAD))) {
            const bool tells = blockIdx.x == 0 && threadIdx.x == 0 && (cmd.misc & CG_CMD_SKIP);
            if (tells) cg_end(l.ctl, n, cmd.misc, CG_CMD_ANSWER(cmd.misc));
        } else if (blockIdx.x < CG_CMD_BLOCKS(cmd.misc)) {
            cg_move_serve<NARROW>(l, s.lines, cmd, n);
        }
        if (!(cmd.misc & CG_CMD_LINGER)) break;
        cmd = cg_next(l, s, &n, start, s.lines.spin_ns);
        if (CG_RARE(CG_CMD_WINDOW(cmd.misc) != window && !(cmd.misc & (CG_CMD_EXIT | CG_CMD_SKIP)))) {
            window = CG_CMD_WINDOW(cmd.misc);
            cg_move_window(s, l.state->window[window]);
        }
    }
    cg_leave(l, taken, start);
}

const void *cg_fx_move(int narrow)
{
    return narrow ? (const void *) cg_fast_move<true> : (const void *) cg_fast_move<false>;
}
