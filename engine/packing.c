/* SPDX-License-Identifier: BSD-3-Clause
 * Data that do not lie together: packed by a kernel before the operation, unpacked by one after it. In between the
 * operation is on packed memory, and nobody else knows. */
#include "engine/internal.h"

void *cg_proc_room(struct cg_proc *proc, int device, uint64_t bytes)
{
    struct cg_gpu *gpu;
    void *room;

    cg_proc_lock(proc);
    gpu = cg_proc_gpu(proc, device);
    room = gpu ? cg_gpu_room(gpu, bytes) : NULL;
    cg_proc_unlock(proc);
    return room;
}

void cg_proc_room_free(struct cg_proc *proc, int device, void *room)
{
    struct cg_gpu *gpu;

    cg_proc_lock(proc);
    gpu = cg_proc_gpu(proc, device);
    if (gpu) cg_gpu_room_free(gpu, room);
    cg_proc_unlock(proc);
}

static int start(struct cg_req *req, const struct cg_pieces *p, uint32_t n, int back)
{
    struct cg_proc *proc = req->group->proc;

    req->pack_gpu = cg_proc_gpu(proc, p->device);
    if (NULL == req->pack_gpu) return CG_ERR_GPU;
    return cg_gpu_pack_start(req->pack_gpu, p->piece, n, p->packed, back, &req->pack);
}

/* With nothing to pack: until the room to unpack from is there. */
int cg_pack_begin(struct cg_req *req)
{
    const struct cg_pieces *pack = req->call.pack;

    req->group->proc->counters.packed++;
    return pack ? start(req, pack, pack->n, 0) : start(req, req->call.unpack, 0, 0);
}

int cg_pack_finish(struct cg_req *req) { return start(req, req->call.unpack, req->call.unpack->n, 1); }

int cg_pack_test(struct cg_req *req) { return cg_gpu_copy_test(req->pack_gpu, req->pack); }
