/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/data.h"

#include <float.h>
#include <math.h>
#include <string.h>

const struct cg_data_type cg_data_types[] = {
    {"int8", MPI_INT8_T, 1, CG_DATA_SIGNED, 0},
    {"uint8", MPI_UINT8_T, 1, CG_DATA_UNSIGNED, 0},
    {"int16", MPI_INT16_T, 2, CG_DATA_SIGNED, 0},
    {"uint16", MPI_UINT16_T, 2, CG_DATA_UNSIGNED, 0},
    {"int32", MPI_INT32_T, 4, CG_DATA_SIGNED, 0},
    {"uint32", MPI_UINT32_T, 4, CG_DATA_UNSIGNED, 0},
    {"int64", MPI_INT64_T, 8, CG_DATA_SIGNED, 0},
    {"uint64", MPI_UINT64_T, 8, CG_DATA_UNSIGNED, 0},
    {"float", MPI_FLOAT, 4, CG_DATA_FLOAT, 0},
    {"double", MPI_DOUBLE, 8, CG_DATA_FLOAT, 0},
    {"char", MPI_CHAR, 1, CG_DATA_SIGNED, 1},
    {"int", MPI_INT, sizeof(int), CG_DATA_SIGNED, 1},
    {"long", MPI_LONG, sizeof(long), CG_DATA_SIGNED, 1},
    {NULL, MPI_DATATYPE_NULL, 0, 0, 0},
};

const struct cg_data_op cg_data_ops[] = {
    {"sum", MPI_SUM, CG_DATA_SUM, 1},    {"prod", MPI_PROD, CG_DATA_PROD, 1}, {"min", MPI_MIN, CG_DATA_MIN, 1},
    {"max", MPI_MAX, CG_DATA_MAX, 1},    {"band", MPI_BAND, CG_DATA_BAND, 0}, {"bor", MPI_BOR, CG_DATA_BOR, 0},
    {"bxor", MPI_BXOR, CG_DATA_BXOR, 0}, {"land", MPI_LAND, CG_DATA_LAND, 0}, {"lor", MPI_LOR, CG_DATA_LOR, 0},
    {"lxor", MPI_LXOR, CG_DATA_LXOR, 0}, {NULL, MPI_OP_NULL, 0, 0},
};

/* Work goes in blocks: inputs are widened to 64 bits (integers) or double, so that each step is one plain loop. */
#define BLOCK 512
union wide {
    uint64_t u[BLOCK];
    double f[BLOCK];
};

const struct cg_data_type *cg_data_type_find(const char *name)
{
    const struct cg_data_type *t;

    for (t = cg_data_types; t->name != NULL && strcmp(t->name, name) != 0; t++) {}
    return t->name != NULL ? t : NULL;
}

const struct cg_data_op *cg_data_op_find(const char *name)
{
    const struct cg_data_op *o;

    for (o = cg_data_ops; o->name != NULL && strcmp(o->name, name) != 0; o++) {}
    return o->name != NULL ? o : NULL;
}

/* splitmix64: a bijection that passes statistical tests; one call per element, no state. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Narrow to the type and back: sign or zero extension. */
static void widen(union wide *v, const struct cg_data_type *t, size_t n)
{
    int shift = 64 - 8 * t->size;

    if (t->cls == CG_DATA_SIGNED) {
        for (size_t i = 0; i < n; i++) v->u[i] = (uint64_t) ((int64_t) (v->u[i] << shift) >> shift);
    } else {
        for (size_t i = 0; i < n; i++) v->u[i] = v->u[i] << shift >> shift;
    }
}

/* Floats lie in [-1, 1); for PROD their magnitude in [0.5, 2), so that no product of 64 leaves float's range. */
static void to_floats(union wide *v, const struct cg_data_type *t, int prod, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double x = (double) (int64_t) v->u[i] * 0x1p-63;
        if (prod) x = x < 0 ? 1.5 * x - 0.5 : 1.5 * x + 0.5;
        v->f[i] = t->size == 4 ? (float) x : x;
    }
}

static void generate(union wide *v, const struct cg_data_type *t, const struct cg_data_op *op, uint64_t first, size_t n,
                     uint64_t seed, int rank)
{
    uint64_t base = mix(seed ^ mix((uint64_t) rank + 1));

    for (size_t i = 0; i < n; i++) v->u[i] = mix(base + first + i);
    if (t->cls == CG_DATA_FLOAT) {
        to_floats(v, t, op->code == CG_DATA_PROD, n);
        return;
    }
    if (op->code >= CG_DATA_LAND) { /* one value in four is zero */
        for (size_t i = 0; i < n; i++) v->u[i] = (v->u[i] >> 62) == 0 ? 0 : v->u[i];
    }
    widen(v, t, n);
    /* Open MPI's own sums of 8 and 16 bits saturate where there is AVX, as MPI allows: 8 ranks stay in range. */
    if (op->code == CG_DATA_SUM && t->size <= 2) {
        for (size_t i = 0; i < n; i++) v->u[i] = (uint64_t) ((int64_t) v->u[i] >> 3);
    }
}

static void store(void *dst, const struct cg_data_type *t, const union wide *v, size_t n)
{
    char *p = dst;

    if (t->cls == CG_DATA_FLOAT && t->size == 4) {
        for (size_t i = 0; i < n; i++) {
            float x = (float) v->f[i];
            memcpy(p + 4 * i, &x, 4);
        }
        return;
    }
    for (size_t i = 0; i < n; i++) memcpy(p + (size_t) t->size * i, &v->u[i], (size_t) t->size); /* little endian */
}

void cg_data_fill(void *buf, const struct cg_data_type *type, const struct cg_data_op *op, size_t count, uint64_t seed,
                  int rank)
{
    union wide v;

    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? count - at : BLOCK;
        generate(&v, type, op, at, n, seed, rank);
        store((char *) buf + at * (size_t) type->size, type, &v, n);
    }
}

static uint64_t combine(int code, int is_signed, uint64_t a, uint64_t b)
{
    int less = is_signed ? (int64_t) a < (int64_t) b : a < b;

    switch (code) {
    case CG_DATA_SUM: return a + b;
    case CG_DATA_PROD: return a * b;
    case CG_DATA_MIN: return less ? a : b;
    case CG_DATA_MAX: return less ? b : a;
    case CG_DATA_BAND: return a & b;
    case CG_DATA_BOR: return a | b;
    case CG_DATA_BXOR: return a ^ b;
    case CG_DATA_LAND: return a != 0 && b != 0;
    case CG_DATA_LOR: return a != 0 || b != 0;
    default: return (a != 0) != (b != 0);
    }
}

static uint64_t check_ints(const char *got, const struct cg_data_type *t, const struct cg_data_op *op, uint64_t first,
                           size_t n, uint64_t seed, int nranks)
{
    union wide acc, v;
    char want[BLOCK * 8];
    uint64_t wrong = 0;

    generate(&acc, t, op, first, n, seed, 0);
    for (int r = 1; r < nranks; r++) {
        generate(&v, t, op, first, n, seed, r);
        for (size_t i = 0; i < n; i++) acc.u[i] = combine(op->code, t->cls == CG_DATA_SIGNED, acc.u[i], v.u[i]);
    }
    store(want, t, &acc, n);
    if (memcmp(got, want, n * (size_t) t->size) == 0) return 0;
    for (size_t i = 0; i < n; i++) wrong += memcmp(got + i * t->size, want + i * t->size, (size_t) t->size) != 0;
    return wrong;
}

/* Reference of floats in long double, and the magnitude that its tolerance is relative to. */
static void reduce_floats(long double *acc, double *scale, const struct cg_data_type *t, const struct cg_data_op *op,
                          uint64_t first, size_t n, uint64_t seed, int nranks)
{
    union wide v;

    for (int r = 0; r < nranks; r++) {
        generate(&v, t, op, first, n, seed, r);
        for (size_t i = 0; i < n; i++) {
            double x = v.f[i];
            long double a = acc[i];
            int code = op->code;
            if (r == 0) acc[i] = x;
            else if (code == CG_DATA_SUM) acc[i] = a + x;
            else if (code == CG_DATA_PROD) acc[i] = a * x;
            else acc[i] = (code == CG_DATA_MIN) == (x < a) ? x : a;
            if (r == 0) scale[i] = 0;
            if (code == CG_DATA_SUM) scale[i] += fabs(x);
            if (code == CG_DATA_PROD) scale[i] = fabs((double) acc[i]);
        }
    }
}

/* Tolerance. Any order of n - 1 additions, each rounded to nearest with unit roundoff u, differs from the exact sum by
 * at most ((1 + u)^(n-1) - 1) * sum|x|; n - 1 multiplications from the exact product by ((1 + u)^(n-1) - 1) * |product|
 * (no overflow or underflow: see to_floats). For n u << 1 both are below n * u * scale: the n-th u covers the terms of
 * second order, the reference's own rounding and a result accumulated in a wider type. MIN and MAX are exact. */
static uint64_t check_floats(const char *got, const struct cg_data_type *t, const struct cg_data_op *op, uint64_t first,
                             size_t n, uint64_t seed, int nranks)
{
    long double acc[BLOCK];
    double scale[BLOCK], u = (t->size == 4 ? FLT_EPSILON : DBL_EPSILON) / 2;
    uint64_t wrong = 0;

    reduce_floats(acc, scale, t, op, first, n, seed, nranks);
    for (size_t i = 0; i < n; i++) {
        double x;
        float f;
        if (t->size == 4) {
            memcpy(&f, got + 4 * i, 4);
            x = f;
        } else {
            memcpy(&x, got + 8 * i, 8);
        }
        wrong += !(fabsl(x - acc[i]) <= nranks * u * scale[i]); /* a NaN is wrong too */
    }
    return wrong;
}

uint64_t cg_data_check(const void *got, const struct cg_data_type *type, const struct cg_data_op *op, size_t count,
                       uint64_t seed, int nranks)
{
    uint64_t wrong = 0;

    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? count - at : BLOCK;
        const char *p = (const char *) got + at * (size_t) type->size;
        wrong += type->cls == CG_DATA_FLOAT ? check_floats(p, type, op, at, n, seed, nranks)
                                            : check_ints(p, type, op, at, n, seed, nranks);
    }
    return wrong;
}

uint64_t cg_data_hash(const void *buf, size_t bytes)
{
    uint64_t h = bytes, w;
    const char *p = buf;

    for (; bytes >= 8; bytes -= 8, p += 8) {
        memcpy(&w, p, 8);
        h = mix(h ^ w);
    }
    w = 0;
    memcpy(&w, p, bytes);
    return mix(h ^ w);
}
