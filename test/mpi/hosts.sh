#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts of two ranks.
: "${top_srcdir:=.}"
. "$top_srcdir/test/mpi/hosts_lib.sh"
hosts_up 2 2
job "$top_builddir/coll_gpu_perf" -b 4 -e 1M -f 8 -c 1 -n 3 -w 1 || fail "coll_gpu_perf: status $?"
grep -q 'coll/gpu loaded' "$work/out" || fail "the component was not loaded"
grep -q '| host  *\(shm+\)\?net' "$work/out" || fail "no message crossed the network"
job "$top_builddir/test/mpi/order" || fail "order: status $?"
killed_rank_ends_job
[ $failed -eq 0 ] && echo "two hosts: ok, a killed rank ends the job in $took s"
exit $failed
