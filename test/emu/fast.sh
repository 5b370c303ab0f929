#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The fast executor as it is, its kernels included, with the GPUs' threads as fibers of this machine's (device.h): the
# test of test/gpu/fast_check, on small sizes. usage: fast.sh [RANKS [RANDOM_OPERATIONS]]
# CG_EMU_BUILD: a folder that keeps the program. CG_FAST_MOST, CG_FAST_ONLY: see fast_check.c.
src=${top_srcdir:?} out=${CG_EMU_BUILD:-$(mktemp -d)}
if [ -z "$CG_EMU_BUILD" ]; then trap 'rm -rf "$out"' EXIT; fi
command -v c++ >/dev/null || { echo "no C++ compiler"; exit 77; }
case $(uname -m) in x86_64 | aarch64) ;; *) echo "arguments of kernels are passed otherwise here"; exit 77 ;; esac
mkdir -p "$out" || exit 1
flags="-g -O2 -Wall -Wextra -I$src/test/emu/include -I$src -fno-strict-aliasing"
quiet="-Wno-unused-function -Wno-unknown-pragmas -Wno-unused-parameter -Wno-maybe-uninitialized"
objects=
c() { objects="$objects $out/$2.o"; cc -std=gnu11 $flags -c "$src/$1" -o "$out/$2.o" || exit 1; }
cxx() {
    objects="$objects $out/$2.o"
    c++ -std=gnu++17 -x c++ -include "$src/test/emu/device.h" $flags $quiet -c "$src/$1" -o "$out/$2.o" || exit 1
}
for name in fast_host fast_post fast_window fast_slab fast_open fast_copy fast_copy_open fast_lead lead share; do
    c kernels/cuda/$name.c $name
done
for name in names reduce; do c kernels/host/$name.c $name; done
for name in fast_check fast_world fast_case; do c test/gpu/$name.c $name; done
for name in core params; do c core/$name.c $name; done
for name in fast_kernel fast_move fast_copy_kernel fast_lead_kernel; do cxx kernels/cuda/$name.cu $name; done
cxx test/emu/device.cc device
c++ $objects -o "$out/fast_check" -lpthread || exit 1
parts=every_collective,small_windows,late_rank,crossed,announced
export CG_FAST_MOST="${CG_FAST_MOST:-2100}" CG_FAST_ONLY="${CG_FAST_ONLY:-$parts}"
"$out/fast_check" "${1:-2}" "${2:-50}"
