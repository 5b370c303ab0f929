#!/bin/sh
# CUDA calls and stream captures between MPI_Iallreduce and MPI_Wait.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try shm 60 2 "$programs/mpi_manners"
try net 60 2 --mca coll_gpu_virtual_nodes 2 "$programs/mpi_manners"
detail=$(grep -h '^cudaDeviceSynchronize' "$log" | tr '\n' ';')
finish
