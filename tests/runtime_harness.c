/* The tests' own means: that a comparison can fail, and that rounding is right. */
#include <math.h>
#include <stdint.h>

#include "check_runtime.h"
#include "compare.h"
#include "format.h"

static double distance(double got, double wanted)
{
    mpfr_t r;
    mpfr_init2(r, 100);
    mpfr_set_d(r, wanted, MPFR_RNDN);
    double result = ek_ulp_distance(ek_format_of(EK_F32), got, r);
    mpfr_clear(r);
    return result;
}

START_TEST(comparisons_can_fail)
{
    ck_assert(!(distance(NAN, 1) <= 1e300));
    ck_assert(!(distance(1, NAN) <= 1e300));
    ck_assert(!(distance(INFINITY, -INFINITY) <= 1e6));
    ck_assert(!(distance(INFINITY, 1) <= 1e6));
    ck_assert(!(distance(0x1p-149, 0) <= 1e6));
    ck_assert(distance(NAN, NAN) == 0);
    ck_assert(distance(-INFINITY, -INFINITY) == 0);
    ck_assert(distance(0, 0x1p-149) == 1);
    ck_assert(distance(1 + 0x1p-23, 1) == 1);
    ck_assert(distance(1 - 0x1p-24, 1) == 0.5);
    ck_assert(distance(INFINITY, 0x1.fffffep+127) == 1);
    ck_assert(distance(0x1.fffffep+127, 0x1p+130) == 1);
}
END_TEST

START_TEST(bits_are_compared)
{
    float zero = 0, negative = -0.0f, quiet = NAN, other = -NAN, one = 1;
    ck_assert(!ek_same_element(EK_F32, &zero, &negative));
    ck_assert(!ek_same_element(EK_F32, &quiet, &one));
    ck_assert(!ek_same_element(EK_F32, &one, &quiet));
    ck_assert(ek_same_element(EK_F32, &quiet, &other));
    ck_assert(!ek_same_element(EK_I32, &quiet, &other)); /* the same bytes as integers */
    float a[3] = {1, quiet, 2}, b[3] = {1, other, 3};
    ck_assert_int_eq(ek_first_difference(EK_F32, 3, a, b), 2);
    ck_assert_int_eq(ek_first_difference(EK_F32, 2, a, b), -1);
    ek_c64 x = {quiet, 1}, y = {other, 1}, z = {other, 2};
    ck_assert(ek_same_element(EK_C64, &x, &y));
    ck_assert(!ek_same_element(EK_C64, &x, &z));
}
END_TEST

START_TEST(halves_return)
{
    for (int bits = 0; bits < 65536; bits++) {
        for (int dtype = EK_F16; dtype <= EK_BF16; dtype++) {
            uint16_t half = (uint16_t)bits, back;
            ek_element_round((ek_dtype)dtype, ek_element_value((ek_dtype)dtype, &half), &back);
            if (!ek_same_element((ek_dtype)dtype, &half, &back))
                ck_abort_msg("%s 0x%04x returns as 0x%04x", ek_dtype_name((ek_dtype)dtype), half,
                             back);
        }
    }
}
END_TEST

START_TEST(rounding_is_to_nearest_even)
{
    static const struct {
        ek_dtype dtype;
        double value;
        uint16_t bits;
    } cases[] = {
        {EK_F16, 1 + 0x1p-11 + 0x1p-40, 0x3c01}, /* rounded twice, it would be 1 */
        {EK_F16, 1 + 0x1p-11, 0x3c00},
        {EK_F16, 1 + 0x3p-11, 0x3c02},
        {EK_F16, 65519.99, 0x7bff},
        {EK_F16, 65520, 0x7c00},
        {EK_F16, 0x1p-25, 0},
        {EK_F16, -0x1.8p-25, 0x8001},
        {EK_F16, 0x1.ffep-15, 0x0400},
        {EK_BF16, 1 + 0x1p-8 + 0x1p-40, 0x3f81},
        {EK_BF16, 0x1.fffffep+127, 0x7f80},
        {EK_BF16, 0x1.fep+127, 0x7f7f},
        {EK_BF16, 0x1p-134, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t bits;
        ek_element_round(cases[i].dtype, cases[i].value, &bits);
        ck_assert_msg(bits == cases[i].bits, "case %zu gives 0x%04x", i, bits);
        mpfr_t r;
        mpfr_init2(r, 200);
        mpfr_set_d(r, cases[i].value, MPFR_RNDN);
        double rounded = ek_round_to(ek_format_of(cases[i].dtype), r);
        mpfr_clear(r);
        ck_assert_msg(rounded == ek_element_value(cases[i].dtype, &bits), "case %zu", i);
    }
}
END_TEST

TCase *ek_harness_case(void)
{
    TCase *harness = tcase_create("harness");
    tcase_add_test(harness, comparisons_can_fail);
    tcase_add_test(harness, bits_are_compared);
    tcase_add_test(harness, halves_return);
    tcase_add_test(harness, rounding_is_to_nearest_even);
    return harness;
}
