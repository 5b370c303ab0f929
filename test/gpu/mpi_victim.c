/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives without end; the last rank kills itself in the middle of one, without a chance to clean up. */
#include "test/gpu/gpu_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct cgt t;
    struct cg_buf send, recv;
    size_t count = 1 << 20;
    int rc = cgt_open(&t, "mpi_victim", &argc, &argv, MPI_THREAD_SINGLE);

    if (rc != 0) return rc;
    cgt_alloc(&t, &send, CG_BUF_DEVICE, count * 4);
    cgt_alloc(&t, &recv, CG_BUF_DEVICE, count * 4);
    cg_buf_set(&send, 0, 0, count * 4);
    for (long i = 0;; i++) {
        MPI_Request req;
        MPI_Iallreduce(send.p, recv.p, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &req);
        if (i == 300 && t.rank == t.size - 1) {
            cgt_poke(&req, 0);
            printf("%d dies\n", (int) getpid());
            fflush(stdout);
            raise(SIGKILL);
        }
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    }
}
