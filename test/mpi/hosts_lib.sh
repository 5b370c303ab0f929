# SPDX-License-Identifier: BSD-3-Clause
# Hosts on one machine: network namespaces with their own host name and /dev/shm, joined by a bridge that lies in a
# namespace, too; UCX over tcp between them, shared memory inside each. Sourced by hosts*.sh. Needs root, ip, unshare.
: "${top_srcdir:=.}"
skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "only root makes network namespaces"
for tool in ip unshare timeout; do command -v $tool >/dev/null || skip "no $tool"; done
grep -q 'DCG_HAVE_UCX=1' "$top_builddir/Makefile" || skip "built without UCX"

id=cg$$ net=10.77.$(($$ % 250)) hosts='' list='' ranks=0 failed=0
work=$(mktemp -d)
cleanup() {
    for space in $hosts switch; do ip netns pids "$id-$space" 2>/dev/null | xargs -r kill -9; done
    for space in $hosts switch; do ip netns del "$id-$space" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

fail() {
    echo "FAILED: $*"
    failed=1
}

host_up() { # number: port p of the switch is eth0 of the host
    ip netns add "$id-$1" &&
        ip -n "$id-switch" link add "p$1" type veth peer name eth0 netns "$id-$1" &&
        ip -n "$id-switch" link set "p$1" master bridge up &&
        ip -n "$id-$1" link set lo up && ip -n "$id-$1" addr add "$net.$1/24" dev eth0 &&
        ip -n "$id-$1" link set eth0 up
}

# hosts_up RANKS...: a host for each argument, so many ranks on it, in this order.
hosts_up() {
    { ip netns add "$id-switch" && ip -n "$id-switch" link add bridge type bridge &&
        ip -n "$id-switch" link set bridge up; } 2>/dev/null || skip "no network namespaces or no bridge here"
    for n in "$@"; do
        hosts="$hosts $((${hosts##* } + 1))"
        host_up "${hosts##* }" || skip "no virtual interfaces here"
        list="$list,$net.${hosts##* }:$n"
        ranks=$((ranks + n))
    done
    list=${list#,}
    write_agent
}

# What mpirun calls instead of ssh: agent ADDRESS COMMAND...
write_agent() {
    cat >"$work/agent" <<AGENT
#!/bin/sh
host=\${1##*.}
shift
mkdir -p $work/\$host
exec ip netns exec $id-\$host unshare -um sh -c "hostname $id-\$host; mount -t tmpfs none /dev/shm; \
TMPDIR=$work/\$host; export TMPDIR; \$*"
AGENT
    chmod +x "$work/agent"
}

# job PROGRAM...: on all hosts, started on the first one. Output in $work/out and on stdout.
seconds=600 # for jobs that hang
job() {
    timeout -k 5 $seconds "$work/agent" "$net.1" "cd '$PWD'; timeout -k 5 $seconds '$RUN' '$MPIRUN' -n $ranks \
        --host $list --mca plm_rsh_agent $work/agent --mca btl_tcp_if_include $net.0/24 \
        --mca oob_tcp_if_include $net.0/24 --mca pml ob1 --mca mpi_yield_when_idle 1 \
        --mca coll_gpu_enable always $*" >"$work/out" 2>&1 </dev/null
    status=$?
    cat "$work/out"
    [ $status -ne 0 ] || ! grep 'the peer died' "$work/out" || fail "an alarm at the end of a job that went well"
    return $status
}
export UCX_TLS=tcp,self,sm

# A rank that kills itself ends the job within ten seconds of its death.
. "$top_srcdir/test/mpi/after.sh"
killed_rank_ends_job() { # [RANK]
    after "$work/died" job "$top_builddir/test/mpi/errors" killed "$work/died" "$@" &&
        fail "a killed rank went unnoticed"
    [ -s "$work/died" ] || fail "no rank died"
    [ $took -le 10 ] || fail "the job ended $took s after a rank had been killed"
}
