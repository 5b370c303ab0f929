/* SPDX-License-Identifier: BSD-3-Clause
 * Of CUDA's driver API, what kernels/cuda names. */
#ifndef CG_TEST_EMU_CUDA_H
#define CG_TEST_EMU_CUDA_H

#include <stddef.h>

typedef int CUresult, CUdevice, CUstreamCaptureMode, CUpointer_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

#endif
