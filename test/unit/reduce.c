/* SPDX-License-Identifier: BSD-3-Clause
 * Every type and operation against arithmetic written down independently of types.def; any alignment, dst being an
 * operand, NaN. */
#include "test/elements.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 261 /* elements: several vectors and a rest */

/* What an element consists of: numbers, all integers or all floating point, at offsets; the rest are gaps. */
enum class { INT, FLT, NAR, CPX, LOC };
static const struct number {
    int at, bytes, is_float, is_signed;
} numbers[CG_TYPE_COUNT][2] = {
    [CG_TYPE_I8] = {{0, 1, 0, 1}},     [CG_TYPE_U8] = {{0, 1, 0, 0}},   [CG_TYPE_I16] = {{0, 2, 0, 1}},
    [CG_TYPE_U16] = {{0, 2, 0, 0}},    [CG_TYPE_I32] = {{0, 4, 0, 1}},  [CG_TYPE_U32] = {{0, 4, 0, 0}},
    [CG_TYPE_I64] = {{0, 8, 0, 1}},    [CG_TYPE_U64] = {{0, 8, 0, 0}},  [CG_TYPE_F32] = {{0, 4, 1, 1}},
    [CG_TYPE_F64] = {{0, 8, 1, 1}},    [CG_TYPE_F16] = {{0, 2, 1, 1}},  [CG_TYPE_BF16] = {{0, 2, 1, 1}},
    [CG_TYPE_E4M3] = {{0, 1, 1, 1}},   [CG_TYPE_E5M2] = {{0, 1, 1, 1}}, [CG_TYPE_C32] = {{0, 4, 1, 1}, {4, 4, 1, 1}},
    [CG_TYPE_C64] = {{0, 8, 1, 1}, {8, 8, 1, 1}},     [CG_TYPE_LOC_F32] = {{0, 4, 1, 1}, {4, 4, 0, 1}},
    [CG_TYPE_LOC_F64] = {{0, 8, 1, 1}, {8, 4, 0, 1}}, [CG_TYPE_LOC_I16] = {{0, 2, 0, 1}, {4, 4, 0, 1}},
    [CG_TYPE_LOC_I32] = {{0, 4, 0, 1}, {4, 4, 0, 1}}, [CG_TYPE_LOC_I64] = {{0, 8, 0, 1}, {8, 4, 0, 1}},
    [CG_TYPE_LOC_2F32] = {{0, 4, 1, 1}, {4, 4, 1, 1}}, [CG_TYPE_LOC_2F64] = {{0, 8, 1, 1}, {8, 8, 1, 1}},
};
static enum class class_of(int type)
{
    return type >= CG_TYPE_LOC_F32 ? LOC
           : type >= CG_TYPE_C32   ? CPX
           : type >= CG_TYPE_F16   ? NAR
           : type >= CG_TYPE_F32   ? FLT
                                   : INT;
}

static double load_float(const struct number *x, const char *p)
{
    float f;
    double d;

    memcpy(&f, p + x->at, sizeof(f));
    if (4 == x->bytes) return f;
    memcpy(&d, p + x->at, sizeof(d));
    return d;
}

/* Sign- or zero-extended. */
static uint64_t load_int(const struct number *x, const char *p)
{
    int bits = 8 * x->bytes;
    uint64_t v = 0;

    memcpy(&v, p + x->at, (size_t) x->bytes);
    return x->is_signed && v >> (bits - 1) & 1 && bits < 64 ? v | ~0ull << bits : v;
}

/* -1, 0, 1 by value; 2 if a or b is not a number. */
static int compare(const struct number *x, const char *a, const char *b)
{
    if (x->is_float) {
        double u = load_float(x, a), v = load_float(x, b);
        return isnan(u) || isnan(v) ? 2 : (u > v) - (u < v);
    }
    uint64_t u = load_int(x, a), v = load_int(x, b);
    return x->is_signed ? ((int64_t) u > (int64_t) v) - ((int64_t) u < (int64_t) v) : (u > v) - (u < v);
}

static uint64_t want_int(const struct number *x, int redop, const char *pa, const char *pb)
{
    uint64_t a = load_int(x, pa), b = load_int(x, pb);

    switch (redop) {
    case CG_REDOP_SUM:
        return a + b;
    case CG_REDOP_PROD:
        return a * b;
    case CG_REDOP_MIN:
        return compare(x, pa, pb) < 0 ? a : b;
    case CG_REDOP_MAX:
        return compare(x, pa, pb) < 0 ? b : a;
    case CG_REDOP_BAND:
        return a & b;
    case CG_REDOP_BOR:
        return a | b;
    case CG_REDOP_BXOR:
        return a ^ b;
    case CG_REDOP_LAND:
        return a != 0 && b != 0;
    case CG_REDOP_LOR:
        return a != 0 || b != 0;
    default:
        return (a != 0) != (b != 0);
    }
}

static double want_float(const struct number *x, int redop, double a, double b)
{
    switch (redop) {
    case CG_REDOP_SUM:
        return 4 == x->bytes ? (float) a + (float) b : a + b;
    case CG_REDOP_PROD:
        return 4 == x->bytes ? (float) a * (float) b : a * b;
    case CG_REDOP_MIN:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    }
}

static void check_float(const struct number *x, const char *got, double want)
{
    double v = load_float(x, got);

    assert_true(want == v || (isnan(want) && isnan(v)));
}

/* The operation in float, rounded once (test/unit/floats.c checks the conversions). */
static void check_narrow(int type, int redop, const char *got, const char *a, const char *b)
{
    static const enum coll_gpu_format formats[] = {COLL_GPU_HALF, COLL_GPU_BFLOAT16, COLL_GPU_FP8_E4M3,
                                                   COLL_GPU_FP8_E5M2};
    enum coll_gpu_format f = formats[type - CG_TYPE_F16];
    static const struct number single = {0, 4, 1, 1};
    uint16_t x = 0, y = 0, want;

    memcpy(&x, a, (size_t) coll_gpu_format_bytes(f));
    memcpy(&y, b, (size_t) coll_gpu_format_bytes(f));
    want = coll_gpu_from_float(f, (float) want_float(&single, redop, coll_gpu_to_float(f, x), coll_gpu_to_float(f, y)));
    assert_memory_equal(got, &want, (size_t) coll_gpu_format_bytes(f));
}

/* Part 0 is real, part 1 imaginary. */
static void check_complex(const struct number *x, int redop, const char *got, const char *a, const char *b)
{
    double ar = load_float(&x[0], a), ai = load_float(&x[1], a), br = load_float(&x[0], b), bi = load_float(&x[1], b);

    if (CG_REDOP_SUM == redop) {
        check_float(&x[0], got, want_float(x, CG_REDOP_SUM, ar, br));
        check_float(&x[1], got, want_float(x, CG_REDOP_SUM, ai, bi));
    } else {
        check_float(&x[0], got, want_float(x, CG_REDOP_SUM, want_float(x, CG_REDOP_PROD, ar, br),
                                           -want_float(x, CG_REDOP_PROD, ai, bi)));
        check_float(&x[1], got, want_float(x, CG_REDOP_SUM, want_float(x, CG_REDOP_PROD, ar, bi),
                                           want_float(x, CG_REDOP_PROD, ai, br)));
    }
}

/* The better value; NaN is best; the lower index of equal ones. Where all is equal it does not matter which. */
static void check_loc(const struct number *x, int redop, const char *got, const char *a, const char *b)
{
    int better = CG_REDOP_MINLOC == redop ? -1 : 1, order = compare(&x[0], a, b);
    const char *want;

    if (2 == order) {
        int nan_a = 2 == compare(&x[0], a, a), nan_b = 2 == compare(&x[0], b, b);
        order = nan_a && nan_b ? 0 : nan_a ? better : -better;
    }
    want = order == better || (0 == order && compare(&x[1], a, b) < 0) ? a : b;
    for (int i = 0; i < 2; i++) assert_memory_equal(got + x[i].at, want + x[i].at, (size_t) x[i].bytes);
}

static void check_element(int type, int redop, const char *got, const char *a, const char *b)
{
    const struct number *x = numbers[type];
    uint64_t want;

    switch (class_of(type)) {
    case INT:
        want = want_int(x, redop, a, b);
        assert_memory_equal(got, &want, (size_t) x->bytes);
        break;
    case FLT:
        check_float(x, got, want_float(x, redop, load_float(x, a), load_float(x, b)));
        break;
    case NAR:
        check_narrow(type, redop, got, a, b);
        break;
    case CPX:
        check_complex(x, redop, got, a, b);
        break;
    default:
        check_loc(x, redop, got, a, b);
    }
}

/* Random bits for integers, every fourth zero so that logical operations see both; for floating point, some are NaN; of
 * values with an index many are equal. Gaps are random. */
static void fill(int type, char *p, size_t n)
{
    size_t size = (size_t) cg_type_size(type);

    for (size_t i = 0; i < n; i++, p += size) {
        uint64_t bits = (uint64_t) rand() << 42 ^ (uint64_t) rand() << 21 ^ (uint64_t) rand();
        double v = 0 == rand() % 16 ? NAN : (double) (rand() % 2000 - 1000) / 8;
        if (0 == rand() % 4) bits = 0;
        for (size_t k = 0; k < size; k++) p[k] = (char) (INT == class_of(type) ? bits >> (8 * k) : (uint64_t) rand());
        if (LOC == class_of(type)) v = numbers[type][0].is_float && isnan(v) ? v : rand() % 5 - 2;
        if (INT != class_of(type)) element_set(type, p, v, rand() % 7 - 3);
    }
}

/* dst: 0 apart from both operands, 1 is a, 2 is b. Gaps of dst stay as they are. */
static void check_pair(int type, int redop, size_t n, unsigned misaligned, int dst)
{
    size_t size = (size_t) cg_type_size(type), bytes = n * size;
    static char mem[3][MOST * 16 + 64], a[MOST * 16], b[MOST * 16], before[MOST * 16];
    char *pa = mem[0] + misaligned % 16, *pb = mem[1] + misaligned / 4 % 16;
    char *pd = 0 == dst ? mem[2] + misaligned / 2 % 16 : 1 == dst ? pa : pb;

    fill(type, a, n);
    fill(type, b, n);
    memcpy(pa, a, bytes);
    memcpy(pb, b, bytes);
    if (0 == dst) memset(mem[2], 0x5a, sizeof(mem[2]));
    pd[bytes] = 0x5a;
    memcpy(before, pd, bytes);
    cg_reduce_host(type, redop)(pd, pa, pb, n);
    assert_int_equal(pd[bytes], 0x5a);
    for (size_t i = 0; i < bytes; i += size)
        check_element(type, redop, pd + i, a + i, b + i);
    for (size_t i = 0; i < bytes; i++)
        assert_true((cg_type_data(type) >> (i & 15) & 1) || pd[i] == before[i]);
    if (dst != 1) assert_memory_equal(pa, a, bytes);
    if (dst != 2) assert_memory_equal(pb, b, bytes);
}

static int allowed(int type, int redop)
{
    switch (class_of(type)) {
    case INT:
        return redop <= CG_REDOP_LXOR;
    case FLT:
    case NAR:
        return redop <= CG_REDOP_MAX;
    case CPX:
        return redop <= CG_REDOP_PROD;
    default:
        return redop >= CG_REDOP_MINLOC;
    }
}

static void every_pair(void **state)
{
    (void) state;
    for (int type = 0; type < CG_TYPE_COUNT; type++) {
        for (int redop = 0; redop < CG_REDOP_COUNT; redop++) {
            assert_int_equal(cg_reduce_host(type, redop) != NULL, allowed(type, redop));
            for (size_t n = 0; allowed(type, redop) && n <= MOST; n += n < 40 ? 1 : 17) {
                for (int dst = 0; dst < 3; dst++)
                    check_pair(type, redop, n, (unsigned) rand() % 256, dst);
            }
        }
    }
}

/* The numbers cover all that is not a gap. */
static void layout(void **state)
{
    (void) state;
    for (int type = 0; type < CG_TYPE_COUNT; type++) {
        uint32_t data = 0, size = (uint32_t) cg_type_size(type), want = cg_type_data(type) & ((1u << size) - 1);
        for (int i = 0; i < 2; i++) data |= ((1u << numbers[type][i].bytes) - 1) << numbers[type][i].at;
        assert_int_equal(data, want);
    }
}

/* Several operands, of which dst is one: narrow types are rounded once. 0.5 is lost beside 1024 in bfloat16, unless the
 * sum goes on in float. */
static void fold(void **state)
{
    enum { N = 2500 };
    static uint16_t x[5][N];
    static float a[5][N], sum[N];
    const char *in[5];

    (void) state;
    for (int k = 0; k < 5; k++) {
        in[k] = (const char *) x[k];
        for (int i = 0; i < N; i++) element_set(CG_TYPE_BF16, &x[k][i], k == 0 ? 1024 : (i + k) % 5 ? 1.5 : 0.5, 0);
        cg_widen_host(CG_TYPE_BF16, a[k], x[k], N);
        for (int i = 0; i < N; i++) sum[i] = k ? sum[i] + a[k][i] : a[k][i];
    }
    cg_fold_host(CG_TYPE_BF16, CG_REDOP_SUM, x[2], in, 5, N);
    for (int i = 0; i < N; i++) assert_int_equal(x[2][i], coll_gpu_from_float(COLL_GPU_BFLOAT16, sum[i]));
    for (int i = 0; i < N; i++) assert_true(coll_gpu_to_float(COLL_GPU_BFLOAT16, x[2][i]) == 1032 || sum[i] < 1028);
}

static void out_of_table(void **state)
{
    (void) state;
    assert_null(cg_reduce_host(-1, 0));
    assert_null(cg_reduce_host(CG_TYPE_COUNT, 0));
    assert_null(cg_reduce_host(0, -1));
    assert_null(cg_reduce_host(0, CG_REDOP_COUNT));
    assert_int_equal(cg_type_size(CG_TYPE_COUNT), 0);
    assert_string_equal(cg_type_name(-1), "unknown");
    assert_string_equal(cg_redop_name(CG_REDOP_COUNT), "unknown");
    assert_string_equal(cg_coll_name(CG_COLL_COUNT), "unknown");
    assert_string_equal(cg_step_name(-1), "unknown");
}

static void names(void **state)
{
    (void) state;
    assert_string_equal(cg_type_name(CG_TYPE_U16), "U16");
    assert_string_equal(cg_redop_name(CG_REDOP_LXOR), "LXOR");
    assert_string_equal(cg_coll_name(CG_COLL_BCAST), "bcast");
    assert_string_equal(cg_step_name(CG_STEP_REDUCE_ALL), "REDUCE_ALL");
    for (int type = 0; type < CG_TYPE_F16; type++) {
        assert_int_equal(8 * cg_type_size(type), atoi(cg_type_name(type) + 1));
    }
}

/* The left operand is taken when both are NaN, the right one when they compare equal (0 and -0): so on all executors.
 */
static void which_operand(void **state)
{
    union {
        uint32_t bits;
        float f;
    } a = {0x7fc00001}, b = {0x7fc00002}, d, plus = {0}, minus = {0x80000000};

    (void) state;
    for (int redop = CG_REDOP_MIN; redop <= CG_REDOP_MAX; redop++) {
        cg_reduce_host(CG_TYPE_F32, redop)(&d, &a, &b, 1);
        assert_int_equal(d.bits, a.bits);
        cg_reduce_host(CG_TYPE_F32, redop)(&d, &plus, &minus, 1);
        assert_int_equal(d.bits, minus.bits);
    }
}

/* Sums and products have one NaN, whatever the operands' signs and payloads. */
static void one_nan(void **state)
{
    static const uint32_t nans[] = {0x7fc00001, 0xffc00000, 0xffffffff}, one = 0x3f800000, want = 0x7fc00000;
    uint32_t got;

    (void) state;
    for (size_t i = 0; i < 3; i++) {
        cg_reduce_host(CG_TYPE_F32, CG_REDOP_SUM)(&got, &nans[i], &one, 1);
        assert_int_equal(got, want);
        cg_reduce_host(CG_TYPE_F32, CG_REDOP_PROD)(&got, &one, &nans[i], 1);
        assert_int_equal(got, want);
        cg_reduce_host(CG_TYPE_F32, CG_REDOP_SUM)(&got, &nans[i], &nans[2 - i], 1);
        assert_int_equal(got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair), cmocka_unit_test(layout),        cmocka_unit_test(fold),
        cmocka_unit_test(out_of_table),
        cmocka_unit_test(names),      cmocka_unit_test(which_operand), cmocka_unit_test(one_nan)};

    srand(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
