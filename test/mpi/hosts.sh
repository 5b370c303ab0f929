#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts: network namespaces joined by a pair of virtual interfaces, each with its own host name and /dev/shm; UCX
# over tcp between them, shared memory inside each. Needs root, ip and unshare; else skipped.
: "${top_srcdir:=.}"
skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(id -u)" -eq 0 ] || skip "only root makes network namespaces"
for tool in ip unshare timeout; do command -v $tool >/dev/null || skip "no $tool"; done
grep -q '^#define CG_HAVE_UCX\|DCG_HAVE_UCX=1' "$top_builddir/Makefile" || skip "built without UCX"

id=cg$$ net=10.77.$(($$ % 250))
work=$(mktemp -d)
cleanup() {
    for host in a b; do ip netns pids "$id$host" 2>/dev/null | xargs -r kill -9; done
    for host in a b; do ip netns del "$id$host" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

host_up() { # letter number
    ip netns add "$id$1" && ip link set "$id-$1" netns "$id$1" && ip -n "$id$1" link set lo up &&
        ip -n "$id$1" addr add "$net.$2/24" dev "$id-$1" && ip -n "$id$1" link set "$id-$1" up
}
ip link add "$id-a" type veth peer name "$id-b" 2>/dev/null || skip "no virtual interfaces here"
host_up a 1 && host_up b 2 || skip "no network namespaces here"

# What mpirun calls instead of ssh: agent HOST COMMAND...
cat >"$work/agent" <<AGENT
#!/bin/sh
case \$1 in $net.1) host=a ;; *) host=b ;; esac
shift
mkdir -p $work/\$host
exec ip netns exec $id\$host unshare -um sh -c "hostname $id-\$host; mount -t tmpfs none /dev/shm; \
TMPDIR=$work/\$host; export TMPDIR; \$*"
AGENT
chmod +x "$work/agent"

failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}

# Ranks 0 and 1 on host a, 2 and 3 on host b.
job() { # seconds program...
    seconds=$1
    shift
    timeout -k 5 "$seconds" "$work/agent" "$net.1" "cd '$PWD'; timeout -k 5 $seconds '$RUN' '$MPIRUN' -n 4 \
        --host $net.1:2,$net.2:2 --mca plm_rsh_agent $work/agent --mca btl_tcp_if_include $net.0/24 \
        --mca oob_tcp_if_include $net.0/24 --mca pml ob1 --mca coll_gpu_enable always $*" >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    return $status
}

export UCX_TLS=tcp,self,sm
job 60 "$top_builddir/coll_gpu_perf" -b 4 -e 1M -f 8 -c 1 -n 3 -w 1 || fail "coll_gpu_perf: status $?"
grep -q 'coll/gpu loaded' "$work/out" || fail "the component was not loaded"
grep -q '| host  *\(shm+\)\?net' "$work/out" || fail "no message crossed the network"
job 60 "$top_builddir/test/mpi/order" || fail "order: status $?"
start=$(date +%s)
job 60 "$top_builddir/test/mpi/errors" killed hosts-$$ && fail "a killed rank went unnoticed"
took=$(($(date +%s) - start))
[ $took -le 15 ] || fail "the job with a killed rank took $took s to end"
[ $failed -eq 0 ] && echo "two hosts: ok, a killed rank ends the job in $took s"
exit $failed
