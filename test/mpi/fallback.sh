#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the engine does not reduce is passed to the next component.
. "${top_srcdir:=.}/test/mpi/lib.sh"
for ranks in 1 2 5; do ok $ranks "enable=always" fallback hh hh; done
end
