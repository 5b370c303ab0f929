/* SPDX-License-Identifier: BSD-3-Clause
 * Pretended GPUs: gpu.h and fast.h over host memory, so that the engine's choices between executors run anywhere. The
 * general executor runs the host interpreter; the fast one exchanges through double-buffered boxes and fails loudly if
 * a box is overwritten before it was read (the reuse invariant). */
#ifndef CG_TEST_ENGINE_FAKE_GPU_H
#define CG_TEST_ENGINE_FAKE_GPU_H

#include "kernels/step.h"

#include <stddef.h>

/* "Device memory" of a pretended GPU. */
void *fake_alloc(int device, size_t bytes);
int fake_free(void *p); /* 0: not ours */
/* From now on: opening GPUs fails; opening peers' windows fails. */
extern int fake_no_gpu, fake_no_peer;
/* Overwritten boxes; operations that the fast executor ran; bytes copied between kinds of memory. */
extern int fake_overruns, fake_fast_done, fake_gpu_done, fake_copies;
/* Allocation of GPU memory for FIFOs fails; flushes of what the network wrote there. */
extern int fake_no_memory, fake_flushes, fake_flush_kind;
/* Kernels that packed or unpacked; the how manieth from now on fails on GPU 0 (0: none). */
extern int fake_packs, fake_pack_fails, fake_reductions;
extern int fake_fast_colls[CG_COLL_COUNT]; /* the same by collective */
extern unsigned fake_seed;
/* The device that is current in this thread, -1: none. */
extern int fake_current;

#endif
