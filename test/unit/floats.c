/* SPDX-License-Identifier: BSD-3-Clause
 * The 8- and 16-bit formats against their definition: all numbers by exponent and mantissa, rounding by search for the
 * nearest, exceptions, and whatever the program's flush-to-zero mode. */
#include "include/coll_gpu_floats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct format {
    int width, mantissa, bias, infinity;
} formats[COLL_GPU_FORMATS] = {
    [COLL_GPU_HALF] = {16, 10, 15, 1},
    [COLL_GPU_BFLOAT16] = {16, 7, 127, 1},
    [COLL_GPU_FP8_E4M3] = {8, 3, 7, 0},
    [COLL_GPU_FP8_E5M2] = {8, 2, 15, 1},
};

static uint32_t sign_bit(int f) { return 1u << (formats[f].width - 1); }

/* The number that the bits stand for; E4M3 has no infinity, and NaN only where all bits are set. */
static double define(int f, uint32_t bits)
{
    const struct format *t = &formats[f];
    uint32_t a = bits & (sign_bit(f) - 1), e = a >> t->mantissa, m = a & ((1u << t->mantissa) - 1);
    uint32_t top = (sign_bit(f) - 1) >> t->mantissa;
    double v;

    if (t->infinity && e == top) v = m ? NAN : INFINITY;
    else if (!t->infinity && a == sign_bit(f) - 1) v = NAN;
    else if (e == 0) v = ldexp(m, 1 - t->bias - t->mantissa);
    else v = ldexp(m + (1u << t->mantissa), (int) e - t->bias - t->mantissa);
    return bits & sign_bit(f) ? -v : v;
}

static void every_number(void **state)
{
    (void) state;
    for (int f = 0; f < COLL_GPU_FORMATS; f++) {
        assert_int_equal(8 * coll_gpu_format_bytes(f), formats[f].width);
        for (uint32_t bits = 0; bits < 2 * sign_bit(f); bits++) {
            double want = define(f, bits);
            float got = coll_gpu_to_float(f, (uint16_t) bits);
            if (isnan(want)) {
                assert_true(isnan(got));
                assert_int_equal(coll_gpu_from_float(f, got), sign_bit(f) - 1);
            } else {
                assert_true(got == want && !signbit(got) == !signbit(want));
                assert_int_equal(coll_gpu_from_float(f, got), bits);
            }
        }
    }
}

/* x >= 0: by bisection, since the bits of positive numbers are in their order. */
static uint32_t nearest(int f, double x)
{
    uint32_t low = 0, high = formats[f].infinity ? (sign_bit(f) - 1) >> formats[f].mantissa << formats[f].mantissa
                                                  : sign_bit(f) - 1; /* infinity, or NaN in its place */
    uint32_t last = high - 1;
    double middle, over = define(f, last) + (define(f, last) - define(f, last - 1)) / 2;

    if (x > over || (x == over && last & 1)) return high; /* as if numbers went on */
    if (x >= define(f, last)) return last;
    high = last;
    while (high - low > 1) {
        uint32_t mid = (low + high) / 2;
        if (define(f, mid) <= x) low = mid;
        else high = mid;
    }
    middle = (define(f, low) + define(f, high)) / 2; /* exact in double */
    if (x != middle) return x < middle ? low : high;
    return low & 1 ? high : low;
}

static void check(int f, float x)
{
    uint32_t want = nearest(f, fabs((double) x)), nan = sign_bit(f) - 1;

    if (signbit(x) && want != nan) want |= sign_bit(f);
    if (coll_gpu_from_float(f, x) != want)
        fail_msg("format %d: %a is %04x, not %04x", f, (double) x, coll_gpu_from_float(f, x), want);
}

/* Every number, the points halfway between two, and the floats beside them. */
static void rounding(void **state)
{
    (void) state;
    for (int f = 0; f < COLL_GPU_FORMATS; f++) {
        for (uint32_t bits = 0; bits < sign_bit(f) - 1; bits++) {
            double a = define(f, bits), b = define(f, bits + 1);
            if (isnan(a) || isinf(a)) break;
            if (isnan(b) || isinf(b)) b = a + (a - define(f, bits - 1));
            float points[] = {(float) a, (float) ((a + b) / 2)};
            for (int i = 0; i < 2; i++) {
                check(f, points[i]);
                check(f, nextafterf(points[i], INFINITY));
                check(f, -nextafterf(points[i], -INFINITY));
            }
        }
    }
}

static void random_floats(void **state)
{
    (void) state;
    for (int i = 0; i < 2000000; i++) {
        float x = coll_gpu_float_of_bits((uint32_t) rand() << 16 ^ (uint32_t) rand());
        int f = i % COLL_GPU_FORMATS;
        if (isnan(x)) assert_int_equal(coll_gpu_from_float(f, x), sign_bit(f) - 1);
        else check(f, x);
    }
}

/* Programs built with -ffast-math flush subnormal floats. */
static void flushing(void **state)
{
#ifdef __SSE2__
    unsigned saved = __builtin_ia32_stmxcsr();
#endif
    uint16_t half[1024], bf16[128];

#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(saved | 0x8040);
#endif
    for (uint16_t i = 0; i < 1024; i++)
        half[i] = coll_gpu_from_float(COLL_GPU_HALF, coll_gpu_to_float(COLL_GPU_HALF, i));
    for (uint16_t i = 0; i < 128; i++)
        bf16[i] = coll_gpu_from_float(COLL_GPU_BFLOAT16, coll_gpu_to_float(COLL_GPU_BFLOAT16, i));
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(saved);
#endif
    for (uint16_t i = 0; i < 1024; i++) assert_int_equal(half[i], i);
    for (uint16_t i = 0; i < 128; i++) assert_int_equal(bf16[i], i);
    (void) state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_number), cmocka_unit_test(rounding),
                                       cmocka_unit_test(random_floats), cmocka_unit_test(flushing)};

    srand(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
