#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank dies in the middle: the job ends within seconds, no process and nothing in /dev/shm stays behind.
. "${top_srcdir:=.}/test/mpi/lib.sh"
limit=15
for shape in 2:0 3:2 4:0; do
    token=killed-$$-$shape
    ls /dev/shm >"$out.before"
    job "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" errors killed "$token"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $status -ne 137 -o "$(grep -c 'signal 9' "$out")" -gt 0 ] ||
        fail "status $status at $shape"
    said "signal 9 (Killed)"
    ls /dev/shm >"$out.after"
    cmp -s "$out.before" "$out.after" || fail "in /dev/shm: $(diff "$out.before" "$out.after")"
    for pid in $(pgrep -f "$token"); do
        [ "$pid" = $$ ] || fail "process $pid stays behind: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
    done
    rm -f "$out.before" "$out.after"
done
end
