#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# README's table of what is native and what is staged is what the counters say, for each collective in each form: in a
# communicator of 3 ranks on the host, and with the pretended GPU and its executor, and for more ranks than some serve.
. "${top_srcdir:=.}/test/mpi/lib.sh"
unset SAMPLE
readme=$top_srcdir/README.md
table=$(mktemp) || exit 99
trap 'rm -f "$out" "$out".* "$table"' EXIT

# "served NAME blocking nonblocking persistent most-ranks", one line for each collective that the test program calls
awk -F'|' 'function trim(s) { gsub(/^ +| +$/, "", s); return s }
    /^\| collective \| types/ { on = 1; next }
    on && !/^\|/ { exit }
    on && !/^\|---/ {
        most = trim($9); gsub(",", "", most)
        for (c = split($2, name, ","); c > 0; c--) {
            if (trim($3) == "other ones" || trim(name[c]) !~ /^[A-Z][a-z_]+$/) continue
            line = "served " trim(name[c])
            for (f = 5; f <= 7; f++) { split(trim($f), word, " "); line = line " " word[1] }
            print line, most
        }
    }' "$readme" | grep -v -e Barrier -e Reduce_local | sort >"$table"

compare() { # RANKS of the last job
    # beyond its limit a collective is staged in all forms
    awk -v n="$1" '{ if ($6 ~ /^[0-9]+$/ && n > $6) $3 = $4 = $5 = "staged"; print $1, $2, $3, $4, $5 }' "$table" \
        >"$out.want"
    sed -n 's/ *$//; /^served/p' "$out" | sort >"$out.seen"
    if ! diff "$out.want" "$out.seen"; then
        failed=1
        echo "FAILED: README (<) and counters (>), $1 ranks"
    fi
    [ "$(wc -l <"$out.want")" -ge 21 ] || fail "README's table has no row for some collective"
    rm -f "$out.want" "$out.seen"
}
ok 3 "enable=always" every hh hh native 2 11
compare 3
ok 18 "enable=always" every hh hh native 2
compare 18
use_fake_gpu
FAKE_KERNELS=1 && export FAKE_KERNELS
ok 3 "" every dd dd native 2 11
compare 3
end
