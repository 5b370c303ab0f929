#!/bin/sh
# Types with gaps, packed by a kernel: random layouts through every collective, checked; the kernel by itself, and how
# fast it is; MPI_Alltoall of vectors within three times of the same data packed.
. "$(dirname "$0")/../accept.sh"
need_gpus 1
run_kernel() {
    "$run_in_tree" timeout 100 "$programs/sm_pack"
    status=$?
    echo "+ exit status $status"
    [ $status -eq 0 ] || failed="${failed}sm_pack: exit status $status; "
}
run_kernel
try '2 ranks' 150 2 "$programs/mpi_layouts" 700 1
try '3 ranks' 120 3 "$programs/mpi_layouts" 100 2
try 'two hosts' 100 2 --mca coll_gpu_virtual_nodes 2 "$programs/mpi_layouts" 200 3
if [ "$(gpus)" -ge 2 ]; then try 'vectors' 90 2 "$programs/mpi_vectors"; fi
detail="$(grep -h '^mpi_layouts' "$log" | sed 's/^mpi_layouts: //' | tr '\n' ';') pack, GB/s:"
detail="$detail $(sed -n 's/^4 bytes of 8 *//p; s/^256 bytes of 1 KiB *//p; s/^irregular, 4 to 252 bytes *//p' "$log" |
    tr -s ' \n' '/;')"
finish
