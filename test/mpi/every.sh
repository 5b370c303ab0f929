#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every collective in every form: native on 1 to 6 and 20 ranks over shared memory, network, and both; staged; among
# neighbours and between groups. Buffers on the host and on the fake GPU in any mixture.
. "${top_srcdir:=.}/test/mpi/lib.sh"

small="slot_bytes=1024 slots=2 exchange_max=256 doubling_max=1024 channel_bytes=512"
both() { # RANKS PARAMETERS KINDS KINDS MODE COUNT...
    ranks_=$1 params=$2
    shift 2
    ok "$ranks_" "$params" every "$@"
    ok "$ranks_" "$params" reduce "$@"
}
for shape in 1:0 2:2 4:2 6:3 6:4; do
    both "${shape%:*}" "enable=always virtual_nodes=${shape#*:} $small" hh hh native 0 1 7 300
done
both 8 "enable=always virtual_nodes=2 $small" hh hh native 0 1 300 # 2 nodes of 4 ranks
both 7 "enable=always virtual_nodes=3 rail_ring_nodes=0 $small" hh hh native 1 300
both 2 "enable=always" hh hh native 0 1 7 30000
both 20 "enable=always virtual_nodes=2" hh hh native 0 3

use_fake_gpu
both 1 "" dd dd native 0 1 7
both 2 "$small" dd dd native 0 1 300
both 3 "virtual_nodes=2 $small" dh hd native 0 1 7 300
both 5 "virtual_nodes=3" dd hh native 0 1 300
both 3 "" hd dd native 0 1 5000
# The fake GPU with an executor of its own: what lies apart in its memory is packed there.
FAKE_KERNELS=1 && export FAKE_KERNELS
both 1 "" dd dd native 0 1 7
both 2 "$small" dd dd native 0 1 300
both 3 "virtual_nodes=2 $small" dh hd native 0 1 7 300
both 5 "virtual_nodes=3" dd hh native 0 1 300
both 3 "" hd dd native 0 1 5000
FAKE_KERNELS=0
# Parameters that make the engine unusable: staging goes on.
both 1 "slots=3" dd dd staged 0 1 7
both 2 "slots=3" dd dd staged 0 1 300
both 3 "slots=3" dh hd staged 0 1 7
# A GPU on some ranks only.
on_rank 1 FAKE_GPU=0
both 3 "virtual_nodes=2" dd hh native 0 1 300
end
