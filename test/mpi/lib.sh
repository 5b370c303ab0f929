# SPDX-License-Identifier: BSD-3-Clause
# For the scripts beside this one: MPI jobs with the component of the build tree, and what is expected of them. By hand:
#     make check TESTS=test/mpi/types.sh
: "${top_srcdir:=.}" "${top_builddir:=.}" "${MPIRUN:=mpirun}" "${OMPI_INFO:=ompi_info}"
: "${RUN:=$top_builddir/run-in-tree}"
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # 4.1, from 5.0 on
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
out=$(mktemp) || exit 99
trap 'rm -f "$out" "$out".*' EXIT
failed=0 jobs=0 fake= rank= setting=

# The component whose device memory is test/mpi/fake_memory.h, instead of the one that users get.
use_fake_gpu() {
    fake=$(cd "$top_builddir" && pwd)/test/mpi/fake/dir
    built=$top_builddir/test/mpi/fake/.libs/mca_coll_gpu.so
    cmp -s "$built" "$fake/mca_coll_gpu.so" && return
    # moved into place: another script's processes may have mapped the old one
    mkdir -p "$fake" && cp "$built" "$fake/new.$$" && mv -f "$fake/new.$$" "$fake/mca_coll_gpu.so" || exit 99
}

launch() {
    if [ -z "$fake" ]; then
        "$RUN" "$@"
    else
        "$RUN" sh -c 'OMPI_MCA_mca_base_component_path=$0:${OMPI_MCA_mca_base_component_path#*:}
            export OMPI_MCA_mca_base_component_path; exec "$@"' "$fake" "$@"
    fi
}

# From now on VARIABLE=VALUE is set on this rank alone; without arguments: no more.
on_rank() { rank=$1 setting=$2; }

# RANKS "PARAMETER=VALUE ..." PROGRAM [ARGUMENT...]: the job's status; its output is in $out. Each rank writes a file of
# its own, since mpirun mixes lines of several ranks where one has written more than 4096 bytes when it is read. The
# time is for jobs that hang: others have taken 150 s with all their ranks on one core beside 3 busy loops.
job() {
    ranks=$1 options=
    for p in $2; do options="$options --mca coll_gpu_${p%%=*} ${p#*=}"; done
    program=$top_builddir/test/mpi/$3
    shift 3
    jobs=$((jobs + 1))
    launch timeout -k 5 "${limit:-600}" "$MPIRUN" -n "$ranks" $options sh -c '
        if [ "$OMPI_COMM_WORLD_RANK" = "$1" ]; then export "$2"; fi
        file=$3.$OMPI_COMM_WORLD_RANK
        shift 3; exec "$@" >"$file" 2>&1' sh "${rank:-none}" "$setting" "$out" "$program" "$@" >"$out" 2>&1
    status=$?
    cat "$out".[0-9]* >>"$out" 2>/dev/null
    rm -f "$out".[0-9]*
    return $status
}

fail() {
    failed=1
    echo "FAILED: $*"
    tail -n 20 "$out"
}

ok() { job "$@" || fail "$@"; }

# The last job wrote a line with this text so many times (default: at least once).
said() {
    n=$(grep -c -e "$1" "$out")
    if [ $# -gt 1 ]; then [ "$n" -eq "$2" ] || fail "'$1' $n times instead of $2"
    else [ "$n" -gt 0 ] || fail "no '$1'"; fi
}

# Some rank named both calls, in whichever order: the one who sees the difference first tells the others, so who that is
# and whether one sees it or all do is a matter of timing.
said_both() {
    n=$(grep -c -e "rank [0-9]* of .*called $1.*but rank [0-9]* called $2" \
        -e "rank [0-9]* of .*called $2.*but rank [0-9]* called $1" "$out")
    [ "$n" -gt 0 ] || fail "nobody named both '$1' and '$2'"
}

end() {
    echo "$jobs jobs"
    exit $failed
}
