#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A large allreduce between two pretended hosts against what transport and memcpy allow (bench/pipeline.c), over UCX's
# tcp and its shared memory. The figures are in bench/results; here a share of 75 % in one of ten attempts is enough
# on a machine with other things to do.
. "${top_srcdir:=.}/test/mpi/first.sh"
. "$top_srcdir/test/mpi/lib.sh"
grep -q 'DCG_HAVE_UCX=1' "$top_builddir/Makefile" || {
    echo "skipped: built without UCX"
    exit 77
}
program=$(cd "$top_builddir" && pwd)/coll_gpu_pipeline

attempt() { # transport
    launch timeout -k 5 600 "$MPIRUN" -n 2 -x UCX_TLS="$1,self" --mca pml ob1 --mca coll_gpu_enable always \
        --mca coll_gpu_virtual_nodes 2 "$program" 16777216 9 75 >"$out" 2>&1
}
for transport in tcp sm; do
    for n in $(seq 11); do
        [ $n -lt 11 ] || { fail "over $transport" && break; }
        jobs=$((jobs + 1))
        attempt $transport && break
    done
    tail -n 1 "$out"
done
end
