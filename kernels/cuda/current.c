/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/survey.h"

#include "core/status.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stddef.h>

/* A function of libcuda, if somebody has loaded it. The handle is kept: the function lies in it. */
static void *loaded(const char *name)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    return cuda ? dlsym(cuda, name) : NULL;
}

int cg_gpu_current(void)
{
    int (*get_device)(int *) = (int (*)(int *)) loaded("cuCtxGetDevice");
    int device = -1;

    return get_device && get_device(&device) == 0 ? device : -1;
}

int cg_gpu_bus_of(int device, char id[16])
{
    int (*get_id)(char *, int, int) = (int (*)(char *, int, int)) loaded("cuDeviceGetPCIBusId");

    id[0] = 0;
    if (!get_id || get_id(id, 16, device) != 0) return CG_ERR_GPU;
    for (char *c = id; *c; c++) *c = (char) tolower((unsigned char) *c);
    return CG_OK;
}
