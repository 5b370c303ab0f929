#!/bin/sh
# Without coll/gpu the same command dies: what the others show is due to it.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 1
for test in osu_allreduce osu_iallreduce; do
    mpi 60 2 --mca coll ^gpu "$osu/$test" -d cuda -c -m 4:1024 -i 2 -x 1
    case $status in
        0) failed="$failed$test works without coll/gpu: this Open MPI knows CUDA; " ;;
        124) failed="$failed$test hangs without coll/gpu; " ;;
        *) detail="${detail}$test ends with $status; " ;;
    esac
done
finish
