/* SPDX-License-Identifier: BSD-3-Clause
 * Every type and operation against arithmetic written down independently of types.def; any alignment, dst being an
 * operand, NaN. */
#include "kernels/host/host.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 261 /* elements: several vectors and a rest */

static int is_float(int type) { return CG_TYPE_F32 == type || CG_TYPE_F64 == type; }
static int is_signed(int type)
{
    return CG_TYPE_I8 == type || CG_TYPE_I16 == type || CG_TYPE_I32 == type || CG_TYPE_I64 == type;
}

static double load_float(int type, const char *p)
{
    float f;
    double d;

    if (CG_TYPE_F32 == type) {
        memcpy(&f, p, sizeof(f));
        return f;
    }
    memcpy(&d, p, sizeof(d));
    return d;
}

/* Sign- or zero-extended. */
static uint64_t load_int(int type, const char *p)
{
    int bits = 8 * cg_type_size(type);
    uint64_t v = 0;

    memcpy(&v, p, (size_t) cg_type_size(type));
    return is_signed(type) && v >> (bits - 1) & 1 && bits < 64 ? v | ~0ull << bits : v;
}

static uint64_t want_int(int type, int redop, uint64_t a, uint64_t b)
{
    int less = is_signed(type) ? (int64_t) a < (int64_t) b : a < b;

    switch (redop) {
    case CG_REDOP_SUM:
        return a + b;
    case CG_REDOP_PROD:
        return a * b;
    case CG_REDOP_MIN:
        return less ? a : b;
    case CG_REDOP_MAX:
        return less ? b : a;
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

static double want_float(int type, int redop, double a, double b)
{
    switch (redop) {
    case CG_REDOP_SUM:
        return CG_TYPE_F32 == type ? (float) a + (float) b : a + b;
    case CG_REDOP_PROD:
        return CG_TYPE_F32 == type ? (float) a * (float) b : a * b;
    case CG_REDOP_MIN:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    default:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    }
}

static void check_element(int type, int redop, const char *got, const char *a, const char *b)
{
    if (is_float(type)) {
        double want = want_float(type, redop, load_float(type, a), load_float(type, b)), v = load_float(type, got);
        assert_true(want == v || (isnan(want) && isnan(v)));
    } else {
        uint64_t want = want_int(type, redop, load_int(type, a), load_int(type, b));
        assert_memory_equal(got, &want, (size_t) cg_type_size(type));
    }
}

/* Random bits for integers, every fourth zero so that logical operations see both; for floating point, some are NaN. */
static void fill(int type, char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = (uint64_t) rand() << 42 ^ (uint64_t) rand() << 21 ^ (uint64_t) rand();
        float f = 0 == rand() % 16 ? NAN : (float) (rand() % 2000 - 1000) / 8;
        double d = f;
        if (0 == rand() % 4) bits = 0;
        memcpy(p + i * (size_t) cg_type_size(type),
               CG_TYPE_F32 == type   ? (void *) &f
               : CG_TYPE_F64 == type ? (void *) &d
                                     : &bits,
               (size_t) cg_type_size(type));
    }
}

/* dst: 0 apart from both operands, 1 is a, 2 is b. */
static void check_pair(int type, int redop, size_t n, unsigned misaligned, int dst)
{
    size_t bytes = n * (size_t) cg_type_size(type);
    static char mem[3][MOST * 8 + 64], a[MOST * 8], b[MOST * 8];
    char *pa = mem[0] + misaligned % 16, *pb = mem[1] + misaligned / 4 % 16;
    char *pd = 0 == dst ? mem[2] + misaligned / 2 % 16 : 1 == dst ? pa : pb;

    fill(type, a, n);
    fill(type, b, n);
    memcpy(pa, a, bytes);
    memcpy(pb, b, bytes);
    if (0 == dst) memset(mem[2], 0x5a, sizeof(mem[2]));
    pd[bytes] = 0x5a;
    cg_reduce_host(type, redop)(pd, pa, pb, n);
    assert_int_equal(pd[bytes], 0x5a);
    for (size_t i = 0; i < bytes; i += (size_t) cg_type_size(type))
        check_element(type, redop, pd + i, a + i, b + i);
    if (dst != 1) assert_memory_equal(pa, a, bytes);
    if (dst != 2) assert_memory_equal(pb, b, bytes);
}

static void every_pair(void **state)
{
    (void) state;
    for (int type = 0; type < CG_TYPE_COUNT; type++) {
        for (int redop = 0; redop < CG_REDOP_COUNT; redop++) {
            int allowed = !is_float(type) || redop <= CG_REDOP_MAX;
            assert_int_equal(cg_reduce_host(type, redop) != NULL, allowed);
            for (size_t n = 0; allowed && n <= MOST; n += n < 40 ? 1 : 17) {
                for (int dst = 0; dst < 3; dst++)
                    check_pair(type, redop, n, (unsigned) rand() % 256, dst);
            }
        }
    }
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
    for (int type = 0; type < CG_TYPE_COUNT; type++) {
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pair), cmocka_unit_test(out_of_table),
                                       cmocka_unit_test(names), cmocka_unit_test(which_operand),
                                       cmocka_unit_test(one_nan)};

    srand(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
