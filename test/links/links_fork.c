/* SPDX-License-Identifier: BSD-3-Clause
 * Two real processes: data and tenants between them, and what is left behind when one is killed. */
#define _GNU_SOURCE
#include "test/links/side.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define ROUNDS 2000

/* From gcc 13 on AddressSanitizer keeps frames that have ended, megabytes of them. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_stack_use_after_return=0"; }

/* The conversation of one side over a socket. CG_OK or the first error. */
static int converse(struct side *self, const struct cg_peer_info *peer, int lower, int wire, struct cg_link_end **end)
{
    struct cg_link_msg offer, answer;
    int rc;

    if (lower) {
        rc = cg_link_offer(self->links, peer, CG_MEDIUM_SHM, SMALL, end, &offer);
        if (write(wire, &offer, sizeof(offer)) != sizeof(offer)) return CG_ERR_PEER;
        if (read(wire, &answer, sizeof(answer)) != sizeof(answer)) return CG_ERR_PEER;
        if (rc == CG_OK) rc = cg_link_take(self->links, *end, &answer);
    } else {
        if (read(wire, &offer, sizeof(offer)) != sizeof(offer)) return CG_ERR_PEER;
        rc = cg_link_answer(self->links, peer, &offer, end, &answer);
        if (write(wire, &answer, sizeof(answer)) != sizeof(answer)) return CG_ERR_PEER;
    }
    if (rc != CG_OK) return rc;
    while ((rc = cg_link_ready(self->links, *end)) == CG_AGAIN) usleep(100);
    return rc;
}

static void exchange(struct cg_link_end *e, int n)
{
    int sent = 0, taken = 0;

    while (sent < n || taken < n) {
        int moved = (sent < n && end_send(e, 1)) + 2 * (taken < n && end_recv(e, 1));
        sent += moved & 1;
        taken += moved >> 1;
        if (!moved) sched_yield();
    }
}

/* Tenants of both processes agree on when a link is free; a byte each way stands for the communicator's end. */
static int rounds(struct side *self, const struct cg_peer_info *peer, int lower, int wire)
{
    struct cg_links_counters first, now;
    int fds = 0;
    long kib = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct cg_link_end *end;
        char byte = 0;

        if (converse(self, peer, lower, wire, &end) != CG_OK || end->tenants != (uint64_t) i) return 1;
        exchange(end, i < 10 ? 100 : 1);
        cg_link_release(self->links, end, 1);
        if (write(wire, &byte, 1) != 1 || read(wire, &byte, 1) != 1) return 2;
        if (i != ROUNDS / 10) continue;
        cg_links_get_counters(self->links, &first);
        fds = open_descriptors();
        kib = resident_kib();
    }
    cg_links_get_counters(self->links, &now);
    if (memcmp(&first, &now, sizeof(now)) || now.links != 1 || now.chunks != 1 || now.tenants != 0) return 3;
    return open_descriptors() != fds || resident_kib() - kib > 1024 ? 4 : 0;
}

struct duo {
    struct side lo, hi;
    int wire[2];
    pid_t child;
};

/* The child has the higher name. 0 in the child. */
static pid_t duo_start(struct duo *d)
{
    side_init(&d->lo, 1);
    side_init(&d->hi, 2);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, d->wire), 0);
    d->child = fork();
    assert_true(d->child >= 0);
    if (d->child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(d->wire[d->child != 0]);
    side_open(d->child == 0 ? &d->hi : &d->lo, &media_rows[0], 0);
    return d->child;
}

static void test_rounds(void **state)
{
    struct duo d;
    int status, rc;

    (void) state;
    if (duo_start(&d) == 0) {
        rc = rounds(&d.hi, &d.lo.info, 0, d.wire[1]);
        cg_links_close(d.hi.links);
        _exit(rc);
    }
    rc = rounds(&d.lo, &d.hi.info, 1, d.wire[0]);
    cg_links_close(d.lo.links);
    close(d.wire[0]);
    assert_int_equal(waitpid(d.child, &status, 0), d.child);
    assert_int_equal(rc, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int files_in_shm(void)
{
    DIR *dir = opendir("/dev/shm");
    int n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));) n += strstr(e->d_name, "coll_gpu") != NULL;
    if (dir) closedir(dir);
    return n;
}

/* By the answer: /proc/net/unix leaves out what moves while others come and go. */
static int name_is_bound(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

    assert_true(fd >= 0 && len < sizeof(to.sun_path));
    memcpy(to.sun_path + 1, name, len);
    rc = connect(fd, (struct sockaddr *) &to, (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + len));
    assert_true(rc == 0 || errno == ECONNREFUSED);
    close(fd);
    return rc == 0;
}

/* kill -9 in the middle: no name and no file stay, and the survivor's mappings stay good. */
static void test_kill(void **state)
{
    struct cg_link_end *end;
    struct duo d;
    int status, before = files_in_shm();

    (void) state;
    if (duo_start(&d) == 0) {
        if (converse(&d.hi, &d.lo.info, 0, d.wire[1], &end) != CG_OK) _exit(1);
        exchange(end, 10);
        if (write(d.wire[1], "", 1) != 1) _exit(2);
        for (;;) pause();
    }
    assert_int_equal(converse(&d.lo, &d.hi.info, 1, d.wire[0], &end), CG_OK);
    exchange(end, 10);
    assert_int_equal(read(d.wire[0], &status, 1), 1);
    assert_int_equal(name_is_bound(d.hi.info.socket), 1);
    assert_int_equal(kill(d.child, SIGKILL), 0);
    assert_int_equal(waitpid(d.child, &status, 0), d.child);
    assert_int_equal(name_is_bound(d.hi.info.socket), 0);
    assert_int_equal(name_is_bound(d.lo.info.socket), 1);
    assert_int_equal(files_in_shm(), before);
    assert_int_equal(end_send(end, 0), 1);
    cg_link_release(d.lo.links, end, 1);
    cg_links_progress(d.lo.links);
    cg_links_close(d.lo.links);
    close(d.wire[0]);
    assert_int_equal(name_is_bound(d.lo.info.socket), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
