#!/bin/sh
# 2,000 communicators come and go, and nothing grows.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try shm 90 2 "$programs/mpi_dup" 2000
try net 90 2 --mca coll_gpu_virtual_nodes 2 "$programs/mpi_dup" 400
detail=$(sed -n 's/^from the //p' "$log" | head -n 1)
finish
