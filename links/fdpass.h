/* SPDX-License-Identifier: BSD-3-Clause
 * File descriptors between processes of one user and host: a datagram socket in the abstract namespace, which vanishes
 * with its process. A datagram carries one descriptor and says whose chunk it is. Nothing here blocks. */
#ifndef CG_LINKS_FDPASS_H
#define CG_LINKS_FDPASS_H

#include "core/status.h"

#include <stdint.h>

struct cg_fdpass {
    int fd;           /* -1: closed */
    uint64_t key;     /* own: datagrams must carry it */
    uint64_t dropped; /* datagrams that were not for us, or not well-formed */
};

#define CG_FDPASS_MAGIC 0x63675f6664703031ull

struct cg_fdpass_msg {
    uint64_t magic, key; /* the receiver's */
    uint64_t from;       /* the sender's name */
    uint64_t bytes;      /* of the chunk */
    uint32_t chunk, pad;
};

/* Bind the abstract name. CG_OK, or CG_ERR_SHM with errno set. */
int cg_fdpass_open(struct cg_fdpass *pass, const char *name, uint64_t key);
void cg_fdpass_close(struct cg_fdpass *pass);

/* fd stays the caller's. CG_OK: sent; CG_AGAIN: the receiver's queue is full; CG_ERR_PEER: nobody has bound that name;
 * CG_ERR_SHM: another error, in errno. */
int cg_fdpass_send(const struct cg_fdpass *pass, const char *to, const struct cg_fdpass_msg *msg, int fd);

/* CG_AGAIN: none there. CG_OK: *msg carries our key, and *fd is the caller's; *fd is -1 if the sender is known but no
 * descriptor can be had: another user's, or no descriptor left in this process. Others are dropped and counted. */
int cg_fdpass_recv(struct cg_fdpass *pass, struct cg_fdpass_msg *msg, int *fd);

#endif
