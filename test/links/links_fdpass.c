/* SPDX-License-Identifier: BSD-3-Clause
 * Descriptors between processes: what is taken, what is dropped, and that none is left open. */
#define _GNU_SOURCE
#include "links/fdpass.h"
#include "test/links/side.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define KEY 0x5eedu

struct fixture {
    struct cg_fdpass from, to;
    char name[2][48];
    int file, before;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->before = open_descriptors();
    for (int i = 0; i < 2; i++) cg_links_socket_name((uint64_t) getpid() << 16 | i, KEY, f->name[i], 48);
    f->file = memfd_create("test", MFD_CLOEXEC);
    if (ftruncate(f->file, 4096)) return -1;
    *state = f;
    return cg_fdpass_open(&f->from, f->name[0], KEY + 1) || cg_fdpass_open(&f->to, f->name[1], KEY);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    cg_fdpass_close(&f->from);
    cg_fdpass_close(&f->to);
    close(f->file);
    assert_int_equal(open_descriptors(), f->before);
    free(f);
    return 0;
}

static struct cg_fdpass_msg good(void)
{
    return (struct cg_fdpass_msg){.magic = CG_FDPASS_MAGIC, .key = KEY, .from = 11, .bytes = 4096, .chunk = 3};
}

/* As a stranger would: any bytes, any number of descriptors. */
static void send_raw(const struct fixture *f, const void *data, size_t bytes, int fds)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct iovec iov = {.iov_base = (void *) data, .iov_len = bytes};
    char control[CMSG_SPACE(8 * sizeof(int))] __attribute__((aligned(8))) = {0};
    struct msghdr h = {.msg_name = &addr, .msg_iov = &iov, .msg_iovlen = 1};

    memcpy(addr.sun_path + 1, f->name[1], strlen(f->name[1]));
    h.msg_namelen = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + strlen(f->name[1]));
    if (fds > 0) {
        struct cmsghdr *c = (struct cmsghdr *) control;
        h.msg_control = control;
        h.msg_controllen = CMSG_SPACE((size_t) fds * sizeof(int));
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t) fds * sizeof(int));
        for (int i = 0; i < fds; i++) memcpy(CMSG_DATA(c) + (size_t) i * sizeof(int), &f->file, sizeof(int));
    }
    assert_int_equal(sendmsg(f->from.fd, &h, MSG_DONTWAIT), bytes);
}

static void test_passes(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg = good(), got;
    struct stat a, b;
    int fd = -1;

    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_AGAIN);
    assert_int_equal(cg_fdpass_send(&f->from, f->name[1], &msg, f->file), CG_OK);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_OK);
    assert_memory_equal(&got, &msg, sizeof(msg));
    assert_int_equal(fstat(f->file, &a), 0);
    assert_int_equal(fstat(fd, &b), 0);
    assert_int_equal(a.st_ino, b.st_ino);
    close(fd);
    assert_int_equal(f->to.dropped, 0);
}

static void test_strangers_are_dropped(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg[2] = {good(), good()}, got;
    int now = open_descriptors(), fd;

    send_raw(f, "hello", 5, 0);
    send_raw(f, "hello", 5, 1);
    send_raw(f, msg, sizeof(msg), 1);
    send_raw(f, msg, sizeof(msg[0]) - 1, 2);
    msg[0].key++;
    send_raw(f, msg, sizeof(msg[0]), 1);
    msg[0] = good();
    msg[0].magic ^= 1;
    send_raw(f, msg, sizeof(msg[0]), 8);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_AGAIN);
    assert_int_equal(f->to.dropped, 6);
    assert_int_equal(open_descriptors(), now);
}

/* One is kept, none leaks. */
static void test_several_or_none(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg = good(), got;
    int now = open_descriptors(), fd;

    send_raw(f, &msg, sizeof(msg), 8);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_OK);
    assert_true(fd >= 0);
    assert_int_equal(open_descriptors(), now + 1);
    close(fd);
    send_raw(f, &msg, sizeof(msg), 0);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_OK);
    assert_int_equal(fd, -1);
}

static void test_queue_full(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg = good(), got;
    int sent = 0, taken = 0, fd;

    while (sent < 10000 && cg_fdpass_send(&f->from, f->name[1], &msg, f->file) == CG_OK) sent++;
    assert_true(sent > 0 && sent < 10000);
    assert_int_equal(cg_fdpass_send(&f->from, f->name[1], &msg, f->file), CG_AGAIN);
    for (; cg_fdpass_recv(&f->to, &got, &fd) == CG_OK; taken++) close(fd);
    assert_int_equal(taken, sent);
    assert_int_equal(cg_fdpass_send(&f->from, f->name[1], &msg, f->file), CG_OK);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_OK);
    close(fd);
}

static void test_nobody_there(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg = good();

    assert_int_equal(cg_fdpass_send(&f->from, "coll_gpu.nobody", &msg, f->file), CG_ERR_PEER);
    cg_fdpass_close(&f->to);
    assert_int_equal(cg_fdpass_send(&f->from, f->name[1], &msg, f->file), CG_ERR_PEER);
}

static void test_name_taken(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass third;

    assert_int_equal(cg_fdpass_open(&third, f->name[0], KEY), CG_ERR_SHM);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(third.fd, -1);
}

/* The descriptor is lost then: the receiver must know. */
static void test_no_descriptor_left(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg = good(), got;
    struct rlimit old, low;
    int fd = 0;

    assert_int_equal(cg_fdpass_send(&f->from, f->name[1], &msg, f->file), CG_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(got.from, msg.from);
}

/* Even with the key, another user's descriptor is not taken. */
static void test_other_user(void **state)
{
    struct fixture *f = *state;
    struct cg_fdpass_msg msg = good(), got;
    int now = open_descriptors(), fd, status;
    pid_t child;

    if (geteuid() != 0) skip();
    child = fork();
    if (child == 0) {
        if (setresuid(65534, 65534, 65534)) _exit(1);
        _exit(cg_fdpass_send(&f->from, f->name[1], &msg, f->file) == CG_OK ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(cg_fdpass_recv(&f->to, &got, &fd), CG_OK);
    assert_int_equal(fd, -1);
    assert_int_equal(open_descriptors(), now);
}

static void test_names(void **state)
{
    char a[48], b[48], key[48];

    (void) state;
    cg_links_socket_name(UINT64_MAX, UINT64_MAX, a, sizeof(a));
    assert_true(strlen(a) < sizeof(a) - 1);
    cg_links_socket_name(1, 0x1122334455667788u, a, sizeof(a));
    cg_links_socket_name(2, 0x1122334455667788u, b, sizeof(b));
    assert_string_not_equal(a, b);
    cg_links_socket_name(1, 0x1122334455667789u, b, sizeof(b));
    assert_string_not_equal(a, b);
    snprintf(key, sizeof(key), "%x", 0x55667788u);
    assert_null(strstr(a, key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strangers_are_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_queue_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_name_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_descriptor_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_user, setup, teardown),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
