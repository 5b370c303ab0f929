/* SPDX-License-Identifier: BSD-3-Clause
 * The transports' conformance suite with memory of a real GPU, for every transport that takes it. 77: no GPU, or none
 * of them does (UCX without CUDA). */
#include "test/proxy/conformance.h"

#include "core/status.h"
#include "kernels/cuda/gpu.h"

#include <stdio.h>
#include <unistd.h>

static struct cg_gpu *gpu;

static void *gpu_alloc(size_t bytes, int *dmabuf)
{
    void *addr = cg_gpu_mem_alloc(gpu, bytes);

    assert_non_null(addr);
    *dmabuf = -1;
    return addr;
}

static void gpu_free(void *addr) { cg_gpu_mem_free(gpu, addr); }

static void gpu_write(void *cuda, const void *from, size_t bytes)
{
    assert_int_equal(CG_OK, cg_gpu_memcpy(0, cuda, from, bytes));
}

static void gpu_read(void *to, const void *cuda, size_t bytes)
{
    if (CG_FLUSH_HOST == cg_gpu_flush_kind(gpu)) assert_int_equal(CG_OK, cg_gpu_flush(gpu));
    assert_int_equal(CG_OK, cg_gpu_memcpy(0, to, cuda, bytes));
}

static const struct test_cuda memory = {gpu_alloc, gpu_free, gpu_write, gpu_read};

static int takes_cuda(const struct cg_net_ops *ops)
{
    struct cg_net_props props;
    struct cg_params params;
    struct cg_net *net;
    char why[256];

    cg_params_default(&params);
    if (ops->by_name || CG_OK != ops->open(&params, NULL, &net, why, sizeof(why))) return 0;
    ops->props(net, &props);
    ops->close(net);
    return props.cuda;
}

static void test_rows(void **state)
{
    (void) state;
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) {
        if (takes_cuda(*row)) assert_true(conformance_run(*row, NULL, 0));
    }
}

/* What flushing costs, and what this GPU needs. */
static void test_flush(void **state)
{
    static const char *const kinds[] = {"", "nothing", "cg_gpu_flush", "the transport"};
    char *addr = cg_gpu_mem_alloc(gpu, 4u << 20);
    double start = test_seconds();
    int fd = cg_gpu_dmabuf(gpu, addr, 4u << 20);

    (void) state;
    for (int i = 0; i < 1000 && CG_OK == cg_gpu_flush(gpu); i++) continue;
    print_message("flush: %s; 1,000 calls of cg_gpu_flush: %.0f us; dma-buf: %s\n", kinds[cg_gpu_flush_kind(gpu)],
                  (test_seconds() - start) * 1e6, fd < 0 ? "none" : "yes");
    if (fd >= 0) close(fd);
    cg_gpu_mem_free(gpu, addr);
}

static int skip_all(const char *why)
{
    printf("%s\n", why);
    return 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flush), cmocka_unit_test(test_rows)};
    struct cg_gpu_scope scope;
    struct cg_params params;
    char why[256];
    int n = 0, rc;

    cg_params_default(&params);
    if (!cg_gpu_present() || CG_OK != cg_gpu_open(0, &params, &gpu, why, sizeof(why))) return skip_all("no GPU");
    if (CG_OK != cg_gpu_enter(0, &scope)) return skip_all("no context");
    conformance_cuda = &memory;
    for (const struct cg_net_ops *const *row = cg_transports; *row; row++) n += takes_cuda(*row);
    rc = n ? cmocka_run_group_tests(tests, NULL, NULL) : skip_all("no transport takes CUDA memory: UCX without CUDA?");
    cg_gpu_leave(&scope);
    cg_gpu_close(gpu);
    return rc;
}
