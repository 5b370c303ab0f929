/* SPDX-License-Identifier: BSD-3-Clause
 * Host memory and that of the fake GPU, each before a page that nobody may touch. */
#include "test/mpi/every.h"
#include "test/mpi/fake_memory.h"

const char every_kinds[] = "hd";

int every_memory_open(void) { return 0; }

static char *host(size_t bytes)
{
    char *p = mmap(NULL, bytes + FAKE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED || mprotect(p + bytes, FAKE_PAGE, PROT_NONE) != 0 ? NULL : p;
}

int every_on_gpu(char kind) { return kind == 'd'; }

char *every_alloc(size_t *bytes, char kind, int *guarded)
{
    char *p;

    *bytes = fake_pages(*bytes) * FAKE_PAGE;
    *guarded = 1;
    p = kind == 'd' ? test_alloc(*bytes, 1) : host(*bytes);
    CHECK(p != NULL, "no memory of kind %c", kind);
    return p;
}

void every_copy(char *dst, const char *src, size_t bytes) { fake_copy(dst, src, bytes); }
