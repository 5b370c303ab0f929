/* SPDX-License-Identifier: BSD-3-Clause
 * What the MPI tests of this folder share: start, GPU, checks, and the one line at the end.
 * With CG_TEST_HOST=1 every kind of memory is replaced by pageable host memory: the same tests on the host executor. */
#ifndef CG_TEST_GPU_TEST_H
#define CG_TEST_GPU_TEST_H

#include "bench/buffer.h"
#include "bench/data.h"
#include "bench/watch.h"

#include <mpi.h>
#include <stdint.h>

struct cgt {
    const char *name;
    int rank, size;
    int host_only;
    uint64_t checks, failed; /* of this rank */
    uint64_t random;         /* state of cgt_random */
    struct cg_watch *watch;
};

/* MPI_Init_thread, a GPU for this rank. 0, or the exit status (77: no GPU or thread level); then MPI is finalized. */
int cgt_open(struct cgt *t, const char *name, int *argc, char ***argv, int thread_level);
/* Prints "name: ok ..." or "name: FAILED ..." on rank 0, finalizes, returns the exit status. */
int cgt_close(struct cgt *t);

/* Count a check; the first failures of a rank are told on stderr. Returns ok. */
int cgt_check(struct cgt *t, int ok, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Check that kernels of coll/gpu served calls of this rank: else a test on device memory shows nothing about them. */
void cgt_check_gpu(struct cgt *t);

/* Below n, the same sequence on every rank that draws equally often. */
uint32_t cgt_random(struct cgt *t, uint32_t n);
/* Below n, from a state of its own, for choices that differ between ranks. */
uint32_t cgt_draw(uint64_t *state, uint32_t n);

/* Allocate, or end the job: tests have nothing to check without memory. kind as said above. */
void cgt_alloc(struct cgt *t, struct cg_buf *b, int kind, size_t bytes);

/* Fill count elements at byte at with this rank's input; check there the result of the ranks 0 .. nranks - 1. */
void cgt_fill(const struct cg_buf *b, size_t at, const struct cg_data_type *type, const struct cg_data_op *op,
              size_t count, uint64_t seed, int rank);
uint64_t cgt_wrong(const struct cg_buf *b, size_t at, const struct cg_data_type *type, const struct cg_data_op *op,
                   size_t count, uint64_t seed, int nranks);
uint64_t cgt_hash(const struct cg_buf *b, size_t at, size_t bytes);

/* Test the request for so many seconds, at least once; is it complete? */
int cgt_poke(MPI_Request *req, double seconds);

#endif
