#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Flat descriptions of random types against MPI_Pack; other types in every run, the seed is in the output.
. "${top_srcdir:=.}/test/mpi/lib.sh"
seed=${SEED:-$(date +%s)}
echo "seed $seed"
ok 1 "" flat 20000 "$((seed * 100000))"
end
