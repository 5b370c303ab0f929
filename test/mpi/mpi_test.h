/* SPDX-License-Identifier: BSD-3-Clause
 * What the MPI test programs share. A program returns check_end(): not 0 if any check failed on any rank. */
#ifndef CG_TEST_MPI_TEST_H
#define CG_TEST_MPI_TEST_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

extern int test_rank, test_size; /* in MPI_COMM_WORLD */

/* MPI_Init_thread and MPI_T. */
void test_init(int *argc, char ***argv, int thread_level);
/* Exchange verdicts, finalize. The program's exit status. */
int test_end(void);

/* One of the component's MPI_T counters, e.g. "posts", since test_init. 0 if the component is not loaded. */
uint64_t test_counter(const char *name);

/* Pages of resident memory in KiB, and open descriptors, of this process. */
long test_rss_kib(void);
int test_descriptors(void);

/* Zeroed memory; device: of the fake GPU (fake_memory.h), which only test_copy may touch. Never freed. */
void *test_alloc(size_t bytes, int device);
void test_copy(void *dst, const void *src, size_t bytes);

void test_fail(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Says what is wrong (the first few times) and counts it. */
#define CHECK(cond, ...)                                          \
    do {                                                          \
        if (!(cond)) test_fail(__FILE__, __LINE__, __VA_ARGS__);  \
    } while (0)

#endif
