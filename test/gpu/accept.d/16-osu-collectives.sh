#!/bin/sh
# OSU's blocking collectives on 2 GPUs: checked up to 64 MiB, then timed beside NCCL, with one table in the log.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 2
for coll in bcast allgather alltoall reduce_scatter reduce gather scatter; do
    try_osu "$coll to 1 MiB" 19 60 2 "$osu/osu_$coll" -d cuda -c -m 4:1048576 -i 20 -x 5 -u 1
    try_osu "$coll to 64 MiB" 6 60 2 "$osu/osu_$coll" -d cuda -c -m 2097152:67108864 -M 1073741824 -i 3 -x 2 -u 1
done
checked=$detail

# name.coll: lines "bytes us"; the best of two runs.
time_of() { # file program
    : >"$OUT/$name.runs"
    for run in 1 2; do
        mpi 60 2 "$2" -d cuda -m 4:8388608 -i 500 -x 100 >>"$OUT/$name.runs"
        mpi 60 2 "$2" -d cuda -m 16777216:67108864 -M 1073741824 -i 20 -x 5 >>"$OUT/$name.runs"
    done
    awk '$1 ~ /^[0-9]+$/ && NF >= 2 && (!($1 in best) || $2 < best[$1]) { best[$1] = $2 }
         END { for (b in best) print b, best[b] }' "$OUT/$name.runs" | sort -n >"$1"
}

slower=''
for coll in bcast allgather alltoall reduce_scatter reduce gather scatter; do
    time_of "$OUT/$name.$coll" "$osu/osu_$coll"
    : >"$OUT/$name.$coll.nccl"
    if [ -x "$osu/osu_xccl_$coll" ]; then time_of "$OUT/$name.$coll.nccl" "$osu/osu_xccl_$coll"; fi
    [ -s "$OUT/$name.$coll" ] || failed="$failed$coll: not timed; "
    echo "# osu_$coll, us: bytes, coll/gpu, NCCL, NCCL / coll/gpu"
    awk 'NR == FNR { nccl[$1] = $2; next }
         { printf "%10d %10.2f %10s %6s\n", $1, $2, ($1 in nccl) ? nccl[$1] : "-",
                  ($1 in nccl) ? sprintf("%.2f", nccl[$1] / $2) : "-" }' "$OUT/$name.$coll.nccl" "$OUT/$name.$coll"
    slow=$(awk 'NR == FNR { nccl[$1] = $2; next }
                ($1 in nccl) && (nccl[$1] * 1.05 < $2 || ($1 < 65536 && nccl[$1] < 1.5 * $2)) { n++ }
                END { print n + 0 }' "$OUT/$name.$coll.nccl" "$OUT/$name.$coll")
    slower="$slower $coll $slow"
done
detail="$checked; sizes that miss the target beside NCCL:$slower"
finish
