#!/bin/sh
# All types and operations on device memory, against a reference on the host.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
for bytes in 40 4104 40008 1000008; do
    try "$bytes bytes" 60 2 "$build/coll_gpu_perf" -m device -d all -o all -b $bytes -e $bytes -n 1 -w 1 -c 1
done
detail="$(grep -c -E '^ +[0-9]+ .*\|' "$log") combinations of type, operation and size"
finish
