/* Real functions against MPFR, by the code their templates give. */
#include <check.h>
#include <stdio.h>

#include "compare.h"
#include "format.h"
#include "reference.h"
#include "scene.h"

enum {
    /* Bits for a function with a bound: far more than any double needs, tails included. */
    PRECISION = 256,
    /* Bits that hold every sum and product of numbers of the format exactly, so that the reference
     * of a correctly rounded operation is not itself rounded: a double's exponents span 2,098,
     * those of a product and a third number 4,200. */
    EXACT_F64 = 4400,
    EXACT_F32 = 640,
};

void ek_wrong_element(const ek_op_test *test, int loop, int64_t i, const void *const *in,
                      const void *out, const char *wanted)
{
    char operands[400] = "", text[96];
    ek_scene scene;
    ek_scene_open(&scene, test, loop);
    int used = 0;
    for (int k = 0; k < test->info->inputs; k++) {
        ek_dtype dtype = ek_operand_dtype(test, loop, k + 1);
        const char *element = (const char *)in[k] + (size_t)i * ek_dtype_size(dtype);
        used += snprintf(operands + used, sizeof operands - (size_t)used, "%s%s", k ? ", " : "",
                         ek_element_text(dtype, element, text));
    }
    ek_dtype dtype = ek_operand_dtype(test, loop, 0);
    const char *element = (const char *)out + (size_t)i * ek_dtype_size(dtype);
    ck_abort_msg("%s(%s) gives %s: must be %s", ek_scene_call_name(&scene, EK_TYPED_CALL), operands,
                 ek_element_text(dtype, element, text), wanted);
}

/* True if the loop takes and gives one floating dtype, as references do. */
static bool fits(const ek_op_test *test, int loop)
{
    ek_dtype dtype = ek_operand_dtype(test, loop, 0);
    if (!test->reference || !ek_is_float(dtype) || test->info->loops[loop].ulp < 0)
        return false;
    for (int k = 1; k <= test->info->inputs; k++) {
        if (ek_operand_dtype(test, loop, k) != dtype)
            return false;
    }
    return true;
}

static void check(const ek_op_test *test, int loop, int64_t i, const void *const *in,
                  const void *out, mpfr_srcptr r)
{
    ek_dtype dtype = ek_operand_dtype(test, loop, 0);
    ek_format format = ek_format_of(dtype);
    double bound = test->info->loops[loop].ulp;
    double got = ek_element_value(dtype, (const char *)out + (size_t)i * ek_dtype_size(dtype));
    double nearest = ek_round(format, r);
    double distance = ek_ulp_distance(format, got, r);
    char wanted[160];
    if (bound <= 0.5)
        bound = got == nearest || isnan(got) ? 0.5 : 0; /* rounded as it should be, or not */
    snprintf(wanted, sizeof wanted, "%.17g within %g ulp, it is off by %.6g", nearest,
             test->info->loops[loop].ulp, distance);
    /* Zeros and infinities have a sign; written so that NaN fails. */
    if (!(distance <= bound) || (got == 0 && nearest == 0 && signbit(got) != signbit(nearest)))
        ek_wrong_element(test, loop, i, in, out, wanted);
}

int64_t ek_check_mpfr(const ek_op_test *test, int loop, int64_t n, const void *const *in,
                      const void *out)
{
    if (!fits(test, loop))
        return 0;
    ek_dtype dtype = ek_operand_dtype(test, loop, 0);
    long precision = test->info->loops[loop].ulp > 0.51 ? PRECISION
                     : dtype == EK_F64                  ? EXACT_F64
                                                        : EXACT_F32;
    mpfr_t x[3], r, t, u;
    mpfr_inits2(precision, x[0], x[1], x[2], r, t, u, (mpfr_ptr)0);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < test->info->inputs; k++)
            mpfr_set_d(
                x[k],
                ek_element_value(dtype, (const char *)in[k] + (size_t)i * ek_dtype_size(dtype)),
                MPFR_RNDN);
        test->reference(r, x[0], x[1], x[2], t, u);
        check(test, loop, i, in, out, r);
    }
    mpfr_clears(x[0], x[1], x[2], r, t, u, (mpfr_ptr)0);
    return n;
}
