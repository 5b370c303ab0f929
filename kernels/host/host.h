/* SPDX-License-Identifier: BSD-3-Clause
 * Host executor: the executable reference. Free of CUDA and MPI. One thread at a time per operation. */
#ifndef CG_KERNELS_HOST_HOST_H
#define CG_KERNELS_HOST_HOST_H

#include "kernels/interp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dst[i] = a[i] op b[i] for n elements, a the left operand. dst may be a or b; otherwise no overlap. Any alignment. */
typedef void (*cg_reduce_fn)(void *dst, const void *a, const void *b, size_t n);
/* NULL if MPI does not allow the pair. */
cg_reduce_fn cg_reduce_host(int type, int redop);
/* dst = ((x[0] op x[1]) op x[2]) ... op x[n - 1] for count elements, n > 1; narrow types are rounded once, at the end.
 * dst may be one of the x; otherwise no overlap. */
void cg_fold_host(int type, int redop, void *dst, const char *const *x, int n, size_t count);
/* n elements of a narrow type as floats, and back. */
void cg_widen_host(int type, float *to, const void *from, size_t n);
void cg_narrow_host(int type, void *to, const float *from, size_t n);
/* Size in bytes of a type; its and the operation's names. */
int cg_type_size(int type);
const char *cg_type_name(int type);
const char *cg_redop_name(int redop);
const char *cg_coll_name(int coll);
const char *cg_step_name(int opcode);

/* near: bit l says that what is sent on link l is next read by another CPU of this host (or by a GPU); larger messages
 * are then written past the cache. 0 is always right. */

/* Run one step of channel chan if it may run. CG_RUN_STEP: a step ran; CG_AGAIN; CG_DONE; or an error with *fault. */
int cg_host_step(const struct cg_op *op, uint32_t chan, struct cg_pos *pos, uint32_t near, struct cg_fault *fault);

/* Sweep all channels until nothing runs or budget steps ran. pos has nchan entries. CG_AGAIN, CG_DONE or an error;
 * *ran is increased by the steps that ran. */
int cg_host_sweep(const struct cg_op *op, struct cg_pos *pos, uint32_t near, int budget, int *ran,
                  struct cg_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
