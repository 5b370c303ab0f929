/* SPDX-License-Identifier: BSD-3-Clause
 * Device memory without a GPU: a range of addresses without access rights, so that whoever touches it directly gets a
 * segmentation fault. The same pages are open to copies and to the fake GPU FAKE_ALIAS bytes further on. Shared by
 * test/mpi/fake's component and the tests. */
#ifndef CG_TEST_FAKE_MEMORY_H
#define CG_TEST_FAKE_MEMORY_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAKE_BASE UINT64_C(0x100000000000) /* the program's */
#define FAKE_ROOM UINT64_C(0x140000000000) /* the component's */
#define FAKE_END UINT64_C(0x180000000000)
#define FAKE_ALIAS UINT64_C(0x080000000000)
#define FAKE_PAGE UINT64_C(4096)

static inline int fake_is_device(const void *p) { return (uintptr_t) p >= FAKE_BASE && (uintptr_t) p < FAKE_END; }

/* Where copies and the fake GPU find it. */
static inline void *fake_open(const void *p)
{
    return (void *) ((uintptr_t) p + (fake_is_device(p) ? FAKE_ALIAS : 0));
}

static inline size_t fake_pages(size_t bytes) { return (bytes + FAKE_PAGE - 1) / FAKE_PAGE; }

/* Zeroed memory at *next, which goes on to behind a page that is out of reach for all. NULL if there is none. */
static inline void *fake_map(uint64_t *next, size_t bytes)
{
    size_t all = fake_pages(bytes ? bytes : 1) * FAKE_PAGE;
    int fd = (int) syscall(SYS_memfd_create, "fake_memory", 0), bad = fd < 0 || ftruncate(fd, (off_t) all) != 0;
    void *p = (void *) *next, *open = fake_open(p);

    bad = bad || mmap(p, all, PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != p;
    bad = bad || mmap(open, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != open;
    if (fd >= 0) close(fd);
    *next += all + FAKE_PAGE;
    return bad ? NULL : p;
}

static inline void fake_copy(void *dst, const void *src, size_t bytes)
{
    if (bytes) memmove(fake_open(dst), fake_open(src), bytes);
}

#endif
