#!/bin/sh
# Every kind of memory, in every mixture between ranks and buffers.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try shm 120 2 "$programs/mpi_memory"
try net 120 2 --mca coll_gpu_virtual_nodes 2 "$programs/mpi_memory"
for memory in device mixed managed; do
    try "$memory to 64 MiB" 60 2 "$build/coll_gpu_perf" -m $memory -b 4 -e 64M -f 4 -n 2 -w 1 -c 1
done
detail=$(grep -h '^mpi_memory' "$log" | sed 's/^mpi_memory: //' | tr '\n' ';')
finish
