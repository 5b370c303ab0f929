/* SPDX-License-Identifier: BSD-3-Clause
 * Device memory without a GPU: a range of addresses without access rights, which only copies through fake_memory.c
 * open. Whoever touches it directly gets a segmentation fault. Shared by test/mpi/fake's component and the tests. */
#ifndef CG_TEST_FAKE_MEMORY_H
#define CG_TEST_FAKE_MEMORY_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define FAKE_BASE UINT64_C(0x100000000000)
#define FAKE_END UINT64_C(0x180000000000)
#define FAKE_PAGE UINT64_C(4096)

static inline int fake_is_device(const void *p) { return (uintptr_t) p >= FAKE_BASE && (uintptr_t) p < FAKE_END; }

static inline void fake_rights(const void *p, size_t bytes, int rights)
{
    uint64_t first = (uintptr_t) p & ~(FAKE_PAGE - 1), end = ((uintptr_t) p + bytes + FAKE_PAGE - 1) & ~(FAKE_PAGE - 1);

    if (fake_is_device(p)) mprotect((void *) first, end - first, rights);
}

static inline void fake_copy(void *dst, const void *src, size_t bytes)
{
    if (bytes == 0) return;
    fake_rights(src, bytes, PROT_READ | PROT_WRITE);
    fake_rights(dst, bytes, PROT_READ | PROT_WRITE);
    memmove(dst, src, bytes);
    fake_rights(dst, bytes, PROT_NONE);
    fake_rights(src, bytes, PROT_NONE);
}

#endif
