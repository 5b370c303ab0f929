/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CG_TEST_PROXY_REACH_H
#define CG_TEST_PROXY_REACH_H

#include "proxy/net.h"

/* 0, and a line of output, where this machine and not the transport is why two instances cannot be joined with
 * remote = 1: without /sys/class/net, as in a chroot without /sys, UCX has no tcp, and what is left to it does not
 * report the death of a peer. */
int test_reaches(const struct cg_net_ops *ops, const char *hint);

#endif
