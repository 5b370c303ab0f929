/* SPDX-License-Identifier: BSD-3-Clause
 * Windows: layout, GPU memory, and the opening of each other's. All of it is set-up. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/fast_copy.h"
#include "kernels/cuda/fast_lead.h"

/* Bytes per message of LL and LL128, and TWO_SHOT's rings. [big][ranks - 2]: with more ranks there are more sources,
 * and less is left for each. TWO_SHOT has two rings per source and ring number. */
struct sizes {
    uint32_t ll, ll128, chunk, slots, rings;
};
static const struct sizes sizes[2][CG_FAST_RANKS - 1] = {
    {{16 << 10, 128 << 10, 8192, 2, 16},
     {8 << 10, 64 << 10, 8192, 2, 8},
     {8 << 10, 32 << 10, 4096, 2, 8},
     {4 << 10, 32 << 10, 4096, 2, 8},
     {4 << 10, 16 << 10, 4096, 2, 4},
     {4 << 10, 16 << 10, 4096, 2, 4},
     {4 << 10, 16 << 10, 4096, 2, 4}},
    {{64 << 10, (8 << 20) + (64 << 10), 16384, 8, 132},
     {64 << 10, 4 << 20, 16384, 4, 132},
     {64 << 10, 2 << 20, 8192, 4, 132},
     {64 << 10, 1 << 20, 8192, 4, 132},
     {64 << 10, 1 << 20, 4096, 4, 132},
     {64 << 10, 1 << 20, 4096, 4, 132},
     {64 << 10, 1 << 20, 4096, 4, 132}}};

static uint64_t take(uint64_t *at, uint64_t bytes)
{
    uint64_t here = *at;

    *at += (bytes + 511) & ~511ull;
    return here;
}

static void lay_out(uint32_t nranks, int big, struct cg_fast_layout *l)
{
    const struct sizes *z = &sizes[big][nranks - 2];
    uint64_t peers = nranks - 1, at = 0;

    memset(l, 0, sizeof *l);
    l->ll_slot = z->ll * 2;
    l->ll128_slot = (z->ll128 + 119) / 120 * 128;
    l->ll128_slot = (l->ll128_slot + 511) & ~511u; /* whole groups of four lines */
    l->chunk = z->chunk;
    l->slots = z->slots;
    l->rings = z->rings;
    l->positions = take(&at, CG_FAST_BLOCKS * sizeof(struct cg_fast_position));
    (void) take(&at, sizeof(struct cg_fast_lines)); /* lines_in */
    l->words = take(&at, CG_FAST_WORD_KINDS * peers * l->rings * CG_FAST_WORD);
    l->ll = take(&at, 2 * peers * l->ll_slot);
    l->ll128 = take(&at, 2 * peers * l->ll128_slot);
    l->raw = take(&at, peers * l->rings * l->slots * l->chunk);
    l->res = take(&at, peers * l->rings * l->slots * l->chunk);
    l->bytes = at;
}

/* The kernel's copy of the window's lines. */
static struct cg_fast_lines *lines_in(char *memory)
{
    return (struct cg_fast_lines *) (memory + CG_FAST_BLOCKS * sizeof(struct cg_fast_position));
}

/* Written through the stream of set-up, and waited for. */
static int upload(struct cg_fast *fast, void *to, const void *from, size_t bytes)
{
    if (!cg_cuda_ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, fast->setup))) return CG_ERR_GPU;
    return cg_cuda_ok(cudaStreamSynchronize(fast->setup)) ? CG_OK : CG_ERR_GPU;
}

static int clear(struct cg_fast *fast, void *at, size_t bytes)
{
    if (!cg_cuda_ok(cudaMemsetAsync(at, 0, bytes, fast->setup))) return CG_ERR_GPU;
    return cg_cuda_ok(cudaStreamSynchronize(fast->setup)) ? CG_OK : CG_ERR_GPU;
}

static int fill_card(struct cg_fast *fast, const struct cg_fast_window *w, struct cg_fast_card *card)
{
    struct cudaDeviceProp prop;

    memset(card, 0, sizeof *card);
    if (!cg_cuda_ok(cudaGetDeviceProperties(&prop, fast->device))) return CG_ERR_GPU;
    CG_STATIC_ASSERT(sizeof(cudaIpcMemHandle_t) == sizeof card->handle, "card");
    CG_STATIC_ASSERT(sizeof prop.uuid == sizeof card->uuid, "card");
    memcpy(card->uuid, &prop.uuid, sizeof card->uuid);
    if (!cg_cuda_ok(cudaIpcGetMemHandle((cudaIpcMemHandle_t *) card->handle, w->piece.slab))) return CG_ERR_GPU;
    card->bytes = w->view.l.bytes;
    card->offset = (uint64_t) (w->memory - w->piece.slab);
    card->pid = cg_process_id();
    card->address = (uint64_t) w->memory;
    card->mps = (uint64_t) cg_gpu_mps();
    return CG_OK;
}

static int find_index(const struct cg_fast *fast)
{
    for (int i = 0; i < CG_FAST_WINDOWS; i++) {
        if (!fast->used[i]) return i;
    }
    return -1;
}

/* With context. */
static int alloc_inside(struct cg_fast_window *w, struct cg_fast_card *card)
{
    int rc;

    rc = cg_fx_piece_get(w->fast, w->view.l.bytes, &w->piece);
    if (rc != CG_OK) return rc;
    w->memory = w->piece.memory;
    rc = clear(w->fast, w->memory, w->view.l.bytes);
    if (rc == CG_OK) rc = fill_card(w->fast, w, card);
    if (rc != CG_OK) cg_fx_piece_put(w->fast, &w->piece);
    return rc;
}

int cg_fast_window_alloc(struct cg_fast *fast, uint32_t nranks, uint32_t rank, int big, struct cg_fast_window **out,
                         struct cg_fast_card *card)
{
    struct cg_fast_window *w;
    struct cg_gpu_scope scope;
    int rc;

    *out = NULL;
    if (nranks < 2 || nranks > CG_FAST_RANKS || rank >= nranks) return CG_ERR_ARG;
    w = calloc(1, sizeof *w);
    if (!w) return CG_ERR_NOMEM;
    w->fast = fast;
    w->index = find_index(fast);
    w->big = big != 0;
    w->ll128 = 1;
    w->imported = 1u << rank;
    w->view.nranks = nranks;
    w->view.rank = rank;
    w->view.spin_ns = fast->spin_ns;
    lay_out(nranks, w->big, &w->view.l);
    rc = w->index < 0 ? CG_ERR_LIMIT : cg_gpu_enter(fast->device, &scope);
    if (rc == CG_OK) {
        rc = alloc_inside(w, card);
        cg_gpu_leave(&scope);
    }
    if (rc != CG_OK) {
        free(w);
        return rc;
    }
    w->view.base[rank] = w->memory;
    fast->used[w->index] = 1;
    w->next = fast->windows;
    fast->windows = w;
    *out = w;
    return CG_OK;
}

/* ---- import ---- */

/* This process's number of the GPU, -1 if it is hidden. */
static int device_of(const unsigned char *uuid)
{
    struct cudaDeviceProp prop;
    int devices = 0;

    if (!cg_cuda_ok(cudaGetDeviceCount(&devices))) return -1;
    for (int i = 0; i < devices; i++) {
        if (cg_cuda_ok(cudaGetDeviceProperties(&prop, i)) && memcmp(&prop.uuid, uuid, sizeof prop.uuid) == 0) return i;
    }
    return -1;
}

/* Do 128-byte stores arrive whole? On this GPU and over NVLink, which is told by native atomics. */
static int keeps_lines(const struct cg_fast *fast, int peer)
{
    const enum cudaDeviceP2PAttr what = cudaDevP2PAttrNativeAtomicSupported;
    int native = 0;

    if (peer == fast->device) return 1;
    return peer >= 0 && cg_cuda_ok(cudaDeviceGetP2PAttribute(&native, what, fast->device, peer)) && native;
}

static int open_peer_access(const struct cg_fast *fast, int peer)
{
    cudaError_t rc;

    if (peer < 0) return CG_ERR_GPU;
    if (peer == fast->device) return CG_OK;
    rc = cudaDeviceEnablePeerAccess(peer, 0);
    if (rc != cudaSuccess) (void) cudaGetLastError();
    return rc == cudaSuccess || rc == cudaErrorPeerAccessAlreadyEnabled ? CG_OK : CG_ERR_GPU;
}

static struct cg_fast_import *open_handle(struct cg_fast *fast, const unsigned char *handle)
{
    struct cg_fast_import *i;
    const unsigned lazy = cudaIpcMemLazyEnablePeerAccess;
    void *base = NULL;

    for (i = fast->imports; i; i = i->next) {
        if (memcmp(i->handle, handle, sizeof i->handle)) continue;
        i->users++;
        return i;
    }
    i = calloc(1, sizeof *i);
    if (!i) return NULL;
    memcpy(i->handle, handle, sizeof i->handle);
    if (!cg_cuda_ok(cudaIpcOpenMemHandle(&base, *(const cudaIpcMemHandle_t *) handle, lazy))) {
        free(i);
        return NULL;
    }
    i->base = base;
    i->users = 1;
    i->next = fast->imports;
    fast->imports = i;
    return i;
}

/* Peers pool their windows as well: what no window uses now stays open for the next, and is closed at close. */
static void close_handles(struct cg_fast *fast)
{
    while (fast->imports) {
        struct cg_fast_import *i = fast->imports;
        fast->imports = i->next;
        (void) cg_cuda_ok(cudaIpcCloseMemHandle(i->base));
        free(i);
    }
}

/* With context. */
static int import_inside(struct cg_fast_window *w, uint32_t peer, const struct cg_fast_card *card)
{
    int device = device_of(card->uuid);

    if (card->pid == cg_process_id()) {
        if (open_peer_access(w->fast, device) != CG_OK) return CG_ERR_GPU;
        w->view.base[peer] = (char *) card->address;
    } else {
        w->from[peer] = open_handle(w->fast, card->handle);
        if (!w->from[peer]) return CG_ERR_GPU;
        w->view.base[peer] = w->from[peer]->base + card->offset;
        if (device == w->fast->device) w->shared = 1;
    }
    if (!keeps_lines(w->fast, device)) w->ll128 = 0;
    return CG_OK;
}

/* Where the first half of source's lines is at receiver. which: LL or LL128. */
static char *lines_at(const struct cg_fast_view *v, int which, uint32_t source, uint32_t receiver)
{
    uint64_t area = which ? v->l.ll128 : v->l.ll, slot = which ? v->l.ll128_slot : v->l.ll_slot;

    return v->base[receiver] + area + cg_fast_part(source, receiver) * slot;
}

static void find_lines(const struct cg_fast_view *v, struct cg_fast_lines *lines)
{
    lines->spin_ns = v->spin_ns;
    lines->positions = (struct cg_fast_position *) (v->base[v->rank] + v->l.positions);
    lines->nranks = v->nranks;
    lines->rank = v->rank;
    for (int which = 0; which < 2; which++) {
        lines->half[which] = (uint64_t) (v->nranks - 1) * (which ? v->l.ll128_slot : v->l.ll_slot);
        lines->in_first[which] = lines_at(v, which, v->rank == 0, v->rank);
        for (uint32_t d = 1; d < v->nranks; d++) {
            uint32_t p = (v->rank + d) % v->nranks;
            lines->out[which][d - 1] = lines_at(v, which, v->rank, p);
            lines->in[which][p] = lines_at(v, which, p, v->rank);
        }
    }
}

/* All are open: the kernel may know the window. With context. */
static int make_usable(struct cg_fast_window *w)
{
    const struct cg_fast_lines *there = lines_in(w->memory);
    int rc;

    if (w->shared && w->view.spin_ns > CG_FAST_SHARED_SPIN_NS) w->view.spin_ns = CG_FAST_SHARED_SPIN_NS;
    find_lines(&w->view, &w->lines);
    rc = upload(w->fast, lines_in(w->memory), &w->lines, sizeof w->lines);
    if (rc == CG_OK) rc = upload(w->fast, &w->fast->state->window[w->index], &there, sizeof there);
    w->usable = rc == CG_OK;
    if (w->usable) cg_fx_lead_choose(w);
    return rc;
}

int cg_fast_window_import(struct cg_fast_window *w, uint32_t peer, const struct cg_fast_card *card, int *shared_gpu)
{
    struct cg_gpu_scope scope;
    int rc;

    if (peer >= w->view.nranks || ((w->imported >> peer) & 1) || card->bytes != w->view.l.bytes) return CG_ERR_ARG;
    rc = cg_gpu_enter(w->fast->device, &scope);
    if (rc != CG_OK) return rc;
    rc = import_inside(w, peer, card);
    if (rc == CG_OK) w->imported |= 1u << peer;
    cg_fx_lead_meets(w, peer, card);
    if (rc == CG_OK && w->imported == (1u << w->view.nranks) - 1) rc = make_usable(w);
    cg_gpu_leave(&scope);
    *shared_gpu = w->shared;
    return rc;
}

uint64_t cg_fast_window_max(const struct cg_fast_window *w, int coll, int protocol)
{
    if (!cg_fast_flow(coll, 0)) return 0;
    switch (protocol) {
    case CG_FAST_LL: return w->view.l.ll_slot / 2;
    case CG_FAST_LL128: return w->ll128 ? w->view.l.ll128_slot / 128 * 120 : 0;
    case CG_FAST_TWO_SHOT: return coll == CG_COLL_ALLREDUCE ? UINT64_MAX : 0;
    case CG_FAST_COPY: return cg_copy_ready(w) ? UINT64_MAX : 0;
    case CG_FAST_LEAD: return coll == CG_COLL_ALLREDUCE && w->lead && w->lead->lead.leaders ? UINT64_MAX : 0;
    default: return 0;
    }
}

int cg_fast_window_took(const struct cg_fast_window *w) { return w->took; }

int cg_fast_window_must_clean(const struct cg_fast_window *w) { return w->seq == UINT32_MAX; }

/* All lines that peers have sent were awaited; they send no others before the operation that follows on all ranks. */
int cg_fast_window_clean(struct cg_fast_window *w)
{
    const struct cg_fast_layout *l = &w->view.l;
    struct cg_gpu_scope scope;
    int rc = cg_gpu_enter(w->fast->device, &scope);

    if (rc != CG_OK) return rc;
    rc = clear(w->fast, w->memory + l->ll, l->raw - l->ll);
    if (rc == CG_OK) rc = clear(w->fast, w->memory + l->positions, CG_FAST_BLOCKS * sizeof(struct cg_fast_position));
    cg_gpu_leave(&scope);
    if (rc == CG_OK) w->seq = 0;
    return rc;
}

void cg_fast_window_free(struct cg_fast_window *w)
{
    struct cg_fast *fast = w->fast;

    for (struct cg_fast_window **p = &fast->windows; *p; p = &(*p)->next) {
        if (*p != w) continue;
        *p = w->next;
        break;
    }
    for (int r = 0; r < CG_FAST_RANKS; r++) {
        if (w->from[r]) w->from[r]->users--;
    }
    cg_copy_free(w);
    free(w->lead);
    fast->used[w->index] = 0;
    cg_fx_piece_put(fast, &w->piece);
    free(w);
}

void cg_fx_free_windows(struct cg_fast *fast)
{
    while (fast->windows) cg_fast_window_free(fast->windows);
    close_handles(fast);
    cg_share_close(&fast->share);
    cg_fx_pieces_close(fast);
}
