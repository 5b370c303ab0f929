#!/bin/sh
# OSU, 4 ranks on one GPU under MPS, on two pretended hosts: host FIFOs joined by the proxy.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 1
mps_start
export CUDA_VISIBLE_DEVICES=0
osu_all 4 --mca coll_gpu_virtual_nodes 2
finish
