/* SPDX-License-Identifier: BSD-3-Clause
 * Several pretended ranks in one process, each with the GPU's executor or the host's, joined by shared-memory links
 * made by hand. One thread drives all. */
#ifndef CG_TEST_SM_WORLD_H
#define CG_TEST_SM_WORLD_H

#include "kernels/cuda/gpu.h"
#include "kernels/host/host.h"
#include "plan/plan.h"

#define SM_RANKS 4
#define SM_COMMS 4

struct sm_lane_end {
    uint64_t send_next[CG_MAX_CHAN], recv_next[CG_MAX_CHAN];
};

/* One operation on one rank. */
struct sm_job {
    struct sm_job *before; /* on the same communicator and rank, while unfinished */
    int rank, comm, status, slot;
    struct cg_fault fault;
    struct cg_pos pos[CG_MAX_CHAN]; /* host executor */
    char op[CG_OP_BYTES] __attribute__((aligned(16)));
};

struct sm_world {
    struct cg_params params;
    uint32_t nranks, ncomms;
    struct cg_gpu *gpu[SM_RANKS]; /* NULL: host executor */
    void *memory;
    size_t bytes;
    uint64_t ids;
    uint32_t opno[SM_COMMS][SM_RANKS];
    struct sm_lane_end end[SM_COMMS][SM_RANKS][SM_RANKS];
    struct sm_job *last[SM_COMMS][SM_RANKS];
};

struct sm_call {
    int coll, type, redop;
    uint64_t count;
};

/* gpus: bit r = rank r uses the GPU's executor, on device r modulo the number of devices if spread. Ends the test with
 * exit code 77 where there is no GPU but one is asked for. */
void sm_open(struct sm_world *w, const struct cg_params *params, uint32_t nranks, uint32_t ncomms, uint32_t gpus,
             int spread);
void sm_close(struct sm_world *w);

/* Queue an operation of a rank. Buffers must be addressable by the rank's executor. */
void sm_start(struct sm_world *w, struct sm_job *job, int comm, int rank, const struct sm_call *call, const void *src,
              void *dst);
/* The same for any collective; the call's count is not looked at. bytes: for the slot headers. */
void sm_start_request(struct sm_world *w, struct sm_job *job, int comm, const struct cg_plan_request *req,
                      const struct sm_call *call, uint64_t bytes, const void *src, void *dst);
/* Advance all ranks and these jobs once. Jobs still unfinished. */
int sm_advance(struct sm_world *w, struct sm_job *const *jobs, int n);
/* Until all are finished; ends the test with a report after 20 s. */
void sm_wait(struct sm_world *w, struct sm_job *const *jobs, int n);
/* Forget a job, finished or not. */
void sm_drop(struct sm_world *w, struct sm_job *job);

uint64_t sm_now_ns(void);
uint32_t sm_random(uint32_t n); /* below n, reproducible */
void sm_require_gpu(void);      /* exit(77) without one */

/* End the test with a line that says where. */
#define SM_CHECK(cond, ...)                                                                \
    do {                                                                                   \
        if (!(cond)) sm_fail(__FILE__, __LINE__, #cond, __VA_ARGS__);                      \
    } while (0)
void sm_fail(const char *file, int line, const char *cond, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

#endif
