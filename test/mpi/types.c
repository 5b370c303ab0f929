/* SPDX-License-Identifier: BSD-3-Clause
 * Every native type with every operation that MPI allows on it, blocking and nonblocking, in place and not, at aligned
 * and odd addresses, for counts around the thresholds. Input values keep floating-point results exact in any order. */
#include "include/coll_gpu.h"
#include "test/mpi/mpi_test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FINT: Fortran's integers, which know no logical operation */
enum { INT = 1, FLT = 2, LOGICAL = 4, FINT = 8, COMPLEX = 16, PAIR = 32, NARROW = 64 };

/* name, C type, unsigned type in which sums and products wrap, MPI type, class */
#define TYPES(X)                                                                   \
    X(schar, signed char, unsigned char, MPI_SIGNED_CHAR, INT)                     \
    X(plain_char, char, unsigned char, MPI_CHAR, INT)                              \
    X(uchar, unsigned char, unsigned char, MPI_UNSIGNED_CHAR, INT)                 \
    X(sshort, short, unsigned short, MPI_SHORT, INT)                               \
    X(ushort, unsigned short, unsigned short, MPI_UNSIGNED_SHORT, INT)             \
    X(sint, int, unsigned, MPI_INT, INT)                                           \
    X(uint, unsigned, unsigned, MPI_UNSIGNED, INT)                                 \
    X(slong, long, unsigned long, MPI_LONG, INT)                                   \
    X(ulong, unsigned long, unsigned long, MPI_UNSIGNED_LONG, INT)                 \
    X(sllong, long long, unsigned long long, MPI_LONG_LONG, INT)                   \
    X(ullong, unsigned long long, unsigned long long, MPI_UNSIGNED_LONG_LONG, INT) \
    X(i8, int8_t, uint8_t, MPI_INT8_T, INT)                                        \
    X(u8, uint8_t, uint8_t, MPI_UINT8_T, INT)                                      \
    X(i16, int16_t, uint16_t, MPI_INT16_T, INT)                                    \
    X(u16, uint16_t, uint16_t, MPI_UINT16_T, INT)                                  \
    X(i32, int32_t, uint32_t, MPI_INT32_T, INT)                                    \
    X(u32, uint32_t, uint32_t, MPI_UINT32_T, INT)                                  \
    X(i64, int64_t, uint64_t, MPI_INT64_T, INT)                                    \
    X(u64, uint64_t, uint64_t, MPI_UINT64_T, INT)                                  \
    X(aint, MPI_Aint, uint64_t, MPI_AINT, INT)                                     \
    X(count, MPI_Count, uint64_t, MPI_COUNT, INT)                                  \
    X(offset, MPI_Offset, uint64_t, MPI_OFFSET, INT)                               \
    X(f32, float, float, MPI_FLOAT, FLT)                                           \
    X(f64, double, double, MPI_DOUBLE, FLT)                                        \
    X(cbool, bool, int, MPI_C_BOOL, LOGICAL)                                       \
    X(byte, uint8_t, uint8_t, MPI_BYTE, 0)                                         \
    X(finteger, int, unsigned, MPI_INTEGER, FINT)                                  \
    X(finteger2, int16_t, uint16_t, MPI_INTEGER2, FINT)                            \
    X(finteger8, int64_t, uint64_t, MPI_INTEGER8, FINT)                            \
    X(freal, float, float, MPI_REAL, FLT)                                          \
    X(freal8, double, double, MPI_REAL8, FLT)                                      \
    X(fdouble, double, double, MPI_DOUBLE_PRECISION, FLT)                          \
    X(flogical, int, unsigned, MPI_LOGICAL, LOGICAL)                               \
    X(cxx_bool, bool, int, MPI_CXX_BOOL, LOGICAL)

/* name, type of the parts, MPI type */
#define COMPLEXES(X)                                          \
    X(ccomplex, float, MPI_C_COMPLEX)                         \
    X(cfloat_complex, float, MPI_C_FLOAT_COMPLEX)             \
    X(cdouble_complex, double, MPI_C_DOUBLE_COMPLEX)          \
    X(fcomplex, float, MPI_COMPLEX)                           \
    X(fcomplex8, float, MPI_COMPLEX8)                         \
    X(fcomplex16, double, MPI_COMPLEX16)                      \
    X(fdouble_complex, double, MPI_DOUBLE_COMPLEX)            \
    X(cxx_float_complex, float, MPI_CXX_FLOAT_COMPLEX)        \
    X(cxx_double_complex, double, MPI_CXX_DOUBLE_COMPLEX)

/* name, type of the value, of the index, MPI type */
#define PAIRS(X)                                 \
    X(float_int, float, int, MPI_FLOAT_INT)      \
    X(double_int, double, int, MPI_DOUBLE_INT)   \
    X(long_int, long, int, MPI_LONG_INT)         \
    X(short_int, short, int, MPI_SHORT_INT)      \
    X(two_int, int, int, MPI_2INT)               \
    X(f2integer, int, int, MPI_2INTEGER)         \
    X(f2real, float, float, MPI_2REAL)           \
    X(f2double, double, double, MPI_2DOUBLE_PRECISION)

#define NUMBERS (INT | FLT | FINT | NARROW)
/* name, expression of T a, T b; w: T as U, MPI op, classes; bitwise operations are also for MPI_BYTE */
#define OPS_ANY(X, ...)                                                        \
    X(sum, (T)((U)a + (U)b), MPI_SUM, NUMBERS | COMPLEX, __VA_ARGS__)           \
    X(prod, (T)(0 + (U)a * (U)b), MPI_PROD, NUMBERS | COMPLEX, __VA_ARGS__)     \
    X(min, a < b ? a : b, MPI_MIN, NUMBERS, __VA_ARGS__)              \
    X(max, a > b ? a : b, MPI_MAX, NUMBERS, __VA_ARGS__)              \
    X(land, (T)(a && b), MPI_LAND, INT | LOGICAL, __VA_ARGS__)                 \
    X(lor, (T)(a || b), MPI_LOR, INT | LOGICAL, __VA_ARGS__)                   \
    X(lxor, (T)(!a != !b), MPI_LXOR, INT | LOGICAL, __VA_ARGS__)               \
    X(band, (T)((uint64_t)a & (uint64_t)b), MPI_BAND, INT | FINT, __VA_ARGS__) \
    X(bor, (T)((uint64_t)a | (uint64_t)b), MPI_BOR, INT | FINT, __VA_ARGS__)   \
    X(bxor, (T)((uint64_t)a ^ (uint64_t)b), MPI_BXOR, INT | FINT, __VA_ARGS__)

enum op_index {
#define OP(name, expr, mpi, classes, ...) OP_##name,
    OPS_ANY(OP, )
#undef OP
    OP_minloc,
    OP_maxloc
};

/* Input of a rank: small, with zeros, and factors of which few differ from 1, so that products stay exact. */
static int value(int op, int rank, size_t i)
{
    unsigned r = (unsigned) (i * 7 + (unsigned) rank * 13 + i / 5);

    if (op == OP_prod) return r % 5 == 0 ? 2 : r % 7 == 0 ? 3 : 1;
    return (int) (r % 11) - (op == OP_sum ? 4 : 0);
}

struct type {
    const char *name;
    MPI_Datatype mpi;
    size_t bytes, data; /* from one to the next; without gaps */
    int class;
    void (*fill)(void *buf, size_t i, int op, int rank);
    void (*expect)(void *out, size_t i, int op);
    const MPI_Op *own; /* operations made for the type, instead of MPI's */
};

#define OP_CASE(name, expr, mpi, classes, ...) \
    case OP_##name: acc = expr; break;
#define TYPE_FUNCTIONS(name, ctype, utype, mpi, class)                                          \
    static void fill_##name(void *buf, size_t i, int op, int rank)                              \
    {                                                                                           \
        ctype v = (ctype) value(op, rank, i);                                                   \
        memcpy(buf, &v, sizeof(v));                                                             \
    }                                                                                           \
    static void expect_##name(void *out, size_t i, int op)                                      \
    {                                                                                           \
        typedef ctype T;                                                                        \
        typedef utype U __attribute__((unused));                                                \
        T acc = (T) value(op, 0, i);                                                            \
        for (int r = 1; r < test_size; r++) {                                                   \
            T a = acc, b = (T) value(op, r, i);                                                 \
            switch (op) { OPS_ANY(OP_CASE, ) }                                                  \
        }                                                                                       \
        memcpy(out, &acc, sizeof(acc));                                                         \
    }
TYPES(TYPE_FUNCTIONS)

/* Small factors: 1, i, -1, 1 + i and the like. */
#define COMPLEX_FUNCTIONS(name, part, mpi)                                                      \
    static void fill_##name(void *buf, size_t i, int op, int rank)                              \
    {                                                                                           \
        part v[2] = {(part) (value(op, rank, i) % 3), (part) (value(op, rank, i + 3) % 2)};     \
        memcpy(buf, v, sizeof(v));                                                              \
    }                                                                                           \
    static void expect_##name(void *out, size_t i, int op)                                      \
    {                                                                                           \
        part a[2], b[2];                                                                        \
        fill_##name(a, i, op, 0);                                                               \
        for (int r = 1; r < test_size; r++) {                                                   \
            part re, im;                                                                        \
            fill_##name(b, i, op, r);                                                           \
            re = op == OP_sum ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];                        \
            im = op == OP_sum ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];                        \
            a[0] = re;                                                                          \
            a[1] = im;                                                                          \
        }                                                                                       \
        memcpy(out, a, sizeof(a));                                                              \
    }
COMPLEXES(COMPLEX_FUNCTIONS)

/* Few values, so that indices decide. What lies between the two stays as it is. */
#define PAIR_FUNCTIONS(name, ctype, itype, mpi)                                                 \
    struct pair_##name {                                                                        \
        ctype value;                                                                            \
        itype index;                                                                            \
    };                                                                                          \
    static void put_##name(struct pair_##name *to, struct pair_##name x)                        \
    {                                                                                           \
        memcpy(&to->value, &x.value, sizeof(x.value));                                          \
        memcpy(&to->index, &x.index, sizeof(x.index));                                          \
    }                                                                                           \
    static struct pair_##name make_##name(size_t i, int op, int rank)                           \
    {                                                                                           \
        return (struct pair_##name){(ctype) (value(op, rank, i) % 3 - 1),                       \
                                    (itype) ((rank * 5 + (int) i) % 7)};                        \
    }                                                                                           \
    static void fill_##name(void *buf, size_t i, int op, int rank)                              \
    {                                                                                           \
        put_##name(buf, make_##name(i, op, rank));                                              \
    }                                                                                           \
    static void expect_##name(void *out, size_t i, int op)                                      \
    {                                                                                           \
        struct pair_##name a = make_##name(i, op, 0), b;                                        \
        for (int r = 1; r < test_size; r++) {                                                   \
            b = make_##name(i, op, r);                                                          \
            if (a.value == b.value ? b.index < a.index                                          \
                                   : op == OP_minloc ? b.value < a.value : b.value > a.value)   \
                a = b;                                                                          \
        }                                                                                       \
        put_##name(out, a);                                                                     \
    }
PAIRS(PAIR_FUNCTIONS)

/* Those of coll_gpu.h: in float, rounded once. */
#define NARROWS(X)                \
    X(half, COLL_GPU_HALF)        \
    X(bfloat16, COLL_GPU_BFLOAT16) \
    X(fp8_e4m3, COLL_GPU_FP8_E4M3) \
    X(fp8_e5m2, COLL_GPU_FP8_E5M2)
static MPI_Datatype narrow_type[COLL_GPU_FORMATS];
static MPI_Op narrow_op[COLL_GPU_FORMATS][OP_max + 1];

static void put_narrow(void *to, enum coll_gpu_format format, float x)
{
    uint16_t bits = coll_gpu_from_float(format, x);

    memcpy(to, &bits, (size_t) coll_gpu_format_bytes(format));
}

#define NARROW_FUNCTIONS(name, format)                                                          \
    static void fill_##name(void *buf, size_t i, int op, int rank)                              \
    {                                                                                           \
        put_narrow(buf, format, (float) value(op, rank, i));                                    \
    }                                                                                           \
    static void expect_##name(void *out, size_t i, int op)                                      \
    {                                                                                           \
        float a = (float) value(op, 0, i), b;                                                   \
        for (int r = 1; r < test_size; r++) {                                                   \
            b = (float) value(op, r, i);                                                        \
            a = op == OP_sum ? a + b : op == OP_prod ? a * b : (op == OP_min) == (b < a) ? b : a; \
        }                                                                                       \
        put_narrow(out, format, a);                                                             \
    }
NARROWS(NARROW_FUNCTIONS)

static void make_narrow(void)
{
    for (int f = 0; f < COLL_GPU_FORMATS; f++) {
        coll_gpu_type_create(f, &narrow_type[f]);
        coll_gpu_op_create(f, MPI_SUM, &narrow_op[f][OP_sum]);
        coll_gpu_op_create(f, MPI_PROD, &narrow_op[f][OP_prod]);
        coll_gpu_op_create(f, MPI_MIN, &narrow_op[f][OP_min]);
        coll_gpu_op_create(f, MPI_MAX, &narrow_op[f][OP_max]);
    }
}

#define TYPE_ROW(name, ctype, utype, mpi, class) \
    {#name, mpi, sizeof(ctype), sizeof(ctype), class, fill_##name, expect_##name, NULL},
#define COMPLEX_ROW(name, part, mpi) \
    {#name, mpi, 2 * sizeof(part), 2 * sizeof(part), COMPLEX, fill_##name, expect_##name, NULL},
#define PAIR_ROW(name, ctype, itype, mpi) \
    {#name, mpi, sizeof(struct pair_##name), sizeof(ctype) + sizeof(itype), PAIR, fill_##name, expect_##name, NULL},
#define NARROW_BYTES(format) ((size_t) coll_gpu_format_bytes(format))
#define NARROW_ROW(name, format)                                                           \
    {#name, narrow_type[format], NARROW_BYTES(format), NARROW_BYTES(format), NARROW,       \
     fill_##name, expect_##name, narrow_op[format]},
#define OP_ROW(name, expr, mpi, classes, ...) {#name, mpi, classes},

struct call {
    const struct type *type;
    int op;
    MPI_Op mpi_op;
    size_t count, shift;
    int in_place, nonblocking;
};

#define GUARD 64
static size_t area_bytes;
static unsigned char *send_area, *recv_area, *send_image, *recv_image; /* images: what is, or should be, in the areas */

static void run(const struct call *c, const void *sbuf, void *rbuf)
{
    MPI_Request req;

    if (!c->nonblocking) {
        MPI_Allreduce(sbuf, rbuf, (int) c->count, c->type->mpi, c->mpi_op, MPI_COMM_WORLD);
        return;
    }
    MPI_Iallreduce(sbuf, rbuf, (int) c->count, c->type->mpi, c->mpi_op, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    size_t i = 0;

    if (!memcmp(a, b, bytes)) return bytes;
    while (a[i] == b[i]) i++;
    return i;
}

/* Parts of complex numbers: ac - bd is 0 or -0, as the order of factors has it. The last byte has the sign. */
static void drop_signs_of_zeros(unsigned char *p, size_t parts, size_t bytes)
{
    static const unsigned char zero[16];

    for (size_t i = 0; i < parts; i++, p += bytes) {
        if (p[bytes - 1] == 0x80 && !memcmp(p, zero, bytes - 1)) p[bytes - 1] = 0;
    }
}

/* One call between guard bytes. Neither these nor the send buffer may change. */
static void check(const struct call *c, const char *op_name)
{
    static unsigned char *got;
    size_t head = GUARD + c->shift, bytes = c->type->bytes, area = head + c->count * bytes + GUARD, at;
    unsigned char *in = (c->in_place ? recv_image : send_image) + head;

    if (!got) got = malloc(area_bytes);
    memset(send_image, 0xa5, area);
    memset(recv_image, 0xa5, area);
    for (size_t i = 0; i < c->count; i++) c->type->fill(in + i * bytes, i, c->op, test_rank);
    test_copy(send_area, send_image, area);
    test_copy(recv_area, recv_image, area);
    run(c, c->in_place ? MPI_IN_PLACE : send_area + head, recv_area + head);
    for (size_t i = 0; i < c->count; i++) c->type->expect(recv_image + head + i * bytes, i, c->op);
    test_copy(got, recv_area, area);
    if (c->type->class == COMPLEX) {
        drop_signs_of_zeros(got + head, 2 * c->count, bytes / 2);
        drop_signs_of_zeros(recv_image + head, 2 * c->count, bytes / 2);
    }
    at = first_difference(got, recv_image, area);
    CHECK(at == area, "%s %s, %zu elements, shift %zu, in place %d, nonblocking %d: result differs at byte %zd",
          c->type->name, op_name, c->count, c->shift, c->in_place, c->nonblocking, (ssize_t) (at - head));
    test_copy(got, send_area, area);
    CHECK(first_difference(got, send_image, area) == area, "%s %s: the send buffer changed", c->type->name, op_name);
}

static const struct {
    const char *name;
    MPI_Op mpi;
    int classes;
} *ops;
static int nops;

static int allowed(const struct type *t, int op)
{
    return t->class ? (t->class & ops[op].classes) != 0 : op >= OP_band && op <= OP_bxor;
}

/* All four ways of calling; returns the number of calls. */
static int all_ways(const struct type *t, int op, size_t count, size_t shift)
{
    for (int way = 0; way < 4; way++) {
        struct call c = {t, op, t->own ? t->own[op] : ops[op].mpi, count, shift, way & 1, way >> 1};
        check(&c, ops[op].name);
    }
    return 4;
}

static int sweep_op(int class)
{
    return class == LOGICAL ? OP_lxor : class == PAIR ? OP_maxloc : class ? OP_sum : OP_bxor;
}

/* Nonblocking calls of this form are left to the next component (ompi_coll_gpu/calls.c). */
static int like_comm_creation(MPI_Datatype type, int op, size_t count)
{
    return count == 1 && (op == OP_min || op == OP_max) &&
           (type == MPI_INT || type == MPI_INT32_T || type == MPI_INTEGER);
}

/* All operations on few elements. Returns how many calls should be native. */
static uint64_t small_counts(const struct type *t)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 33};
    uint64_t calls = 0;

    for (int op = 0; op < nops; op++) {
        for (size_t i = 0; allowed(t, op) && i < sizeof(counts) / sizeof(counts[0]); i++) {
            int n = all_ways(t, op, counts[i], i % 2 ? t->bytes : i + 1);
            if (counts[i]) calls += (uint64_t) (like_comm_creation(t->mpi, op, counts[i]) ? n / 2 : n);
        }
    }
    return calls;
}

/* Around a threshold in bytes. */
static uint64_t around(const struct type *t, size_t bytes)
{
    size_t count = bytes / t->bytes;
    int op = sweep_op(t->class);

    return (uint64_t) all_ways(t, op, count - 1, 0) + (uint64_t) all_ways(t, op, count, 3) +
           (uint64_t) all_ways(t, op, count + 1, t->bytes);
}

static void check_counters(uint64_t calls, const char *executor)
{
    uint64_t posts = test_counter("posts"), where = test_counter(executor);

    CHECK(posts == calls, "%llu of %llu calls were native", (unsigned long long) posts, (unsigned long long) calls);
    CHECK(where == calls, "%llu of %llu calls were %s", (unsigned long long) where, (unsigned long long) calls,
          executor);
}

/* argv: h or d for the send and the receive buffer of even ranks (hd: send on the host, receive on the fake GPU), the
 * same for odd ranks, the largest message in bytes, thresholds in bytes to go around. */
int main(int argc, char **argv)
{
    test_init(&argc, &argv, MPI_THREAD_SINGLE);
    make_narrow();
    const struct type types[] = {TYPES(TYPE_ROW) COMPLEXES(COMPLEX_ROW) PAIRS(PAIR_ROW)
                                 NARROWS(NARROW_ROW)};
    const __typeof__(*ops) op_rows[] = {OPS_ANY(OP_ROW, ) {"minloc", MPI_MINLOC, PAIR}, {"maxloc", MPI_MAXLOC, PAIR}};
    const char *kind;
    uint64_t calls = 0;
    size_t big;

    kind = argv[1 + test_rank % 2];
    big = strtoull(argv[3], NULL, 0);
    area_bytes = big + 4096;
    ops = op_rows;
    nops = (int) (sizeof(op_rows) / sizeof(op_rows[0]));
    send_area = test_alloc(area_bytes, kind[0] == 'd');
    recv_area = test_alloc(area_bytes, kind[1] == 'd');
    send_image = test_alloc(area_bytes, 0);
    recv_image = test_alloc(area_bytes, 0);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        int bytes;
        MPI_Type_size(types[t].mpi, &bytes);
        if ((size_t) bytes != types[t].data) continue; /* Fortran's, where there is none or it is another */
        calls += small_counts(&types[t]);
        for (int i = 4; i < argc; i++) calls += around(&types[t], strtoull(argv[i], NULL, 0));
        if ((types[t].class & (INT | FINT)) && types[t].bytes != 2) continue;
        calls += (uint64_t) all_ways(&types[t], sweep_op(types[t].class), big / types[t].bytes, 0);
    }
    check_counters(calls, kind[1] == 'd' ? "bounced" : "native_host");
    return test_end();
}
