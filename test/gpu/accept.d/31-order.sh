#!/bin/sh
# Outstanding operations on several communicators, completed in any order.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try shm 60 2 "$programs/mpi_order"
try net 60 2 --mca coll_gpu_virtual_nodes 2 "$programs/mpi_order"
detail=$(grep -h '^mpi_order' "$log" | sed 's/^mpi_order: //' | tr '\n' ';')
finish
