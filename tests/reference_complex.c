/* Complex operations: sums and products by the formula their pages state, quotients and magnitudes
 * with MPFR. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "format.h"
#include "reference.h"
#include "scene.h"

enum { PRECISION = 256, DIVISION_ULP = 4, SIGN_ULP = 2 };

static ek_number load(ek_dtype dtype, const void *element)
{
    ek_dtype part = ek_real_dtype(dtype);
    const char *im = (const char *)element + ek_dtype_size(part);
    return (ek_number){ek_element_value(part, element), ek_element_value(part, im)};
}

/* The formulas in single precision; (float) rounds each operation, as the double that holds it has
 * more than twice its precision. */
static double single(ek_dtype dtype, double value)
{
    return dtype == EK_C64 ? (double)(float)value : value;
}

static double product(ek_dtype dtype, double a, double b)
{
    return single(dtype, a * b);
}

static double fused(ek_dtype dtype, double a, double b, double c)
{
    return dtype == EK_C64 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

static bool formula(const char *op, ek_dtype dtype, const ek_number *x, ek_number *result)
{
    bool square = strcmp(op, "square") == 0;
    ek_number a = x[0], b = square ? a : x[1], c = x[2];
    if (square || strcmp(op, "mul") == 0)
        *result =
            (ek_number){single(dtype, product(dtype, a.re, b.re) - product(dtype, a.im, b.im)),
                        single(dtype, product(dtype, a.re, b.im) + product(dtype, a.im, b.re))};
    else if (strcmp(op, "fma") == 0)
        *result = (ek_number){fused(dtype, -a.im, b.im, fused(dtype, a.re, b.re, c.re)),
                              fused(dtype, a.im, b.re, fused(dtype, a.re, b.im, c.im))};
    else
        return false;
    return true;
}

static bool check_formula(const ek_op_test *test, ek_dtype dtype, const ek_number *x,
                          const void *got, char *wanted)
{
    char result[16];
    ek_number value;
    ek_dtype part = ek_real_dtype(dtype);
    if (!formula(test->info->name, dtype, x, &value))
        ck_abort_msg("%s: no reference for complex numbers", test->info->call);
    ek_element_round(part, value.re, result);
    ek_element_round(part, value.im, result + ek_dtype_size(part));
    ek_element_text(dtype, result, wanted);
    return ek_same_element(dtype, result, got);
}

/* True for numbers far from overflow and underflow, where every part must be accurate. */
static bool everyday(ek_number x)
{
    double re = fabs(x.re), im = fabs(x.im);
    return re > 0x1p-20 && re < 0x1p+20 && im > 0x1p-20 && im < 0x1p+20;
}

static bool has_infinity(ek_number x)
{
    return isinf(x.re) || isinf(x.im);
}

/* C11 G.5.1: what must come of infinities and zeros. */
static bool check_limits(ek_number x, ek_number y, ek_number got, char *wanted)
{
    bool x_finite = isfinite(x.re) && isfinite(x.im), y_finite = isfinite(y.re) && isfinite(y.im);
    bool y_zero = y.re == 0 && y.im == 0;
    snprintf(wanted, 96, "what C11 G.5.1 says");
    if (has_infinity(x) && y_finite)
        return has_infinity(got);
    if (x_finite && has_infinity(y))
        return got.re == 0 && got.im == 0;
    if (x_finite && y_zero && (x.re != 0 || x.im != 0))
        return has_infinity(got);
    return true;
}

static bool check_div(ek_dtype dtype, ek_number x, ek_number y, ek_number got, char *wanted)
{
    if (!everyday(x) || !everyday(y))
        return check_limits(x, y, got, wanted);
    mpfr_t p[4], re, im, norm;
    mpfr_inits2(PRECISION, p[0], p[1], p[2], p[3], re, im, norm, (mpfr_ptr)0);
    mpfr_set_d(p[0], x.re, MPFR_RNDN);
    mpfr_set_d(p[1], x.im, MPFR_RNDN);
    mpfr_set_d(p[2], y.re, MPFR_RNDN);
    mpfr_set_d(p[3], y.im, MPFR_RNDN);
    mpfr_fmma(norm, p[2], p[2], p[3], p[3], MPFR_RNDN);
    mpfr_fmma(re, p[0], p[2], p[1], p[3], MPFR_RNDN);
    mpfr_fmms(im, p[1], p[2], p[0], p[3], MPFR_RNDN);
    mpfr_div(re, re, norm, MPFR_RNDN);
    mpfr_div(im, im, norm, MPFR_RNDN);
    ek_format format = ek_format_of(ek_real_dtype(dtype));
    bool fine = ek_ulp_distance(format, got.re, re) <= DIVISION_ULP &&
                ek_ulp_distance(format, got.im, im) <= DIVISION_ULP;
    snprintf(wanted, 96, "%.17g + %.17gi", mpfr_get_d(re, MPFR_RNDN), mpfr_get_d(im, MPFR_RNDN));
    mpfr_clears(p[0], p[1], p[2], p[3], re, im, norm, (mpfr_ptr)0);
    return fine;
}

/* A real function of both parts. */
typedef int real_function(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

static int angle(mpfr_t result, mpfr_srcptr re, mpfr_srcptr im, mpfr_rnd_t rounding)
{
    return mpfr_atan2(result, im, re, rounding);
}

static bool check_real(ek_dtype dtype, ek_number x, real_function *function, double bound,
                       const void *result, char *wanted)
{
    ek_dtype part = ek_real_dtype(dtype);
    mpfr_t re, im;
    mpfr_inits2(PRECISION, re, im, (mpfr_ptr)0);
    mpfr_set_d(re, x.re, MPFR_RNDN);
    mpfr_set_d(im, x.im, MPFR_RNDN);
    function(re, re, im, MPFR_RNDN);
    double distance = ek_ulp_distance(ek_format_of(part), ek_element_value(part, result), re);
    snprintf(wanted, 96, "%.17g within %g ulp", mpfr_get_d(re, MPFR_RNDN), bound);
    mpfr_clears(re, im, (mpfr_ptr)0);
    return distance <= bound;
}

/* A direction: x over its magnitude. */
static bool check_sign(ek_dtype dtype, ek_number x, ek_number got, char *wanted)
{
    snprintf(wanted, 96, "the direction of x, or 0");
    if (x.re == 0 && x.im == 0)
        return got.re == 0 && got.im == 0;
    if (!everyday(x))
        return true;
    mpfr_t re, im, size;
    mpfr_inits2(PRECISION, re, im, size, (mpfr_ptr)0);
    mpfr_set_d(re, x.re, MPFR_RNDN);
    mpfr_set_d(im, x.im, MPFR_RNDN);
    mpfr_hypot(size, re, im, MPFR_RNDN);
    mpfr_div(re, re, size, MPFR_RNDN);
    mpfr_div(im, im, size, MPFR_RNDN);
    ek_format format = ek_format_of(ek_real_dtype(dtype));
    bool fine = ek_ulp_distance(format, got.re, re) <= SIGN_ULP &&
                ek_ulp_distance(format, got.im, im) <= SIGN_ULP;
    mpfr_clears(re, im, size, (mpfr_ptr)0);
    return fine;
}

static const ek_number one = {1, 0};

/* One element against what its operation's name says. */
static bool check(const ek_op_test *test, int loop, const ek_number *x, const void *got,
                  char *wanted)
{
    const ek_op_info *info = test->info;
    ek_dtype dtype = ek_input_dtype(test, loop, info->inputs - 1);
    if (strcmp(info->name, "abs") == 0)
        return check_real(dtype, x[0], mpfr_hypot, info->loops[loop].ulp, got, wanted);
    if (strcmp(info->name, "angle") == 0)
        return check_real(dtype, x[0], angle, info->loops[loop].ulp, got, wanted);
    if (strcmp(info->name, "sign") == 0)
        return check_sign(dtype, x[0], load(dtype, got), wanted);
    if (strcmp(info->name, "div") == 0)
        return check_div(dtype, x[0], x[1], load(dtype, got), wanted);
    if (strcmp(info->name, "reciprocal") == 0)
        return check_div(dtype, one, x[0], load(dtype, got), wanted);
    return check_formula(test, dtype, x, got, wanted);
}

int64_t ek_check_complex(const ek_op_test *test, int loop, const ek_results *results)
{
    const ek_op_info *info = test->info;
    ek_dtype dtype = ek_input_dtype(test, loop, info->inputs - 1);
    size_t out_size = ek_dtype_size(ek_operand_dtype(test, loop, 0));
    if (!ek_is_complex(dtype))
        return 0;
    for (int64_t i = 0; i < results->n; i++) {
        ek_number x[EK_MAX_INPUTS] = {{0, 0}};
        const char *got = (const char *)results->out[0] + (size_t)i * out_size;
        char wanted[96];
        for (int k = 0; k < info->inputs; k++) {
            if (ek_input_dtype(test, loop, k) != dtype)
                return 0;
            x[k] = load(dtype, (const char *)results->in[k] + (size_t)i * ek_dtype_size(dtype));
        }
        if (!check(test, loop, x, got, wanted))
            ek_wrong_element(test, loop, results, 0, i, wanted);
    }
    return results->n;
}
