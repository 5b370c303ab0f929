#!/bin/sh
# Cases drawn from every collective x type x operation or layout x size x in place x root x form x mixture of all kinds
# of memory: 2,200 on two GPUs, and 2,200 of 5 ranks that share the GPUs under MPS. SEED: of the drawing (the time).
. "$(dirname "$0")/../accept.sh"
need_gpus 1
SEED=${SEED:-$(date +%s)} SAMPLE=${SAMPLE:-2200}
export SEED SAMPLE
sizes='0 1 2 3 10 33 1000 8192B 32768B 65536B'
draw() { # label ranks arguments of mpirun...
    label=$1 ranks=$2
    shift 2
    # shellcheck disable=SC2086 # sizes are arguments
    try "$label" 280 "$ranks" "$@" "$programs/mpi_every" all all native $sizes
}
if [ "$(gpus)" -ge 2 ]; then draw '2 GPUs' 2; fi
mps_start
draw '5 ranks' 5
draw '3 ranks on two pretended hosts' 3 --mca coll_gpu_virtual_nodes 2
detail="seed $SEED, $(sed -n 's/^\([0-9]* of [0-9]* cases\), seed.*/\1/p' "$log" | tr '\n' ';')"
[ -n "$(sed -n 's/^\([0-9]*\) of [0-9]* cases.*/\1/p' "$log")" ] || failed="${failed}no case was run; "
finish
