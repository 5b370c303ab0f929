#!/bin/sh
# Contexts and lifetimes: a program that never calls cudaSetDevice, buffers on another GPU than the current one, threads
# without a device, buffers freed and allocated again, cudaDeviceReset before MPI_Finalize. The program has a libcudart
# of its own (the static one).
. "$(dirname "$0")/../accept.sh"
need_gpus 1
[ -x "$programs/mpi_contexts" ] || result 77 "built without CUDA"
for what in late other thread again reset; do
    try "$what" 60 2 "$programs/mpi_contexts" $what
    grep -q "^mpi_contexts $what: ok" "$log" || failed="$failed$what: not ok; "
done
detail=$(grep -h '^mpi_contexts' "$log" | sed 's/^mpi_contexts //' | tr '\n' ';')
finish
