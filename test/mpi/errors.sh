#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Calls that do not match; set-up that cannot succeed.
. "${top_srcdir:=.}/test/mpi/lib.sh"

for shape in 2:0 3:2; do
    ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" errors mismatch
    said_both "allreduce of 44 bytes of I32 with SUM" "allreduce of 40 bytes of I32 with SUM"
    said_both "allreduce of 40 bytes of I32 with BXOR" "allreduce of 40 bytes of I32 with SUM"
    said_both "allreduce of 40 bytes of I32 with SUM (operation 2)" "allgather of 40 bytes (operation 2)"
    said_both "allreduce of 40 bytes of I32 with SUM" "allreduce of 160 bytes with a type"
    said_both "scan of 16 bytes with a type" "allreduce of 16 bytes with a type"
    said_both "allreduce of 16 bytes (a persistent request)" "allreduce of 16 bytes (a persistent request of the next"
    said "called allgather with 8 bytes for itself but expects 12 from itself" "${shape%:*}"
done
ok 3 "enable=always stage_limit=4096" errors setup
said "stage_limit is reached"
said "not served by coll/gpu: set-up failed on rank [0-9]*: no shared memory" 1
UCX_TLS=nonsense
export UCX_TLS
ok 3 "enable=always virtual_nodes=2" errors setup
said "not served by coll/gpu: set-up failed on rank [0-9]*: network transport failed" 1
unset UCX_TLS

# On one rank alone: the others hear of it.
on_rank 2 OMPI_MCA_coll_gpu_stage_limit=4096
ok 4 "enable=always" errors setup
said "coll_gpu: rank 2: shared memory: .*stage_limit is reached" 1
said "set-up failed on rank [0-9]*: no shared memory" 1

on_rank
ok 3 "enable=always" errors overlap
said "rank 2 of .* called allreduce with overlapping send and receive buffers (0x.*, 0x.*): MPI wants MPI_IN_PLACE"
said "rank 0 of .* called gatherv with overlapping" 1
said "rank 0 of MPI_COMM_SELF called reduce_local with overlapping" 3
export OMPI_MCA_mpi_param_check=0
ok 2 "enable=always" errors forbidden
said "rank [01] of .* called bcast with root 2: there are ranks 0 to 1" 2
said "rank [01] of .* called allreduce with a count of -1: none is below 0" 2
said "rank [01] of .* called allgatherv with a count of -2" 2
said "rank 1 of .*allreduce: the reduction operation MPI_BAND is not defined on the MPI_FLOAT datatype"
end
