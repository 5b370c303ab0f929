/* SPDX-License-Identifier: BSD-3-Clause
 * Kernels as an application launches them, for benchmarks: a fixed amount of arithmetic per thread in one block per
 * SM, in as many blocks as the GPU holds at once (a wave), in ten times as many; or copying memory. One thread, one
 * GPU: the one that is current at open. */
#ifndef CG_BENCH_WORK_H
#define CG_BENCH_WORK_H

#ifdef __cplusplus
extern "C" {
#endif

enum cg_work_kind { CG_WORK_SMS, CG_WORK_WAVE, CG_WORK_WAVES, CG_WORK_MEMORY, CG_WORK_KINDS };

struct cg_work;

/* A stream of its own, and 512 MiB for CG_WORK_MEMORY. NULL with a line on stderr. */
struct cg_work *cg_work_open(void);
void cg_work_close(struct cg_work *work);
const char *cg_work_name(int kind);
/* Launch it and wait. Microseconds on the GPU, from before it could begin to its end; < 0 with a line on stderr. */
double cg_work_run(struct cg_work *work, int kind);

#ifdef __cplusplus
}
#endif
#endif
