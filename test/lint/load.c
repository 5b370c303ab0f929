/* SPDX-License-Identifier: BSD-3-Clause
 * The component resolves every symbol in a process that has Open MPI and no CUDA driver: a lazily bound one that is
 * missing would otherwise end an application in the middle of a run. MPI is not initialised. usage: load [COMPONENT] */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *build = getenv("top_builddir");
    char path[4096];
    void *handle;
    int initialized = 1;

    snprintf(path, sizeof(path), "%s/in-tree/mca_coll_gpu.so", build ? build : ".");
    MPI_Initialized(&initialized); /* keeps libmpi among the libraries of this program */
    handle = dlopen(argc > 1 ? argv[1] : path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle || !dlsym(handle, "mca_coll_gpu_component")) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
        fprintf(stderr, "the CUDA driver was loaded along with the component\n");
        return 1;
    }
    return initialized;
}
