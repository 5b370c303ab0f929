/* SPDX-License-Identifier: BSD-3-Clause
 * An application's kernel, for tests. */
#ifndef CG_TEST_SPIN_H
#define CG_TEST_SPIN_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Launch, on stream, one block that runs for us microseconds and then adds 1 to *word (GPU memory). */
cudaError_t cgt_spin(cudaStream_t stream, unsigned us, unsigned *word);

#ifdef __cplusplus
}
#endif
#endif
