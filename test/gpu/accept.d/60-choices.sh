#!/bin/sh
# Every protocol of the fast executor, asked for by a row of the table of choices, with several numbers of blocks:
# checked results, and the row is the one that is taken. Then a table that bench/tune has just written. Three minutes.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
if [ "$(gpus)" -lt 2 ]; then
    mps_start
    export CUDA_VISIBLE_DEVICES=0
fi
taken=0
row() { # collective protocol blocks sizes
    export OMPI_MCA_coll_gpu_rows="$1 any any any any - $2 $3"
    try "$1 $2 $3" 60 2 --mca coll_gpu_verbose 4 "$build/coll_gpu_perf" -m device --coll "$1" --sizes "$4" \
        -c 1 -n 10 -w 5
    if grep -q "rank 0 of .*: $1 of .*, chosen by line 1 of coll_gpu_rows: $OMPI_MCA_coll_gpu_rows" "$log"; then
        taken=$((taken + 1))
    else
        failed="$failed$1 $2 $3: the row was not taken; "
    fi
}
for blocks in 0 7; do
    row allreduce ll $blocks 4,8,1000,4100,32768
    row allreduce ll128 $blocks 4,8,1000,65536,300004,4194304
    row allreduce two_shot $blocks 4,65536,1048580,33554432
done
row allreduce copy 0 1048576,33554432,67108868
for coll in bcast reduce allgather gather scatter alltoall reduce_scatter_block; do
    row $coll ll 0 4,8,1000,4100,32768
    row $coll ll128 3 4,1000,65536,300004
done
unset OMPI_MCA_coll_gpu_rows
[ -z "$mps_started" ] || export MPS=1 # bench/tune starts none of its own
BUILD=$build MPIRUN=$mpirun timeout 100 python3 "$(dirname "$0")/../../../bench/tune" --name accept --commit accept \
    --out "$OUT/tables" --sizes 8,65536,1048576 --runs 1 --limit 90 || failed="${failed}bench/tune: status $?; "
table=$(ls "$OUT"/tables/*-accept.txt | tail -n 1)
try "the tuned table" 60 2 --mca coll_gpu_verbose 4 --mca coll_gpu_table "$table" "$build/coll_gpu_perf" -m device \
    --sizes 8,65536,1048576 -c 1 -n 10 -w 5
grep -q "chosen by line [0-9]* of $table: " "$log" || failed="${failed}no row of the tuned table was taken; "
detail="$taken rows taken; $(grep -c '^allreduce' "$table") rows tuned"
finish
