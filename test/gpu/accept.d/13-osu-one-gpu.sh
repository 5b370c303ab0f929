#!/bin/sh
# OSU, 2 ranks on one GPU without MPS: the driver gives the GPU to one process at a time.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 1
export CUDA_VISIBLE_DEVICES=0
for test in osu_allreduce osu_iallreduce; do
    try_osu $test 57 90 2 "$osu/$test" -d cuda -c -T all -m 4:1048576 -i 10 -x 2 -u 1
done
finish
