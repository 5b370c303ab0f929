#!/bin/sh
# Float sums have the same bits in 100 runs, on all ranks and executors; 4 and 3 ranks share the GPUs under MPS.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
mps_start
try 'shm, 4 ranks' 60 4 "$programs/mpi_bits"
try 'shm, 3 ranks' 60 3 "$programs/mpi_bits"
try 'net, 4 ranks' 60 4 --mca coll_gpu_virtual_nodes 2 "$programs/mpi_bits"
try 'host executor, 4 ranks' 60 4 --mca coll_gpu_enable always -x CG_TEST_HOST=1 "$programs/mpi_bits"
# The runs with 4 ranks print one hash per size: one each, whatever the path and the executor.
hashes=$(grep '^bits .* 4 ranks' "$log" | sort -u)
sizes=$(printf '%s\n' "$hashes" | cut -d' ' -f2 | sort -u)
if [ "$(printf '%s\n' "$hashes" | wc -l)" -ne "$(printf '%s\n' "$sizes" | wc -l)" ]; then
    failed="${failed}bits differ between runs, see the log; "
fi
detail=$(grep -h '^mpi_bits' "$log" | sed 's/^mpi_bits: //' | head -n 1)
finish
