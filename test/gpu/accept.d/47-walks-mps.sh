#!/bin/sh
# Programs with walks (kernels/step.h) as the GPU's kernels run them: collectives over pretended hosts, regular and not,
# whose messages are cut into many small slots. SEED: of the drawing (the time).
. "$(dirname "$0")/../accept.sh"
need_gpus 1
SEED=${SEED:-$(date +%s)} SAMPLE=${SAMPLE:-600}
export SEED SAMPLE
mps_start
for shape in 4:2 6:3 7:3; do
    try "${shape%:*} ranks on ${shape#*:} hosts" 180 "${shape%:*}" --mca coll_gpu_virtual_nodes "${shape#*:}" \
        --mca coll_gpu_slot_bytes 4096 --mca coll_gpu_slots 2 "$programs/mpi_every" dd dd native 0 1 300 30000
done
detail="seed $SEED, $(sed -n 's/^\([0-9]* of [0-9]* cases\), seed.*/\1/p' "$log" | tr '\n' ';')"
[ -n "$(sed -n 's/^\([0-9]*\) of [0-9]* cases.*/\1/p' "$log")" ] || failed="${failed}no case was run; "
finish
