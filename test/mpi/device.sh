#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Buffers in device memory and on the host in any mixture, without a GPU: what the engine reduces goes through host
# copies, what it does not is staged into the next component, which would fall over an address of the fake GPU.
. "${top_srcdir:=.}/test/mpi/lib.sh"
use_fake_gpu

small="slot_bytes=1024 slots=2 exchange_max=256 doubling_max=1024 channel_bytes=512"
for kinds in "dd dd" "hd dh" "hh dd" "dd hh"; do
    ok 1 "" fallback $kinds
    ok 3 "" fallback $kinds
    ok 3 "virtual_nodes=2 $small" types $kinds 20000 256 1024
done
ok 1 "" types dd dd 20000 1024
ok 2 "" types hd hd 200000 8192 65536
# Parameters that make the engine unusable: staging goes on.
ok 2 "slots=3" fallback dd hd
said "coll_gpu_slots is 3"

# A GPU on some ranks only.
on_rank 1 FAKE_GPU=0
ok 3 "virtual_nodes=2" types dd hh 20000 256
ok 3 "" fallback dd hh
end
