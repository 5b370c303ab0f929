#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Sums of floating-point numbers have the same bits in every run, over every medium, from every kind of buffer; on
# several nodes those of these nodes, or with rank_order=2 those of one node.
. "${top_srcdir:=.}/test/mpi/lib.sh"

same() { # RANKS PARAMETERS ARGUMENT...
    ok "$1" "enable=always $2" bits "$3" "$4" 4
    new=$(sed -n 's/^hash //p' "$out")
    [ -n "$new" ] && [ "$new" = "${hash:=$new}" ] || fail "hash '$new' instead of '$hash': $*"
}
for ranks in 2 3 5; do
    hash=
    fake=
    same $ranks "" hh hh
    same $ranks "" hh hh
    same $ranks "virtual_nodes=2 rank_order=2" hh hh
    same $ranks "virtual_nodes=5" hh hh
    use_fake_gpu
    same $ranks "" dd dd
    same $ranks "virtual_nodes=2 rank_order=2" hd dh
done
for shape in 8:2 5:2 7:3; do # nodes of 4 and 4 ranks, 3 and 2, 3 and 2 and 2
    for plan in "" rail_ring_nodes=0 doubling_max=1000000000; do
        hash=
        fake=
        same "${shape%:*}" "virtual_nodes=${shape#*:} $plan" hh hh
        same "${shape%:*}" "virtual_nodes=${shape#*:} $plan" hh hh
        use_fake_gpu
        same "${shape%:*}" "virtual_nodes=${shape#*:} $plan" dd hd
    done
done
end
