#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Communicators of every kind, and 2,000 that come and go.
. "${top_srcdir:=.}/test/mpi/lib.sh"
ok 1 "enable=always" comms 2000
ok 2 "enable=always" comms 2000
ok 2 "enable=always virtual_nodes=2" comms 2000
ok 4 "enable=always virtual_nodes=2" comms 500
ok 2 "enable=always virtual_nodes=2 slot_bytes=1024 slots=2" comms 1000 at_once
said "1000 communicators: 1 workers, 1 connections"
# From 5.0 on Open MPI does not know that spawned processes are on this host, and needs an interface that leads there.
export OMPI_MCA_btl_tcp_if_include=lo
ok 2 "enable=always" comms 10 spawn
said "0 failed checks on 2 ranks" 2
end
