#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The kernel of MPI_Reduce_local with a GPU's threads as fibers: local.c.
src=${top_srcdir:?} out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
command -v c++ >/dev/null || { echo "no C++ compiler"; exit 77; }
flags="-g -O2 -Wall -Wextra -I$src/test/emu/include -I$src -fno-strict-aliasing -ffp-contract=off"
quiet="-Wno-unused-function -Wno-unknown-pragmas -Wno-unused-parameter -Wno-maybe-uninitialized"
for name in kernels/host/names kernels/host/reduce core/core core/params test/emu/local; do
    cc -std=gnu11 $flags -c "$src/$name.c" -o "$out/$(basename $name).o" || exit 1
done
for name in kernels/cuda/local_kernel.cu test/emu/device.cc; do
    c++ -std=gnu++17 -x c++ -include "$src/test/emu/device.h" $flags $quiet -c "$src/$name" \
        -o "$out/$(basename $name).o" || exit 1
done
c++ "$out"/*.o -o "$out/local" -lpthread || exit 1
"$out/local"
