#!/bin/sh
# A rank is killed in the middle: the job ends within seconds, and nothing stays behind.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
# Files in /dev/shm that no process has mapped, beyond those that were there before.
shm_left() {
    find /dev/shm -mindepth 1 -newer "$mark" | while read -r file; do
        grep -q -s -F "$file" /proc/[0-9]*/maps || printf '%s ' "$file"
    done
}
mark=$(mktemp)
victims() { pgrep -x mpi_victim; }
one() { # label arguments of mpirun...
    label=$1
    shift
    touch "$mark"
    start=$(date +%s)
    mpi 60 2 "$@" "$programs/mpi_victim"
    case $status in
        0 | 77) failed="$failed$label: exit status $status; " ;;
        124) failed="$failed$label: the job hangs; " ;;
    esac
    took=$(($(date +%s) - start))
    sleep 2
    if [ $took -gt 30 ]; then failed="$failed$label: the job ended after $took s; "; fi
    if victims; then failed="$failed$label: a process is left; "; fi
    left=$(nvidia-smi --query-compute-apps=pid,name --format=csv,noheader | grep mpi_victim)
    if [ -n "$left" ]; then failed="$failed$label: left on the GPU: $left; "; fi
    files=$(shm_left)
    if [ -n "$files" ]; then failed="$failed$label: left behind: $files; "; fi
    detail="$detail$label: ended after $took s; "
}
one shm
one net --mca coll_gpu_virtual_nodes 2
try 'the GPU afterwards' 60 2 "$build/coll_gpu_perf" -m device -b 8 -e 1M -f 64 -n 5 -c 1
rm -f "$mark"
finish
