/* SPDX-License-Identifier: BSD-3-Clause
 * The collectives that coll_gpu_perf measures, all over MPI_COMM_WORLD with root 0: how they are called, what their
 * buffers hold, and what must come out. count and bytes are those of the buffer, or of a rank's block (allgather,
 * gather, scatter, alltoall, reduce_scatter_block). Main thread only. */
#ifndef CG_BENCH_CALLS_H
#define CG_BENCH_CALLS_H

#include "bench/data.h"

enum cg_call_kind { CG_CALL_BLOCKING, CG_CALL_NONBLOCKING, CG_CALL_PERSISTENT };
extern const char *const cg_call_kinds[];

struct cg_coll_call {
    int coll; /* of cg_calls_find */
    const void *src;
    void *dst;
    int count;
    const struct cg_data_type *type;
    const struct cg_data_op *op;
};

int cg_calls_find(const char *name); /* -1 if there is none; 0 is allreduce */
const char *cg_calls_name(int coll);
/* Blocks of count elements in the send and in the receive buffer. */
int cg_calls_send_blocks(int coll, int nranks);
int cg_calls_recv_blocks(int coll, int nranks);
/* Do all ranks get the same? */
int cg_calls_same(int coll);
/* Bytes that a link must carry per byte of the call. */
double cg_calls_traffic(int coll, int nranks);

/* From call to completion; persistent: request of init, not of other kinds. */
void cg_calls_run(const struct cg_coll_call *c, int kind, MPI_Request *persistent);
void cg_calls_init(const struct cg_coll_call *c, MPI_Request *persistent);

/* Does the data that a rank sends lie in the receive buffer before the call? */
int cg_calls_from_dst(const struct cg_coll_call *c, int rank);
/* A rank's send buffer, into host memory. */
void cg_calls_fill(const struct cg_coll_call *c, void *host, uint64_t seed, int rank, int nranks);
/* Elements of a rank's receive buffer, in host memory, that are wrong. scratch: count elements. */
uint64_t cg_calls_check(const struct cg_coll_call *c, const void *host, void *scratch, uint64_t seed, int rank,
                        int nranks);

#endif
