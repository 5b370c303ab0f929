#!/bin/sh
# Two ranks, 8 bytes to 1 MiB, device and mixed memory: failures show at once.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
for memory in device mixed; do
    try "$memory" 60 2 "$build/coll_gpu_perf" -m $memory -b 8 -e 1M -f 8 -n 10 -w 2 -c 1
done
if ! grep -q 'coll/gpu loaded' "$log"; then failed="${failed}the component was not loaded; "; fi
if ! grep -q -E '\| [a-z+]*(gpu|fast)' "$log"; then failed="${failed}no call was served by a kernel; "; fi
finish
