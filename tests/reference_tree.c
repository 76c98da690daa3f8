#include "reference_tree.h"

#include <check.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "body/abs.h"
#include "body/exp_falling.h"
#include "body/log.h"
#include "einkorn/body.h"

/* Ends of operations' names. */
static bool has_end(const char *op, const char *end)
{
    return strlen(op) >= strlen(end) && strcmp(op + strlen(op) - strlen(end), end) == 0;
}

/* Names of operations that leave NaN out, and of those that count it. */
static bool is_of_numbers(const char *op)
{
    return strncmp(op, "nan", 3) == 0;
}

static bool counts_nan(const char *op)
{
    return has_end(op, "_nan");
}

typedef enum group { SIGNED, UNSIGNED, FLOAT, DOUBLE, COMPLEX_FLOAT, COMPLEX_DOUBLE } group;

/* An element or an accumulator. Integers keep their bits in `u`. */
typedef struct value {
    group group;
    uint64_t u;
    float f;
    double d;
    ek_c64 c;
    ek_c128 z;
} value;

typedef value combine(value a, value b);

static value load(ek_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case EK_B8:
        return (value){.group = UNSIGNED, .u = ((const uint8_t *)x)[i] != 0};
    case EK_I8:
        return (value){.group = SIGNED, .u = (uint64_t)((const int8_t *)x)[i]};
    case EK_I16:
        return (value){.group = SIGNED, .u = (uint64_t)((const int16_t *)x)[i]};
    case EK_I32:
        return (value){.group = SIGNED, .u = (uint64_t)((const int32_t *)x)[i]};
    case EK_I64:
        return (value){.group = SIGNED, .u = (uint64_t)((const int64_t *)x)[i]};
    case EK_U8:
        return (value){.group = UNSIGNED, .u = ((const uint8_t *)x)[i]};
    case EK_U16:
        return (value){.group = UNSIGNED, .u = ((const uint16_t *)x)[i]};
    case EK_U32:
        return (value){.group = UNSIGNED, .u = ((const uint32_t *)x)[i]};
    case EK_U64:
        return (value){.group = UNSIGNED, .u = ((const uint64_t *)x)[i]};
    case EK_F16:
        return (value){.group = FLOAT, .f = ek_load_f16(((const ek_f16 *)x)[i])};
    case EK_BF16:
        return (value){.group = FLOAT, .f = ek_load_bf16(((const ek_bf16 *)x)[i])};
    case EK_F32:
        return (value){.group = FLOAT, .f = ((const float *)x)[i]};
    case EK_F64:
        return (value){.group = DOUBLE, .d = ((const double *)x)[i]};
    case EK_C64:
        return (value){.group = COMPLEX_FLOAT, .c = ((const ek_c64 *)x)[i]};
    default:
        return (value){.group = COMPLEX_DOUBLE, .z = ((const ek_c128 *)x)[i]};
    }
}

static void store(ek_dtype dtype, value v, void *out, int64_t i)
{
    switch (dtype) {
    case EK_F16:
        ((ek_f16 *)out)[i] = ek_store_f16(v.f);
        break;
    case EK_BF16:
        ((ek_bf16 *)out)[i] = ek_store_bf16(v.f);
        break;
    case EK_F32:
        ((float *)out)[i] = v.f;
        break;
    case EK_F64:
        ((double *)out)[i] = v.d;
        break;
    case EK_C64:
        ((ek_c64 *)out)[i] = v.c;
        break;
    case EK_C128:
        ((ek_c128 *)out)[i] = v.z;
        break;
    default: { /* the low bytes; the tests run on little-endian machines */
        size_t size = ek_dtype_size(dtype);
        memcpy((char *)out + (size_t)i * size, &v.u, size);
    }
    }
}

static value add(value a, value b)
{
    a.u += b.u;
    a.f += b.f;
    a.d += b.d;
    a.c.re += b.c.re;
    a.c.im += b.c.im;
    a.z.re += b.z.re;
    a.z.im += b.z.im;
    return a;
}

static value multiply(value a, value b)
{
    value product = a;
    product.u = a.u * b.u;
    product.f = a.f * b.f;
    product.d = a.d * b.d;
    product.c.re = a.c.re * b.c.re + -a.c.im * b.c.im;
    product.c.im = a.c.re * b.c.im + a.c.im * b.c.re;
    product.z.re = a.z.re * b.z.re + -a.z.im * b.z.im;
    product.z.im = a.z.re * b.z.im + a.z.im * b.z.re;
    return product;
}

/* The same, but that a factor of exactly 1 + 0i is left out. */
static value multiply_but_one(value a, value b)
{
    const ek_c64 one = {1, 0};
    const ek_c128 one_wide = {1, 0};
    bool wide = a.group == COMPLEX_DOUBLE;
    if (a.group != COMPLEX_FLOAT && !wide)
        return multiply(a, b);
    if (wide ? memcmp(&a.z, &one_wide, sizeof a.z) == 0 : memcmp(&a.c, &one, sizeof a.c) == 0)
        return b;
    if (wide ? memcmp(&b.z, &one_wide, sizeof b.z) == 0 : memcmp(&b.c, &one, sizeof b.c) == 0)
        return a;
    return multiply(a, b);
}

static bool is_nan(value a)
{
    switch (a.group) {
    case FLOAT:
        return a.f != a.f;
    case DOUBLE:
        return a.d != a.d;
    case COMPLEX_FLOAT:
        return a.c.re != a.c.re || a.c.im != a.c.im;
    case COMPLEX_DOUBLE:
        return a.z.re != a.z.re || a.z.im != a.z.im;
    default:
        return false;
    }
}

/* |x| of floating and complex numbers, or of complex ones |re| + |im|. */
static value absolute(value a, bool of_parts)
{
    bool wide = a.group == DOUBLE || a.group == COMPLEX_DOUBLE;
    value size = {.group = wide ? DOUBLE : FLOAT, .f = fabsf(a.f), .d = fabs(a.d)};
    if (a.group == COMPLEX_FLOAT)
        size.f = of_parts ? fabsf(a.c.re) + fabsf(a.c.im) : ek_body_abs_c64(a.c);
    if (a.group == COMPLEX_DOUBLE)
        size.d = of_parts ? fabs(a.z.re) + fabs(a.z.im) : ek_body_abs_c128(a.z);
    return size;
}

static bool is_less(value a, value b)
{
    switch (a.group) {
    case SIGNED:
        return (int64_t)a.u < (int64_t)b.u;
    case UNSIGNED:
        return a.u < b.u;
    case FLOAT:
        return a.f < b.f || (a.f == b.f && signbit(a.f) && !signbit(b.f));
    default:
        return a.d < b.d || (a.d == b.d && signbit(a.d) && !signbit(b.d));
    }
}

static value larger(value a, value b)
{
    return is_nan(a) || (!is_nan(b) && !is_less(a, b)) ? a : b;
}

static value smaller(value a, value b)
{
    return is_nan(a) || (!is_nan(b) && is_less(a, b)) ? a : b;
}

static void *allocate(int64_t n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* A chunk of n >= 1 elements: a lane starts with its first element, and a lane without one is left
 * out of the fold. */
static value reduce_chunk(combine *combine, int64_t n, const value *x)
{
    value lanes[128];
    int64_t used = n < 128 ? n : 128;
    for (int64_t i = 0; i < n; i++)
        lanes[i % 128] = i < 128 ? x[i] : combine(lanes[i % 128], x[i]);
    for (int64_t half = 64; half > 0; half /= 2) {
        for (int64_t j = 0; j < half && j + half < used; j++)
            lanes[j] = combine(lanes[j], lanes[j + half]);
        used = used < half ? used : half;
    }
    return lanes[0];
}

static value reduce(combine *combine, int64_t n, const value *x)
{
    if (n <= 4096)
        return reduce_chunk(combine, n, x);
    int64_t chunks = (n + 4095) / 4096;
    value *results = allocate(chunks, sizeof *results);
    for (int64_t i = 0; i < chunks; i++)
        results[i] = reduce_chunk(combine, n - i * 4096 < 4096 ? n - i * 4096 : 4096, x + i * 4096);
    value result = reduce(combine, chunks, results);
    free(results);
    return result;
}

/* The first of equals, or the first NaN: of the largest, or of the smallest. "nan...": NaN comes
 * last. "ia...": of absolute values. */
static void find(const char *op, ek_dtype dtype, int64_t n, const void *x, int64_t *out)
{
    bool largest = op[strlen(op) - 1] == 'x', no_nan = op[0] == 'n', sizes = op[0] == 'i';
    *out = 0;
    for (int64_t i = 1; i < n; i++) {
        value a = load(dtype, x, i), b = load(dtype, x, *out);
        if (sizes) {
            a = absolute(a, true);
            b = absolute(b, true);
        }
        bool equal = a.group == FLOAT ? a.f == b.f : a.group == DOUBLE && a.d == b.d;
        bool wins = largest ? is_less(b, a) : is_less(a, b);
        if (is_nan(a) || is_nan(b) ? is_nan(no_nan ? b : a) && !is_nan(no_nan ? a : b)
                                   : !equal && wins)
            *out = i;
    }
}

static bool is_zero(value a)
{
    switch (a.group) {
    case FLOAT:
        return a.f == 0;
    case DOUBLE:
        return a.d == 0;
    case COMPLEX_FLOAT:
        return a.c.re == 0 && a.c.im == 0;
    case COMPLEX_DOUBLE:
        return a.z.re == 0 && a.z.im == 0;
    default:
        return a.u == 0;
    }
}

static int64_t count_nan(ek_dtype dtype, int64_t n, const void *x)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += is_nan(load(dtype, x, i));
    return count;
}

static int64_t count_nonzero(ek_dtype dtype, int64_t n, const void *x)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += !is_zero(load(dtype, x, i));
    return count;
}

static value divide(value sum, int64_t n)
{
    sum.f /= (float)n;
    sum.d /= (double)n;
    sum.c.re /= (float)n;
    sum.c.im /= (float)n;
    sum.z.re /= (double)n;
    sum.z.im /= (double)n;
    return sum;
}

static value to_double(value a)
{
    if (a.group == SIGNED || a.group == UNSIGNED) {
        a.d = a.group == SIGNED ? (double)(int64_t)a.u : (double)a.u;
        a.group = DOUBLE;
    }
    return a;
}

/* The larger and the smaller one, where NaN counts for nothing. */

static value larger_number(value a, value b)
{
    return is_nan(b) || (!is_nan(a) && is_less(b, a)) ? a : b;
}

static value smaller_number(value a, value b)
{
    return is_nan(b) || (!is_nan(a) && is_less(a, b)) ? a : b;
}

static value number(group group, double x)
{
    return (value){
        .group = group, .u = (uint64_t)x, .f = (float)x, .d = x, .c = {(float)x, 0}, .z = {x, 0}};
}

/* Of all but NaN, in float64: their sum, where NaN is -0, which changes none, over their number. */
static void mean_of_numbers(ek_dtype dtype, int64_t n, const void *x, void *out)
{
    value *values = allocate(n, sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        value element = load(dtype, x, i);
        double wide = element.group == FLOAT ? (double)element.f : element.d;
        values[i] = number(DOUBLE, is_nan(element) ? -0.0 : wide);
    }
    double sum = n > 0 ? reduce(add, n, values).d : 0;
    store(dtype, number(DOUBLE, sum / (double)(n - count_nan(dtype, n, x))), out, 0);
    free(values);
}

/* Sums, products and extremes: how two values are combined, of all and of those that are not NaN,
 * and what no element and NaN count as. */
typedef struct rule {
    const char *op;
    combine *combine, *combine_numbers;
    double nothing;
    bool replaces; /* NaN by `nothing` */
} rule;

/* The rule of an operation, of "nanOP" or of "OP_abs". */
static const rule *rule_of(const char *op)
{
    static const rule rules[] = {
        {"sum", add, add, 0, true},
        {"norm1", add, add, 0, true},
        {"prod", multiply_but_one, multiply_but_one, 1, true},
        {"max", larger, larger_number, 0, false},
        {"min", smaller, smaller_number, 0, false},
        {"mean", add, add, 0, true},
    };
    op += is_of_numbers(op) ? 3 : 0;
    size_t length = has_end(op, "_abs") ? strlen(op) - 4 : strlen(op);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strlen(rules[i].op) == length && strncmp(op, rules[i].op, length) == 0)
            return &rules[i];
    }
    return NULL;
}

bool ek_reference_knows(const char *op)
{
    return rule_of(op) || counts_nan(op) || strstr(op, "arg") || strncmp(op, "ia", 2) == 0 ||
           strncmp(op + (is_of_numbers(op) ? 3 : 0), "cum", 3) == 0;
}

static void count(const char *op, ek_dtype dtype, int64_t n, const void *x, void *out)
{
    int64_t found = counts_nan(op) ? n - count_nan(dtype, n, x) : count_nonzero(dtype, n, x);
    if (op[0] == 'c')
        *(int64_t *)out = found;
    else
        *(ek_b8 *)out = op[0] == 'e' ? found < n : found >= (op[1] == 'n' ? 1 : n);
}

void ek_reference_reduce(const char *op, ek_dtype dtype, int64_t n, const void *x, void *out)
{
    const rule *rule = rule_of(op);
    if (strstr(op, "arg") || strncmp(op, "ia", 2) == 0) {
        find(op, dtype, n, x, out);
        return;
    }
    if (!rule) { /* any, all, and what counts */
        count(op, dtype, n, x, out);
        return;
    }
    bool numbers = is_of_numbers(op), mean = has_end(op, "mean");
    bool sizes = has_end(op, "_abs") || has_end(op, "1"), sum = rule->replaces && !mean;
    if (numbers && mean) {
        mean_of_numbers(dtype, n, x, out);
        return;
    }
    bool integer = dtype < EK_F16;
    ek_dtype result = integer && mean ? EK_F64 : integer && sum ? EK_I64 : dtype;
    if (sizes)
        result = dtype == EK_C64 ? EK_F32 : dtype == EK_C128 ? EK_F64 : dtype;
    value *values = allocate(n, sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        value element = mean ? to_double(load(dtype, x, i)) : load(dtype, x, i);
        if (numbers && rule->replaces && is_nan(element))
            element = number(element.group, rule->nothing);
        values[i] = sizes ? absolute(element, false) : element;
    }
    value total = number(SIGNED, rule->nothing);
    if (n > 0)
        total = reduce(numbers ? rule->combine_numbers : rule->combine, n, values);
    store(result, mean ? divide(total, n) : total, out, 0);
    free(values);
}

/* Floating numbers only, as the dtype computes them. */

static value real(value like, double d)
{
    return (value){.group = like.group, .f = (float)d, .d = d};
}

/* What n places of a group, or the totals of groups, come to; the rule of src/prefixes.h. */
static void scan_by_halves(combine *combine, int64_t n, value *v)
{
    for (int64_t half = 1; half < 16; half *= 2) {
        for (int64_t i = 0; i < n; i++) {
            if (i & half)
                v[i] = combine(v[(i & -2 * half) + half - 1], v[i]);
        }
    }
}

static void scan_chunk(combine *combine, int64_t n, value *v)
{
    value totals[16];
    int64_t groups = (n + 15) / 16;
    for (int64_t g = 0; g < groups; g++) {
        int64_t length = n - 16 * g < 16 ? n - 16 * g : 16;
        scan_by_halves(combine, length, v + 16 * g);
        totals[g] = v[16 * g + length - 1];
    }
    scan_by_halves(combine, groups, totals);
    for (int64_t i = 16; i < n; i++)
        v[i] = combine(totals[i / 16 - 1], v[i]);
}

/* Parts of `length` elements, each after what the part before it came to. */
static void scan_parts(combine *combine, int64_t length, int64_t n, value *v)
{
    for (int64_t first = 0; first < n; first += length) {
        int64_t count = n - first < length ? n - first : length;
        if (length == 256)
            scan_chunk(combine, count, v + first);
        else
            scan_parts(combine, length == 4096 ? 256 : 4096, count, v + first);
        for (int64_t i = first; i < first + count && first > 0; i++)
            v[i] = combine(v[first - 1], v[i]);
    }
}

void ek_reference_scan(const char *op, ek_dtype dtype, int64_t n, const void *x, void *out)
{
    bool no_nan = is_of_numbers(op);
    const char *of = no_nan ? op + 3 : op;
    bool sum = strcmp(of, "cumsum") == 0, product = strcmp(of, "cumprod") == 0;
    value *values = allocate(n, sizeof *values);
    for (int64_t i = 0; i < n; i++) {
        values[i] = load(dtype, x, i);
        if (no_nan && is_nan(values[i]))
            values[i] = number(values[i].group, product ? 1 : 0);
    }
    scan_parts(sum                         ? add
               : product                   ? multiply
               : strcmp(op, "cummax") == 0 ? larger
                                           : smaller,
               32 * 4096, n, values);
    for (int64_t i = 0; i < n; i++)
        store((sum || product) && dtype < EK_F16 ? EK_I64 : dtype, values[i], out, i);
    free(values);
}

static value calculate(char op, value a, value b)
{
    switch (op) {
    case '+':
        return (value){.group = a.group, .f = a.f + b.f, .d = a.d + b.d};
    case '-':
        return (value){.group = a.group, .f = a.f - b.f, .d = a.d - b.d};
    case '*':
        return (value){.group = a.group, .f = a.f * b.f, .d = a.d * b.d};
    default:
        return (value){.group = a.group, .f = a.f / b.f, .d = a.d / b.d};
    }
}

static value exponential(value x)
{
    return (value){
        .group = x.group, .f = ek_body_exp_falling_f32(x.f), .d = ek_body_exp_falling_f64(x.d)};
}

static value logarithm(value x)
{
    return (value){.group = x.group, .f = ek_body_log_f32(x.f), .d = ek_body_log_f64(x.d)};
}

static value inverse_root(value x, value eps)
{
    x = calculate('+', x, eps);
    x = (value){.group = x.group, .f = sqrtf(x.f), .d = sqrt(x.d)};
    return calculate('/', real(x, 1), x);
}

static bool equal(value a, value b)
{
    return a.group == FLOAT ? a.f == b.f : a.d == b.d;
}

typedef enum shape { SOFTMAX, LOG_SOFTMAX, LOGSUMEXP, LAYER_NORM, RMS_NORM } shape;

static shape shape_of(const char *op)
{
    static const char *const names[] = {"softmax", "log_softmax", "logsumexp", "layer_norm",
                                        "rms_norm"};
    int i = 0;
    while (strcmp(op, names[i]) != 0)
        i++;
    return (shape)i;
}

static value center_of(shape shape, value first, int64_t n)
{
    return shape == LAYER_NORM ? divide(first, n) : first;
}

static value first_of(shape shape, int64_t n, const value *x)
{
    if (shape == RMS_NORM)
        return real(x[0], 0);
    if (shape == LAYER_NORM)
        return reduce(add, n, x);
    value top = real(x[0], x[0].group == FLOAT ? -FLT_MAX : -DBL_MAX);
    for (int64_t i = 0; i < n; i++)
        top = larger_number(top, x[i]);
    return top;
}

static value term_of(shape shape, value x, value center)
{
    value d = calculate('-', x, center);
    if (shape == LOGSUMEXP && equal(x, center))
        return real(x, 1);
    return shape <= LOGSUMEXP
               ? exponential(d)
               : calculate('*', shape == RMS_NORM ? x : d, shape == RMS_NORM ? x : d);
}

static value moved(shape shape, value sum, value from, value to, int64_t n)
{
    value d = calculate('-', from, to);
    if (shape == RMS_NORM || (shape == LOGSUMEXP && equal(from, to)))
        return sum;
    if (shape == LAYER_NORM)
        return calculate('+', sum, calculate('*', real(sum, (double)n), calculate('*', d, d)));
    return calculate('*', sum, exponential(d));
}

static value rest_of(shape shape, value sum, int64_t n, double eps)
{
    if (shape == SOFTMAX)
        return calculate('/', real(sum, 1), sum);
    if (shape <= LOGSUMEXP)
        return logarithm(sum);
    return inverse_root(divide(sum, n), real(sum, eps));
}

/* Chunks of 4,096: the center of each, its terms and their sum; then the row's. */
void ek_reference_rowwise(const char *op, ek_dtype dtype, int64_t n, const void *x,
                          const ek_reference_affine *affine, void *out)
{
    shape shape = shape_of(op);
    int64_t chunks = n > 0 ? (n - 1) / 4096 + 1 : 0;
    value *values = allocate(n, sizeof *values), *terms = allocate(n, sizeof *terms);
    value *firsts = allocate(chunks, sizeof *firsts), *sums = allocate(chunks, sizeof *sums);
    for (int64_t i = 0; i < n; i++)
        values[i] = load(dtype, x, i);
    for (int64_t c = 0; c < chunks; c++) {
        int64_t at = c * 4096, m = n - at < 4096 ? n - at : 4096;
        firsts[c] = first_of(shape, m, values + at);
        value center = center_of(shape, firsts[c], m);
        for (int64_t i = at; i < at + m; i++)
            terms[i] = term_of(shape, values[i], center);
        sums[c] = reduce(add, m, terms + at);
    }
    if (n == 0) {
        if (shape == LOGSUMEXP)
            store(dtype, (value){.group = FLOAT, .f = -INFINITY, .d = -INFINITY}, out, 0);
        goto done;
    }
    value row = shape == LAYER_NORM ? reduce(add, chunks, firsts) : first_of(shape, chunks, firsts);
    value center = center_of(shape, row, n);
    for (int64_t c = 0; c < chunks; c++) {
        int64_t m = n - c * 4096 < 4096 ? n - c * 4096 : 4096;
        firsts[c] = center_of(shape, firsts[c], m);
        sums[c] = moved(shape, sums[c], firsts[c], center, m);
    }
    value rest = rest_of(shape, reduce(add, chunks, sums), n, affine->eps);
    if (shape == LOGSUMEXP) {
        store(dtype, calculate('+', center, rest), out, 0);
        goto done;
    }
    for (int64_t i = 0; i < n; i++) {
        value result = values[i];
        if (shape == SOFTMAX)
            result = calculate('*', terms[i], moved(shape, rest, firsts[i / 4096], center, 0));
        else if (shape == LOG_SOFTMAX)
            result = calculate('-', calculate('-', result, center), rest);
        else if (shape == LAYER_NORM)
            result = calculate('*', calculate('-', result, center), rest);
        else
            result = calculate('*', result, rest);
        if (affine->gain)
            result = calculate('*', result, load(dtype, affine->gain, i));
        if (affine->bias)
            result = calculate('+', result, load(dtype, affine->bias, i));
        store(dtype, result, out, i);
    }
done:
    free(values);
    free(terms);
    free(firsts);
    free(sums);
}
