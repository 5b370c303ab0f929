#!/bin/sh
# OSU on 2 GPUs over the network path: the two ranks pretend to be on two hosts.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 2
osu_all 2 --mca coll_gpu_virtual_nodes 2
finish
