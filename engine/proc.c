/* SPDX-License-Identifier: BSD-3-Clause
 * The process: lock, progress, devices. */
#include "engine/internal.h"
#include "plan/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t cg_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

void cg_proc_lock(struct cg_proc *proc)
{
    if (proc->threads) pthread_mutex_lock(&proc->lock);
    proc->inside++;
}

int cg_proc_trylock(struct cg_proc *proc)
{
    if (proc->threads) {
        if (0 != pthread_mutex_trylock(&proc->lock)) return 0;
    } else if (proc->inside) {
        return 0; /* called from within ourselves */
    }
    proc->inside++;
    return 1;
}

void cg_proc_unlock(struct cg_proc *proc)
{
    proc->inside--;
    if (proc->threads) pthread_mutex_unlock(&proc->lock);
}

void cg_proc_set_threads(struct cg_proc *proc, int threads) { proc->threads = threads; }

void cg_proc_outstanding(struct cg_proc *proc, int delta)
{
    __atomic_fetch_add(&proc->outstanding, (uint64_t) (int64_t) delta, __ATOMIC_RELAXED);
}

static uint64_t random_key(void)
{
    uint64_t key = 0;

    if (sizeof(key) != getrandom(&key, sizeof(key), 0)) key = cg_now_us() ^ ((uint64_t) getpid() << 40);
    return key;
}

static int open_links(struct cg_proc *proc, struct cg_card *card)
{
    struct cg_links_config lc = {0};

    card->key = random_key();
    cg_links_socket_name(proc->self, card->key, card->socket, sizeof(card->socket));
    lc.params = &proc->params;
    lc.place = cg_place_chunk;
    lc.place_ctx = proc;
    lc.find_hint = cg_place_hint;
    lc.self = proc->self;
    lc.net = proc->net;
    lc.net_hint = proc->net_hint[0] ? proc->net_hint : NULL;
    lc.socket = card->socket;
    lc.key = card->key;
    return cg_links_open(&lc, &proc->links);
}

int cg_proc_open(const struct cg_proc_config *config, struct cg_proc **out, struct cg_card *card)
{
    char why[256];
    struct cg_proc *proc;
    int rc = cg_params_check(&config->params, why, sizeof(why));

    memset(card, 0, sizeof(*card));
    card->version = CG_CARD_VERSION;
    if (CG_OK != rc) {
        cg_log(0, "%s; coll/gpu is not used", why);
        return rc;
    }
    proc = calloc(1, sizeof(*proc));
    if (NULL == proc) return CG_ERR_NOMEM;
    proc->params = config->params;
    proc->table = config->table ? config->table : &cg_table_builtin;
    proc->table_hash = cg_table_hash(proc->table);
    proc->builtin_hash = cg_table_hash(&cg_table_builtin);
    proc->self = config->self;
    proc->threads = config->threads;
    proc->local_rank = config->local_rank;
    proc->local_size = config->local_size;
    proc->fifo_device = -1;
    proc->net = config->net ? config->net : cg_transport_find(config->params.transport);
    proc->ended_tail = &proc->ended;
    if (config->net_hint) snprintf(proc->net_hint, sizeof(proc->net_hint), "%s", config->net_hint);
    pthread_mutex_init(&proc->lock, NULL);
    rc = open_links(proc, card);
    if (CG_OK != rc) {
        free(proc);
        return rc;
    }
    card->host = cg_topo_host();
    if (cg_gpu_built() && cg_gpu_present()) card->flags |= CG_CARD_GPU;
    if (proc->net) card->flags |= CG_CARD_NET;
    *out = proc;
    return CG_OK;
}

/* A transport that moves GPU memory makes CUDA calls: with that GPU's context, and manners. Where the context is gone,
 * so is the memory. */
static int enter_fifo(const struct cg_proc *proc, struct cg_gpu_scope *scope)
{
    return proc->fifo_device >= 0 && CG_OK == cg_gpu_enter(proc->fifo_device, scope);
}

int cg_proc_links(struct cg_proc *proc)
{
    struct cg_gpu_scope scope;
    int inside = cg_links_on_gpu(proc->links) && enter_fifo(proc, &scope);
    int events = cg_links_progress(proc->links);

    if (inside) cg_gpu_leave(&scope);
    return events;
}

/* Before the GPUs are closed, whose memory the transport may use. */
static void disconnect(struct cg_proc *proc)
{
    struct cg_gpu_scope scope;
    int inside = enter_fifo(proc, &scope);

    cg_links_disconnect(proc->links);
    if (inside) cg_gpu_leave(&scope);
}

void cg_proc_close(struct cg_proc *proc)
{
    struct cg_req *req;

    cg_fast_reap(proc, 1);
    for (struct cg_group *group = proc->groups; group; group = group->next) {
        if (group->fast.window) cg_fast_window_free(group->fast.window);
    }
    disconnect(proc);
    for (int d = 0; d < CG_MAX_GPUS; d++) {
        if (proc->fast[d]) cg_fast_close(proc->fast[d]);
        if (proc->gpu[d]) cg_gpu_close(proc->gpu[d]);
    }
    while (proc->groups) {
        struct cg_group *group = proc->groups;
        while (NULL != (req = group->head)) {
            group->head = req->next;
            cg_exec_forget(req);
            if (req != group->own) free(req);
        }
        group->tail = NULL;
        cg_boot_close(group);
        cg_group_free(group);
    }
    cg_links_close(proc->links);
    if (proc->topo) cg_topo_close(proc->topo);
    while (NULL != (req = proc->free)) {
        proc->free = req->next;
        free(req);
    }
    pthread_mutex_destroy(&proc->lock);
    free(proc);
}

static int gpu_register_regions(struct cg_proc *proc, int device)
{
    void *addr;
    size_t bytes;

    for (; cg_links_region(proc->links, proc->gpu_regions[device], &addr, &bytes); proc->gpu_regions[device]++) {
        int rc = cg_gpu_register(proc->gpu[device], addr, bytes);
        if (CG_OK != rc) return rc;
    }
    return CG_OK;
}

static void gpu_give_up(struct cg_proc *proc, int device, const char *why)
{
    cg_log(0, "process %llx: GPU %d cannot be used, its buffers are copied through host memory instead: %s",
           (unsigned long long) proc->self, device, why);
    proc->gpu_failed[device] = 1;
}

struct cg_gpu *cg_proc_gpu(struct cg_proc *proc, int device)
{
    char why[256] = "";

    if (device < 0 || device >= CG_MAX_GPUS || proc->gpu_failed[device]) return NULL;
    if (NULL == proc->gpu[device]) {
        if (CG_OK != cg_gpu_open(device, &proc->params, &proc->gpu[device], why, sizeof(why))) {
            proc->gpu[device] = NULL;
            gpu_give_up(proc, device, why);
            return NULL;
        }
        if (device >= proc->ndevices) proc->ndevices = device + 1;
    }
    if (CG_OK != gpu_register_regions(proc, device)) {
        gpu_give_up(proc, device, "shared memory cannot be registered with CUDA (cudaHostRegister); "
                                  "raise the limit of locked memory (ulimit -l)");
        return NULL;
    }
    return proc->gpu[device];
}

static int step_setup(struct cg_group *group)
{
    struct cg_gpu_scope scope;
    int inside = enter_fifo(group->proc, &scope), rc = cg_boot_step(group);

    if (inside) cg_gpu_leave(&scope);
    return rc;
}

/* One step of each set-up, without the lock: it calls MPI, which may call us again. */
static void advance_setups(struct cg_proc *proc)
{
    struct cg_group *group, *next;

    for (group = proc->groups; group; group = next) {
        if (NULL == group->boot || group->boot_busy) {
            next = group->next;
            continue;
        }
        group->boot_busy = 1;
        cg_proc_unlock(proc);
        int rc = step_setup(group);
        cg_proc_lock(proc);
        group->boot_busy = 0;
        next = group->next;
        if (CG_AGAIN == rc) continue;
        cg_group_boot_ended(group, rc);
    }
}

static int advance_groups(struct cg_proc *proc)
{
    int ended = 0;

    for (struct cg_group *group = proc->groups, *next; group; group = next) {
        next = group->next;
        if (group->head) ended += cg_group_advance(group);
        cg_group_free_if_unused(group);
    }
    return ended;
}

struct cg_req *cg_proc_take_ended(struct cg_proc *proc)
{
    struct cg_req *list = proc->ended;

    proc->ended = NULL;
    proc->ended_tail = &proc->ended;
    return list;
}

void cg_proc_call_ended(struct cg_proc *proc, struct cg_req *list)
{
    while (list) {
        struct cg_req *req = list;
        list = req->next;
        req->complete(req->ctx, req->status);
        cg_proc_outstanding(proc, -1);
        cg_proc_lock(proc);
        req->next = proc->free;
        proc->free = req;
        cg_proc_unlock(proc);
    }
}

int cg_proc_progress(struct cg_proc *proc)
{
    struct cg_req *list;
    int ended = 0;

    if (cg_proc_idle(proc) || !cg_proc_trylock(proc)) return 0;
    for (int d = 0; d < proc->ndevices; d++) {
        if (proc->gpu[d] && cg_gpu_busy(proc->gpu[d])) cg_gpu_progress(proc->gpu[d]);
        if (proc->fast[d] && cg_fast_busy(proc->fast[d])) cg_fast_progress(proc->fast[d]);
    }
    if (cg_links_busy(proc->links)) cg_proc_links(proc);
    if (proc->outstanding) {
        advance_setups(proc);
        ended = advance_groups(proc);
    }
    list = cg_proc_take_ended(proc);
    cg_proc_unlock(proc);
    cg_proc_call_ended(proc, list);
    return ended;
}

int cg_proc_idle(const struct cg_proc *proc)
{
    return 0 == __atomic_load_n(&proc->outstanding, __ATOMIC_RELAXED) && !cg_links_busy(proc->links);
}

static void add_fast_counters(const struct cg_fast *fast, struct cg_counters *c)
{
    struct cg_fast_counters fc;

    if (NULL == fast) return;
    cg_fast_get_counters(fast, &fc);
    c->launches += fc.launches;
    c->doorbells += fc.doorbells;
    if (fc.longest_ns > c->longest_ns) c->longest_ns = fc.longest_ns;
}

void cg_proc_get_counters(struct cg_proc *proc, struct cg_counters *c)
{
    struct cg_links_counters lc;

    cg_proc_lock(proc);
    cg_links_get_counters(proc->links, &lc);
    *c = proc->counters;
    c->chunks = lc.chunks;
    c->chunk_bytes = lc.chunk_bytes;
    c->links = lc.links;
    c->tenants = lc.tenants;
    c->descriptors = lc.descriptors;
    c->messages = lc.messages;
    c->gpu_messages = lc.gpu_messages;
    c->registrations = lc.registrations;
    c->workers = lc.workers;
    c->connections = lc.connections;
    c->fifo_bytes = lc.fifo_bytes;
    for (int d = 0; d < CG_MAX_GPUS; d++) {
        struct cg_gpu_counters gc;
        if (NULL == proc->gpu[d]) continue;
        cg_gpu_get_counters(proc->gpu[d], &gc);
        c->launches += gc.launches;
        if (gc.longest_ns > c->longest_ns) c->longest_ns = gc.longest_ns;
        add_fast_counters(proc->fast[d], c);
    }
    cg_proc_unlock(proc);
}
