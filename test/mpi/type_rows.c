/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/mpi/type_rows.h"

#include "include/coll_gpu.h"

#include <complex.h>
#include <float.h>
#include <stdbool.h>
#include <string.h>

#define NUMBERS (INT | FLT | FINT | NARROW)
const struct op_row op_rows[OP_USER + 1] = {
    {"sum", MPI_SUM, NUMBERS | COMPLEX},
    {"prod", MPI_PROD, NUMBERS | COMPLEX},
    {"min", MPI_MIN, NUMBERS},
    {"max", MPI_MAX, NUMBERS},
    {"land", MPI_LAND, INT | LOGICAL},
    {"lor", MPI_LOR, INT | LOGICAL},
    {"lxor", MPI_LXOR, INT | LOGICAL},
    {"band", MPI_BAND, INT | FINT | BYTES},
    {"bor", MPI_BOR, INT | FINT | BYTES},
    {"bxor", MPI_BXOR, INT | FINT | BYTES},
    {"minloc", MPI_MINLOC, PAIR},
    {"maxloc", MPI_MAXLOC, PAIR},
    {"user", MPI_OP_NULL, 0},
};

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
    X(byte, uint8_t, uint8_t, MPI_BYTE, BYTES)                                     \
    X(finteger, int, unsigned, MPI_INTEGER, FINT)                                  \
    X(finteger1, int8_t, uint8_t, MPI_INTEGER1, FINT)                              \
    X(finteger2, int16_t, uint16_t, MPI_INTEGER2, FINT)                            \
    X(finteger4, int32_t, uint32_t, MPI_INTEGER4, FINT)                            \
    X(finteger8, int64_t, uint64_t, MPI_INTEGER8, FINT)                            \
    X(freal, float, float, MPI_REAL, FLT)                                          \
    X(freal4, float, float, MPI_REAL4, FLT)                                        \
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
    X(cxx_double_complex, double, MPI_CXX_DOUBLE_COMPLEX)     \
    X(long_complex, long double, MPI_C_LONG_DOUBLE_COMPLEX)

/* name, type of the value, of the index, MPI type */
#define PAIRS(X)                                              \
    X(float_int, float, int, MPI_FLOAT_INT)                   \
    X(double_int, double, int, MPI_DOUBLE_INT)                \
    X(long_int, long, int, MPI_LONG_INT)                      \
    X(short_int, short, int, MPI_SHORT_INT)                   \
    X(two_int, int, int, MPI_2INT)                            \
    X(f2integer, int, int, MPI_2INTEGER)                      \
    X(f2real, float, float, MPI_2REAL)                        \
    X(f2double, double, double, MPI_2DOUBLE_PRECISION)        \
    X(long_double_int, long double, int, MPI_LONG_DOUBLE_INT)

/* Those of coll_gpu.h: computed in float, rounded once. */
#define NARROWS(X)                 \
    X(half, COLL_GPU_HALF)         \
    X(bfloat16, COLL_GPU_BFLOAT16) \
    X(fp8_e4m3, COLL_GPU_FP8_E4M3) \
    X(fp8_e5m2, COLL_GPU_FP8_E5M2)

/* ---- inputs ---- */

/* Small, with zeros, and factors of which few differ from 1, so that products stay exact. */
static int value(int op, int rank, size_t i)
{
    unsigned r = (unsigned) (i * 7 + (unsigned) rank * 13 + i / 5);

    if (op == OP_PROD) return r % 5 == 0 ? 2 : r % 7 == 0 ? 3 : 1;
    return (int) (r % 11) - 4;
}

/* For what picks or combines bits: also the ends of every integer type, and their neighbours. */
static int64_t extreme(int op, int rank, size_t i)
{
    unsigned r = (unsigned) (i * 5 + (unsigned) rank * 11 + i / 7), bits = 8u << (r / 3 % 4);

    if (op == OP_SUM || op == OP_PROD || r % 3) return value(op, rank, i);
    return (int64_t) ((UINT64_C(1) << (bits - 1)) - r % 2);
}

/* No part that is 0 but the imaginary parts of real numbers: products have no negative zeros, which depend on the order
 * of factors. */
static int complex_part(int op, int rank, size_t i, int part)
{
    unsigned r = (unsigned) (i * 7 + (unsigned) rank * 13 + i / 5);

    if (op != OP_PROD) return value(op, rank, i + 3 * (size_t) part);
    if (part) return r % 3 ? 0 : 2;
    return r % 3 == 1 ? 2 : 1;
}

/* ---- functions of each type ---- */

#define ARITHMETIC(T, U, op, a, b)                             \
    case OP_SUM: (a) = (T) ((U) (a) + (U) (b)); break;         \
    case OP_PROD: (a) = (T) (0 + (U) (a) * (U) (b)); break;    \
    case OP_MIN: (a) = (b) < (a) ? (b) : (a); break;           \
    case OP_MAX: (a) = (b) > (a) ? (b) : (a); break;

#define TYPE_FUNCTIONS(name, ctype, utype, mpi, class)                          \
    static void fill_##name(void *p, size_t i, int op, int rank)                \
    {                                                                           \
        ctype v = (ctype) extreme(op, rank, i);                                 \
        memcpy(p, &v, sizeof(v));                                               \
    }                                                                           \
    static void combine_##name(void *acc, const void *x, int op)                \
    {                                                                           \
        typedef ctype T;                                                        \
        T a, b;                                                                 \
        memcpy(&a, acc, sizeof(a));                                             \
        memcpy(&b, x, sizeof(b));                                               \
        switch (op) {                                                           \
        ARITHMETIC(T, utype, op, a, b)                                          \
        case OP_LAND: a = (T) (a && b); break;                                  \
        case OP_LOR: a = (T) (a || b); break;                                   \
        case OP_LXOR: a = (T) (!a != !b); break;                                \
        case OP_BAND: a = (T) ((uint64_t) a & (uint64_t) b); break;             \
        case OP_BOR: a = (T) ((uint64_t) a | (uint64_t) b); break;              \
        case OP_BXOR: a = (T) ((uint64_t) a ^ (uint64_t) b); break;             \
        }                                                                       \
        memcpy(acc, &a, sizeof(a));                                             \
    }
TYPES(TYPE_FUNCTIONS)

#define COMPLEX_FUNCTIONS(name, part, mpi)                                                  \
    static void fill_##name(void *p, size_t i, int op, int rank)                            \
    {                                                                                       \
        part v[2] = {(part) complex_part(op, rank, i, 0), (part) complex_part(op, rank, i, 1)}; \
        memcpy(p, v, sizeof(v));                                                            \
    }                                                                                       \
    static void combine_##name(void *acc, const void *x, int op)                            \
    {                                                                                       \
        part a[2], b[2], re, im;                                                            \
        memcpy(a, acc, sizeof(a));                                                          \
        memcpy(b, x, sizeof(b));                                                            \
        re = op == OP_SUM ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];                        \
        im = op == OP_SUM ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];                        \
        memcpy(acc, (part[2]){re, im}, sizeof(a));                                          \
    }
COMPLEXES(COMPLEX_FUNCTIONS)

/* Few values, so that indices decide. */
#define PAIR_FUNCTIONS(name, ctype, itype, mpi)                                             \
    struct pair_##name {                                                                    \
        ctype value;                                                                        \
        itype index;                                                                        \
    };                                                                                      \
    static void fill_##name(void *p, size_t i, int op, int rank)                            \
    {                                                                                       \
        struct pair_##name *x = p;                                                          \
        x->value = (ctype) (value(op, rank, i) % 3);                                        \
        x->index = (itype) ((rank * 5 + (int) i) % 7);                                      \
    }                                                                                       \
    static void combine_##name(void *acc, const void *x, int op)                            \
    {                                                                                       \
        struct pair_##name *a = acc;                                                        \
        const struct pair_##name *b = x;                                                    \
        if (a->value == b->value ? b->index < a->index                                      \
                                 : op == OP_MINLOC ? b->value < a->value : b->value > a->value) \
            *a = *b;                                                                        \
    }                                                                                       \
    static void store_##name(void *to, const void *x)                                       \
    {                                                                                       \
        const struct pair_##name *from = x;                                                 \
        memcpy(to, &from->value, sizeof(from->value));                                      \
        memcpy((char *) to + offsetof(struct pair_##name, index), &from->index, sizeof(from->index)); \
    }
PAIRS(PAIR_FUNCTIONS)

static void fill_narrow(void *p, size_t i, int op, int rank)
{
    float v = (float) value(op, rank, i);

    memcpy(p, &v, sizeof(v));
}
static void combine_narrow(void *acc, const void *x, int op)
{
    float a, b;

    memcpy(&a, acc, sizeof(a));
    memcpy(&b, x, sizeof(b));
    switch (op) { ARITHMETIC(float, float, op, a, b) }
    memcpy(acc, &a, sizeof(a));
}
/* Exact in float in any order, while 512 + 0.5 in bfloat16 is 512: partial sums must not be rounded. */
static void fill_partial(void *p, size_t i, int op, int rank)
{
    float v = rank ? 0.5f + (float) ((i + 1) % 3) : 512;

    (void) op;
    memcpy(p, &v, sizeof(v));
}
#define NARROW_FUNCTIONS(name, format)                                          \
    static void store_##name(void *to, const void *x)                           \
    {                                                                           \
        float v;                                                                \
        uint16_t bits;                                                          \
        memcpy(&v, x, sizeof(v));                                               \
        bits = coll_gpu_from_float(format, v);                                  \
        memcpy(to, &bits, (size_t) coll_gpu_format_bytes(format));              \
    }
NARROWS(NARROW_FUNCTIONS)

static void fill_long_double(void *p, size_t i, int op, int rank) { *(long double *) p = value(op, rank, i); }
static void combine_long_double(void *acc, const void *x, int op)
{
    long double a = *(long double *) acc, b = *(const long double *) x;

    switch (op) { ARITHMETIC(long double, long double, op, a, b) }
    *(long double *) acc = a;
}

/* Unused bytes of a long double are anything. */
static void clean_long(void *p)
{
    size_t used = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

    memset((char *) p + used, 0, sizeof(long double) - used);
}
static void clean_two_long(void *p)
{
    clean_long(p);
    clean_long((char *) p + sizeof(long double));
}

/* 2 x 2 matrices modulo 251, row by row: their product does not commute. */
static void fill_matrix(void *p, size_t i, int op, int rank)
{
    (void) op;
    for (int j = 0; j < 4; j++) ((int *) p)[j] = (rank * 31 + (int) i * 17 + j * j * 5 + 1) % 251;
}
static void combine_matrix(void *acc, const void *x, int op)
{
    const int *b = x;
    int a[4], *c = acc;

    (void) op;
    memcpy(a, acc, sizeof(a));
    for (int r = 0; r < 2; r++) {
        for (int k = 0; k < 2; k++) c[2 * r + k] = (a[2 * r] * b[k] + a[2 * r + 1] * b[2 + k]) % 251;
    }
}
static void matrix_product(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++) {
        int a[4], *b = (int *) inout + 4 * i;
        memcpy(a, (int *) in + 4 * i, sizeof(a));
        combine_matrix(a, b, OP_USER);
        memcpy(b, a, sizeof(a));
    }
}

/* An int, then a gap. */
#define GAPPY 16
static void combine_gappy(void *acc, const void *x, int op)
{
    (void) op;
    combine_sint(acc, x, OP_SUM);
}
static void gappy_sum(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++) combine_sint((char *) inout + GAPPY * i, (char *) in + GAPPY * i, OP_SUM);
}

/* ---- rows ---- */

struct type_row type_rows[80];
int ntype_rows;

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static void add(struct type_row row)
{
    int bytes;

    if (row.mpi == MPI_DATATYPE_NULL) return;
    MPI_Type_size(row.mpi, &bytes);
    if ((size_t) bytes == row.data) type_rows[ntype_rows++] = row; /* Fortran's, where there is none, is another */
}

static void add_narrow(const char *name, int format, void (*store)(void *to, const void *x))
{
    static const MPI_Op like[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    size_t bytes = (size_t) coll_gpu_format_bytes(format);
    struct type_row row = {name, MPI_DATATYPE_NULL, bytes, bytes, NARROW, fill_narrow, combine_narrow, store, NULL,
                           {0}};

    for (int op = 0; op <= OP_USER; op++) row.own[op] = MPI_OP_NULL;
    coll_gpu_type_create(format, &row.mpi);
    for (int op = 0; op < 4; op++) coll_gpu_op_create(format, like[op], &row.own[op]);
    add(row);
}

/* Of a type that has been added before: its sums alone. */
static void add_partial(void)
{
    struct type_row row = *type_row_named("bfloat16");

    row.name = "bfloat16_partial";
    row.fill = fill_partial;
    row.own[OP_PROD] = row.own[OP_MIN] = row.own[OP_MAX] = MPI_OP_NULL;
    add(row);
}

static void add_user(const char *name, MPI_Datatype type, size_t data, struct type_row functions, MPI_User_function *f,
                     int commutes)
{
    struct type_row row = functions;

    row.name = name;
    row.mpi = committed(type);
    row.bytes = GAPPY;
    row.data = data;
    for (int op = 0; op < OP_USER; op++) row.own[op] = MPI_OP_NULL;
    MPI_Op_create(f, commutes, &row.own[OP_USER]);
    add(row);
}

static void add_users(void)
{
    MPI_Datatype four, gappy;

    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_create_resized(MPI_INT, 0, GAPPY, &gappy);
    add_user("matrix", four, GAPPY, (struct type_row){.class = STAGED, .fill = fill_matrix, .combine = combine_matrix},
             matrix_product, 0);
    add_user("gappy", gappy, sizeof(int),
             (struct type_row){.class = STAGED, .fill = fill_sint, .combine = combine_gappy}, gappy_sum, 1);
}

#define ADD_TYPE(name, ctype, utype, mpi, class)                                                         \
    add((struct type_row){#name, mpi, sizeof(ctype), sizeof(ctype), class, fill_##name, combine_##name,   \
                          NULL, NULL, {0}});
#define ADD_COMPLEX(name, part, mpi)                                                                   \
    add((struct type_row){#name, mpi, 2 * sizeof(part), 2 * sizeof(part),                                 \
                          COMPLEX | (sizeof(part) > 8 ? STAGED : 0), fill_##name, combine_##name, NULL,  \
                          sizeof(part) > 8 ? clean_two_long : NULL, {0}});
#define ADD_PAIR(name, ctype, itype, mpi)                                                              \
    add((struct type_row){#name, mpi, sizeof(struct pair_##name), sizeof(ctype) + sizeof(itype),       \
                          PAIR | (sizeof(ctype) > 8 ? STAGED : 0), fill_##name, combine_##name,           \
                          store_##name, sizeof(ctype) > 8 ? clean_long : NULL, {0}});
#define ADD_NARROW(name, format) add_narrow(#name, format, store_##name);

void type_rows_make(void)
{
    NARROWS(ADD_NARROW)
    add_partial();
    TYPES(ADD_TYPE)
    COMPLEXES(ADD_COMPLEX)
    PAIRS(ADD_PAIR)
    add((struct type_row){"long_double", MPI_LONG_DOUBLE, sizeof(long double), sizeof(long double), FLT | STAGED,
                          fill_long_double, combine_long_double, NULL, clean_long, {0}});
    add_users();
}

const struct type_row *type_row_named(const char *name)
{
    for (int i = 0; i < ntype_rows; i++) {
        if (!strcmp(type_rows[i].name, name)) return &type_rows[i];
    }
    return NULL;
}

static int has_own(const struct type_row *t) { return t->own[OP_SUM] || t->own[OP_USER]; }

int type_allows(const struct type_row *t, int op)
{
    return has_own(t) ? t->own[op] && t->own[op] != MPI_OP_NULL : (t->class & op_rows[op].classes) != 0;
}

MPI_Op type_op(const struct type_row *t, int op) { return has_own(t) ? t->own[op] : op_rows[op].mpi; }

int type_like_comm_creation(const struct type_row *t, int op, size_t count)
{
    return count == 1 && (op == OP_MIN || op == OP_MAX) && (t->class & (INT | FINT)) && t->bytes == 4 &&
           t->mpi != MPI_UNSIGNED && t->mpi != MPI_UINT32_T;
}

/* ---- elements ---- */

static void store(const struct type_row *t, void *to, const void *x)
{
    if (t->store) t->store(to, x);
    else memcpy(to, x, t->data);
}

void type_put(const struct type_row *t, void *p, size_t i, int op, int rank)
{
    _Alignas(16) char x[TYPE_MOST] = {0};

    t->fill(x, i, op, rank);
    store(t, p, x);
}

void type_expect(const struct type_row *t, void *p, size_t i, int op, int n, const int *rank)
{
    _Alignas(16) char acc[TYPE_MOST] = {0}, x[TYPE_MOST] = {0};

    t->fill(acc, i, op, rank[0]);
    for (int r = 1; r < n; r++) {
        t->fill(x, i, op, rank[r]);
        t->combine(acc, x, op);
    }
    store(t, p, acc);
}
