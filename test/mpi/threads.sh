#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI_THREAD_MULTIPLE.
. "${top_srcdir:=.}/test/mpi/lib.sh"
for shape in 1:0 2:0 2:2 3:2; do ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" threads 200; done
use_fake_gpu
ok 3 "" threads 100
end
