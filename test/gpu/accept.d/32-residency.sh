#!/bin/sh
# How long a kernel stays, under a loop of collectives beside a thread in cudaDeviceSynchronize.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try residency 60 2 "$programs/mpi_residency" 5
detail=$(sed -n 's/^rank 0: //p' "$log")
finish
