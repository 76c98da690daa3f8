/* Real functions against MPFR, by the code their templates give. */
#include <check.h>
#include <stdio.h>
#include <string.h>

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

void ek_wrong_element(const ek_op_test *test, int loop, const ek_results *results, int k, int64_t i,
                      const char *wanted)
{
    char operands[800] = "", text[96];
    ek_scene scene;
    ek_scene_open(&scene, test, loop);
    int used = 0;
    for (int j = 0; j < test->info->inputs; j++) {
        ek_dtype dtype = ek_input_dtype(test, loop, j);
        const char *element = (const char *)results->in[j] + (size_t)i * ek_dtype_size(dtype);
        used += snprintf(operands + used, sizeof operands - (size_t)used, "%s%s", j ? ", " : "",
                         ek_element_text(dtype, element, text));
    }
    for (int j = 0; j < test->info->param_count; j++)
        used += snprintf(operands + used, sizeof operands - (size_t)used, ", %s = %.9g",
                         test->info->params[j].name, results->params[j]);
    ek_dtype dtype = ek_operand_dtype(test, loop, k);
    const char *element = (const char *)results->out[k] + (size_t)i * ek_dtype_size(dtype);
    ck_abort_msg("%s(%s) gives %s %s: must be %s", ek_scene_call_name(&scene, EK_TYPED_CALL),
                 operands, ek_scene_operand_name(test, k), ek_element_text(dtype, element, text),
                 wanted);
}

/* True if the loop takes one floating dtype, as references do, and gives it or integers. */
static bool fits(const ek_op_test *test, int loop)
{
    ek_dtype dtype = (ek_dtype)test->info->loops[loop].dtype;
    if (!ek_is_float(dtype) || test->info->loops[loop].ulp < 0)
        return false;
    for (int k = 0; k < test->info->inputs; k++) {
        if (ek_input_dtype(test, loop, k) != dtype)
            return false;
    }
    return true;
}

static void check_integer(const ek_op_test *test, int loop, const ek_results *results, int k,
                          int64_t i, mpfr_srcptr r)
{
    ek_dtype dtype = ek_operand_dtype(test, loop, k);
    char wanted[16], text[96];
    int64_t integer = mpfr_get_sj(r, MPFR_RNDN);
    memcpy(wanted, &integer, sizeof integer); /* the low bytes come first */
    if (!ek_same_element(dtype, wanted,
                         (const char *)results->out[k] + (size_t)i * ek_dtype_size(dtype)))
        ek_wrong_element(test, loop, results, k, i, ek_element_text(dtype, wanted, text));
}

static void check(const ek_op_test *test, int loop, const ek_results *results, int k, int64_t i,
                  mpfr_srcptr r)
{
    ek_dtype dtype = ek_operand_dtype(test, loop, k);
    ek_format format = ek_format_of(dtype);
    double bound = test->info->loops[loop].ulp;
    double got =
        ek_element_value(dtype, (const char *)results->out[k] + (size_t)i * ek_dtype_size(dtype));
    double nearest = ek_round_to(format, r);
    double distance = ek_ulp_distance(format, got, r);
    char wanted[160];
    if (bound <= 0.5)
        bound = got == nearest || isnan(got) ? 0.5 : 0; /* rounded as it should be, or not */
    snprintf(wanted, sizeof wanted, "%.17g within %g ulp, it is off by %.6g", nearest,
             test->info->loops[loop].ulp, distance);
    /* Zeros and infinities have a sign; written so that NaN fails. */
    if (!(distance <= bound) || (got == 0 && nearest == 0 && signbit(got) != signbit(nearest)))
        ek_wrong_element(test, loop, results, k, i, wanted);
}

static void check_output(const ek_op_test *test, int loop, const ek_results *results, int k,
                         mpfr_t *numbers)
{
    ek_dtype dtype = (ek_dtype)test->info->loops[loop].dtype;
    mpfr_ptr r = numbers[0], t = numbers[1], u = numbers[2];
    mpfr_srcptr in[EK_MAX_INPUTS];
    for (int64_t i = 0; i < results->n; i++) {
        for (int j = 0; j < test->info->inputs; j++) {
            mpfr_set_d(numbers[3 + j],
                       ek_element_value(dtype, (const char *)results->in[j] +
                                                   (size_t)i * ek_dtype_size(dtype)),
                       MPFR_RNDN);
            in[j] = numbers[3 + j];
        }
        test->references[k](r, in, results->params, t, u);
        if (ek_is_float(ek_operand_dtype(test, loop, k)))
            check(test, loop, results, k, i, r);
        else
            check_integer(test, loop, results, k, i, r);
    }
}

int64_t ek_check_mpfr(const ek_op_test *test, int loop, const ek_results *results)
{
    enum { NUMBERS = 3 + EK_MAX_INPUTS };
    mpfr_t numbers[NUMBERS];
    int64_t compared = 0;
    if (!fits(test, loop))
        return 0;
    long precision = test->info->loops[loop].ulp > 0.51             ? PRECISION
                     : test->info->loops[loop].dtype == (int)EK_F64 ? EXACT_F64
                                                                    : EXACT_F32;
    for (int i = 0; i < NUMBERS; i++)
        mpfr_init2(numbers[i], precision);
    for (int k = 0; k < test->info->outputs; k++) {
        if (!test->references[k])
            continue;
        check_output(test, loop, results, k, numbers);
        compared = results->n;
    }
    for (int i = 0; i < NUMBERS; i++)
        mpfr_clear(numbers[i]);
    return compared;
}
