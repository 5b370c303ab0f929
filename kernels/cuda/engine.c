/* SPDX-License-Identifier: BSD-3-Clause
 * Queue of posted operations and the launches that serve it. The hand-shakes are in ctl.h. */
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "kernels/cuda/host.h"
#include "kernels/host/host.h"

#define NET_NS 1000000u      /* launch at least so often while operations are unfinished, should a word be missed */
#define HEALTH_NS 100000000u /* ask CUDA about a launch that has not left for so long */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static int is_done(const struct cg_gpu *gpu, int slot)
{
    return cg_load_acquire(&gpu->ctl->done[slot]) == gpu->slot[slot].n;
}

static int unfinished(const struct cg_gpu *gpu, int slot) { return gpu->slot[slot].n && !is_done(gpu, slot); }

static int gone(const struct cg_gpu *gpu)
{
    return cg_load_acquire(&gpu->ctl->state) == (gpu->launch.id << 2 | CG_LAUNCH_GONE);
}

static int break_down(struct cg_gpu *gpu, const char *what, int error)
{
    gpu->broken = CG_ERR_GPU;
    cg_log(0, "GPU %d: %s: %s; its operations fail", gpu->device, what, cudaGetErrorString((cudaError_t) error));
    return CG_ERR_GPU;
}

/* ---- launching ---- */

/* As small as the operations allow: what stays resident takes room from the application's kernels. */
static void size_launch(struct cg_gpu *gpu)
{
    gpu->launch.workers = gpu->warps = 1;
    for (int i = 0; i < CG_POSTS; i++) {
        const struct cg_post_slot *s = &gpu->slot[i];

        if (!unfinished(gpu, i)) continue;
        if (s->nchan > gpu->launch.workers) gpu->launch.workers = s->nchan;
        if (s->warps > gpu->warps) gpu->warps = s->warps;
    }
}

/* Only when no launch is outstanding. */
static int launch(struct cg_gpu *gpu)
{
    struct cg_gpu_scope scope;
    uint64_t next = gpu->ctl->taken + 1;
    int rc = cg_gpu_enter(gpu->device, &scope);

    if (rc != CG_OK) return break_down(gpu, "the context cannot be used", cudaErrorContextIsDestroyed);
    size_launch(gpu);
    gpu->launch.entry = next <= gpu->posted ? gpu->ctl->entry[next & (CG_POSTS - 1)] : 0;
    gpu->launch.id++;
    cg_store_relaxed(&gpu->ctl->state, gpu->launch.id << 2 | CG_LAUNCH_RUNNING);
    rc = cg_kernel_launch(&gpu->launch, (int) gpu->warps * 32, gpu->stream);
    (void) cg_cuda_ok(rc);
    cg_gpu_leave(&scope);
    if (rc != cudaSuccess) {
        cg_store_relaxed(&gpu->ctl->state, gpu->launch.id << 2 | CG_LAUNCH_GONE);
        return break_down(gpu, "launch failed", rc);
    }
    gpu->launched_ns = gpu->checked_ns = now_ns();
    gpu->counters.launches++;
    return 1;
}

/* A kernel that was killed (an invalid buffer, a device error) never says that it is gone. */
static int check_health(struct cg_gpu *gpu)
{
    struct cg_gpu_scope scope;
    uint64_t now = now_ns();
    cudaError_t rc;

    if (now - gpu->checked_ns < HEALTH_NS) return 0;
    gpu->checked_ns = now;
    if (cg_gpu_enter(gpu->device, &scope) != CG_OK) {
        return break_down(gpu, "the context is gone", cudaErrorContextIsDestroyed);
    }
    rc = cudaStreamQuery(gpu->stream);
    (void) cg_cuda_ok(rc);
    cg_gpu_leave(&scope);
    if (rc == cudaErrorNotReady || (rc == cudaSuccess && gone(gpu))) return 0;
    return break_down(gpu, "the kernel died", rc);
}

static int words_moved(const struct cg_gpu *gpu, int slot)
{
    const struct cg_post_slot *s = &gpu->slot[slot];

    for (uint32_t l = 0; l < s->nlinks; l++) {
        for (uint32_t c = 0; c < s->nchan; c++) {
            const struct cg_words *now = &s->line[l]->chan[c], *seen = &gpu->ctl->seen[slot][l][c];
            if (cg_load_acquire(&now->tail) != seen->tail || cg_load_acquire(&now->head) != seen->head) return 1;
        }
    }
    return 0;
}

/* No launch is outstanding: is there anything to do for one? */
static int launch_wanted(struct cg_gpu *gpu)
{
    int waiting = 0;

    if (gpu->posted > gpu->ctl->taken) return 1;
    for (int i = 0; i < CG_POSTS; i++) {
        if (!unfinished(gpu, i)) continue;
        if (gpu->slot[i].dropped || words_moved(gpu, i)) return 1;
        waiting = 1;
    }
    return waiting && now_ns() - gpu->launched_ns > NET_NS;
}

int cg_gpu_progress(struct cg_gpu *gpu)
{
    if (gpu->broken) return gpu->broken;
    if (!gone(gpu)) return check_health(gpu);
    return launch_wanted(gpu) ? launch(gpu) : 0;
}

/* ---- posting ---- */

static int free_slot(struct cg_gpu *gpu)
{
    for (int i = 0; i < CG_POSTS; i++) {
        struct cg_post_slot *s = &gpu->slot[i];
        if (s->n && s->dropped && is_done(gpu, i)) s->n = 0;
        if (!s->n) return i;
    }
    return -1;
}

/* In the order of the operation before it, if that one is still here. */
static uint64_t chain_of(struct cg_gpu *gpu, const struct cg_op *op, int after)
{
    if (after >= 0 && after < CG_POSTS && gpu->slot[after].n && gpu->slot[after].id == op->prev_id) {
        return gpu->slot[after].chain;
    }
    return ++gpu->chains;
}

/* The links' lines as they are now; the kernel's copies of them take their place in the descriptor. */
static uint32_t fill_watches(struct cg_gpu *gpu, int slot, struct cg_post *post)
{
    size_t offset = cg_post_watch_offset(&post->op);
    struct cg_watch *watch = (struct cg_watch *) ((char *) post + offset);
    struct cg_watch *theirs = (struct cg_watch *) ((char *) &gpu->state->post[slot] + offset);
    struct cg_link *link = cg_op_links(&post->op);
    uint32_t n = post->op.nlinks;

    for (uint32_t l = 0; l < n; l++) {
        const struct cg_line *line = link[l].mine;

        for (int c = 0; c < CG_MAX_CHAN; c++) {
            watch[l].chan[c].tail = cg_load_acquire(&line->chan[c].tail);
            watch[l].chan[c].head = cg_load_acquire(&line->chan[c].head);
        }
        watch[l].line = gpu->slot[slot].line[l] = line;
        link[l].mine = (struct cg_line *) theirs[l].chan;
    }
    return (uint32_t) (offset + n * sizeof *watch) / 16;
}

static int check_op(const struct cg_op *op)
{
    const struct cg_link *link = cg_op_links(op);
    int reduces = cg_coll_reduces(op->coll);

    if (op->size > CG_OP_BYTES || op->nlinks > CG_MAX_LINKS) return CG_ERR_LIMIT;
    if (op->nchan < 1 || op->nchan > CG_MAX_CHAN) return CG_ERR_LIMIT;
    if (reduces && !cg_reduce_host(op->type, op->redop)) return CG_ERR_UNSUPPORTED;
    for (uint32_t l = 0; l < op->nlinks; l++) {
        if (((uintptr_t) link[l].recv_slots | (uintptr_t) link[l].send_slots | op->slot_bytes) & 15) return CG_ERR_ARG;
    }
    return CG_OK;
}

/* A pair of 16-byte packs for each thread in the longest step. */
static uint32_t warps_wanted(const struct cg_gpu *gpu, const struct cg_op *op)
{
    uint64_t most = (uint64_t) gpu->threads / 32, warps = 1;

    for (uint32_t c = 0; c < op->nchan; c++) {
        uint64_t w = ((uint64_t) op->range[c].chunk * op->esize + 1023) / 1024;
        if (w > warps) warps = w;
    }
    return (uint32_t) cg_min_u64(warps, most);
}

int cg_gpu_post(struct cg_gpu *gpu, const struct cg_op *op, int after, int *slot)
{
    int i = free_slot(gpu), rc = gpu->broken ? gpu->broken : check_op(op);
    struct cg_post_slot *s = &gpu->slot[i < 0 ? 0 : i];
    struct cg_post *post = &gpu->ctl->post[i < 0 ? 0 : i];
    uint32_t units;

    *slot = -1;
    if (rc != CG_OK) return rc;
    if (i < 0) return CG_AGAIN;
    *s = (struct cg_post_slot){.n = ++gpu->posted, .id = op->id, .nlinks = op->nlinks, .nchan = op->nchan};
    s->chain = chain_of(gpu, op, after);
    s->warps = warps_wanted(gpu, op);
    post->n = s->n;
    post->chain = s->chain;
    post->kind = cg_coll_reduces(op->coll) ? cg_reduce_kind(op->type, op->redop) : 0;
    post->data = cg_coll_reduces(op->coll) ? (uint16_t) cg_type_data(op->type) : CG_NO_GAPS;
    memcpy(&post->op, op, op->size);
    units = fill_watches(gpu, i, post);
    gpu->ctl->fault[i].status = CG_OK;
    cg_store_release(&gpu->ctl->entry[s->n & (CG_POSTS - 1)], cg_entry(s->n, s->nchan, s->warps, units, (uint32_t) i));
    cg_fence_sc();
    gpu->busy++;
    gpu->counters.posts++;
    *slot = i;
    if (gone(gpu)) rc = launch(gpu);
    if (rc >= 0) return CG_OK;
    cg_gpu_release(gpu, i);
    *slot = -1;
    return rc;
}

int cg_gpu_test(struct cg_gpu *gpu, int slot, struct cg_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    if (is_done(gpu, slot)) {
        *fault = gpu->ctl->fault[slot];
        return fault->status;
    }
    fault->status = gpu->broken;
    return gpu->broken ? gpu->broken : CG_AGAIN;
}

void cg_gpu_release(struct cg_gpu *gpu, int slot)
{
    struct cg_post_slot *s = &gpu->slot[slot];

    gpu->busy--;
    if (is_done(gpu, slot)) {
        gpu->counters.done += gpu->ctl->fault[slot].status == CG_OK;
        s->n = 0;
        return;
    }
    s->dropped = 1;
    cg_store_release(&gpu->ctl->cancel[slot], s->n);
    cg_store_release(&gpu->ctl->cancels, ++gpu->cancels);
}

int cg_gpu_busy(const struct cg_gpu *gpu) { return gpu->busy; }

void cg_gpu_get_counters(const struct cg_gpu *gpu, struct cg_gpu_counters *c)
{
    *c = gpu->counters;
    c->longest_ns = gpu->ctl->longest_ns;
}

void cg_gpu_bus_id(const struct cg_gpu *gpu, char *id) { memcpy(id, gpu->bus_id, sizeof gpu->bus_id); }
