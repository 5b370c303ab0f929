#!/bin/sh
# OSU on 2 GPUs over shared memory.
. "$(dirname "$0")/../accept.sh"
need_osu
need_gpus 2
osu_all 2
finish
