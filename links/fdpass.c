/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "links/fdpass.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_FDS 4 /* room for more than the one we want, so that strangers' are seen and closed */

union control {
    char bytes[CMSG_SPACE(MAX_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr align;
};

static socklen_t abstract(struct sockaddr_un *addr, const char *name)
{
    size_t n = strnlen(name, sizeof(addr->sun_path) - 1);

    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    memcpy(addr->sun_path + 1, name, n);
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int cg_fdpass_open(struct cg_fdpass *p, const char *name, uint64_t key)
{
    struct sockaddr_un addr;
    socklen_t len = abstract(&addr, name);
    int on = 1, err;

    p->key = key;
    p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p->fd < 0) return CG_ERR_SHM;
    /* Credentials before the name: no datagram arrives without them. */
    if (0 == setsockopt(p->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
        0 == bind(p->fd, (struct sockaddr *) &addr, len)) {
        return CG_OK;
    }
    err = errno;
    cg_fdpass_close(p);
    errno = err;
    return CG_ERR_SHM;
}

void cg_fdpass_close(struct cg_fdpass *p)
{
    if (p->fd >= 0) close(p->fd);
    p->fd = -1;
}

static void put(struct cmsghdr *c, int type, const void *data, size_t bytes)
{
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(c), data, bytes);
}

static int send_status(int err)
{
    switch (err) {
    case EAGAIN:
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS: /* too many descriptors on their way */
        return CG_AGAIN;
    case ECONNREFUSED:
        return CG_ERR_PEER;
    default:
        return CG_ERR_SHM;
    }
}

int cg_fdpass_send(const struct cg_fdpass *p, const char *to, const struct cg_fdpass_msg *msg, int fd)
{
    struct ucred me = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
    struct iovec iov = {.iov_base = (void *) msg, .iov_len = sizeof(*msg)};
    struct sockaddr_un addr;
    union control control = {{0}};
    struct msghdr h = {.msg_name = &addr,
                       .msg_namelen = abstract(&addr, to),
                       .msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = CMSG_SPACE(sizeof(fd)) + CMSG_SPACE(sizeof(me))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);

    put(c, SCM_RIGHTS, &fd, sizeof(fd));
    put(CMSG_NXTHDR(&h, c), SCM_CREDENTIALS, &me, sizeof(me));
    return sendmsg(p->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? CG_OK : send_status(errno);
}

/* What came beside the datagram: at most one descriptor is kept, and that only from a process of our user. */
static int take_control(struct msghdr *h)
{
    int fd = -1, ours = 0, extra;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        if (c->cmsg_level != SOL_SOCKET) continue;
        if (c->cmsg_type == SCM_CREDENTIALS && bytes == sizeof(struct ucred)) {
            struct ucred who;
            memcpy(&who, CMSG_DATA(c), sizeof(who));
            ours = who.uid == geteuid();
        }
        for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && (i + 1) * sizeof(int) <= bytes; i++) {
            memcpy(&extra, CMSG_DATA(c) + i * sizeof(int), sizeof(extra));
            if (fd >= 0) close(fd);
            fd = extra;
        }
    }
    if (ours || fd < 0) return fd;
    close(fd);
    return -1;
}

int cg_fdpass_recv(struct cg_fdpass *p, struct cg_fdpass_msg *msg, int *fd)
{
    for (;;) {
        union control control;
        struct iovec iov = {.iov_base = msg, .iov_len = sizeof(*msg)};
        struct msghdr h = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof(control.bytes)};
        ssize_t n = recvmsg(p->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (n < 0) return CG_AGAIN; /* EAGAIN; nothing else happens to a bound datagram socket */
        *fd = take_control(&h);
        if (n == sizeof(*msg) && !(h.msg_flags & MSG_TRUNC) && msg->magic == CG_FDPASS_MAGIC && msg->key == p->key) {
            return CG_OK;
        }
        if (*fd >= 0) close(*fd);
        p->dropped++;
    }
}
