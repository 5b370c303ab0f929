/* SPDX-License-Identifier: BSD-3-Clause
 * A GPU without executor: memory of test/mpi/fake_memory.h is device memory, copies work, opening an engine fails.
 * Linked in front of the library's own layer into the component of test/mpi/fake. FAKE_GPU=0: no GPU on this rank. */
#define cg_gpu_present none_present
#define cg_gpu_built none_built
#define cg_gpu_classify none_classify
#define cg_gpu_memcpy none_memcpy
#include "kernels/cuda/gpu_none.c"
#undef cg_gpu_present
#undef cg_gpu_built
#undef cg_gpu_classify
#undef cg_gpu_memcpy

#include "test/mpi/fake_memory.h"

#include <stdlib.h>

int cg_gpu_present(void)
{
    const char *env = getenv("FAKE_GPU");

    return !env || strcmp(env, "0");
}

int cg_gpu_built(void) { return 1; }

void cg_gpu_classify(const void *p, struct cg_mem *mem)
{
    none_classify(p, mem);
    if (!fake_is_device(p)) return;
    mem->kind = CG_MEM_DEVICE;
    mem->device = 0;
    mem->id = 1;
}

int cg_gpu_memcpy(int device, void *dst, const void *src, size_t bytes)
{
    (void) device;
    fake_copy(dst, src, bytes);
    return CG_OK;
}
