/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor's kernels of allreduce: LL and LL128 with lingering, TWO_SHOT. */
#include "kernels/cuda/fast_bulk.cuh"
#include "kernels/cuda/fast_cmd.cuh"
#include "kernels/cuda/fast_ll128.cuh"

/* ---- LL and LL128 ---- */

static __device__ __forceinline__ void cg_take_paths(struct cg_fast_paths &paths, const struct cg_fast_lines &w)
{
#pragma unroll
    for (int which = 0; which < 2; which++) {
        paths.out[which] = w.out[which][0];
        paths.in[which] = w.in_first[which];
        paths.half[which] = w.half[which];
    }
    paths.spin_ns = w.spin_ns;
    paths.position = w.positions + blockIdx.x;
    paths.nranks = w.nranks;
    paths.rank = w.rank;
}

/* BOTH: LL128 too. */
template <bool BOTH>
static __device__ __forceinline__ void cg_fast_run(const struct cg_fast_launch &l, const struct cg_fast_paths &paths,
                                                   const struct cg_fast_lines &w, const struct cg_fast_cmd &cmd,
                                                   uint32_t n)
{
    const bool wide = BOTH && (cmd.misc & CG_CMD_LL128);
    uint32_t from = 0, stride, passes, done;
    struct cg_fast_job job;

    job.src = (const char *) cmd.src;
    job.dst = (char *) cmd.dst;
    job.half = cmd.seq & 1 ? (wide ? paths.half[1] : paths.half[0]) : 0;
    job.out = (wide ? paths.out[1] : paths.out[0]) + job.half;
    job.in = (wide ? paths.in[1] : paths.in[0]) + job.half;
    job.w = &w;
    job.misc = cmd.misc;
    job.spin_ns = paths.spin_ns;
    job.nranks = paths.nranks;
    job.rank = paths.rank;
    job.bytes = cmd.count << CG_CMD_LOG(cmd.misc);
    job.words = (job.bytes + 7) / 8;
    job.seq = cmd.seq;
    job.blocks = CG_CMD_BLOCKS(cmd.misc);
    if (CG_RARE(cmd.misc & CG_CMD_RESUME)) from = cg_resume_at(paths.position, cmd.seq);
    stride = job.blocks * blockDim.x;
    if (!wide) done = cg_ll_run(job, from, &passes);
    else if (job.words <= stride / 32 * CG_LL128_WARP_WORDS) done = cg_ll128_run<1>(job, from, &passes);
    else done = cg_ll128_run<3>(job, from, &passes);
    cg_block_meet();
    if (threadIdx.x != 0) return;
    if (CG_RARE(done < passes || (cmd.misc & CG_CMD_RESUME))) {
        paths.position->seq = cmd.seq;
        paths.position->passes = done;
        cg_fence_sys(); /* nobody answers repeated lines: they must not be under way when their place is used again */
    }
    cg_fence_gpu();
    cg_end(l.ctl, n, cmd.misc, done < passes ? CG_END_PARKED : CG_END_DONE);
}

/* A command of another window than the one before. The whole block. */
static __device__ __forceinline__ void cg_change_window(const struct cg_fast_lines *lines, struct cg_fast_shared &s,
                                                        struct cg_fast_paths &paths)
{
    cg_block_meet();
    if (threadIdx.x < 32) cg_copy_lines(&s.lines, lines);
    cg_block_meet();
    cg_take_paths(paths, s.lines);
}

template <bool BOTH>
__global__ void __launch_bounds__(CG_FAST_THREADS, 1) cg_fast_exchange(const __grid_constant__ struct cg_fast_launch l)
{
    __shared__ struct cg_fast_shared s;
    const uint64_t start = cg_now_ns();
    struct cg_fast_cmd cmd = l.cmd;
    struct cg_fast_paths paths;
    uint32_t n = l.n, taken = n, window = CG_CMD_WINDOW(cmd.misc);

    if (CG_RARE(cmd.misc & CG_CMD_RETRY) && cg_taken_before(l)) return;
    cg_take_paths(paths, l.lines);
    if (CG_RARE(paths.nranks > 2) || (BOTH && (cmd.misc & CG_CMD_LINGER))) cg_change_window(&l.lines, s, paths);
    if (CG_RARE(cmd.misc & CG_CMD_CHECK)) cmd = cg_first_checked(l, s);
    while (!(cmd.misc & CG_CMD_EXIT)) {
        taken = n;
        if (CG_RARE(cmd.misc & (CG_CMD_SKIP | CG_CMD_AHEAD))) {
            const bool tells = blockIdx.x == 0 && threadIdx.x == 0 && (cmd.misc & CG_CMD_SKIP);
            if (tells) cg_end(l.ctl, n, cmd.misc, CG_CMD_ANSWER(cmd.misc));
        } else if (blockIdx.x < CG_CMD_BLOCKS(cmd.misc)) {
            cg_fast_run<BOTH>(l, paths, s.lines, cmd, n);
        }
        if (!(cmd.misc & CG_CMD_LINGER)) break;
        cmd = cg_next(l, s, &n, start, paths.spin_ns);
        if (CG_RARE(CG_CMD_WINDOW(cmd.misc) != window && !(cmd.misc & (CG_CMD_EXIT | CG_CMD_SKIP)))) {
            window = CG_CMD_WINDOW(cmd.misc);
            cg_change_window(l.state->window[window], s, paths);
        } else if (BOTH) {
            cg_take_paths(paths, s.lines); /* registers are scarce there */
        }
    }
    cg_leave(l, taken, start);
}

/* ---- TWO_SHOT ---- */

template <typename F> static __device__ __forceinline__ void cg_ts_run(struct cg_ts_shared &s, char *stages)
{
    uint32_t t = threadIdx.x;
    bool bulk_in = false, bulk_out = false;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    bulk_out = s.a.bulk && cg_ts_whole_in(s.a);
    bulk_in = s.a.bulk && cg_ts_whole_out(s.a);
    if (bulk_out && t == 0) cg_ts_bulk_send(s, stages);
    if (bulk_in && t == CG_TS_SENDERS + CG_TS_REDUCERS) cg_ts_bulk_receive(s, stages + CG_TS_STAGES_OUT * s.a.chunk);
#endif
    if (t < CG_TS_SENDERS) {
        if (!bulk_out) cg_ts_send(s, t);
    } else if (t < CG_TS_SENDERS + CG_TS_REDUCERS) {
        cg_ts_reduce<F>(s, t - CG_TS_SENDERS);
    } else if (!bulk_in) {
        cg_ts_receive(s, t - CG_TS_SENDERS - CG_TS_REDUCERS);
    }
}

/* Block 0 looks first whether the peers have announced the operation, and tells the other blocks. */
static __device__ __forceinline__ int cg_ts_check(const struct cg_fast_big &a)
{
    int answer = 0;

    if (!(a.misc & CG_CMD_CHECK)) return 0;
    if (threadIdx.x < 32 && blockIdx.x == 0) {
        struct cg_fast_cmd cmd = {0, 0, 0, 0, 0};
        answer = cg_check_peers(&a.ctl->check[CG_CMD_SLOT(a.misc)], a.view.spin_ns);
        cmd.src = (uint64_t) answer;
        cg_cmd_relay(a.state, cmd, a.n);
    } else if (threadIdx.x < 32) {
        uint4 v;
        do v = cg_gpu_quad_acquire(&a.state->relay.w[0]);
        while (v.y != a.n || v.w != a.n);
        answer = (int) v.x;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && answer) cg_end(a.ctl, a.n, 0, answer);
    return __syncthreads_or(answer);
}

/* F: how chunks are summed. */
template <typename F>
__global__ void __launch_bounds__(CG_TS_THREADS) cg_fast_two_shot(const __grid_constant__ struct cg_fast_big a)
{
    CG_DYNAMIC_SHARED(stages);
    __shared__ struct cg_ts_shared s;

    if ((a.misc & CG_CMD_EXIT) || cg_ts_check(a)) return;
    if (threadIdx.x < sizeof a / 8) ((uint64_t *) &s.a)[threadIdx.x] = ((const uint64_t *) &a)[threadIdx.x];
    if (threadIdx.x == 0) {
        s.parked = 0;
        s.progress = 0;
        s.lanes = cg_lanes_of(CG_CMD_TYPE(a.misc), CG_CMD_REDOP(a.misc));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        for (int i = 0; i < 16; i++) cg_bulk_init(&s.loaded[i >> 3][i & 7]);
#endif
    }
    __syncthreads();
    cg_ts_run<F>(s, stages);
    __syncthreads();
    if (threadIdx.x != 0) return;
    cg_fence_sys(); /* credit that peers do not wait for must not be under way when the memory is used again */
    cg_end(a.ctl, a.n, 0, s.parked ? CG_END_PARKED : CG_END_DONE);
}

/* ---- what the host launches ---- */

static cudaError_t cg_fx_find(void **function, const void *kernel)
{
    cudaFuncAttributes attributes;
    cudaError_t rc = cudaFuncGetAttributes(&attributes, kernel); /* loads it */

    return rc == cudaSuccess ? cudaGetFuncBySymbol((cudaFunction_t *) function, kernel) : rc;
}

/* *bulk: what its bulk copies may use. */
static cudaError_t cg_fx_find_big(void **function, const void *kernel, uint32_t *bulk)
{
    cudaFuncAttributes attributes;
    cudaError_t rc = cg_fx_find(function, kernel);

    *bulk = 0;
    if (rc == cudaSuccess) rc = cudaFuncGetAttributes(&attributes, kernel);
    if (rc != cudaSuccess || attributes.ptxVersion < 90) return rc;
    rc = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, CG_TS_BULK_BYTES);
    if (rc == cudaSuccess) *bulk = CG_TS_BULK_BYTES;
    return rc;
}

static cudaError_t cg_fx_load_others(void *function[CG_FX_FUNCTIONS], uint32_t *bulk)
{
    cudaError_t rc = cg_fx_find(&function[CG_FX_NARROW], cg_fx_move(1));

    if (rc != cudaSuccess) return rc;
    return cg_fx_find_big(&function[CG_FX_BIG_NARROW], (const void *) cg_fast_two_shot<cg_ts_narrow>, bulk);
}

int cg_fx_load(void *function[CG_FX_FUNCTIONS], uint32_t *bulk, int narrow)
{
    const void *big = (const void *) cg_fast_two_shot<cg_ts_lanes>;
    cudaError_t rc;

    if (narrow) return (int) cg_fx_load_others(function, bulk);
    rc = cg_fx_find(&function[CG_FX_LL], (const void *) cg_fast_exchange<false>);
    if (rc == cudaSuccess) rc = cg_fx_find(&function[CG_FX_BOTH], (const void *) cg_fast_exchange<true>);
    if (rc == cudaSuccess) rc = cg_fx_find(&function[CG_FX_MOVE], cg_fx_move(0));
    if (rc == cudaSuccess) rc = cg_fx_find_big(&function[CG_FX_BIG], big, bulk);
    return (int) rc;
}
