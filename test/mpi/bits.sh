#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Sums of floating-point numbers have the same bits in every run, over every medium, from every kind of buffer.
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
    same $ranks "virtual_nodes=2" hh hh
    same $ranks "virtual_nodes=5" hh hh
    use_fake_gpu
    same $ranks "" dd dd
    same $ranks "virtual_nodes=2" hd dh
done
end
