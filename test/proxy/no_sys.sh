#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where /sys is empty, as in a chroot, UCX finds no network interface: the tests leave out what cannot work there,
# nothing leaks, and the refused connection names the cause.
unshare -m sh -c 'mount -t tmpfs none /sys' 2>/dev/null || {
    echo "skipped: no mount namespace here"
    exit 77
}
log=$(mktemp) || exit 99
failed=0

fail() {
    failed=1
    echo "FAILED: $*"
    tail -n 40 "$log"
}

for test in every_step transports proxy; do
    unshare -m sh -c 'mount -t tmpfs none /sys && exec "$0"' "$top_builddir/test/proxy/$test" >"$log" 2>&1
    status=$?
    [ $status -eq 0 ] || fail "$test without /sys: status $status"
done
grep -q 'ucp_ep_create: .*; here is no /sys/class/net, where' "$log" || fail "the cause was not named"
rm -f "$log"
exit $failed
