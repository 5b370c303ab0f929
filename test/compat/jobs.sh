# SPDX-License-Identifier: BSD-3-Clause
# The jobs of run.sh, inside: of each script in test/mpi the essence. usage: jobs.sh MAJOR
. "$top_srcdir/test/mpi/lib.sh"
small="slot_bytes=1024 slots=2 exchange_max=256 doubling_max=1024 channel_bytes=512"

ok 3 "enable=always virtual_nodes=2 $small" every hh hh native 0 1 300
ok 4 "enable=always virtual_nodes=2" types hh hh 2000 256
ok 3 "enable=always virtual_nodes=2" requests hh hh
ok 3 "enable=always virtual_nodes=2" order
# 6.0.0rc2 loses messages between threads through its shared memory, with coll/gpu or without (docs/testing.md).
[ "$1" -lt 6 ] || export OMPI_MCA_btl=tcp,self
ok 3 "enable=always virtual_nodes=2" threads 200
unset OMPI_MCA_btl
ok 3 "enable=always" fallback hh hh
ok 3 "enable=always virtual_nodes=2" bits hh hh 4
ok 2 "enable=always" comms 100 spawn
ok 2 "enable=always virtual_nodes=2" errors mismatch
said_both "allreduce of 44 bytes of I32 with SUM" "allreduce of 40 bytes of I32 with SUM"
ok 2 "enable=always" large 3000001 # beyond 2^31 with more memory
ok 2 "enable=always" sessions $([ "$1" -ge 6 ] && echo 2 || echo 1) # 5.0.7 cannot make communicators a second time
use_fake_gpu
if [ "$1" -ge 6 ]; then CG_TEST_COUNTS=large && export CG_TEST_COUNTS; fi
ok 3 "virtual_nodes=2 $small" every dh hd native 0 1 300
ok 2 "slots=3" every dd dd staged 0 1 300
end
