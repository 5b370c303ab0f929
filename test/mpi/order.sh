#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Outstanding operations on several communicators in any order that MPI allows.
. "${top_srcdir:=.}/test/mpi/lib.sh"
for shape in 1:0 2:0 2:2 3:2 5:0 6:3; do ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" order; done
ok 4 "enable=always virtual_nodes=2 slot_bytes=1024 slots=2 exchange_max=64 doubling_max=256 channel_bytes=512" order
end
