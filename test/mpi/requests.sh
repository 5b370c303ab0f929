#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Requests and what they use, from their making to their end and beyond; native and staged.
. "${top_srcdir:=.}/test/mpi/lib.sh"

run() { # RANKS PARAMETERS KINDS KINDS
    ok "$1" "$2" requests "$3" "$4"
    said "last words" 1
}
for shape in 1:0 2:0 3:2 5:3; do run "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" hh hh; done
use_fake_gpu
run 1 "" dd dd
run 3 "virtual_nodes=2" dd hd
# with an executor: types with gaps are packed there
FAKE_KERNELS=1 && export FAKE_KERNELS
run 1 "" dd dd
run 3 "virtual_nodes=2" dd hd
FAKE_KERNELS=0
run 1 "slots=3" dd dd
run 3 "slots=3" dd dd
run 4 "slots=3" dh hd
# No room for the windows of persistent requests: those that get none are staged, on all ranks.
ok 3 "stage_limit=9000000 verbose=1" requests dh hd scarce
said "a persistent request for the next component: set-up failed: no shared memory"
end
