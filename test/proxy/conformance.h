/* SPDX-License-Identifier: BSD-3-Clause
 * What every transport must do: two instances in one process exchange with themselves. */
#ifndef CG_TEST_PROXY_CONFORMANCE_H
#define CG_TEST_PROXY_CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proxy/net.h"

struct duo {
    const struct cg_net_ops *ops;
    struct cg_net *net[2];
    struct cg_net_ep *ep[2]; /* ep[i]: of net[i] towards the other */
};

double test_seconds(void);

/* 0 if the transport cannot be opened here. */
int duo_open(struct duo *d, const struct cg_net_ops *ops, const char *hint, int remote);
void duo_close(struct duo *d);
struct cg_net_req *duo_send(struct duo *d, int from, uint64_t tag, const void *buf, size_t bytes);
struct cg_net_req *duo_recv(struct duo *d, int at, uint64_t tag, void *buf, size_t capacity);
/* Drives both until the request is complete: its status. */
int duo_wait(struct duo *d, int at, struct cg_net_req *req, size_t *bytes);

/* Run all of it. 0 if the transport cannot be opened here. */
int conformance_run(const struct cg_net_ops *ops, const char *hint, int remote);

#endif
