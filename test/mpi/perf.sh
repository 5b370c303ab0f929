#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# coll_gpu_perf in each kind of call, with checked results, over shared memory and the network.
. "${top_srcdir:=.}/test/mpi/lib.sh"
perf=../../coll_gpu_perf
for nodes in 0 2; do
    for kind in --gap-us=0 --nonblocking --persistent; do
        ok 3 "enable=always virtual_nodes=$nodes" $perf $kind -b 4 -e 64K -f 16 -n 5 -w 2 --offset 1
        said "^# 0 wrong"
        said "host .*$([ $nodes = 0 ] && echo shm || echo net)$" 4
    done
done
for coll in reduce bcast allgather gather scatter alltoall reduce_scatter_block; do
    for kind in --gap-us=0 --nonblocking --persistent; do
        ok 3 "enable=always" $perf --coll $coll $kind -b 8 -e 32K -f 64 -n 3 -w 1 -d double
        said "^# 0 wrong"
        said "host *shm$" 3
    done
done
for kind in --gap-us=0 --nonblocking --persistent; do
    ok 2 "enable=always" $perf --coll barrier $kind -b 8 -e 8 -n 3 -w 1
    said "^# 0 wrong"
done
ok 2 "enable=always" $perf --setup 2 -b 8 -e 64K
said "^further_first_call_us,[0-9]"
job 2 "enable=always" $perf --sizes 8,4
said "sizes must ascend"
job 2 "enable=always" $perf --kernels
[ $? -eq 77 ] || fail "--kernels without GPU memory: not skipped"
end
