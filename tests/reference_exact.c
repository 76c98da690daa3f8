/* Integers, booleans, comparisons and choices: computed with 128-bit integers and with doubles,
 * which hold every number of the smaller formats. */
#include <string.h>

#include "compare.h"
#include "format.h"
#include "reference.h"
#include "scene.h"

typedef unsigned __int128 wide; /* wraps, and its low bits are those of every narrower dtype */

static bool is_signed(ek_dtype dtype)
{
    return dtype >= EK_I8 && dtype <= EK_I64;
}

static bool is_integer(ek_dtype dtype)
{
    return dtype <= EK_U64;
}

/* An integer element, sign-extended; a boolean counts as 0 or 1. */
static wide load(ek_dtype dtype, const void *element)
{
    uint64_t bits = 0;
    size_t size = ek_dtype_size(dtype);
    memcpy(&bits, element, size);
    if (dtype == EK_B8)
        return bits != 0;
    int unused = 64 - 8 * (int)size;
    return is_signed(dtype) ? (wide)(__int128)((int64_t)(bits << unused) >> unused) : (wide)bits;
}

static bool less(wide a, wide b)
{
    return (__int128)a < (__int128)b;
}

static wide divide(wide a, wide b)
{
    return b ? (wide)((__int128)a / (__int128)b) : 0;
}

static wide power(wide base, wide exponent)
{
    wide result = 1;
    if (less(exponent, 0))
        return base == 1 ? 1 : (base == (wide)-1 ? (exponent & 1 ? base : 1) : 0);
    for (; exponent; exponent >>= 1, base *= base)
        result *= exponent & 1 ? base : 1;
    return result;
}

#define EK_INTEGER(name, expression)                                                               \
    static wide integer_##name(const wide *x)                                                      \
    {                                                                                              \
        return expression;                                                                         \
    }

EK_INTEGER(neg, -x[0])
EK_INTEGER(abs, less(x[0], 0) ? -x[0] : x[0])
EK_INTEGER(relu, less(x[0], 0) ? 0 : x[0])
EK_INTEGER(copy, x[0])
EK_INTEGER(add, x[0] + x[1])
EK_INTEGER(sub, x[0] - x[1])
EK_INTEGER(mul, x[0] * x[1])
EK_INTEGER(div, divide(x[0], x[1]))
EK_INTEGER(pow, power(x[0], x[1]))
EK_INTEGER(maximum, less(x[0], x[1]) ? x[1] : x[0])
EK_INTEGER(minimum, less(x[0], x[1]) ? x[0] : x[1])
EK_INTEGER(eq, x[0] == x[1])
EK_INTEGER(lt, less(x[0], x[1]))
EK_INTEGER(le, !less(x[1], x[0]))
EK_INTEGER(fma, x[0] * x[1] + x[2])
EK_INTEGER(where, x[0] ? x[1] : x[2])

static const struct {
    const char *name;
    wide (*of)(const wide *x);
} integers[] = {
    {"neg", integer_neg},         {"abs", integer_abs},         {"relu", integer_relu},
    {"copy", integer_copy},       {"add", integer_add},         {"sub", integer_sub},
    {"mul", integer_mul},         {"div", integer_div},         {"pow", integer_pow},
    {"maximum", integer_maximum}, {"minimum", integer_minimum}, {"eq", integer_eq},
    {"lt", integer_lt},           {"le", integer_le},           {"fma", integer_fma},
    {"where", integer_where},
};

/* The operation on integers; false if it is not known here. */
static bool integer(const char *op, const wide *x, wide *result)
{
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        if (strcmp(op, integers[i].name) == 0) {
            *result = integers[i].of(x);
            return true;
        }
    }
    return false;
}

static void store(ek_dtype dtype, wide value, void *element)
{
    uint64_t bits = dtype == EK_B8 ? value != 0 : (uint64_t)value;
    memcpy(element, &bits, ek_dtype_size(dtype));
}

static bool compares(const char *op, double x, double y)
{
    return strcmp(op, "eq") == 0 ? x == y : (strcmp(op, "lt") == 0 ? x < y : x <= y);
}

/* A floating element to an integer dtype: toward zero, saturating, NaN gives 0. */
static wide truncated(ek_dtype dtype, double value)
{
    int bits = 8 * (int)ek_dtype_size(dtype) - (is_signed(dtype) ? 1 : 0);
    double end = ldexp(1, bits);
    wide top = ((wide)1 << bits) - 1;
    if (isnan(value))
        return 0;
    if (dtype == EK_B8)
        return value != 0;
    if (value >= end)
        return top;
    if (is_signed(dtype))
        return value <= -end ? -top - 1 : (wide)(__int128)value;
    return value <= 0 ? 0 : (wide)value;
}

/* A 128-bit integer to a floating dtype, rounded once. */
static void round_integer(ek_dtype dtype, wide value, void *element)
{
    mpfr_t exact;
    mpfr_init2(exact, 128);
    bool negative = less(value, 0);
    uint64_t magnitude = (uint64_t)(negative ? -value : value);
    mpfr_set_uj(exact, magnitude, MPFR_RNDN);
    if (negative)
        mpfr_neg(exact, exact, MPFR_RNDN);
    ek_element_round(dtype, ek_round(ek_format_of(dtype), exact), element);
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

/* One element; false if the operation is not known here. */
static bool exact(const ek_op_test *test, int loop, const void *const *x, void *result)
{
    const ek_op_info *info = test->info;
    ek_dtype out = ek_operand_dtype(test, loop, 0);
    ek_dtype last = ek_operand_dtype(test, loop, info->inputs);
    wide values[EK_MAX_INPUTS] = {0}, value;
    if (strcmp(info->kind, "cast") == 0) {
        cast(last, x[0], out, result);
        return true;
    }
    if (strcmp(info->name, "where") == 0 && !is_integer(last)) {
        memcpy(result, *(const uint8_t *)x[0] ? x[1] : x[2], ek_dtype_size(out));
        return true;
    }
    if (strcmp(info->name, "copy") == 0) {
        memcpy(result, x[0], ek_dtype_size(out));
        return true;
    }
    if (strcmp(info->kind, "comparison") == 0 && ek_is_float(last)) {
        store(out, compares(info->name, ek_element_value(last, x[0]), ek_element_value(last, x[1])),
              result);
        return true;
    }
    if (!is_integer(last))
        return false;
    for (int k = 0; k < info->inputs; k++)
        values[k] = load(ek_operand_dtype(test, loop, k + 1), x[k]);
    if (!integer(info->name, values, &value))
        return false;
    store(out, value, result);
    return true;
}

int64_t ek_check_exact(const ek_op_test *test, int loop, int64_t n, const void *const *in,
                       const void *out)
{
    ek_dtype dtype = ek_operand_dtype(test, loop, 0);
    size_t size = ek_dtype_size(dtype);
    char result[16], text[96];
    for (int64_t i = 0; i < n; i++) {
        const void *x[EK_MAX_INPUTS];
        for (int k = 0; k < test->info->inputs; k++)
            x[k] = (const char *)in[k] +
                   (size_t)i * ek_dtype_size(ek_operand_dtype(test, loop, k + 1));
        if (!exact(test, loop, x, result))
            return i;
        if (!ek_same_element(dtype, result, (const char *)out + (size_t)i * size))
            ek_wrong_element(test, loop, i, in, out, ek_element_text(dtype, result, text));
    }
    return n;
}
