#include "reference_moments.h"

#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "einkorn/body.h"
#include "format.h"

enum { LANES = 128, CHUNK = 4096 };

/* Elements as doubles, the parts of complex ones apart. */
typedef struct elements {
    int64_t n;
    int parts; /* 1 or 2 */
    double *of[2];
} elements;

/* Results of chunks: a deviation's, or the sum of squares times scale^2. */
typedef struct part {
    double count, center[2], offset[2], m2;
    double sum, scale;
} part;

static void *allocate(int64_t n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

#define INTEGER(type)                                                                              \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, element, sizeof value);                                                     \
        return (double)value;                                                                      \
    }

static double value_of(ek_dtype dtype, const void *element)
{
    switch (dtype) {
    case EK_B8:
        return *(const uint8_t *)element != 0;
    case EK_I8:
        INTEGER(int8_t)
    case EK_I16:
        INTEGER(int16_t)
    case EK_I32:
        INTEGER(int32_t)
    case EK_I64:
        INTEGER(int64_t)
    case EK_U8:
        INTEGER(uint8_t)
    case EK_U16:
        INTEGER(uint16_t)
    case EK_U32:
        INTEGER(uint32_t)
    case EK_U64:
        INTEGER(uint64_t)
    default:
        return ek_element_value(dtype, element);
    }
}

static elements load(ek_dtype dtype, int64_t n, const void *x)
{
    ek_dtype part = ek_real_dtype(dtype);
    int64_t size = (int64_t)ek_dtype_size(part);
    elements e = {n, ek_is_complex(dtype) ? 2 : 1, {NULL, NULL}};
    for (int p = 0; p < e.parts; p++) {
        e.of[p] = allocate(n, sizeof(double));
        for (int64_t i = 0; i < n; i++) {
            const char *at = (const char *)x + (i * e.parts + p) * size;
            e.of[p][i] = value_of(part, at);
        }
    }
    return e;
}

static void release(elements *e)
{
    free(e->of[0]);
    free(e->of[1]);
}

/* The sum of a chunk's terms by the rule of lanes. */
static double add_chunk(int64_t n, const double *term)
{
    double lanes[LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        lanes[i % LANES] += term[i];
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int j = 0; j < half; j++)
            lanes[j] += lanes[j + half];
    }
    return lanes[0];
}

static double center_of(int64_t n, const double *x)
{
    double sum[16];
    if (n < 32)
        return x[0];
    for (int i = 0; i < 16; i++)
        sum[i] = x[i] / 16;
    for (int half = 8; half > 0; half /= 2) {
        for (int j = 0; j < half; j++)
            sum[j] += sum[j + half];
    }
    return sum[0];
}

static part spread_of_chunk(const elements *e, int64_t first, int64_t n)
{
    part result = {.count = (double)n};
    double square[CHUNK] = {0}, term[CHUNK], cancels[2] = {0, 0};
    for (int p = 0; p < e->parts; p++) {
        result.center[p] = center_of(n, e->of[p] + first);
        for (int64_t i = 0; i < n; i++) {
            term[i] = e->of[p][first + i] - result.center[p];
            square[i] = p ? square[i] + term[i] * term[i] : term[i] * term[i];
        }
        double sum = add_chunk(n, term);
        result.offset[p] = sum / (double)n;
        cancels[p] = sum * result.offset[p];
    }
    double squares = add_chunk(n, square);
    result.m2 = squares - (e->parts == 2 ? cancels[0] + cancels[1] : cancels[0]);
    if (result.m2 < 0)
        result.m2 = 0;
    if (squares == INFINITY)
        result.m2 = squares;
    return result;
}

static double scaled_squares(const elements *e, int64_t first, int64_t n, double scale)
{
    double square[CHUNK];
    for (int64_t i = 0; i < n; i++) {
        double re = e->of[0][first + i] * scale;
        double im = e->parts == 2 ? e->of[1][first + i] * scale : 0;
        square[i] = e->parts == 2 ? re * re + im * im : re * re;
    }
    return add_chunk(n, square);
}

static part squares_of_chunk(const elements *e, int64_t first, int64_t n, bool scales)
{
    part result = {.scale = 1, .sum = scaled_squares(e, first, n, 1)};
    if (scales && result.sum < 0x1p-900)
        result.scale = 0x1p+600;
    else if (scales && !(result.sum <= 0x1p+960))
        result.scale = 0x1p-600;
    if (result.scale != 1)
        result.sum = scaled_squares(e, first, n, result.scale);
    return result;
}

static part join(bool spread, part a, part b)
{
    part s = {.count = a.count + b.count};
    double share = b.count / s.count, apart[2];
    for (int p = 0; p < 2; p++) {
        s.center[p] = a.center[p];
        apart[p] = (b.center[p] - a.center[p]) + (b.offset[p] - a.offset[p]);
        s.offset[p] = a.offset[p] + apart[p] * share;
    }
    double distance = apart[0] * apart[0] + apart[1] * apart[1];
    s.m2 = (a.m2 + b.m2) + distance * (a.count * share);
    if (spread)
        return s;
    s.scale = a.scale < b.scale ? a.scale : b.scale;
    double to_a = s.scale / a.scale, to_b = s.scale / b.scale;
    s.sum = a.sum * to_a * to_a + b.sum * to_b * to_b;
    return s;
}

/* The tree above chunks: lanes begin with their first part, and those without are left out. */
static part join_all(bool spread, int64_t n, part *parts)
{
    while (n > 1) {
        int64_t chunks = (n + CHUNK - 1) / CHUNK;
        for (int64_t c = 0; c < chunks; c++) {
            part lanes[LANES];
            int64_t left = n - c * CHUNK < CHUNK ? n - c * CHUNK : CHUNK;
            int64_t used = left < LANES ? left : LANES;
            for (int64_t i = 0; i < left; i++) {
                part next = parts[c * CHUNK + i];
                lanes[i % LANES] = i < LANES ? next : join(spread, lanes[i % LANES], next);
            }
            for (int64_t half = LANES / 2; half > 0; half /= 2) {
                for (int64_t j = 0; j < half && j + half < used; j++)
                    lanes[j] = join(spread, lanes[j], lanes[j + half]);
                used = used < half ? used : half;
            }
            parts[c] = lanes[0];
        }
        n = chunks;
    }
    return parts[0];
}

static void store(ek_dtype dtype, double value, void *out)
{
    if (dtype == EK_F32 || dtype == EK_C64)
        *(float *)out = (float)value;
    else if (dtype == EK_F16 || dtype == EK_BF16)
        ek_element_round(dtype, value, out);
    else
        *(double *)out = value;
}

void ek_reference_moments(const char *op, ek_dtype dtype, int64_t ddof, int64_t n, const void *x,
                          void *out)
{
    bool spread = strcmp(op, "norm2") != 0;
    bool scales = dtype == EK_F64 || dtype == EK_C128;
    int64_t chunks = (n + CHUNK - 1) / CHUNK;
    elements e = load(dtype, n, x);
    part *parts = allocate(chunks, sizeof *parts), result = {.scale = 1};
    for (int64_t c = 0; c < chunks; c++) {
        int64_t left = n - c * CHUNK < CHUNK ? n - c * CHUNK : CHUNK;
        parts[c] = spread ? spread_of_chunk(&e, c * CHUNK, left)
                          : squares_of_chunk(&e, c * CHUNK, left, scales);
    }
    if (chunks > 0)
        result = join_all(spread, chunks, parts);
    double value = sqrt(result.sum) / result.scale;
    if (spread) {
        bool finite = isfinite(result.center[0]) && isfinite(result.center[1]) &&
                      isfinite(result.offset[0]) && isfinite(result.offset[1]);
        value = n - ddof > 0 && finite ? result.m2 / (double)(n - ddof) : NAN;
        if (strcmp(op, "std") == 0)
            value = sqrt(value);
    }
    store(dtype, value, out);
    free(parts);
    release(&e);
}

double ek_moments_error(const char *op, ek_dtype dtype, int64_t ddof, int64_t n, const void *x,
                        ek_dtype out, const void *got)
{
    /* Wide enough for a mean of numbers whose distances from it are much smaller. */
    enum { PRECISION = 512 };
    mpfr_t mean, term, sum;
    bool spread = strcmp(op, "norm2") != 0;
    elements e = load(dtype, n, x);
    mpfr_inits2(PRECISION, mean, term, sum, (mpfr_ptr)0);
    mpfr_set_zero(sum, 1);
    for (int p = 0; p < e.parts; p++) {
        mpfr_set_zero(mean, 1);
        for (int64_t i = 0; spread && i < n; i++)
            mpfr_add_d(mean, mean, e.of[p][i], MPFR_RNDN);
        mpfr_div_si(mean, mean, n ? (long)n : 1, MPFR_RNDN);
        for (int64_t i = 0; i < n; i++) {
            mpfr_d_sub(term, e.of[p][i], mean, MPFR_RNDN);
            mpfr_sqr(term, term, MPFR_RNDN);
            mpfr_add(sum, sum, term, MPFR_RNDN);
        }
    }
    if (spread)
        mpfr_div_si(sum, sum, (long)(n - ddof), MPFR_RNDN);
    if (strcmp(op, "var") != 0)
        mpfr_sqrt(sum, sum, MPFR_RNDN);
    double result = ek_ulp_distance(ek_format_of(out), ek_element_value(out, got), sum);
    mpfr_clears(mean, term, sum, (mpfr_ptr)0);
    release(&e);
    return result;
}
