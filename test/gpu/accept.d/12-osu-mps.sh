#!/bin/sh
# OSU, 4 ranks on one GPU under MPS.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 1
mps_start
export CUDA_VISIBLE_DEVICES=0
osu_all 4
finish
