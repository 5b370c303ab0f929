/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers of the application, opened by other processes of this host (CUDA IPC). A cache on both sides: the exporter
 * keeps the handles of its last CG_SHARE_LIVE allocations and names those that still exist in every card; the importer
 * keeps as many mappings of an exporter and closes those that the card no longer names. So memory that the application
 * frees comes back with the exporter's next card, and nothing is opened twice. An allocation is known by CUDA's buffer
 * id, which changes when memory is freed and allocated again at the same address.
 *
 * Thread rules: under the engine's lock, within cg_gpu_enter of the device. */
#ifndef CG_KERNELS_CUDA_SHARE_H
#define CG_KERNELS_CUDA_SHARE_H

#include "core/port.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CG_SHARE_LIVE 8
/* Allocations whose size is no multiple of this are written to at 280 GB/s through CUDA IPC, instead of 380 (2 x H200,
 * NVLink, CUDA 13.0). */
#define CG_SHARE_PAGE (2u << 20)

/* Plain data that travels through shared memory. */
struct cg_share_card {
    unsigned char handle[64]; /* cudaIpcMemHandle_t */
    uint64_t pid;             /* cg_process_id() */
    uint64_t address;         /* of the buffer, in the exporter */
    uint64_t base, bytes, id; /* of its allocation */
    uint64_t device;          /* the exporter's ordinal */
    uint64_t live[CG_SHARE_LIVE]; /* ids of what the exporter has exported and not freed; 0 = none */
};

struct cg_share_export {
    uint64_t base, bytes, id, turn;
    unsigned char handle[64];
};

struct cg_share_import {
    struct cg_share_import *next;
    uint64_t pid, device, base, id;
    char *memory;
    int users;
};

/* Of one device; all zero at first. */
struct cg_share {
    struct cg_share_export live[CG_SHARE_LIVE];
    struct cg_share_import *imports;
    uint64_t turns, opened, closed;
};

/* Of this process, unlike those in other containers. */
uint64_t cg_process_id(void);

/* Describe bytes at p, memory of the device. CG_OK; CG_ERR_UNSUPPORTED if CUDA IPC cannot export it (mapped ranges,
 * stream ordered or managed memory, memory of a peer, or bytes that reach beyond one allocation). */
int cg_share_describe(struct cg_share *share, int device, const void *p, uint64_t bytes, struct cg_share_card *card);

/* The buffer of a card that another rank described, and what keeps it open until cg_share_drop (NULL within one
 * process). CG_OK, or CG_ERR_GPU if it cannot be opened. May close mappings that the card no longer names, which waits
 * for resident kernels of this device. */
int cg_share_open(struct cg_share *share, const struct cg_share_card *card, char **p, struct cg_share_import **user);
void cg_share_drop(struct cg_share_import *user);

/* Close all mappings. */
void cg_share_close(struct cg_share *share);

#ifdef __cplusplus
}
#endif
#endif
