#!/bin/sh
# 2 to 4 ranks on one GPU without MPS: one rank does the work of all. Times; results checked; every type and size by
# fast_check; buffers that cannot be opened (pool, vmm, managed) go another way.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
[ "${MPS:-0}" = 1 ] && result 77 "the MPS daemon runs"
export CUDA_VISIBLE_DEVICES=0
perf=$build/coll_gpu_perf
say="--mca coll_gpu_verbose 7"

for ranks in 2 3 4; do
    try "perf, $ranks ranks" 120 $ranks "$perf" -b 8 -e 64M -f 8 -n 50 -w 10 -m device -c 1 --csv "$OUT/lead-$ranks.csv"
    [ -f "$OUT/lead-$ranks.csv" ] || continue
    cat "$OUT/lead-$ranks.csv"
    # median of 8 bytes, microseconds: below a turn of the driver's
    us=$(awk -F, '$1 == 8 { print $9; exit }' "$OUT/lead-$ranks.csv")
    detail="$detail$ranks ranks: ${us:-?} us at 8 bytes; "
    case ${us%%.*} in '' | *[!0-9]*) failed="${failed}no time of 8 bytes with $ranks ranks; " ;; *)
        [ "${us%%.*}" -lt 100 ] || failed="${failed}$us us at 8 bytes with $ranks ranks; " ;; esac
done
try "nonblocking" 120 3 "$perf" -b 8 -e 1M -f 16 -n 20 -w 5 -m device -c 1 --nonblocking
mpi 60 2 $say "$perf" -b 1K -e 1K -n 5 -w 8 -m device -c 1 2>&1 | tee "$OUT/lead-path.log" | tail -n 5
grep -q 'plan lead, executor fast' "$OUT/lead-path.log" || failed="${failed}the protocol was not lead; "
for kind in pool vmm managed mixed; do
    try "$kind" 120 2 "$perf" -b 8 -e 64K -f 64 -n 3 -w 4 -m $kind -c 1
done
export CG_FAST_PROTOCOL=4 CG_FAST_ONLY=every_type,every_size,changing_inputs,late_rank,crossed
for ranks in 2 4; do
    echo "+ fast_check $ranks ranks, LEAD alone"
    timeout -k 5 120 "$programs/fast_check" $ranks 2000 || failed="${failed}fast_check $ranks: $?; "
done
finish
