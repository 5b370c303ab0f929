#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts on a line of 1 Gbit/s (tc tbf): a large allreduce uses at least 90 % of it, in both directions at once, and
# not more than there is. The line is what is measured and not the machine's other load: the job comes first, the best
# call counts, and there are three attempts, and three more on 250 Mbit/s, where the processors have less to do for the
# same share. CG_LINE_CSV: a file for the figures.
. "${top_srcdir:=.}/test/mpi/first.sh"
. "$top_srcdir/test/mpi/hosts_lib.sh"
command -v tc >/dev/null || skip "no tc"
hosts_up 1 1
line() { # MBIT/S
    for host in $hosts; do
        tc -n "$id-$host" qdisc replace dev eth0 root tbf rate "$1mbit" burst 128kb latency 20ms 2>/dev/null ||
            skip "no tc tbf here"
    done
}
# 2 ranks: each sends as many bytes as the buffer has.
shares() { # MBIT/S: best share of the line of each size; status: of the largest
    awk -F, -v line="${1}e6" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        best = $column["bytes"] / $column["min_us"] * 8e6 / line
        printf "%s bytes: %.1f %% of the line (median %.1f %%), %s\n", $column["bytes"], 100 * best,
               100 * $column["bytes"] / $column["median_us"] * 8e6 / line, $column["path"]
        if ($column["path"] != "net") other = 1
    }
    END { exit other || !(best >= 0.9 && best <= 1.01) }' "$work/line.csv"
}

for rate in 1000 1000 1000 250 250 250; do
    line $rate
    job "$top_builddir/coll_gpu_perf" -b 1M -e 16M -f 4 -n 7 -w 2 --inplace 0 \
        --csv "$work/line.csv" || fail "coll_gpu_perf: status $?"
    [ $failed -eq 0 ] || exit 1
    if shares $rate; then
        [ -z "${CG_LINE_CSV:-}" ] || cp "$work/line.csv" "$CG_LINE_CSV"
        exit 0
    fi
    echo "not between 90 and 101 % of $rate Mbit/s"
done
fail "no attempt used the line"
exit 1
