#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Parameters that are wrong, that differ, or that leave a rank out: one clear line, and the same way on all ranks.
. "${top_srcdir:=.}/test/mpi/lib.sh"

refused() { # PARAMETER=VALUE TEXT
    ok 2 "enable=always $1" errors served
    said "coll_gpu: rank [01]: $2; coll/gpu serves no communicator with this process" 2
}
refused slots=3 "coll_gpu_slots is 3, it must be a power of two"
refused slots=1000 "coll_gpu_slots is 1000, allowed are 2 to 64"
refused slot_bytes=-1 "coll_gpu_slot_bytes is -1, allowed are 1024 to 16777216"
refused threads=100 "coll_gpu_threads is 100, it must be a multiple of 32"
refused transport=pigeon "coll_gpu_transport is pigeon, there are: .*"

others=enable=always
alone() { # EXPECTED VARIABLE=VALUE: on rank 1 of 3
    on_rank 1 "$2"
    ok 3 "$others" errors "$1"
}
alone served OMPI_MCA_coll_gpu_slots=3
said "rank 1: coll_gpu_slots is 3" 1
alone served OMPI_MCA_coll_gpu_enable=never
alone served OMPI_MCA_coll_gpu_priority=-1
alone served OMPI_MCA_coll=^gpu
alone native OMPI_MCA_coll_gpu_slots=4
said "rank 1 of .*: coll_gpu_slots differs from rank 0's; rank 0's value applies" 1
others=verbose=0
alone native OMPI_MCA_coll_gpu_enable=always
on_rank
ok 3 "enable=auto verbose=2" errors served
said "MPI COMM.*, 3 ranks: next component: " 3

launch "$OMPI_INFO" --param coll gpu --level 9 >"$out" 2>&1
jobs=$((jobs + 1))
params=$(sed -n 's/^CG_PARAM(\([a-z_0-9]*\),.*/\1/p' "$top_srcdir/core/params.def")
for p in priority enable verbose transport table rows $params; do
    said "parameter \"coll_gpu_$p\""
done
for p in rows_in_use plans protocols; do
    said "informational \"coll_gpu_$p\""
done
said 'performance "coll_gpu_posts"'
end
