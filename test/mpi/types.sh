#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every type, operation and way of calling, at 1 to 6 ranks over shared memory, network, and both.
. "${top_srcdir:=.}/test/mpi/lib.sh"

# Small slots and thresholds: chunks, wrap-around and every plan already at a few hundred bytes.
small="slot_bytes=1024 slots=2 exchange_max=256 doubling_max=1024 channel_bytes=512"
for shape in 1:0 2:0 2:2 3:2 4:0 4:2 5:3 6:0 6:3 6:4; do
    ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:} $small" types hh hh 20000 256 1024 4096
done
for shape in 2:0 4:2; do
    ok "${shape%:*}" "enable=always virtual_nodes=${shape#*:}" types hh hh 1048579 8192 32768 65536
done
# With memory for 2 x 3 x that: CG_TEST_LARGE=2147483700
ok 2 "enable=always" large "${CG_TEST_LARGE:-3000000}"
end
