/* SPDX-License-Identifier: BSD-3-Clause
 * The fast executor's two kernels: LL and LL128 with lingering, TWO_SHOT. The hand-shakes are described in fast_ctl.h.
 * In a lingering grid block 0's first warp alone polls host memory; the other blocks poll a line in GPU memory. Every
 * block acquires its command, so that what it then reads of the user's buffers is not an old line of its L1. */
#include "kernels/cuda/fast_bulk.cuh"
#include "kernels/cuda/fast_ll128.cuh"

struct cg_fast_shared {
    __align__(16) struct cg_fast_cmd cmd;
    uint32_t n;
    struct cg_fast_lines lines;
};

/* ---- commands ---- */

/* Words 0 to 3 of a line, held by lanes 0 to 3. */
static __device__ __forceinline__ struct cg_fast_cmd cg_cmd_unpack(uint4 v)
{
    uint64_t word = (uint64_t) v.z << 32 | v.x, third;
    struct cg_fast_cmd cmd;

    cmd.src = __shfl_sync(~0u, word, 0);
    cmd.dst = __shfl_sync(~0u, word, 1);
    third = __shfl_sync(~0u, word, 2);
    cmd.count = (uint32_t) third;
    cmd.seq = (uint32_t) (third >> 32);
    cmd.misc = __shfl_sync(~0u, word, 3);
    return cmd;
}

/* As it came from the door, by the lanes that hold it. */
static __device__ __forceinline__ void cg_cmd_relay_raw(struct cg_fast_state *state, const uint4 &v)
{
    if (threadIdx.x < 4) cg_gpu_quad_store(&state->relay.w[4 * threadIdx.x], v);
}

static __device__ __forceinline__ void cg_cmd_relay(struct cg_fast_state *state, const struct cg_fast_cmd &cmd,
                                                    uint32_t flag)
{
    const uint32_t lane = threadIdx.x;
    const uint64_t third = (uint64_t) cmd.seq << 32 | cmd.count;
    const uint64_t word = lane == 0 ? cmd.src : lane == 1 ? cmd.dst : lane == 2 ? third : cmd.misc;
    const uint4 v = make_uint4((uint32_t) word, flag, (uint32_t) (word >> 32), flag);

    if (lane < 4) cg_gpu_quad_store(&state->relay.w[4 * lane], v);
}

/* Block 0's first warp: number n from the doorbell line into *v, or false after the linger time. */
static __device__ __forceinline__ bool cg_door_poll(const struct cg_fast_launch &l, uint32_t n, uint4 *v)
{
    const void *piece = &l.ctl->door.w[4 * (threadIdx.x & 3)];
    const long long since = clock64();

    for (;;) {
        *v = cg_quad_acquire(piece);
        if (__all_sync(~0u, v->y == n && v->w == n)) return true;
        if (__any_sync(~0u, clock64() - since > (long long) l.linger_clocks)) return false;
    }
}

static __device__ __forceinline__ void cg_door_leaving(const struct cg_fast_launch &l, uint32_t leaving)
{
    if (threadIdx.x == 0) cg_store32_relaxed(&l.ctl->leaving[l.id & 1], l.id << 1 | leaving);
}

/* As cg_door_poll, with the hand-shake that lets the launch leave. */
static __device__ __forceinline__ bool cg_door_wait(const struct cg_fast_launch &l, uint32_t n, uint4 *v)
{
    if (CG_USUAL(cg_door_poll(l, n, v))) return true;
    cg_door_leaving(l, 1);
    cg_fence_sc();
    __syncwarp();
    *v = cg_quad_acquire(&l.ctl->door.w[4 * (threadIdx.x & 3)]);
    if (!__all_sync(~0u, v->y == n && v->w == n)) return false;
    cg_door_leaving(l, 0);
    return true;
}

/* Have all peers announced what they should? 0, or what block 0 answers. */
static __device__ __forceinline__ int cg_check_peers(const struct cg_fast_check *c, uint64_t spin_ns)
{
    const uint32_t lane = threadIdx.x;
    struct cg_patience patience = {0, 0};
    bool mine = lane < cg_load_relaxed(&c->n);
    const uint64_t *posted = mine ? c->posted[lane] : NULL;
    uint64_t want = mine ? c->want[lane] : 0;

    while (!__all_sync(~0u, !mine || cg_load_acquire(posted) >= want)) {
        if (__any_sync(~0u, cg_patience_over(patience, spin_ns))) return CG_END_NOT_STARTED;
    }
    mine = mine && (cg_load_relaxed(c->kind[lane]) & 0xff) != c->kind_want;
    return __any_sync(~0u, mine) ? CG_END_REFUSED : 0;
}

/* Copied by one warp. */
static __device__ __forceinline__ void cg_copy_lines(struct cg_fast_lines *to, const struct cg_fast_lines *from)
{
    for (uint32_t i = threadIdx.x; i < sizeof *to / 8; i += 32) ((uint64_t *) to)[i] = ((const uint64_t *) from)[i];
}

/* What block 0's first warp does with the command that it got, before anybody runs it. */
static __device__ __forceinline__ void cg_cmd_judge(const struct cg_fast_launch &l, uint64_t spin_ns,
                                                    struct cg_fast_cmd *cmd)
{
    int answer;

    if (CG_USUAL(!(cmd->misc & CG_CMD_CHECK))) return;
    answer = cg_check_peers(&l.ctl->check[CG_CMD_SLOT(cmd->misc)], spin_ns);
    if (answer) cmd->misc |= CG_CMD_SKIP | (uint64_t) answer << 48;
}

/* The first warp of block 0: the command after number n, relayed to the other blocks. */
static __device__ __forceinline__ struct cg_fast_cmd cg_next_zero(const struct cg_fast_launch &l, uint32_t *n,
                                                                  uint64_t start, uint64_t spin_ns)
{
    const bool old = cg_now_ns() - start > l.age_ns;
    struct cg_fast_cmd cmd;
    bool stays, plain;
    uint4 v;

    *n = cg_fast_next(*n);
    stays = cg_door_wait(l, *n, &v);
    plain = stays && !old && !__any_sync(~0u, threadIdx.x == 3 && (v.x & (CG_CMD_CHECK | CG_CMD_EXIT)));
    if (CG_USUAL(plain && gridDim.x > 1)) cg_cmd_relay_raw(l.state, v);
    cmd = cg_cmd_unpack(v);
    if (CG_USUAL(plain)) return cmd;
    if (!stays) cmd.misc = CG_CMD_EXIT;
    if (old) cmd.misc &= ~CG_CMD_LINGER;
    cg_cmd_judge(l, spin_ns, &cmd);
    if (CG_USUAL(gridDim.x == 1)) return cmd;
    if (cmd.misc & CG_CMD_EXIT) cmd.src = l.id;
    cg_cmd_relay(l.state, cmd, cmd.misc & CG_CMD_EXIT ? *n | CG_FAST_EXIT : *n);
    return cmd;
}

/* The first warp of another block: the relayed command after number n. It may miss some in which it takes no part. */
static __device__ __forceinline__ struct cg_fast_cmd cg_next_other(const struct cg_fast_launch &l, uint32_t *n)
{
    for (;;) {
        uint4 v = cg_gpu_quad_acquire(&l.state->relay.w[4 * (threadIdx.x & 3)]);
        uint32_t number = v.y & ~CG_FAST_EXIT;
        bool whole = v.y == v.w && v.y == __shfl_sync(~0u, v.y, 0) && cg_fast_after(number, *n);
        if (!__all_sync(~0u, whole)) continue;
        struct cg_fast_cmd cmd = cg_cmd_unpack(v);
        if ((v.y & CG_FAST_EXIT) && (uint32_t) cmd.src != l.id) continue;
        *n = number;
        return cmd;
    }
}

/* The block's next command, and its number in *n. */
static __device__ __forceinline__ struct cg_fast_cmd cg_next(const struct cg_fast_launch &l, struct cg_fast_shared &s,
                                                             uint32_t *n, uint64_t start, uint64_t spin_ns)
{
    struct cg_fast_cmd cmd;

    cg_block_meet(); /* all have read the last one */
    if (threadIdx.x < 32) cmd = blockIdx.x == 0 ? cg_next_zero(l, n, start, spin_ns) : cg_next_other(l, n);
    if (blockDim.x == 32) return cmd;
    if (threadIdx.x == 0) {
        s.cmd = cmd;
        s.n = *n;
    }
    __syncthreads();
    *n = s.n;
    return s.cmd;
}

/* The first command came with the launch. Only if peers are to be looked at, the other blocks wait for block 0. */
static __device__ __forceinline__ struct cg_fast_cmd cg_first_checked(const struct cg_fast_launch &l,
                                                                      struct cg_fast_shared &s)
{
    if (threadIdx.x < 32) {
        uint32_t last = l.n == 1 ? CG_FAST_NUMBERS : l.n - 1;
        struct cg_fast_cmd cmd = l.cmd;
        if (blockIdx.x != 0) {
            cmd = cg_next_other(l, &last);
        } else {
            cg_cmd_judge(l, l.lines.spin_ns, &cmd);
            if (gridDim.x > 1) cg_cmd_relay(l.state, cmd, l.n);
        }
        if (threadIdx.x == 0) s.cmd = cmd;
    }
    __syncthreads();
    return s.cmd;
}

/* ---- LL and LL128 ---- */

static __device__ __forceinline__ void cg_end(struct cg_fast_ctl *ctl, uint32_t n, uint64_t misc, uint32_t how)
{
    if (blockIdx.x == 0 && !(misc & CG_CMD_LINGER)) how |= CG_END_LAST;
    cg_store32_relaxed(&ctl->end[blockIdx.x], n << 4 | how);
}

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

/* Where a resumed block goes on. One that has not parked in this operation has ended it. */
static __device__ __forceinline__ uint32_t cg_resume_at(const struct cg_fast_position *position, uint32_t seq)
{
    return position->seq == seq ? position->passes : ~0u;
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

/* Block 0 leaves behind what later launches may want to know. */
static __device__ __forceinline__ void cg_leave(const struct cg_fast_launch &l, uint32_t taken, uint64_t start)
{
    const uint64_t ns = cg_now_ns() - start;

    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    l.state->taken = taken;
    if (ns <= l.state->longest_ns) return;
    l.state->longest_ns = ns;
    cg_store_relaxed(&l.ctl->longest_ns, ns);
}

template <bool BOTH>
__global__ void __launch_bounds__(CG_FAST_THREADS, 1) cg_fast_exchange(const __grid_constant__ struct cg_fast_launch l)
{
    __shared__ struct cg_fast_shared s;
    const uint64_t start = cg_now_ns();
    struct cg_fast_cmd cmd = l.cmd;
    struct cg_fast_paths paths;
    uint32_t n = l.n, taken = n, window = CG_CMD_WINDOW(cmd.misc);

    if (CG_RARE(cmd.misc & CG_CMD_RETRY)) { /* of a launch that takes no doorbells: all blocks find the same */
        uint32_t other = *(volatile uint32_t *) &l.state->taken;
        if (other == n || cg_fast_after(other, n)) return;
    }
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

static __device__ __forceinline__ void cg_ts_run(struct cg_ts_shared &s, char *stages)
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
        cg_ts_reduce(s, t - CG_TS_SENDERS);
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

__global__ void __launch_bounds__(CG_TS_THREADS) cg_fast_two_shot(const __grid_constant__ struct cg_fast_big a)
{
    extern __shared__ __align__(128) char stages[];
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
    cg_ts_run(s, stages);
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

int cg_fx_load(void *function[CG_FX_FUNCTIONS], uint32_t *bulk)
{
    cudaFuncAttributes attributes;
    cudaError_t rc = cg_fx_find(&function[CG_FX_LL], (const void *) cg_fast_exchange<false>);

    *bulk = 0;
    if (rc == cudaSuccess) rc = cg_fx_find(&function[CG_FX_BOTH], (const void *) cg_fast_exchange<true>);
    if (rc == cudaSuccess) rc = cg_fx_find(&function[CG_FX_BIG], (const void *) cg_fast_two_shot);
    if (rc == cudaSuccess) rc = cudaFuncGetAttributes(&attributes, cg_fast_two_shot);
    if (rc != cudaSuccess || attributes.ptxVersion < 90) return (int) rc;
    rc = cudaFuncSetAttribute(cg_fast_two_shot, cudaFuncAttributeMaxDynamicSharedMemorySize, CG_TS_BULK_BYTES);
    if (rc == cudaSuccess) *bulk = CG_TS_BULK_BYTES;
    return (int) rc;
}
