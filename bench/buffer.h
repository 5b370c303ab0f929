/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers in every kind of memory that a program may hand to MPI, for benchmarks and tests. Built with HAVE_CUDA, or
 * without: then only pageable host memory. One thread. */
#ifndef CG_BENCH_BUFFER_H
#define CG_BENCH_BUFFER_H

#include <stddef.h>

enum cg_buf_kind {
    CG_BUF_HOST,       /* malloc */
    CG_BUF_PINNED,     /* cudaHostAlloc */
    CG_BUF_REGISTERED, /* malloc, then cudaHostRegister */
    CG_BUF_DEVICE,     /* cudaMalloc */
    CG_BUF_MANAGED,    /* cudaMallocManaged */
    CG_BUF_POOL,       /* cudaMallocAsync */
    CG_BUF_VMM,        /* cuMemCreate and cuMemMap */
    CG_BUF_KINDS
};

struct cg_buf {
    char *p;
    size_t bytes;   /* asked for */
    int kind;
    size_t mapped;  /* VMM: bytes of the mapping */
    unsigned long long handle; /* VMM: of the allocation */
};

const char *cg_buf_kind_name(int kind);
int cg_buf_kind_find(const char *name); /* -1 if there is none */

/* Number of GPUs that this process can use: 0 without HAVE_CUDA, driver or device. Makes no context. */
int cg_buf_gpus(void);
/* Use GPU number local_rank modulo their number. 0, or -1 if there is none. */
int cg_buf_select_gpu(int local_rank);

/* Free bytes of the GPU in use, 0 if there is none. Makes a context. */
size_t cg_buf_gpu_free(void);

/* 0, or -1 with a line on stderr. bytes > 0. */
int cg_buf_alloc(struct cg_buf *b, int kind, size_t bytes);
void cg_buf_free(struct cg_buf *b);

/* Copy to or from host memory, or fill, at byte at of the buffer; finished on return. 0, or -1 with a line on stderr.
 * Host kinds need no CUDA call. */
int cg_buf_write(const struct cg_buf *b, size_t at, const void *host, size_t bytes);
int cg_buf_read(const struct cg_buf *b, size_t at, void *host, size_t bytes);
int cg_buf_set(const struct cg_buf *b, size_t at, int byte, size_t bytes);

/* cudaDeviceSynchronize; 0 at once without HAVE_CUDA. 0, or -1 with a line on stderr. */
int cg_buf_device_sync(void);

#endif
