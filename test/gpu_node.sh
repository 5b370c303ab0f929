#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build and test on a GPU node without network.
# usage: gpu_node.sh TARBALL DEPSDIR [configure options]
#   TARBALL  from `make dist`: it carries configure, so that autoconf and libtool are not needed here
#   DEPSDIR  what the node lacks, each in a prefix of its own: ucx/ cmocka/ hwloc/ openmpi/ (bin include lib), and
#            osu/ with osu_allreduce and osu_iallreduce somewhere below, or a build.sh that installs them in $1
# Logs go to $OUT (default ./gpu-node-logs); the last lines are a table. Steps beyond `make check` are the scripts in
# test/gpu/accept.d: each prints lines `name: ok|FAILED|skipped detail`. They find in the environment:
#   top_srcdir top_builddir RUN MPIRUN MPICC OSU (directory or empty) OUT MPS (1 while the MPS daemon runs) DEPSDIR
# A script whose name contains "mps" runs with the MPS daemon, all others without.
# STEP_SECONDS (600) limits each; ONLY (a pattern) chooses among them; CHECK=0 leaves `make check` out; WORK is the
# directory to build in (default: a temporary one), where a finished build is used again.
set -u
[ $# -ge 2 ] || { sed -n '3,16p' "$0"; exit 2; }
tarball=$(realpath "$1") DEPSDIR=$(realpath "$2")
shift 2
OUT=$(realpath -m "${OUT:-gpu-node-logs}")
work=${WORK:-$(mktemp -d)}
mkdir -p "$OUT" "$work"
summary=$OUT/summary
: >"$summary"

say() { printf '%s\n' "gpu_node: $*"; }
note() { printf '%s\n' "$1: $2 ${3:-}" | tee -a "$summary"; }
finish() {
    printf '\n%-32s %-8s %s\n' step result detail
    awk '{ name = $1; sub(/:$/, "", name); result = $2; $1 = $2 = ""; sub(/^ +/, "");
           printf "%-32s %-8s %s\n", name, result, $0 }' "$summary"
    if grep -q -E '^[^ ]+: FAILED' "$summary"; then exit 1; fi
    exit 0
}

# Multicast memory over NVLink is left alone, ours and everybody else's.
export NCCL_NVLS_ENABLE=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

flags=
libs=
for lib in ucx cmocka hwloc openmpi; do
    if [ -d "$DEPSDIR/$lib" ]; then
        option=$lib
        if [ $lib = openmpi ]; then option=ompi; fi
        flags="$flags --with-$option=$DEPSDIR/$lib"
        libs=$DEPSDIR/$lib/lib:$libs
    fi
done
export LD_LIBRARY_PATH="$libs/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

(nvidia-smi; nvidia-smi topo -m; uname -a; nvcc --version || /usr/local/cuda/bin/nvcc --version) \
    >"$OUT/machine.log" 2>&1

build_tree() {
    say "unpacking, configuring and building in $work"
    rm -rf "$work"/coll_gpu-*
    cd "$work" && tar xzf "$tarball" && cd coll_gpu-* && mkdir -p build && cd build || return 1
    # shellcheck disable=SC2086
    if ! ../configure $flags "$@" >"$OUT/configure.log" 2>&1; then
        tail -n 5 "$OUT/configure.log"
        note configure FAILED "see configure.log"
        return 1
    fi
    sed -n '/configure:$/,$p' "$OUT/configure.log"
    if ! make -j"$(nproc)" >"$OUT/make.log" 2>&1; then
        grep -E -m 10 'error|Error' "$OUT/make.log"
        note make FAILED "see make.log"
        return 1
    fi
    note make ok
    touch "$work/built"
}
if [ ! -f "$work/built" ]; then build_tree "$@" || { note build FAILED "$tarball"; finish; }; fi
cd "$work"/coll_gpu-*/build || exit 1
top_builddir=$(pwd) top_srcdir=$(dirname "$(pwd)")

setting() { sed -n "s/^$1 = //p" Makefile; }
MPIRUN=$(setting MPIRUN) MPICC=$(setting MPICC) RUN=$top_builddir/run-in-tree
find_osu() { find "$@" -name osu_allreduce -type f -perm -u+x 2>/dev/null | head -n 1; }
osu=$(find_osu "$DEPSDIR/osu" "$work/osu")
if [ -z "$osu" ] && [ -f "$DEPSDIR/osu/build.sh" ]; then
    MPICC=$MPICC bash "$DEPSDIR/osu/build.sh" "$work/osu" >"$OUT/osu-build.log" 2>&1 ||
        note osu-build FAILED "see osu-build.log"
    osu=$(find_osu "$work/osu")
fi
OSU=${osu:+$(dirname "$osu")}
export top_srcdir top_builddir MPIRUN MPICC RUN OSU OUT DEPSDIR

if [ "${CHECK:-1}" = 1 ]; then
    make -k -j"${CHECK_JOBS:-4}" check >"$OUT/check.log" 2>&1
    count() { find . -name '*.trs' -exec cat {} + | grep -c -E "^:global-test-result: ($1)\$"; }
    bad=$(count 'FAIL|XPASS|ERROR') passed=$(count 'PASS|XFAIL')
    result=ok
    if [ "$bad" -ne 0 ] || [ "$passed" -eq 0 ]; then result=FAILED; fi
    note check $result "$passed passed, $bad failed, $(count SKIP) skipped"
    find . -name '*.log' -path './test/*' -exec cp --parents {} "$OUT" \;
    find . -name '*.trs' -exec grep -l -E '^:global-test-result: (FAIL|XPASS|ERROR)$' {} + |
        while read -r trs; do note "${trs%.trs}" FAILED "$(tail -n 1 "${trs%.trs}.log")"; done
fi

MPS=0
export MPS
mps_start() {
    [ $MPS = 0 ] || return 0
    export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$OUT/mps
    mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
    nvidia-cuda-mps-control -d >"$OUT/mps.log" 2>&1 || return 1
    MPS=1
}
mps_stop() {
    [ $MPS = 1 ] || return 0
    echo quit | timeout 60 nvidia-cuda-mps-control >>"$OUT/mps.log" 2>&1
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    MPS=0
}
trap mps_stop EXIT

for step in "$top_srcdir"/test/gpu/accept.d/*.sh; do
    [ -f "$step" ] || continue
    name=$(basename "$step" .sh)
    case $name in ${ONLY:-*}) ;; *) continue ;; esac
    case $name in
        *mps*) mps_start || { note "$name" skipped "the MPS daemon does not start, see mps.log"; continue; } ;;
        *) mps_stop ;;
    esac
    say "$name"
    timeout -k 10 "${STEP_SECONDS:-600}" sh "$step" >"$OUT/$name.log" 2>&1
    status=$?
    grep -E '^[^ ]+: (ok|FAILED|skipped)( |$)' "$OUT/$name.log" | tee -a "$summary"
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        note "$name" FAILED "stopped after ${STEP_SECONDS:-600} s"
    elif [ $status -ne 0 ] && [ $status -ne 77 ] && ! grep -q -E '^[^ ]+: FAILED' "$OUT/$name.log"; then
        note "$name" FAILED "exit status $status, see $name.log"
    elif ! grep -q -E '^[^ ]+: (ok|FAILED|skipped)( |$)' "$OUT/$name.log"; then
        note "$name" FAILED "it printed no result, see $name.log"
    fi
done
mps_stop
finish
