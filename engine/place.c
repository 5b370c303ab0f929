/* SPDX-License-Identifier: BSD-3-Clause
 * Near memory and near network adapters for this process. The machine is looked at when the first chunk of shared
 * memory or the transport is needed; what cannot be found out is left to the system and to the transport. */
#include "engine/internal.h"
#include "kernels/cuda/survey.h"

/* The GPU whose memory is or will be moved: the one of the first call, else the caller's current one. */
static void find_gpu(const struct cg_proc *proc, char id[16])
{
    int device = proc->fifo_device >= 0 ? proc->fifo_device : cg_gpu_current();

    id[0] = 0;
    if (device >= 0) cg_gpu_bus_of(device, id);
}

static int look(struct cg_proc *proc, char gpu[16], struct cg_topo_near *near)
{
    struct cg_topo_rank rank = {.gpu = gpu, .local_rank = proc->local_rank, .local_size = proc->local_size};

    if (!proc->topo && !proc->topo_tried) {
        proc->topo_tried = 1;
        if (CG_OK != cg_topo_open(NULL, &proc->topo)) proc->topo = NULL;
    }
    if (!proc->topo) return 0;
    find_gpu(proc, gpu);
    rank.node = cg_topo_node(proc->topo);
    cg_topo_find_near(proc->topo, &rank, proc->params.near_nic, near);
    return 1;
}

/* Where that is not allowed the first touch decides. */
void cg_place_chunk(void *addr, size_t bytes, void *ctx)
{
    struct cg_proc *proc = ctx;
    struct cg_topo_near near;
    char gpu[16];
    int rc;

    if (!look(proc, gpu, &near)) return;
    rc = cg_topo_bind(proc->topo, addr, bytes, near.node);
    CG_LOG(2, "process %llx: %zu bytes of shared memory near NUMA node %d%s%s%s", (unsigned long long) proc->self,
           bytes, near.node, gpu[0] ? ", next to GPU " : "", gpu, CG_OK == rc ? "" : "; not bound: not allowed here");
}

/* Devices are named only if the snapshot is of this machine: they must be there. */
const char *cg_place_hint(void *ctx)
{
    struct cg_proc *proc = ctx;
    struct cg_topo_near near;
    char gpu[16];

    if (!proc->net->hint || !look(proc, gpu, &near) || !cg_topo_is_here(proc->topo)) return NULL;
    proc->net->hint(near.ports, CG_TOPO_NIC_NO_RDMA != near.why, cg_gpu_built() && cg_gpu_present(), proc->net_hint,
                    sizeof(proc->net_hint));
    CG_LOG(2, "process %llx: network adapters: %s%s%s (%s to %s)%s%s", (unsigned long long) proc->self,
           near.ports[0] ? near.ports : cg_topo_why_text(near.why), gpu[0] ? ", for GPU " : "", gpu,
           cg_topo_path_name(near.path), gpu[0] ? "it" : "the processors", proc->net_hint[0] ? "; " : "",
           proc->net_hint);
    return proc->net_hint[0] ? proc->net_hint : NULL;
}
