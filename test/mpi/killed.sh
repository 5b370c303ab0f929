#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank dies in the middle: the job ends within seconds, no process and nothing in /dev/shm stays behind.
. "${top_srcdir:=.}/test/mpi/lib.sh"
. "$top_srcdir/test/mpi/after.sh"

# Files in /dev/shm newer than $mark that no process has mapped: those of other jobs are mapped.
shm_left() {
    find /dev/shm -mindepth 1 -newer "$mark" 2>/dev/null | while read -r file; do
        if ! grep -q -s -F "$file" /proc/[0-9]*/maps && [ -e "$file" ]; then printf '%s ' "$file"; fi
    done
}

# Processes with the token among their arguments.
processes() { printf '%s\n' "$token" | grep -l -s -a -F -f - /proc/[0-9]*/cmdline; }

# Another job may be just between making a file and mapping it, and the dead need a moment: ask for up to 20 seconds.
settle() { # COMMAND: its last output
    for _ in $(seq 20); do
        left=$("$1")
        [ -n "$left" ] || return 0
        sleep 1
    done
    return 1
}

mark=$(mktemp) token=$(mktemp)
for shape in 2:0 3:2 4:0; do
    touch "$mark"
    : >"$token"
    after "$token" job "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" errors killed "$token"
    [ -s "$token" ] || fail "no rank died at $shape"
    [ $took -le 15 ] || fail "the job ended $took s after a rank at $shape"
    case $status in 0 | 124) fail "status $status at $shape" ;; esac
    settle shm_left || fail "in /dev/shm: $left"
    settle processes || fail "processes stay behind: $left"
done
rm -f "$mark" "$token"
end
