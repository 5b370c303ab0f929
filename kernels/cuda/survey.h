/* SPDX-License-Identifier: BSD-3-Clause
 * Which GPUs there are, what joins them, and which one the caller uses: without CUDA's headers, without a context, so
 * that builds without CUDA have it too. NVML is opened if it is there; libcuda is asked only if the process has it. */
#ifndef CG_KERNELS_CUDA_SURVEY_H
#define CG_KERNELS_CUDA_SURVEY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CG_SURVEY_GPUS 32

struct cg_gpu_survey {
    int count;
    struct {
        char bus_id[16]; /* "dddd:bb:dd.f", lower case */
        char name[64];
        uint64_t memory; /* bytes */
    } gpu[CG_SURVEY_GPUS];
    uint64_t nvlink[CG_SURVEY_GPUS][CG_SURVEY_GPUS]; /* MB/s, one direction, through NVSwitch or not */
};

/* GPUs that the driver shows to this process. Takes tens of milliseconds. CG_OK; CG_ERR_UNSUPPORTED: no NVML here;
 * CG_ERR_GPU: the driver does not answer. */
int cg_gpu_survey(struct cg_gpu_survey *survey);

/* The device whose context is current in this thread, or -1. */
int cg_gpu_current(void);
/* Its bus id as above. CG_OK or CG_ERR_GPU. */
int cg_gpu_bus_of(int device, char id[16]);

#ifdef __cplusplus
}
#endif
#endif
