/* SPDX-License-Identifier: BSD-3-Clause
 * coll_gpu_perf: MPI_Allreduce and other collectives on any kind of memory, blocking, nonblocking or persistent, in the
 * conventions of nccl-tests, except that the bytes of a collective of blocks are those of one block.
 *
 * Times are taken on every rank around the call, each behind a barrier. The time of an iteration is that of its slowest
 * rank; the table shows the median over the iterations. algbw = bytes / time, busbw = what a link must carry whatever
 * the algorithm, for allreduce algbw * 2 (n - 1) / n. Checked runs have an input of their own and a poisoned output,
 * one before and one after the timed ones. With --sync the time includes cudaDeviceSynchronize. A persistent request is
 * made once for each size and place, and started for each call. Exit status: 0, 1 wrong results or an error, 77 no
 * GPU. */
#include "bench/after.h"
#include "bench/buffer.h"
#include "bench/calls.h"
#include "bench/data.h"
#include "bench/options.h"
#include "bench/setup.h"
#include "bench/watch.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct cg_options opt;
    int rank, size;
    int send_kind, recv_kind;
    struct cg_buf send, recv;
    size_t at;  /* byte of the buffers at which the data begins */
    char *host, *scratch; /* as large as the buffers, and as a block: inputs and results are made and checked here */
    struct cg_watch *watch;
    double *mine, *all; /* iters, and iters of every rank at rank 0 */
    FILE *csv;
    uint64_t seed;
    MPI_Request persistent; /* of the present size and place */
};

struct row {
    double median, mean, min, max; /* seconds */
    uint64_t wrong;
    int bits; /* of cg_watch_since */
};

static void pause_us(double us)
{
    for (double end = MPI_Wtime() + us * 1e-6; us > 0 && MPI_Wtime() < end;) {}
}

static struct cg_coll_call call_of(const struct bench *b, const struct cg_data_type *t, const struct cg_data_op *op,
                                   size_t count, int in_place)
{
    return (struct cg_coll_call){.coll = b->opt.coll, .src = in_place ? MPI_IN_PLACE : b->send.p + b->at,
                                 .dst = b->recv.p + b->at, .count = (int) count, .type = t, .op = op};
}

static void call(struct bench *b, const struct cg_coll_call *c) { cg_calls_run(c, b->opt.kind, &b->persistent); }

/* Every rank's value of 8 bytes at rank 0; through point-to-point messages and gather, not what is measured. */
static void gather_u64(const struct bench *b, uint64_t value, uint64_t *all)
{
    (void) b;
    MPI_Gather(&value, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

/* One call with new input. Adds, at rank 0, wrong elements and ranks whose result has other bits than rank 0's. */
static void checked_call(struct bench *b, const struct cg_coll_call *c, uint64_t *wrong)
{
    size_t block = (size_t) c->count * (size_t) c->type->size;
    size_t sent = block * (size_t) cg_calls_send_blocks(c->coll, b->size);
    size_t received = block * (size_t) cg_calls_recv_blocks(c->coll, b->size);
    uint64_t all[b->size], seed = ++b->seed;

    cg_calls_fill(c, b->host, seed, b->rank, b->size);
    cg_buf_set(&b->recv, b->at, 0xa5, received);
    cg_buf_write(cg_calls_from_dst(c, b->rank) ? &b->recv : &b->send, b->at, b->host, sent);
    call(b, c);
    cg_buf_read(&b->recv, b->at, b->host, received);

    gather_u64(b, cg_data_hash(b->host, received), all);
    for (int r = 1; b->rank == 0 && cg_calls_same(c->coll) && r < b->size; r++) *wrong += all[r] != all[0];
    gather_u64(b, cg_calls_check(c, b->host, b->scratch, seed, b->rank, b->size), all);
    for (int r = 0; b->rank == 0 && r < b->size; r++) *wrong += all[r];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* At rank 0: the slowest rank of each iteration, then the order statistics. */
static void statistics(struct bench *b, struct row *row)
{
    int n = b->opt.iters;
    double *worst = b->mine;

    MPI_Gather(b->mine, n, MPI_DOUBLE, b->all, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (b->rank != 0) return;
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < b->size; r++) worst[i] = b->all[r * n + i] > worst[i] ? b->all[r * n + i] : worst[i];
        row->mean += worst[i] / n;
    }
    qsort(worst, (size_t) n, sizeof(double), by_value);
    row->min = worst[0];
    row->max = worst[n - 1];
    row->median = (worst[(n - 1) / 2] + worst[n / 2]) / 2;
}

static void timed_calls(struct bench *b, const struct cg_coll_call *c, struct row *row)
{
    struct cg_watch_mark mark;
    uint64_t bits[b->size];

    cg_watch_mark(b->watch, &mark);
    for (int i = 0; i < b->opt.warmup; i++) call(b, c);
    if (b->opt.warmup == 0) call(b, c);
    gather_u64(b, (uint64_t) cg_watch_since(b->watch, &mark), bits);
    for (int r = 0; b->rank == 0 && r < b->size; r++) row->bits |= (int) bits[r];

    for (int i = 0; i < b->opt.iters; i++) {
        pause_us(b->opt.gap_us);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        call(b, c);
        if (b->opt.sync && b->recv.kind != CG_BUF_HOST) cg_buf_device_sync();
        b->mine[i] = MPI_Wtime() - start;
    }
    statistics(b, row);
}

static void measure(struct bench *b, const struct cg_data_type *t, const struct cg_data_op *op, size_t count,
                    int in_place, struct row *row)
{
    struct cg_coll_call c;
    size_t block = count * (size_t) t->size;

    *row = (struct row){0};
    b->at = b->opt.offset * (size_t) t->size;
    c = call_of(b, t, op, count, in_place);
    if (b->opt.kind == CG_CALL_PERSISTENT) cg_calls_init(&c, &b->persistent);
    if (b->opt.check) checked_call(b, &c, &row->wrong);
    /* Timed calls in place feed results back: zeros stay zeros, and no value becomes a slow or infinite one. */
    cg_buf_set(&b->send, b->at, 0, block * (size_t) cg_calls_send_blocks(c.coll, b->size));
    cg_buf_set(&b->recv, b->at, 0, block * (size_t) cg_calls_recv_blocks(c.coll, b->size));
    timed_calls(b, &c, row);
    if (b->opt.check) checked_call(b, &c, &row->wrong);
    if (b->opt.kind == CG_CALL_PERSISTENT) MPI_Request_free(&b->persistent);
}

static double bandwidth(size_t bytes, double seconds) { return seconds > 0 ? (double) bytes / seconds * 1e-9 : 0; }

static void print_head(const struct bench *b)
{
    printf("# coll_gpu_perf: %d ranks, %s, -m %s, %s%s, %d warm-up and %d timed iterations, gap %g us, offset %zu, "
           "check %s; coll/gpu %s\n", b->size, cg_calls_name(b->opt.coll), b->opt.memory, cg_call_kinds[b->opt.kind],
           b->opt.sync ? " with cudaDeviceSynchronize" : "", b->opt.warmup, b->opt.iters, b->opt.gap_us, b->opt.offset,
           b->opt.check ? "on" : "off", cg_watch_count(b->watch) ? "loaded" : "not loaded");
    printf("#\n#%11s %12s %8s %6s", "bytes", "count", "type", "op");
    for (int k = 0; k < 2; k++) {
        if (!(b->opt.places & 1 << k)) continue;
        printf(" |%10s", k ? "in place" : "time");
        if (b->opt.verbose) printf("%10s %9s", "min", "max");
        printf(" %7s %7s %6s", "algbw", "busbw", "#wrong");
    }
    printf(" | %-10s %s\n#%11s %12s %8s %6s", "executor", "path", "", "elements", "", "");
    for (int k = 0; k < 2; k++) {
        if (!(b->opt.places & 1 << k)) continue;
        printf(" |%10s", "us");
        if (b->opt.verbose) printf("%10s %9s", "us", "us");
        printf(" %7s %7s %6s", "GB/s", "GB/s", "");
    }
    printf(" |\n");
    if (b->csv == NULL) return;
    fprintf(b->csv, "bytes,count,collective,type,op,memory,ranks,call,in_place,median_us,mean_us,min_us,max_us,"
                    "algbw_GBs,busbw_GBs,wrong,executor,path\n");
}

static void print_place(const struct bench *b, size_t bytes, const struct row *r)
{
    double bw = bandwidth(bytes, r->median);

    printf(" |%10.2f", r->median * 1e6);
    if (b->opt.verbose) printf("%10.2f %9.2f", r->min * 1e6, r->max * 1e6);
    printf(" %7.2f %7.2f", bw, bw * cg_calls_traffic(b->opt.coll, b->size));
    if (b->opt.check) printf(" %6llu", (unsigned long long) r->wrong);
    else printf(" %6s", "-");
}

static void print_csv(const struct bench *b, const struct cg_data_type *t, const struct cg_data_op *op, size_t count,
                      int in_place, const struct row *r)
{
    double bw = bandwidth(count * (size_t) t->size, r->median);
    char exec[32];

    fprintf(b->csv, "%zu,%zu,%s,%s,%s,%s,%d,%s,%d,%.3f,%.3f,%.3f,%.3f,%.4f,%.4f,%lld,%s,%s\n", count * (size_t) t->size,
            count, cg_calls_name(b->opt.coll), t->name, op->name, b->opt.memory, b->size,
            cg_call_kinds[b->opt.kind], in_place, r->median * 1e6, r->mean * 1e6, r->min * 1e6, r->max * 1e6, bw,
            bw * cg_calls_traffic(b->opt.coll, b->size),
            b->opt.check ? (long long) r->wrong : -1, cg_watch_executor(r->bits, exec, sizeof(exec)),
            cg_watch_path(r->bits));
    fflush(b->csv); /* what is done counts, also when a later size is too slow for its time */
}

/* One line of the table; returns wrong results at rank 0. */
static uint64_t run_size(struct bench *b, const struct cg_data_type *t, const struct cg_data_op *op, size_t bytes)
{
    size_t count = bytes / (size_t) t->size;
    struct row row[2] = {{0}};
    char exec[32];

    for (int k = 0; k < 2; k++) {
        if (b->opt.places & 1 << k) measure(b, t, op, count, k, &row[k]);
    }
    if (b->rank != 0) return 0;
    printf(" %11zu %12zu %8s %6s", count * (size_t) t->size, count, t->name, op->name);
    for (int k = 0; k < 2; k++) {
        if (!(b->opt.places & 1 << k)) continue;
        print_place(b, count * (size_t) t->size, &row[k]);
        if (b->csv != NULL) print_csv(b, t, op, count, k, &row[k]);
    }
    row[0].bits |= row[1].bits;
    printf(" | %-10s %s\n", cg_watch_executor(row[0].bits, exec, sizeof(exec)), cg_watch_path(row[0].bits));
    fflush(stdout);
    return row[0].wrong + row[1].wrong;
}

static uint64_t run_all(struct bench *b)
{
    const struct cg_options *o = &b->opt;
    uint64_t wrong = 0;

    for (const struct cg_data_type *t = cg_data_types; t->name != NULL; t++) {
        if (o->type != NULL ? t != o->type : t->alias) continue;
        for (const struct cg_data_op *op = cg_data_ops; op->name != NULL; op++) {
            if ((o->op != NULL && op != o->op) || (t->cls == CG_DATA_FLOAT && !op->floats)) continue;
            for (size_t bytes = 0; (bytes = cg_options_next(o, bytes)) > 0;) {
                if (bytes >= (size_t) t->size) wrong += run_size(b, t, op, bytes);
            }
        }
    }
    return wrong;
}

/* The GPU of this rank: its number on the host modulo the GPUs there. */
static int choose_gpu(void)
{
    MPI_Comm local;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &rank);
    MPI_Comm_free(&local);
    return cg_buf_select_gpu(rank);
}

/* Have all ranks succeeded? */
static int agreed(int failed)
{
    int any;

    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return !any;
}

static int open_buffers(struct bench *b)
{
    int kind = strcmp(b->opt.memory, "mixed") == 0 ? (b->rank % 2 ? CG_BUF_HOST : CG_BUF_DEVICE)
                                                   : cg_buf_kind_find(b->opt.memory);
    size_t n = (size_t) b->opt.iters, off = b->opt.offset * sizeof(double);
    size_t sent = b->opt.end * (size_t) cg_calls_send_blocks(b->opt.coll, b->size);
    size_t received = b->opt.end * (size_t) cg_calls_recv_blocks(b->opt.coll, b->size);

    if (!agreed(strcmp(b->opt.memory, "host") != 0 && choose_gpu() != 0)) {
        if (b->rank == 0) printf("coll_gpu_perf: no GPU for every rank, needed by -m %s\n", b->opt.memory);
        return 77;
    }
    b->host = malloc(sent > received ? sent : received);
    b->scratch = malloc(b->opt.end);
    b->mine = calloc(n, sizeof(double));
    b->all = calloc(b->rank == 0 ? n * (size_t) b->size : 1, sizeof(double));
    b->watch = cg_watch_open();
    if (b->rank == 0 && b->opt.csv != NULL && (b->csv = fopen(b->opt.csv, "w")) == NULL) perror(b->opt.csv);
    return agreed(b->host == NULL || b->scratch == NULL || b->mine == NULL || b->all == NULL || b->watch == NULL ||
                  (b->rank == 0 && b->opt.csv != NULL && b->csv == NULL) ||
                  cg_buf_alloc(&b->send, kind, sent + off) != 0 ||
                  cg_buf_alloc(&b->recv, kind, received + off) != 0)
               ? 0 : 1;
}

static void close_buffers(struct bench *b)
{
    cg_buf_free(&b->send);
    cg_buf_free(&b->recv);
    cg_watch_close(b->watch);
    free(b->host);
    free(b->scratch);
    free(b->mine);
    free(b->all);
    if (b->csv != NULL) fclose(b->csv);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.size);
    rc = cg_options_parse(&b.opt, argc, argv, b.rank == 0);
    if (rc != 0) {
        MPI_Finalize();
        return rc < 0 ? 1 : 0; /* > 0: help was asked for */
    }
    if (b.opt.setup >= 0 || b.opt.kernels) {
        rc = b.opt.kernels ? cg_after_report(&b.opt, b.rank, b.size) : cg_setup_report(&b.opt, b.rank, b.size);
        MPI_Finalize();
        return rc;
    }
    b.seed = b.opt.seed;
    rc = open_buffers(&b);
    if (rc == 0) {
        uint64_t wrong;
        if (b.rank == 0) print_head(&b);
        wrong = run_all(&b);
        if (b.rank == 0 && b.opt.check) printf("# %llu wrong\n", (unsigned long long) wrong);
        rc = wrong > 0;
        MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    close_buffers(&b);
    MPI_Finalize();
    return rc;
}
