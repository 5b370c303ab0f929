/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Reduce_local on device buffers. No communicator, no plan: one kernel, which is waited for. */
#include "engine/internal.h"

/* The GPU that can address both, or -1. */
static int common_device(const void *in, const void *inout)
{
    struct cg_mem a, b;

    cg_gpu_classify(in, &a);
    cg_gpu_classify(inout, &b);
    int a_here = CG_MEM_DEVICE == a.kind, b_here = CG_MEM_DEVICE == b.kind;
    if (!(a_here || CG_MEM_MANAGED == a.kind) || !(b_here || CG_MEM_MANAGED == b.kind)) return -1;
    if (a_here && b_here && a.device != b.device) return -1;
    return a_here ? a.device : b.device;
}

static int start(struct cg_proc *proc, int device, int type, int redop, const void *in, void *inout, uint64_t count,
                 struct cg_gpu_copy **handle)
{
    struct cg_gpu *gpu = cg_proc_gpu(proc, device);
    int rc = gpu ? cg_gpu_reduce_start(gpu, type, redop, in, inout, count, handle) : CG_ERR_UNSUPPORTED;

    proc->counters.native_gpu += CG_OK == rc;
    return rc;
}

int cg_proc_reduce_local(struct cg_proc *proc, int type, int redop, const void *in, void *inout, uint64_t count)
{
    struct cg_gpu_copy *handle;
    int device = common_device(in, inout), rc;

    if (device < 0) return CG_ERR_UNSUPPORTED;
    cg_proc_lock(proc);
    rc = start(proc, device, type, redop, in, inout, count, &handle);
    cg_proc_unlock(proc);
    if (CG_OK != rc) return rc;
    do { /* operations under way go on meanwhile */
        cg_proc_progress(proc);
        cg_proc_lock(proc);
        rc = cg_gpu_copy_test(proc->gpu[device], handle);
        cg_proc_unlock(proc);
    } while (CG_AGAIN == rc);
    return rc;
}
