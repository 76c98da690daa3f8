/* Integers, booleans, comparisons and choices: computed with 128-bit integers and with doubles,
 * which hold every number of the smaller formats. */
#include <string.h>

#include "compare.h"
#include "format.h"
#include "reference.h"
#include "scene.h"

static bool is_signed(ek_dtype dtype)
{
    return dtype >= EK_I8 && dtype <= EK_I64;
}

static bool is_integer(ek_dtype dtype)
{
    return dtype <= EK_U64;
}

/* An integer element, sign-extended; a boolean counts as 0 or 1. */
static ek_wide load(ek_dtype dtype, const void *element)
{
    uint64_t bits = 0;
    size_t size = ek_dtype_size(dtype);
    memcpy(&bits, element, size);
    if (dtype == EK_B8)
        return bits != 0;
    int unused = 64 - 8 * (int)size;
    return is_signed(dtype) ? (ek_wide)(ek_signed_wide)((int64_t)(bits << unused) >> unused)
                            : (ek_wide)bits;
}

static bool less(ek_wide a, ek_wide b)
{
    return (ek_signed_wide)a < (ek_signed_wide)b;
}

static void store(ek_dtype dtype, ek_wide value, void *element)
{
    uint64_t bits = dtype == EK_B8 ? value != 0 : (uint64_t)value;
    memcpy(element, &bits, ek_dtype_size(dtype));
}

/* A floating element to an integer dtype: toward zero, saturating, NaN gives 0. */
static ek_wide truncated(ek_dtype dtype, double value)
{
    int bits = 8 * (int)ek_dtype_size(dtype) - (is_signed(dtype) ? 1 : 0);
    double end = ldexp(1, bits);
    ek_wide top = ((ek_wide)1 << bits) - 1;
    if (isnan(value))
        return 0;
    if (dtype == EK_B8)
        return value != 0;
    if (value >= end)
        return top;
    if (is_signed(dtype))
        return value <= -end ? -top - 1 : (ek_wide)(ek_signed_wide)value;
    return value <= 0 ? 0 : (ek_wide)value;
}

/* A 128-bit integer to a floating dtype, rounded once. */
static void round_integer(ek_dtype dtype, ek_wide value, void *element)
{
    mpfr_t exact;
    mpfr_init2(exact, 128);
    bool negative = less(value, 0);
    uint64_t magnitude = (uint64_t)(negative ? -value : value);
    mpfr_set_uj(exact, magnitude, MPFR_RNDN);
    if (negative)
        mpfr_neg(exact, exact, MPFR_RNDN);
    ek_element_round(dtype, ek_round_to(ek_format_of(dtype), exact), element);
    mpfr_clear(exact);
}

static void cast(ek_dtype from, const void *x, ek_dtype to, void *result)
{
    ek_dtype part = ek_real_dtype(to), real = ek_real_dtype(from);
    size_t from_size = ek_dtype_size(real), to_size = ek_dtype_size(part);
    memset(result, 0, ek_dtype_size(to));
    if (is_integer(from) && is_integer(to)) {
        store(to, load(from, x), result);
    } else if (is_integer(from)) {
        round_integer(part, load(from, x), result);
    } else if (to == EK_B8) {
        double re = ek_element_value(real, x);
        double im = ek_is_complex(from) ? ek_element_value(real, (const char *)x + from_size) : 0;
        store(to, re != 0 || im != 0, result);
    } else if (is_integer(to)) {
        store(to, truncated(to, ek_element_value(real, x)), result);
    } else {
        ek_element_round(part, ek_element_value(real, x), result);
        if (ek_is_complex(from) && ek_is_complex(to))
            ek_element_round(part, ek_element_value(real, (const char *)x + from_size),
                             (char *)result + to_size);
    }
}

static bool complex_exact(const ek_op_test *test, int loop, const void *const *x,
                          const double *params, int o, void *result)
{
    ek_dtype out = ek_operand_dtype(test, loop, o), part = ek_real_dtype(out);
    ek_number numbers[EK_MAX_INPUTS] = {{0, 0}};
    if (!test->reference_re[o])
        return false;
    for (int k = 0; k < test->info->inputs; k++) {
        ek_dtype real = ek_real_dtype(ek_input_dtype(test, loop, k));
        numbers[k].re = ek_element_value(real, x[k]);
        numbers[k].im = ek_element_value(real, (const char *)x[k] + ek_dtype_size(real));
    }
    double re = test->reference_re[o](numbers, params, out);
    if (out == EK_B8)
        store(out, re != 0, result);
    else
        ek_element_round(part, re, result);
    if (ek_is_complex(out))
        ek_element_round(part, test->reference_im[o](numbers, params, out),
                         (char *)result + ek_dtype_size(part));
    return true;
}

/* One element of output o; false if the operation is not known here. */
static bool exact(const ek_op_test *test, int loop, const void *const *x, const double *params,
                  int o, void *result)
{
    const ek_op_info *info = test->info;
    ek_dtype out = ek_operand_dtype(test, loop, o);
    ek_dtype t = (ek_dtype)info->loops[loop].dtype;
    ek_wide values[EK_MAX_INPUTS] = {0};
    double numbers[EK_MAX_INPUTS] = {0};
    if (strcmp(info->kind, "cast") == 0) {
        cast(t, x[0], out, result);
        return true;
    }
    if (strcmp(info->name, "where") == 0 && !is_integer(t)) {
        memcpy(result, *(const uint8_t *)x[0] ? x[1] : x[2], ek_dtype_size(out));
        return true;
    }
    if (strcmp(info->name, "copy") == 0) {
        memcpy(result, x[0], ek_dtype_size(out));
        return true;
    }
    if (ek_is_complex(t))
        return complex_exact(test, loop, x, params, o, result);
    if (is_integer(t) ? !test->reference_int[o] : !test->reference_real[o])
        return false;
    for (int k = 0; k < info->inputs; k++) {
        ek_dtype in = ek_input_dtype(test, loop, k);
        if (is_integer(t))
            values[k] = load(in, x[k]);
        else
            numbers[k] = is_integer(in) ? (double)(ek_signed_wide)load(in, x[k])
                                        : ek_element_value(in, x[k]);
    }
    if (is_integer(t))
        store(out, test->reference_int[o](values, params, t), result);
    else if (is_integer(out))
        store(out, (ek_wide)(ek_signed_wide)test->reference_real[o](numbers, params, t), result);
    else
        ek_element_round(out, test->reference_real[o](numbers, params, t), result);
    return true;
}

int64_t ek_check_exact(const ek_op_test *test, int loop, const ek_results *results)
{
    char result[16], text[96];
    for (int64_t i = 0; i < results->n; i++) {
        const void *x[EK_MAX_INPUTS];
        for (int k = 0; k < test->info->inputs; k++)
            x[k] = (const char *)results->in[k] +
                   (size_t)i * ek_dtype_size(ek_input_dtype(test, loop, k));
        for (int o = 0; o < test->info->outputs; o++) {
            ek_dtype dtype = ek_operand_dtype(test, loop, o);
            const char *got = (const char *)results->out[o] + (size_t)i * ek_dtype_size(dtype);
            if (!exact(test, loop, x, results->params, o, result))
                return i;
            if (!ek_same_element(dtype, result, got))
                ek_wrong_element(test, loop, results, o, i, ek_element_text(dtype, result, text));
        }
    }
    return results->n;
}
