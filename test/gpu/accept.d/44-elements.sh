#!/bin/sh
# Complex numbers, pairs with gaps, half, bfloat16 and FP8 on device memory: the same bits as on the host.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try '2 ranks' 120 2 "$programs/mpi_types"
try '3 ranks' 180 3 "$programs/mpi_types"
detail=$(grep -h '^mpi_types' "$log" | sed 's/^mpi_types: //' | head -n 1)
finish
