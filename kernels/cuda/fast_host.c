/* SPDX-License-Identifier: BSD-3-Clause
 * Operations of the fast executor: one is with the GPU at a time, through the doorbell of a lingering launch or a
 * launch of its own; the others wait their turn. COPY and LEAD run beside them. The hand-shakes are described in
 * fast_ctl.h. */
#include <string.h>
#include <time.h>

#include "kernels/cuda/fast_copy.h"
#include "kernels/cuda/fast_lead.h"

/* An unfinished operation is launched again at once while it is young, then after rests of an eighth of its age. */
#define YOUNG_NS 200000
#define REST_MIN_NS 20000
#define REST_MAX_NS 1000000
#define ASK_CUDA_POLLS 65536

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000ull + (uint64_t) t.tv_nsec;
}

static void end_run(struct cg_fast *fast, struct cg_fast_run *r, int status)
{
    if (r->state == CG_FAST_GIVEN) fast->current = -1;
    if (r->state == CG_FAST_COPYING) fast->copying--;
    r->status = status;
    r->window->took = r->protocol;
    r->state = r->cancelled ? CG_FAST_FREE : CG_FAST_ENDED;
    if (r->cancelled) fast->busy--;
}

/* Nothing of it was sent, here or by any rank: it does not count as a use of the window. */
static void refuse(struct cg_fast *fast, struct cg_fast_run *r)
{
    if (r->big) r->window->group = r->first;
    else r->window->seq--;
    end_run(fast, r, CG_ERR_UNSUPPORTED);
}

/* ---- to the GPU ---- */

typedef uint32_t quad __attribute__((vector_size(16)));

static void ring(struct cg_fast *fast, const struct cg_fast_cmd *cmd, uint32_t n)
{
    const uint64_t word[4] = {cmd->src, cmd->dst, (uint64_t) cmd->seq << 32 | cmd->count, cmd->misc};

    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (int i = 0; i < 4; i++) {
        quad v = {(uint32_t) word[i], n, (uint32_t) (word[i] >> 32), n};
        *(volatile quad *) &fast->ctl->door.w[4 * i] = v;
    }
}

static uint32_t take_number(struct cg_fast *fast)
{
    fast->n = cg_fast_next(fast->n);
    if (fast->n == 1) memset(fast->ctl->end, 0, sizeof fast->ctl->end); /* old numbers come again */
    return fast->n;
}

static int launch_small(struct cg_fast *fast, const struct cg_fast_run *r, uint64_t misc)
{
    struct cg_fast_launch *l = &fast->launch;

    l->id++;
    l->n = r->n;
    l->cmd = r->cmd;
    l->cmd.misc = misc;
    l->lines = r->window->lines;
    __atomic_store_n(&fast->ctl->leaving[l->id & 1], l->id << 1, __ATOMIC_RELEASE);
    fast->ringable = (misc & CG_CMD_LINGER) != 0;
    fast->launched_ns = now_ns();
    fast->grid = r->blocks;
    fast->threads = r->threads;
    fast->kernel = r->kernel;
    fast->needed = r->needs;
    return cg_gpu_launch(fast->function[r->kernel], r->blocks, r->threads, 0, fast->stream, l);
}

static int launch_big(struct cg_fast *fast, const struct cg_fast_run *r)
{
    struct cg_fast_big a = {.ctl = fast->ctl, .state = fast->state, .src = r->cmd.src, .dst = r->cmd.dst,
                            .bytes = r->bytes, .first = r->first, .end = r->end, .misc = r->cmd.misc, .n = r->n,
                            .chunk = r->chunk, .bulk = fast->bulk, .view = r->window->view};

    return cg_gpu_launch(fast->function[r->kernel], r->blocks, CG_TS_THREADS, fast->bulk, fast->stream, &a);
}

static int launch(struct cg_fast *fast, const struct cg_fast_run *r, uint64_t misc)
{
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(fast->device, &scope);

    if (rc != CG_OK) return rc;
    if (!cg_cuda_ok(r->big ? launch_big(fast, r) : launch_small(fast, r, misc))) rc = CG_ERR_GPU;
    cg_gpu_leave(&scope);
    fast->counters.launches++;
    return rc;
}

/* May the lingering grid serve it? A resumed one needs the kernel and the shape that it had, since positions count its
 * passes. */
static int fits(const struct cg_fast *fast, const struct cg_fast_run *r)
{
    if (r->big || fast->grid < r->blocks) return 0;
    if (r->cmd.misc & CG_CMD_RESUME) return fast->kernel == r->kernel && fast->threads == r->threads;
    return fast->kernel >= r->kernel && fast->threads >= r->threads;
}

/* A grid that lingers but cannot serve what comes next is told to leave: the launch queues behind it. */
static void dismiss(struct cg_fast *fast)
{
    struct cg_fast_cmd leave = {.misc = CG_CMD_EXIT};

    ring(fast, &leave, take_number(fast));
    fast->ringable = fast->stray = 0;
}

/* Soon too old to take another number? Earlier than its own clock says, so that it is told before it tells. */
static int ages(const struct cg_fast *fast, const struct cg_fast_run *r)
{
    return r->now_ns > fast->launched_ns + fast->launch.age_ns - fast->launch.age_ns / 4;
}

/* r runs in a grid that leaves after it: the next grid comes at once, of the smallest kernel that would have served all
 * since the last launch. If it cannot be launched, the next operation tries again. */
static void launch_ahead(struct cg_fast *fast, const struct cg_fast_run *r)
{
    const uint64_t misc = r->cmd.misc & ~(CG_CMD_CHECK | CG_CMD_RESUME);
    struct cg_fast_run next = *r;

    next.kernel = fast->needed;
    fast->ahead_of = r->n;
    if (launch(fast, &next, misc | CG_CMD_LINGER | CG_CMD_AHEAD) != CG_OK) fast->ringable = 0;
}

/* True if a lingering grid takes it. */
static int ring_for(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_fast_cmd cmd = r->cmd;
    const int last = (cmd.misc & CG_CMD_LINGER) && ages(fast, r);

    if (last) cmd.misc &= ~CG_CMD_LINGER;
    r->threads = fast->threads;
    r->kernel = fast->kernel;
    if (r->needs > fast->needed) fast->needed = r->needs;
    ring(fast, &cmd, r->n);
    cg_fence_sc();
    fast->counters.doorbells++;
    if (__atomic_load_n(&fast->ctl->leaving[fast->launch.id & 1], __ATOMIC_ACQUIRE) != fast->launch.id << 1) return 0;
    if (last) launch_ahead(fast, r);
    return 1;
}

static void give(struct cg_fast *fast, struct cg_fast_run *r)
{
    uint64_t misc = r->cmd.misc;
    int rc;

    if (fast->stray || (fast->ringable && !fits(fast, r))) dismiss(fast);
    r->n = take_number(fast);
    r->seen = 0;
    r->parked = 0;
    r->state = CG_FAST_GIVEN;
    fast->current = (int) (r - fast->run);
    fast->idle_polls = 0;
    if (fast->ringable) {
        if (ring_for(fast, r)) return;
        misc = (misc & ~CG_CMD_LINGER) | CG_CMD_RETRY;
        fast->stray = 1;
    }
    rc = launch(fast, r, misc);
    if (rc != CG_OK) end_run(fast, r, rc);
}

/* ---- from the GPU ---- */

static void park(struct cg_fast *fast, struct cg_fast_run *r)
{
    uint64_t now = now_ns(), rest;

    fast->current = -1;
    fast->counters.left_unfinished++;
    if (r->cancelled) {
        end_run(fast, r, CG_ERR_PEER);
        return;
    }
    if (r->since_ns == 0) r->since_ns = now;
    rest = (now - r->since_ns) / 8;
    if (rest < REST_MIN_NS) rest = REST_MIN_NS;
    if (rest > REST_MAX_NS) rest = REST_MAX_NS;
    r->due_ns = now - r->since_ns < YOUNG_NS ? now : now + rest;
    r->turn = ++fast->turns;
    r->state = CG_FAST_PARKED;
}

/* Block 0's word may answer for all. True if it did. */
static int answered(struct cg_fast *fast, struct cg_fast_run *r, uint32_t how)
{
    if (how == CG_END_REFUSED) refuse(fast, r);
    else if (how == CG_END_NOT_STARTED) park(fast, r);
    else return 0;
    return 1;
}

static void collect(struct cg_fast *fast)
{
    struct cg_fast_run *r = &fast->run[fast->current];

    for (; r->seen < r->blocks; r->seen++) {
        uint32_t end = __atomic_load_n(&fast->ctl->end[r->seen], __ATOMIC_ACQUIRE), how = end & 7;
        if (end >> 4 != r->n) return;
        if (r->seen == 0 && (end & CG_END_LAST) && r->n != fast->ahead_of) fast->ringable = 0;
        if (r->seen == 0 && answered(fast, r, how)) return;
        r->parked |= how == CG_END_PARKED;
    }
    if (r->parked) {
        r->cmd.misc |= CG_CMD_RESUME;
        park(fast, r);
    } else {
        fast->counters.done++;
        end_run(fast, r, CG_OK);
    }
}

/* ---- peers' announcements ---- */

static int look(const struct cg_fast_check *c)
{
    int rc = CG_OK;

    for (uint64_t i = 0; i < c->n; i++) {
        if (cg_load_acquire(c->posted[i]) < c->want[i]) rc = CG_AGAIN;
        else if ((cg_load_relaxed(c->kind[i]) & 0xff) != c->kind_want) return CG_ERR_UNSUPPORTED;
    }
    return rc;
}

/* Does the host see by now what the operation waits for? What it has seen, the kernel need not look at. */
static int look_again(struct cg_fast *fast, struct cg_fast_run *r)
{
    int rc = CG_OK;

    if (r->cmd.misc & CG_CMD_CHECK) rc = look(&fast->ctl->check[CG_CMD_SLOT(r->cmd.misc)]);
    if (rc == CG_OK) r->cmd.misc &= ~CG_CMD_CHECK;
    return rc;
}

/* May this one go to the GPU now? One that was sent back for want of announcements goes when the host sees them. */
static int ready(struct cg_fast *fast, struct cg_fast_run *r)
{
    int checks = (r->cmd.misc & CG_CMD_CHECK) != 0, rc;

    if (r->state != CG_FAST_QUEUED && r->state != CG_FAST_PARKED) return 0;
    rc = look_again(fast, r);
    if (rc == CG_ERR_UNSUPPORTED) {
        refuse(fast, r);
        return 0;
    }
    if (r->state == CG_FAST_QUEUED) return 1;
    return checks ? rc == CG_OK : now_ns() >= r->due_ns;
}

/* Nobody touched anything: rings instead, or for what they do not carry, not here. */
static void fall_back(struct cg_fast *fast, struct cg_fast_run *r)
{
    if (!cg_fast_window_max(r->window, r->coll, CG_FAST_TWO_SHOT)) {
        end_run(fast, r, CG_ERR_UNSUPPORTED);
        return;
    }
    fast->copying--;
    r->protocol = CG_FAST_TWO_SHOT;
    r->big = 1;
    r->kernel = r->needs = cg_fx_kernel(r->coll, r->protocol, (int) CG_CMD_TYPE(r->cmd.misc));
    cg_fx_split(r);
    cg_fx_shape(fast, r);
    r->state = CG_FAST_QUEUED;
    r->turn = ++fast->turns;
}

static int step_copy(struct cg_fast *fast, struct cg_fast_run *r)
{
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(fast->device, &scope);

    if (rc == CG_OK) {
        rc = cg_copy_step(fast, r);
        cg_gpu_leave(&scope);
    }
    if (rc == CG_OK || rc == CG_ERR_UNSUPPORTED) cg_copy_end(r);
    return rc;
}

static int step_lead(struct cg_fast_run *r)
{
    int rc = cg_lead_step(&r->window->lead->lead);

    if (rc != CG_AGAIN) cg_lead_end(&r->window->lead->lead);
    return rc;
}

/* COPY and LEAD as far as they go. */
static void drive(struct cg_fast *fast, struct cg_fast_run *r)
{
    int rc = r->protocol == CG_FAST_COPY ? step_copy(fast, r) : step_lead(r);

    if (rc == CG_AGAIN) return;
    if (rc == CG_ERR_UNSUPPORTED) {
        fall_back(fast, r);
        return;
    }
    fast->counters.done += rc == CG_OK;
    end_run(fast, r, rc);
}

/* The next one in turn goes to the GPU. */
void cg_fx_advance(struct cg_fast *fast)
{
    struct cg_fast_run *next = NULL;

    for (struct cg_fast_run *r = fast->run; r < fast->run + CG_FAST_OPS && fast->copying; r++) {
        if (r->state == CG_FAST_COPYING) drive(fast, r);
    }
    if (fast->current >= 0) collect(fast);
    if (fast->current >= 0 || fast->busy == 0) return;
    for (struct cg_fast_run *r = fast->run; r < fast->run + CG_FAST_OPS; r++) {
        if ((!next || r->turn < next->turn) && ready(fast, r)) next = r;
    }
    if (next) give(fast, next);
}

/* A kernel that died leaves no word. */
static void ask_cuda(struct cg_fast *fast)
{
    struct cg_gpu_scope scope;
    cudaError_t rc;

    if (cg_gpu_enter(fast->device, &scope) != CG_OK) return;
    rc = cudaStreamQuery(fast->stream);
    if (rc != cudaErrorNotReady) (void) cg_cuda_ok(rc);
    cg_gpu_leave(&scope);
    if (rc == cudaErrorNotReady) return;
    if (fast->current >= 0) collect(fast);
    if (fast->current >= 0) end_run(fast, &fast->run[fast->current], rc == cudaSuccess ? CG_ERR_INTERNAL : CG_ERR_GPU);
}

int cg_fast_progress(struct cg_fast *fast)
{
    uint64_t done = fast->counters.done;

    cg_fx_advance(fast);
    if (fast->current >= 0 && ++fast->idle_polls % ASK_CUDA_POLLS == 0) ask_cuda(fast);
    return (int) (fast->counters.done - done);
}

int cg_fast_test(struct cg_fast *fast, int id)
{
    struct cg_fast_run *r = &fast->run[id];

    if (id == fast->current) collect(fast);
    if (r->state == CG_FAST_COPYING) drive(fast, r);
    if (r->state != CG_FAST_ENDED) return CG_AGAIN;
    r->state = CG_FAST_FREE;
    fast->busy--;
    return r->status;
}

void cg_fast_cancel(struct cg_fast *fast, int id)
{
    struct cg_fast_run *r = &fast->run[id];

    r->cancelled = 1;
    r->window->usable = 0;
    if (r->state != CG_FAST_GIVEN) end_run(fast, r, CG_ERR_PEER);
}

void cg_fast_expect_post(const struct cg_fast *fast) { __builtin_prefetch(&fast->ctl->door, 1); }

int cg_fast_busy(const struct cg_fast *fast) { return fast->busy; }

void cg_fast_get_counters(const struct cg_fast *fast, struct cg_fast_counters *c)
{
    *c = fast->counters;
    c->longest_ns = cg_load_relaxed(&fast->ctl->longest_ns);
}
