/* SPDX-License-Identifier: BSD-3-Clause
 * Pretended CUDA memory: the CPU may not touch it, who has its descriptor may. */
#define _GNU_SOURCE
#include "test/proxy/conformance.h"

#include <sys/mman.h>
#include <unistd.h>

#define BLOCKS 16

static struct block {
    char *addr;
    size_t bytes;
    int fd;
} blocks[BLOCKS];

static void *pretend_alloc(size_t bytes, int *dmabuf)
{
    for (struct block *b = blocks; b < blocks + BLOCKS; b++) {
        if (b->addr) continue;
        *b = (struct block){.bytes = bytes, .fd = memfd_create("pretended", 0)};
        assert_int_equal(0, ftruncate(b->fd, (off_t) bytes));
        b->addr = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, b->fd, 0);
        assert_ptr_not_equal(MAP_FAILED, b->addr);
        *dmabuf = dup(b->fd);
        return b->addr;
    }
    fail_msg("too many blocks");
    return NULL;
}

static struct block *block_of(const void *addr)
{
    for (struct block *b = blocks; b < blocks + BLOCKS; b++) {
        if (b->addr && (const char *) addr >= b->addr && (const char *) addr < b->addr + b->bytes) return b;
    }
    fail_msg("no memory of ours");
    return NULL;
}

static void pretend_free(void *addr)
{
    struct block *b = block_of(addr);

    munmap(b->addr, b->bytes);
    close(b->fd);
    b->addr = NULL;
}

static void pretend_write(void *cuda, const void *from, size_t bytes)
{
    const struct block *b = block_of(cuda);

    assert_int_equal(bytes, pwrite(b->fd, from, bytes, (char *) cuda - b->addr));
}

static void pretend_read(void *to, const void *cuda, size_t bytes)
{
    const struct block *b = block_of(cuda);

    assert_int_equal(bytes, pread(b->fd, to, bytes, (const char *) cuda - b->addr));
}

const struct test_cuda test_cuda_pretended = {pretend_alloc, pretend_free, pretend_write, pretend_read};
