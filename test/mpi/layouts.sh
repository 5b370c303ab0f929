#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Layouts that differ between ranks, on the host executor: test/gpu/mpi_layouts, other calls in every run.
. "${top_srcdir:=.}/test/mpi/lib.sh"
seed=${SEED:-$(date +%s)}
echo "seed $seed"
CG_TEST_HOST=1 && export CG_TEST_HOST
ok 2 "enable=always" ../gpu/mpi_layouts 300 "$seed"
ok 3 "enable=always virtual_nodes=2" ../gpu/mpi_layouts 100 "$seed"
ok 5 "enable=always slot_bytes=4096 slots=2" ../gpu/mpi_layouts 60 "$seed"
end
