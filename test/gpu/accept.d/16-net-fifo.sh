#!/bin/sh
# The network path with FIFOs in GPU memory: right results, and their bandwidth beside that of FIFOs in host memory.
# Needs a UCX built with CUDA; its cuda_ipc and cuda_copy move GPU memory without a network device.
. "$(dirname "$0")/../accept.sh"
need_gpus 2
ucx_info -d 2>/dev/null | grep -q cuda_copy || "${DEPSDIR:-/nonexistent}/ucx/bin/ucx_info" -d 2>/dev/null |
    grep -q cuda_copy || echo 'ucx_info shows no cuda_copy: the rows with gpu_fifo 1 may be FIFOs in host memory'

net() { # seconds gpu_fifo slot_bytes slots arguments of coll_gpu_perf...
    seconds=$1 fifo=$2 slot_bytes=$3 slots=$4
    shift 4
    mpi "$seconds" 2 --mca coll_gpu_virtual_nodes 2 --mca coll_gpu_gpu_fifo "$fifo" \
        --mca coll_gpu_slot_bytes "$slot_bytes" --mca coll_gpu_slots "$slots" "$build/coll_gpu_perf" -m device "$@"
}

"$run_in_tree" "$programs/net_cuda" || case $? in
    77) echo 'net_cuda was skipped' ;;
    *) failed="${failed}the transports with GPU memory: exit status $?; " ;;
esac

# Both kinds of slots in turn, every rank choosing for itself.
try 'checked' 120 2 --mca coll_gpu_virtual_nodes 2 --mca coll_gpu_gpu_fifo 1 \
    "$build/coll_gpu_perf" -m device -b 4 -e 64M -f 4 -n 3 -w 1 -c 1
try 'mixed' 120 2 --mca coll_gpu_virtual_nodes 2 --mca coll_gpu_gpu_fifo 1 --mca coll_gpu_gpu_fifo_min 1024 \
    "$build/coll_gpu_perf" -m mixed -b 4 -e 64M -f 4 -n 3 -w 1 -c 1
try 'memory' 120 2 --mca coll_gpu_virtual_nodes 2 --mca coll_gpu_gpu_fifo 1 --mca coll_gpu_gpu_fifo_min 0 \
    "$programs/mpi_memory"

# Bandwidth in GB/s (busbw) of 256 MiB, and where the slots lay (net-gpu: in GPU memory).
table=$(mktemp)
for geometry in '65536 8' '262144 8' '1048576 4' '4194304 4'; do
    for fifo in 0 1; do
        # shellcheck disable=SC2086 # two arguments
        net 60 $fifo $geometry -b 1M -e 256M -f 16 -n 8 -w 2 -c 1 --inplace 1 --csv "$table" || {
            failed="${failed}slots $geometry, gpu_fifo $fifo: exit status $status; "
            continue
        }
        cat "$table"
        detail="$detail[$geometry gpu_fifo $fifo] $(awk -F, '$1 == 268435456 { print $14 " GB/s " $17 }' "$table") "
    done
done
grep -q 'net-gpu' "$log" || failed="${failed}no message was sent from GPU memory; "
rm -f "$table"
finish
