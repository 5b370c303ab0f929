#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Four hosts of 2, 1, 1 and 2 ranks: every native collective in every form, and every type and operation, with small
# FIFOs; checked allreduces with those of users, orders of outstanding operations, and the death of a rank on another
# host than mpirun's.
: "${top_srcdir:=.}"
. "$top_srcdir/test/mpi/hosts_lib.sh"
hosts_up 2 1 1 2
small="--mca coll_gpu_slot_bytes 1024 --mca coll_gpu_slots 2 --mca coll_gpu_exchange_max 256 \
    --mca coll_gpu_doubling_max 1024 --mca coll_gpu_channel_bytes 512"
job $small "$top_builddir/test/mpi/every" hh hh native 0 300 || fail "every: status $?"
job $small "$top_builddir/test/mpi/types" hh hh 20000 256 1024 || fail "types: status $?"
job "$top_builddir/coll_gpu_perf" -b 4 -e 1M -f 8 -c 1 -n 2 -w 1 || fail "coll_gpu_perf: status $?"
grep -q '| host  *shm+net' "$work/out" || fail "not over shared memory and network"
job "$top_builddir/test/mpi/order" || fail "order: status $?"
killed_rank_ends_job 5
[ $failed -eq 0 ] && echo "four hosts: ok, a killed rank ends the job in $took s"
exit $failed
