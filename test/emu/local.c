/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel of MPI_Reduce_local as it is, with the GPU's threads as fibers (device.h), against the host's functions:
 * every type and operation, any alignment, lengths around packs and slices. Nothing beside is touched. */
#include "kernels/cuda/local.h"
#include "kernels/host/host.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (3 * CG_LOCAL_SLICE + 64)
#define GUARD 64

static cudaStream_t stream;
static unsigned seed = 1;
static int checks, failed;

/* Any bits; floats of them small, so that nothing is NaN or rounds to another width's surprise. */
static void fill(int type, char *p, uint64_t count)
{
    int size = cg_type_size(type);

    for (uint64_t i = 0; i < count * (uint64_t) size; i++) p[i] = (char) rand_r(&seed);
    for (uint64_t i = 0; i < count; i++) {
        int n = rand_r(&seed) % 23 - 11;
        if (type == CG_TYPE_F32) ((float *) p)[i] = (float) n / 4;
        if (type == CG_TYPE_F64) ((double *) p)[i] = (double) n / 4;
        for (int k = 0; k < 2; k++) {
            if (type == CG_TYPE_C32 || type == CG_TYPE_LOC_2F32) ((float *) p)[2 * i + (uint64_t) k] = (float) (n + k);
            if (type == CG_TYPE_C64 || type == CG_TYPE_LOC_2F64) ((double *) p)[2 * i + (uint64_t) k] = n + k;
        }
        if (type == CG_TYPE_LOC_F32) ((cg_loc_f32 *) p)[i].v = (float) n;
        if (type == CG_TYPE_LOC_F64) ((cg_loc_f64 *) p)[i].v = n;
    }
    for (uint64_t i = 0; cg_type_narrow(type) && i < count; i++) {
        float x = (float) (rand_r(&seed) % 9 - 4);
        cg_narrow_host(type, p + i * (uint64_t) size, &x, 1);
    }
}

static void check(int type, int redop, uint64_t count, char *in, char *inout, char *want, unsigned a, unsigned b)
{
    uint64_t bytes = count * (uint64_t) cg_type_size(type);
    char *values = aligned_alloc(64, MOST + GUARD);
    struct cg_local_args args = {.in = in + a, .inout = inout + GUARD + b, .bytes = bytes, .type = (uint32_t) type,
                                 .redop = (uint32_t) redop};

    memset(inout, 0x5a, bytes + 2 * GUARD + b);
    fill(type, values, count);
    memcpy(in + a, values, bytes);
    fill(type, values, count);
    memcpy(inout + GUARD + b, values, bytes);
    memcpy(want, inout, bytes + 2 * GUARD + b);
    cg_reduce_host(type, redop)(want + GUARD + b, in + a, want + GUARD + b, count);
    for (uint64_t i = 0; i < bytes; i++) { /* gaps are nobody's */
        if (!(cg_type_data(type) >> (i % 16) & 1)) want[GUARD + b + i] = values[i];
    }
    if (cg_local_launch(&args, 1 + count % 3, stream) || cudaStreamSynchronize(stream) != cudaSuccess) abort();
    checks++;
    if (memcmp(inout, want, bytes + 2 * GUARD + b)) {
        failed++;
        printf("FAILED: type %s, %s, %llu elements, offsets %u and %u\n", cg_type_name(type), cg_redop_name(redop),
               (unsigned long long) count, a, b);
    }
    free(values);
}

int main(void)
{
    static const uint64_t counts[] = {1, 2, 3, 7, 8, 9, 15, 17, 33, 100, 1000};
    void *in, *inout, *want;

    if (cudaMalloc(&in, MOST + GUARD) || cudaMalloc(&inout, MOST + 3 * GUARD) ||
        cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0)) return 1;
    want = malloc(MOST + 3 * GUARD);
    for (int type = 0; type < CG_TYPE_COUNT; type++) {
        for (int redop = 0; redop < CG_REDOP_COUNT; redop++) {
            if (!cg_reduce_host(type, redop)) continue;
            unsigned size = (unsigned) cg_type_size(type);
            for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                check(type, redop, counts[i], in, inout, want, size * (i % 5) % 32, size * (i % 3) % 32);
                check(type, redop, counts[i], in, inout, want, i % 4, i * 3 % 7); /* not even an element's */
            }
            if (redop > CG_REDOP_PROD && redop < CG_REDOP_MINLOC) continue;
            check(type, redop, (CG_LOCAL_SLICE + 48) / size, in, inout, want, 0, 0);
            check(type, redop, 3 * CG_LOCAL_SLICE / size - 1, in, inout, want, size % 16, 0);
        }
    }
    printf("%d checks, %d failed\n", checks, failed);
    return failed || checks < 1000;
}
