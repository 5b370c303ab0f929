#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Cases drawn from all of test/mpi/every: collective x type x operation or layout x size, also around thresholds x in
# place x root x form x mixture of memory. SAMPLE: so many for each job (default 600), or "all"; SEED: of the drawing
# (default: the time); SHAPES: "RANKS:PRETENDED HOSTS ..."; MINUTES: for each job.
. "${top_srcdir:=.}/test/mpi/lib.sh"
: "${SAMPLE:=600}" "${SEED:=$(date +%s)}" "${SHAPES:=2:0 2:2 3:0 3:2 5:0 5:2}"
export SAMPLE SEED
echo "SAMPLE=$SAMPLE SEED=$SEED"
limit=$((${MINUTES:-10} * 60))
sizes="0 1 2 3 10 33 256B 1024B 2048B 4096B"
small="slot_bytes=1024 slots=2 exchange_max=256 doubling_max=1024 channel_bytes=512"
drawn=0
one() { # RANKS PARAMETERS MODE
    # shellcheck disable=SC2086 # sizes are arguments
    ok "$1" "$2" every all all "$3" $sizes
    n=$(sed -n 's/^\([0-9]*\) of [0-9]* cases.*/\1/p' "$out")
    drawn=$((drawn + ${n:-0}))
}
use_fake_gpu
for shape in $SHAPES; do
    one "${shape%:*}" "virtual_nodes=${shape#*:} $small" native
    FAKE_KERNELS=1 && export FAKE_KERNELS
    one "${shape%:*}" "virtual_nodes=${shape#*:}" native
    FAKE_KERNELS=0
done
one 3 "slots=3" staged
echo "$drawn cases"
[ "$drawn" -gt 2000 ] || fail "$drawn cases: too few"
end
