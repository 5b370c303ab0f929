#!/bin/sh
# What coll_gpu_info finds is what nvidia-smi says: as many GPUs, the same bus ids, NVLink where it sees NVLink; a saved
# machine says the same again.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
info=$build/coll_gpu_info
saved=$OUT/$name.xml
"$info" --save "$saved" || failed="${failed}exit status $?; "
nvidia-smi topo -m
shown=$("$info" --format json | grep -c '"usable": true')
[ "$shown" -eq "$(gpus)" ] || failed="$failed$shown GPUs instead of $(gpus); "
for bus in $(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader | tr 'A-F' 'a-f' | sed 's/^0000//'); do
    "$info" | grep -q "^GPU.* $bus " || failed="${failed}no GPU $bus; "
done
linked=$(nvidia-smi topo -m | grep '^GPU' | grep -c 'NV[0-9]')
rows=$("$info" --format json | grep '"nvlink_MBs"' | grep -c '"nvlink_MBs": \[[0-9, ]*[1-9]')
[ "$linked" -eq "$rows" ] || failed="$failed$rows GPUs with NVLink, nvidia-smi says $linked; "
"$info" --format svg --output "$OUT/$name.svg" || failed="${failed}no picture; "
# GPUs that hwloc does not see, as in some containers, cannot be saved.
if ! grep -q 'node ?' "$log"; then
    "$info" --format json | grep '"nvlink_MBs"' | sed 's/"model": "[^"]*"//' >"$OUT/$name.here"
    "$info" --format json --topology "$saved" | grep '"nvlink_MBs"' | sed 's/"model": "[^"]*"//' >"$OUT/$name.there"
    cmp -s "$OUT/$name.here" "$OUT/$name.there" || failed="${failed}the saved machine is another one; "
fi
detail="$shown GPU(s), $rows with NVLink"
if [ "$(gpus)" -ge 2 ]; then
    mpi 60 2 --mca coll_gpu_verbose 2 --mca coll_gpu_virtual_nodes 2 "$build/coll_gpu_perf" -m device -b 1M -e 1M -n 3
    # Next to the GPU only if the process has used one by then, which this program has not.
    grep -q 'shared memory near NUMA node' "$log" || failed="${failed}no node was found; "
fi
finish
