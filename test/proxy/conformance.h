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

/* Where the suite has CUDA memory from; real or pretended. dmabuf: a descriptor, the caller's, or -1. */
struct test_cuda {
    void *(*alloc)(size_t bytes, int *dmabuf);
    void (*free)(void *addr);
    void (*write)(void *cuda, const void *from, size_t bytes);
    void (*read)(void *to, const void *cuda, size_t bytes);
};
extern const struct test_cuda *conformance_cuda; /* NULL: none; only host memory is tested */
extern const struct test_cuda test_cuda_pretended; /* pretend.c: for transports that take dma-bufs */

double test_seconds(void);

/* 0 if the transport cannot be opened here. */
int duo_open(struct duo *d, const struct cg_net_ops *ops, const char *hint, int remote);
void duo_close(struct duo *d);
struct cg_net_req *duo_send(struct duo *d, int from, uint64_t tag, const void *buf, size_t bytes);
struct cg_net_req *duo_recv(struct duo *d, int at, uint64_t tag, void *buf, size_t capacity);
void duo_progress(struct duo *d);
/* Drives both until the request is complete: its status. */
int duo_wait(struct duo *d, int at, struct cg_net_req *req, size_t *bytes);

/* ... which is CG_OK, of a message of so many bytes. */
void duo_wait_ok(struct duo *d, int at, struct cg_net_req *req, size_t expected);
/* The content of message seed. */
void duo_fill(char *buf, size_t bytes, unsigned seed);
void duo_check(const char *buf, size_t bytes, unsigned seed);

#define TAG(n) (0x1234567800636770u + ((uint64_t) (n) << 24))

void conformance_memory(struct duo *d);
/* Run all of it. 0 if the transport cannot be opened here. */
int conformance_run(const struct cg_net_ops *ops, const char *hint, int remote);

#endif
