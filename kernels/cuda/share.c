/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/cuda/host.h"
#include "kernels/cuda/share.h"

CG_STATIC_ASSERT(sizeof(cudaIpcMemHandle_t) == sizeof(((struct cg_share_card *) 0)->handle), "a handle fits");

/* Process numbers of different containers may be alike. */
uint64_t cg_process_id(void)
{
    static _Atomic uint64_t space; /* of numbers; a child's is its parent's */
    struct stat st;

    if (!space) space = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t) st.st_ino : 1;
    return space << 32 ^ (uint64_t) getpid();
}

/* ---- exporting ---- */

static int still_there(const struct cg_share_export *e)
{
    struct cg_mem mem;

    cg_gpu_classify((const void *) e->base, &mem);
    return mem.kind == CG_MEM_DEVICE && mem.id == e->id;
}

static void forget_freed(struct cg_share *share)
{
    for (int i = 0; i < CG_SHARE_LIVE; i++) {
        if (share->live[i].id && !still_there(&share->live[i])) memset(&share->live[i], 0, sizeof share->live[i]);
    }
}

static struct cg_share_export *find(struct cg_share *share, uint64_t address, uint64_t bytes, uint64_t id)
{
    for (int i = 0; i < CG_SHARE_LIVE; i++) {
        struct cg_share_export *e = &share->live[i];
        if (e->id == id && address >= e->base && address + bytes <= e->base + e->bytes) return e;
    }
    return NULL;
}

/* A free entry, or the one that was not used for longest. */
static struct cg_share_export *oldest(struct cg_share *share)
{
    struct cg_share_export *e = &share->live[0];

    for (int i = 1; i < CG_SHARE_LIVE; i++) {
        if (share->live[i].turn < e->turn) e = &share->live[i];
    }
    return e;
}

static int make(struct cg_share_export *e, uint64_t address, uint64_t bytes, uint64_t id)
{
    struct cg_share_export fresh = {.id = id};
    cudaIpcMemHandle_t handle;

    if (cg_gpu_range((const void *) address, &fresh.base, &fresh.bytes) != CG_OK) return CG_ERR_UNSUPPORTED;
    if (address + bytes > fresh.base + fresh.bytes) return CG_ERR_UNSUPPORTED;
    if (!cg_cuda_ok(cudaIpcGetMemHandle(&handle, (void *) fresh.base))) return CG_ERR_UNSUPPORTED;
    memcpy(fresh.handle, &handle, sizeof handle);
    *e = fresh;
    return CG_OK;
}

int cg_share_describe(struct cg_share *share, int device, const void *p, uint64_t bytes, struct cg_share_card *card)
{
    uint64_t address = (uint64_t) p;
    struct cg_share_export *e;
    struct cg_mem mem;

    memset(card, 0, sizeof *card);
    forget_freed(share);
    cg_gpu_classify(p, &mem);
    if (mem.kind != CG_MEM_DEVICE || mem.device != device) return CG_ERR_UNSUPPORTED;
    e = find(share, address, bytes, mem.id);
    if (!e) {
        e = oldest(share);
        if (make(e, address, bytes, mem.id) != CG_OK) return CG_ERR_UNSUPPORTED;
    }
    e->turn = ++share->turns;
    memcpy(card->handle, e->handle, sizeof card->handle);
    card->pid = cg_process_id();
    card->address = address;
    card->base = e->base;
    card->bytes = e->bytes;
    card->id = e->id;
    card->device = (uint64_t) device;
    for (int i = 0; i < CG_SHARE_LIVE; i++) card->live[i] = share->live[i].id;
    return CG_OK;
}

/* ---- importing ---- */

static int named(const struct cg_share_card *card, uint64_t id)
{
    for (int i = 0; i < CG_SHARE_LIVE; i++) {
        if (card->live[i] == id) return 1;
    }
    return 0;
}

static void unmap(struct cg_share *share, struct cg_share_import *i)
{
    (void) cg_cuda_ok(cudaIpcCloseMemHandle(i->memory));
    free(i);
    share->closed++;
}

static void close_unnamed(struct cg_share *share, const struct cg_share_card *card)
{
    for (struct cg_share_import **p = &share->imports; *p;) {
        struct cg_share_import *i = *p;
        if (i->users || i->pid != card->pid || i->device != card->device || named(card, i->id)) {
            p = &i->next;
            continue;
        }
        *p = i->next;
        unmap(share, i);
    }
}

static struct cg_share_import *look_up(struct cg_share *share, const struct cg_share_card *card)
{
    for (struct cg_share_import *i = share->imports; i; i = i->next) {
        if (i->pid == card->pid && i->device == card->device && i->id == card->id && i->base == card->base) return i;
    }
    return NULL;
}

static struct cg_share_import *map(struct cg_share *share, const struct cg_share_card *card)
{
    struct cg_share_import *i = calloc(1, sizeof *i);
    cudaIpcMemHandle_t handle;
    void *memory = NULL;

    if (!i) return NULL;
    memcpy(&handle, card->handle, sizeof handle);
    if (!cg_cuda_ok(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess))) {
        free(i);
        return NULL;
    }
    i->pid = card->pid;
    i->device = card->device;
    i->base = card->base;
    i->id = card->id;
    i->memory = memory;
    i->next = share->imports;
    share->imports = i;
    share->opened++;
    return i;
}

int cg_share_open(struct cg_share *share, const struct cg_share_card *card, char **p, struct cg_share_import **user)
{
    struct cg_share_import *i;

    *user = NULL;
    if (card->pid == cg_process_id()) {
        *p = (char *) card->address;
        return CG_OK;
    }
    close_unnamed(share, card);
    i = look_up(share, card);
    if (!i) i = map(share, card);
    if (!i) return CG_ERR_GPU;
    i->users++;
    *user = i;
    *p = i->memory + (card->address - card->base);
    return CG_OK;
}

void cg_share_drop(struct cg_share_import *user)
{
    if (user) user->users--;
}

void cg_share_close(struct cg_share *share)
{
    while (share->imports) {
        struct cg_share_import *i = share->imports;
        share->imports = i->next;
        unmap(share, i);
    }
    memset(share->live, 0, sizeof share->live);
}
