# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts in accept.d. Each prints one line "name: ok|FAILED|skipped detail", returns 0, 1 or 77, and
# logs everything to $OUT/name.log (or to its output where that is this very file).
# From the environment: BUILD or top_builddir (build tree), MPIRUN, RUN, OSU or OSU_DIR (folder with osu_allreduce),
# OUT, MPS (1: the MPS daemon runs already).

name=$(basename "$0" .sh)
build=${BUILD:-${top_builddir:?set BUILD to the build tree}}
programs=$build/test/gpu
OUT=${OUT:-.}
run_in_tree=${RUN:-$build/run-in-tree}
mpirun=${MPIRUN:-mpirun}
osu=${OSU:-${OSU_DIR:-}}
log=$OUT/$name.log
failed='' detail='' skipped='' mps_started=''
mkdir -p "$OUT"
# Descriptor 3: the result line; 4: the log.
exec 3>&1
if [ /dev/fd/1 -ef "$log" ]; then exec 4>&1; else exec 4>"$log"; fi
exec >&4 2>&1

# Multicast memory over NVLink is left alone.
export NCCL_NVLS_ENABLE=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

result() { # status detail
    mps_stop
    case $1 in 0) word=ok ;; 77) word=skipped ;; *) word=FAILED ;; esac
    printf '%s: %s %s\n' "$name" "$word" "$2" >&3
    exit "$1"
}

finish() {
    if [ -n "$failed" ]; then result 1 "$failed$detail"; fi
    if [ -n "$skipped" ]; then result 77 "$skipped"; fi
    result 0 "$detail"
}

gpus() { nvidia-smi -L 2>/dev/null | grep -c '^GPU'; }
need_gpus() { [ "$(gpus)" -ge "$1" ] || result 77 "needs $1 GPU(s), there are $(gpus)"; }
need_osu() { [ -x "$osu/osu_allreduce" ] || result 77 "no OSU benchmarks: set OSU_DIR"; }

# Own MPS daemon, unless one runs for us. Its clients are the processes started from here on.
mps_start() {
    if [ "${MPS:-0}" = 1 ]; then return 0; fi
    mps_started=$(mktemp -d)
    export CUDA_MPS_PIPE_DIRECTORY="$mps_started/pipe" CUDA_MPS_LOG_DIRECTORY="$mps_started/log"
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d || result 77 "the MPS daemon does not start"
}
mps_stop() {
    if [ -z "$mps_started" ]; then return 0; fi
    echo quit | timeout 30 nvidia-cuda-mps-control
    rm -rf "$mps_started"
    mps_started=''
}

mpi() { # seconds ranks arguments of mpirun...
    seconds=$1 ranks=$2
    shift 2
    echo "+ mpirun -n $ranks $*"
    timeout -k 5 "$seconds" "$run_in_tree" "$mpirun" --oversubscribe -n "$ranks" "$@"
    status=$?
    echo "+ exit status $status"
    return $status
}

try() { # label seconds ranks arguments of mpirun...
    label=$1
    shift
    mpi "$@"
    case $? in
        0) ;;
        77) skipped="$label was skipped; " ;;
        124 | 137) failed="$failed$label: no end after $1 s; " ;;
        *) failed="$failed$label: exit status $status; " ;;
    esac
}

# An OSU benchmark must validate exactly so many sizes.
try_osu() { # label expected seconds ranks arguments of mpirun...
    label=$1 expected=$2
    shift 2
    out=$(mktemp)
    mpi "$@" >"$out"
    status=$?
    cat "$out"
    passed=$(grep -c 'Pass$' "$out")
    rm -f "$out"
    if [ $status -ne 0 ] || [ "$passed" -ne "$expected" ]; then
        failed="$failed$label: $passed of $expected sizes passed, exit status $status; "
    else
        osu_sizes=$((${osu_sizes:-0} + passed))
        detail="$osu_sizes sizes passed"
    fi
}

# osu_allreduce and osu_iallreduce on GPU memory, char, int and float, from 4 bytes to 1 MiB and from 2 to 256 MiB.
osu_all() { # ranks arguments of mpirun...
    ranks=$1
    shift
    for test in osu_allreduce osu_iallreduce; do
        try_osu "$test to 1 MiB" 57 90 "$ranks" "$@" "$osu/$test" -d cuda -c -T all -m 4:1048576 -i 20 -x 2 -u 1
        try_osu "$test to 256 MiB" 24 120 "$ranks" "$@" "$osu/$test" -d cuda -c -T all -m 2097152:268435456 \
            -M 4294967296 -i 1 -x 1 -u 1
    done
}
