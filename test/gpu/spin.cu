/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/gpu/spin.h"

static __global__ void spin(unsigned long long ns, unsigned *word)
{
    unsigned long long start, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
    *word += 1;
}

extern "C" cudaError_t cgt_spin(cudaStream_t stream, unsigned us, unsigned *word)
{
    spin<<<1, 1, 0, stream>>>(us * 1000ull, word);
    return cudaGetLastError();
}
