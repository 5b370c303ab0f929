#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Blocking calls almost like the one before, on shared memory and over the network.
. "${top_srcdir:=.}/test/mpi/lib.sh"
for shape in 2:0 3:0 2:2 4:2; do ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" again; done
use_fake_gpu
ok 3 "enable=always" again device
end
