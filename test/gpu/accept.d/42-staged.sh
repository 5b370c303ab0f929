#!/bin/sh
# What the engine does not reduce itself, on device memory.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
try '2 ranks' 60 2 "$programs/mpi_staged"
try '3 ranks' 60 3 "$programs/mpi_staged"
detail=$(grep -h '^mpi_staged' "$log" | sed 's/^mpi_staged: //' | head -n 1)
finish
