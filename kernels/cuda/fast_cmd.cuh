/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of the kernels that linger: from the launch, from the doorbell, relayed between blocks; and how they end.
 * The hand-shakes are described in fast_ctl.h. Block 0's first warp alone polls host memory; the other blocks poll a
 * line in GPU memory. Every block acquires its command, so that what it then reads of the user's buffers is not an old
 * line of its L1. */
#ifndef CG_KERNELS_CUDA_FAST_CMD_CUH
#define CG_KERNELS_CUDA_FAST_CMD_CUH

#include "kernels/cuda/fast_ll.cuh"

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
    const bool old = __any_sync(~0u, cg_now_ns() - start > l.age_ns); /* lanes may read the clock at different times */
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

/* ---- ends ---- */

static __device__ __forceinline__ void cg_end(struct cg_fast_ctl *ctl, uint32_t n, uint64_t misc, uint32_t how)
{
    if (blockIdx.x == 0 && !(misc & CG_CMD_LINGER)) how |= CG_END_LAST;
    cg_store32_relaxed(&ctl->end[blockIdx.x], n << 4 | how);
}

/* Where a resumed block goes on. One that has not parked in this operation has ended it. */
static __device__ __forceinline__ uint32_t cg_resume_at(const struct cg_fast_position *position, uint32_t seq)
{
    return position->seq == seq ? position->passes : ~0u;
}

/* Of a launch with CG_CMD_RETRY: has one before it served its number? All blocks find the same, as none of its own says
 * what it took. */
static __device__ __forceinline__ bool cg_taken_before(const struct cg_fast_launch &l)
{
    uint32_t other = *(volatile uint32_t *) &l.state->taken;

    return other == l.n || cg_fast_after(other, l.n);
}

/* Block 0 leaves behind what later launches may want to know: which number was the last that a doorbell may have
 * brought. A launch with CG_CMD_RETRY took none, and its other blocks may still have to ask about their own. */
static __device__ __forceinline__ void cg_leave(const struct cg_fast_launch &l, uint32_t taken, uint64_t start)
{
    const uint64_t ns = cg_now_ns() - start;

    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    if (!(l.cmd.misc & CG_CMD_RETRY)) l.state->taken = taken;
    if (ns <= l.state->longest_ns) return;
    l.state->longest_ns = ns;
    cg_store_relaxed(&l.ctl->longest_ns, ns);
}

#endif
