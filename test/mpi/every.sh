#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every collective in every form: native on 1 to 8 and 20 ranks over shared memory, network, and both; staged; among
# neighbours and between groups. Buffers on the host and on the fake GPU in any mixture.
. "${top_srcdir:=.}/test/mpi/lib.sh"
unset SAMPLE

small="slot_bytes=1024 slots=2 exchange_max=256 doubling_max=1024 channel_bytes=512"
for shape in 1:0 2:2 4:2 6:3 6:4; do
    ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:} $small" every hh hh native 0 1 7 300
done
ok 8 "enable=always virtual_nodes=2 $small" every hh hh native 0 1 300 # 2 nodes of 4 ranks
ok 7 "enable=always virtual_nodes=3 rail_ring_nodes=0 $small" every hh hh native 1 300
ok 2 "enable=always" every hh hh native 0 1 7 30000
ok 20 "enable=always virtual_nodes=2" every hh hh native 0 3

use_fake_gpu
# At last with an executor of its own: what lies apart in the fake GPU's memory is packed there.
for FAKE_KERNELS in 0 1; do
    export FAKE_KERNELS
    ok 1 "" every dd dd native 0 1 7
    ok 2 "$small" every dd dd native 0 1 300
    ok 3 "virtual_nodes=2 $small" every dh hd native 0 1 7 300
    ok 5 "virtual_nodes=3" every dd hh native 0 1 300
    ok 3 "" every hd dd native 0 1 5000
done
FAKE_KERNELS=0
# Parameters that make the engine unusable: staging goes on.
ok 1 "slots=3" every dd dd staged 0 1 7
ok 2 "slots=3" every dd dd staged 0 1 300
ok 3 "slots=3" every dh hd staged 0 1 7
# A GPU on some ranks only.
on_rank 1 FAKE_GPU=0
ok 3 "virtual_nodes=2" every dd hh native 0 1 300
end
