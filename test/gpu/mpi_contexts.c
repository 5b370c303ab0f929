/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts and lifetimes, blocking calls on device memory. argv[1]:
 *   late    cudaSetDevice is never called; before MPI_Init nothing of CUDA is used
 *   other   the buffers lie on another GPU than the one that is current, which stays current; only these two have a
 *           context afterwards
 *   thread  a thread that never called cudaSetDevice calls MPI
 *   again   buffers are freed and allocated again, at the same addresses or not, with other data, many times
 *   reset   cudaDeviceReset between the last collective and MPI_Finalize; buffers are never freed */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 300000

static int rank, size, gpus, failed;

static void must(cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess) return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, cudaGetErrorString(rc));
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static int *allocate(void)
{
    int *p;

    must(cudaMalloc((void **) &p, N * sizeof(int)), "cudaMalloc");
    return p;
}

/* A sum of n ints, checked. */
static void sum(int *send, int *recv, int n, int seed)
{
    static int host[N];

    for (int i = 0; i < n; i++) host[i] = rank + seed + i;
    must(cudaMemcpy(send, host, (size_t) n * sizeof(int), cudaMemcpyDefault), "cudaMemcpy");
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    MPI_Allreduce(send, recv, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    must(cudaMemcpy(host, recv, (size_t) n * sizeof(int), cudaMemcpyDefault), "cudaMemcpy");
    for (int i = 0; i < n; i++) {
        int want = size * (size - 1) / 2 + size * (seed + i);
        if (host[i] == want) continue;
        fprintf(stderr, "rank %d: seed %d: element %d of %d is %d, not %d\n", rank, seed, i, n, host[i], want);
        failed = 1;
        return;
    }
}

/* Enough for every path: the fast executor begins after some calls. */
static void sums(int *send, int *recv)
{
    static const int counts[] = {1, 1000, N};

    for (int i = 0; i < 30; i++) sum(send, recv, counts[i % 3], i);
}

static int has_context(int device)
{
    static CUresult (*state)(CUdevice, unsigned *, int *);
    void *driver = state ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
    unsigned flags;
    int active = 0;

    if (driver) *(void **) &state = dlsym(driver, "cuDevicePrimaryCtxGetState");
    if (!state || state(device, &flags, &active) != CUDA_SUCCESS) must(cudaErrorUnknown, "cuDevicePrimaryCtxGetState");
    return active;
}

static void other(void)
{
    int mine = rank % gpus, theirs = (rank + 1) % gpus, current = -1;
    int *send, *recv;

    must(cudaSetDevice(theirs), "cudaSetDevice");
    send = allocate(), recv = allocate();
    must(cudaSetDevice(mine), "cudaSetDevice");
    sums(send, recv);
    must(cudaGetDevice(&current), "cudaGetDevice");
    if (current != mine) {
        fprintf(stderr, "rank %d: device %d is current instead of %d\n", rank, current, mine);
        failed = 1;
    }
    for (int d = 0; d < gpus; d++) {
        if (!has_context(d) || d == mine || d == theirs) continue;
        fprintf(stderr, "rank %d: a context on GPU %d, which it does not use\n", rank, d);
        failed = 1;
    }
}

static void *in_thread(void *arg)
{
    int **buf = arg;

    sums(buf[0], buf[1]);
    return NULL;
}

static void thread(void)
{
    int *buf[2];
    pthread_t t;

    must(cudaSetDevice(rank % gpus), "cudaSetDevice");
    buf[0] = allocate(), buf[1] = allocate();
    if (pthread_create(&t, NULL, in_thread, buf) == 0) pthread_join(t, NULL);
    else failed = 1;
}

static void again(void)
{
    must(cudaSetDevice(rank % gpus), "cudaSetDevice");
    for (int round = 0; round < 40; round++) {
        int *send = allocate(), *gap = round % 3 ? allocate() : NULL, *recv = allocate();
        for (int i = 0; i < 5; i++) sum(send, recv, i % 2 ? N : 1000, 100 * round + i);
        must(cudaFree(send), "cudaFree");
        must(cudaFree(recv), "cudaFree");
        must(cudaFree(gap), "cudaFree");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int provided, all;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return MPI_Finalize(), 77;
    if (!strcmp(what, "late")) sums(allocate(), allocate());
    else if (!strcmp(what, "other")) other();
    else if (!strcmp(what, "thread")) thread();
    else if (!strcmp(what, "again")) again();
    else must(cudaSetDevice(rank % gpus), "cudaSetDevice"), sums(allocate(), allocate());
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("mpi_contexts %s: %s\n", what, all ? "FAILED" : "ok");
    if (!strcmp(what, "reset")) must(cudaDeviceReset(), "cudaDeviceReset");
    MPI_Finalize();
    return all != 0;
}
