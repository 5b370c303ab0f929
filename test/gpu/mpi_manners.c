/* SPDX-License-Identifier: BSD-3-Clause
 * What an application may do between MPI_Iallreduce and MPI_Wait: CUDA calls that wait for all of the device's work,
 * memory management, its own kernels, and stream captures in another thread. They must return although the collective
 * cannot finish: the last rank posts only after every other rank has told it that the call came back. */
#include "test/gpu/gpu_test.h"
#include "test/gpu/spin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct state {
    struct cgt t;
    struct cg_buf send, recv;
    unsigned *word; /* the application kernel's */
    uint64_t seed;
};

static cudaError_t synchronize(struct state *s) { return (void) s, cudaDeviceSynchronize(); }

static cudaError_t malloc_free(struct state *s)
{
    void *p;
    cudaError_t rc = cudaMalloc(&p, 8 << 20);

    (void) s;
    return rc == cudaSuccess ? cudaFree(p) : rc;
}

static cudaError_t host_alloc_free(struct state *s)
{
    void *p;
    cudaError_t rc = cudaHostAlloc(&p, 1 << 20, cudaHostAllocDefault);

    (void) s;
    return rc == cudaSuccess ? cudaFreeHost(p) : rc;
}

static cudaError_t host_register(struct state *s)
{
    static char page[1 << 16] __attribute__((aligned(4096)));
    cudaError_t rc = cudaHostRegister(page, sizeof(page), cudaHostRegisterDefault);

    (void) s;
    return rc == cudaSuccess ? cudaHostUnregister(page) : rc;
}

static cudaError_t legacy_kernel(struct state *s)
{
    cudaError_t rc = cgt_spin(cudaStreamLegacy, 100, s->word);

    return rc == cudaSuccess ? cudaStreamSynchronize(cudaStreamLegacy) : rc;
}

static cudaError_t copy(struct state *s)
{
    unsigned value;

    return cudaMemcpy(&value, s->word, sizeof(value), cudaMemcpyDeviceToHost);
}

static cudaError_t pool(struct state *s)
{
    void *p;
    cudaError_t rc = cudaMallocAsync(&p, 1 << 20, cudaStreamLegacy);

    (void) s;
    if (rc == cudaSuccess) rc = cudaFreeAsync(p, cudaStreamLegacy);
    return rc == cudaSuccess ? cudaStreamSynchronize(cudaStreamLegacy) : rc;
}

static const struct action {
    const char *name;
    cudaError_t (*act)(struct state *s);
} actions[] = {
    {"cudaDeviceSynchronize", synchronize},
    {"cudaMalloc and cudaFree", malloc_free},
    {"cudaHostAlloc and cudaFreeHost", host_alloc_free},
    {"cudaHostRegister and cudaHostUnregister", host_register},
    {"kernel on the legacy default stream", legacy_kernel},
    {"cudaMemcpy", copy},
    {"cudaMallocAsync and cudaFreeAsync", pool},
};
enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

static void act(struct state *s, const struct action *a, double *worst)
{
    double start = MPI_Wtime();
    cudaError_t rc = a->act(s);

    *worst = MPI_Wtime() - start > *worst ? MPI_Wtime() - start : *worst;
    cgt_check(&s->t, rc == cudaSuccess, "%s: %s", a->name, cudaGetErrorString(rc));
}

/* Post; run the action with the operation pending; the last rank posts when all others have come back. */
static void pending(struct state *s, const struct action *a, size_t count, double *worst)
{
    const struct cg_data_type *type = cg_data_type_find("float");
    const struct cg_data_op *sum = cg_data_op_find("sum");
    int last = s->t.size - 1, token = 0;
    uint64_t wrong, seed = ++s->seed;
    MPI_Request req;

    cgt_fill(&s->send, 0, type, sum, count, seed, s->t.rank);
    cg_buf_set(&s->recv, 0, 0xa5, count * 4);
    for (int r = 0; s->t.rank == last && r < last; r++) {
        MPI_Recv(&token, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Iallreduce(s->send.p, s->recv.p, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &req);
    if (s->t.rank != last) {
        int early = cgt_poke(&req, 0.002); /* have kernels launched, and waiting */
        cgt_check(&s->t, !early, "complete before the last rank called");
        act(s, a, worst);
        MPI_Send(&token, 1, MPI_INT, last, 1, MPI_COMM_WORLD);
    } else {
        act(s, a, worst);
    }
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    wrong = cgt_wrong(&s->recv, 0, type, sum, count, seed, s->t.size);
    cgt_check(&s->t, wrong == 0, "%s: %llu of %zu wrong", a->name, (unsigned long long) wrong, count);
}

/* Another thread's capture: begun before the collective is posted, ended after it has completed. */
struct capture {
    int device;
    unsigned *word;
    atomic_int stage; /* 0: begin; 1: capturing; 2: may end */
    cudaError_t rc;
    const char *where;
};

static cudaError_t step(struct capture *c, const char *where, cudaError_t rc)
{
    if (c->rc == cudaSuccess && rc != cudaSuccess) {
        c->rc = rc;
        c->where = where;
    }
    return rc;
}

static void *capture_thread(void *arg)
{
    struct capture *c = arg;
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec;

    step(c, "cudaSetDevice", cudaSetDevice(c->device));
    step(c, "cudaStreamCreate", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    step(c, "cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    atomic_store(&c->stage, 1);
    while (atomic_load(&c->stage) < 2) {}
    step(c, "kernel into the capture", cgt_spin(stream, 10, c->word));
    step(c, "cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
    if (c->rc != cudaSuccess) return NULL;
    step(c, "cudaGraphInstantiate", cudaGraphInstantiateWithFlags(&exec, graph, 0));
    if (c->rc != cudaSuccess) return NULL;
    step(c, "cudaGraphLaunch", cudaGraphLaunch(exec, stream));
    step(c, "cudaStreamSynchronize", cudaStreamSynchronize(stream));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return NULL;
}

static void captured(struct state *s, size_t count, int nonblocking)
{
    const struct cg_data_type *type = cg_data_type_find("float");
    const struct cg_data_op *sum = cg_data_op_find("sum");
    struct capture c = {.word = s->word};
    uint64_t wrong, seed = ++s->seed;
    pthread_t thread;
    MPI_Request req;

    cudaGetDevice(&c.device);
    cgt_fill(&s->send, 0, type, sum, count, seed, s->t.rank);
    cg_buf_set(&s->recv, 0, 0xa5, count * 4);
    if (!cgt_check(&s->t, pthread_create(&thread, NULL, capture_thread, &c) == 0, "no thread")) return;
    while (atomic_load(&c.stage) < 1) {}
    if (nonblocking) {
        MPI_Iallreduce(s->send.p, s->recv.p, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &req);
        cgt_poke(&req, 0.002);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(s->send.p, s->recv.p, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    atomic_store(&c.stage, 2);
    pthread_join(thread, NULL);
    cgt_check(&s->t, c.rc == cudaSuccess, "capture in another thread: %s: %s", c.where, cudaGetErrorString(c.rc));
    wrong = cgt_wrong(&s->recv, 0, type, sum, count, seed, s->t.size);
    cgt_check(&s->t, wrong == 0, "during a capture: %llu of %zu wrong", (unsigned long long) wrong, count);
}

static void all_actions(struct state *s, const size_t *counts, int n)
{
    for (int i = 0; i < ACTIONS; i++) {
        double worst = 0;
        for (int k = 0; k < 5 * n; k++) pending(s, &actions[i], counts[k % n], &worst);
        if (s->t.rank == 0) printf("%s: at most %.0f us\n", actions[i].name, worst * 1e6);
    }
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {2, 5000, 1 << 20};
    struct state s = {0};
    int rc = cgt_open(&s.t, "mpi_manners", &argc, &argv, MPI_THREAD_FUNNELED);

    if (rc != 0) return rc;
    cgt_alloc(&s.t, &s.send, CG_BUF_DEVICE, counts[2] * 4);
    cgt_alloc(&s.t, &s.recv, CG_BUF_DEVICE, counts[2] * 4);
    cgt_check(&s.t, cudaMalloc((void **) &s.word, sizeof(*s.word)) == cudaSuccess, "cudaMalloc");
    cgt_check(&s.t, cudaMemset(s.word, 0, sizeof(*s.word)) == cudaSuccess, "cudaMemset");
    cgt_check(&s.t, legacy_kernel(&s) == cudaSuccess, "kernel of the application");
    /* The first collective on GPU memory, with all of its set-up, meets a capture too. */
    for (int k = 0; k < 6; k++) captured(&s, counts[k % 3], k < 3);
    all_actions(&s, counts, 3);
    cudaFree(s.word);
    cg_buf_free(&s.send);
    cg_buf_free(&s.recv);
    cgt_check_gpu(&s.t);
    return cgt_close(&s.t);
}
