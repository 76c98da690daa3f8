#include "compare.h"

#include <math.h>
#include <string.h>

#include "einkorn/body.h"

/* Floating-point formats: bits of the fraction and exponents of the least normal number and of the
 * least power of two that is out of range. */
typedef struct format {
    int fraction, least, beyond;
} format;

static const format formats[EK_DTYPES] = {
    [EK_F16] = {10, -14, 16},
    [EK_BF16] = {7, -126, 128},
    [EK_F32] = {23, -126, 128},
};

bool compare_measures(ek_dtype dtype)
{
    return formats[dtype].fraction != 0;
}

static bool same16(uint16_t a, uint16_t b, uint16_t infinity)
{
    uint16_t magnitude = 0x7fff;
    return a == b || ((a & magnitude) > infinity && (b & magnitude) > infinity);
}

static bool same32(const unsigned char *a, const unsigned char *b)
{
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return memcmp(a, b, sizeof x) == 0 || (x != x && y != y);
}

static bool same64(const unsigned char *a, const unsigned char *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return memcmp(a, b, sizeof x) == 0 || (x != x && y != y);
}

static bool same(ek_dtype dtype, const unsigned char *a, const unsigned char *b)
{
    uint16_t x, y;
    switch (dtype) {
    case EK_F16:
    case EK_BF16:
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return same16(x, y, dtype == EK_F16 ? 0x7c00 : 0x7f80);
    case EK_F32:
        return same32(a, b);
    case EK_F64:
        return same64(a, b);
    case EK_C64:
        return same32(a, b) && same32(a + 4, b + 4);
    case EK_C128:
        return same64(a, b) && same64(a + 8, b + 8);
    default:
        return memcmp(a, b, ek_dtype_size(dtype)) == 0;
    }
}

int64_t compare_bits(ek_dtype dtype, int64_t n, const void *a, const void *b, int64_t *first)
{
    size_t size = ek_dtype_size(dtype);
    const unsigned char *x = a, *y = b;
    if (n == 0 || memcmp(x, y, (size_t)n * size) == 0)
        return 0;
    int64_t differing = 0;
    for (int64_t i = 0; i < n; i++, x += size, y += size) {
        if (same(dtype, x, y))
            continue;
        if (differing++ == 0)
            *first = i;
    }
    return differing;
}

static double to_double(ek_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case EK_B8:
        return ((const ek_b8 *)data)[i] != 0;
    case EK_I8:
        return ((const int8_t *)data)[i];
    case EK_I16:
        return ((const int16_t *)data)[i];
    case EK_I32:
        return ((const int32_t *)data)[i];
    case EK_I64:
        return (double)((const int64_t *)data)[i];
    case EK_U8:
        return ((const uint8_t *)data)[i];
    case EK_U16:
        return ((const uint16_t *)data)[i];
    case EK_U32:
        return ((const uint32_t *)data)[i];
    case EK_U64:
        return (double)((const uint64_t *)data)[i];
    case EK_F16:
        return (double)ek_load_f16(((const ek_f16 *)data)[i]);
    case EK_BF16:
        return (double)ek_load_bf16(((const ek_bf16 *)data)[i]);
    case EK_F32:
        return (double)((const float *)data)[i];
    case EK_F64:
        return ((const double *)data)[i];
    case EK_C64:
        return (double)((const ek_c64 *)data)[i].re;
    default:
        return ((const ek_c128 *)data)[i].re;
    }
}

void compare_to_double(ek_dtype dtype, int64_t n, const void *data, double *values)
{
    if (dtype == EK_F32) {
        const float *x = data;
        for (int64_t i = 0; i < n; i++)
            values[i] = (double)x[i];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = to_double(dtype, data, i);
}

/* What is not two finite numbers in range. */
static double unusual_error(const format *f, double result, double exact)
{
    double beyond = ldexp(1.0, f->beyond);
    if (result != result || exact != exact)
        return (result != result) == (exact != exact) ? 0.0 : INFINITY;
    if (fabs(exact) >= beyond)
        return isinf(result) && signbit(result) == signbit(exact) ? 0.0 : INFINITY;
    /* The result is infinite and the exact value is not: rounding takes infinity for the next power
     * of two. */
    double distance = beyond - (signbit(result) ? -exact : exact);
    return distance / ldexp(1.0, f->beyond - 1 - f->fraction);
}

/* 2^-e for the ulp 2^e of the exact value's binade; that of subnormal numbers is the least. */
static double inverse_ulp(const format *f, double exact)
{
    enum { BIAS = 1023, FRACTION = 52 };
    int64_t exponent = (int64_t)(ek_body_bits_f64(exact) >> FRACTION & 0x7ff) - BIAS;
    exponent = exponent < f->least ? f->least : exponent;
    return ek_body_from_bits_f64((uint64_t)(BIAS + f->fraction - exponent) << FRACTION);
}

double compare_error(ek_dtype dtype, int64_t n, const void *results, const double *exact,
                     int64_t *worst)
{
    const format *f = &formats[dtype];
    double beyond = ldexp(1.0, f->beyond);
    double most = -1;
    for (int64_t i = 0; i < n; i++) {
        double result =
            dtype == EK_F32 ? (double)((const float *)results)[i] : to_double(dtype, results, i);
        bool usual = fabs(result) < INFINITY && fabs(exact[i]) < beyond;
        double error = usual ? fabs(result - exact[i]) * inverse_ulp(f, exact[i])
                             : unusual_error(f, result, exact[i]);
        if (error > most) {
            most = error;
            *worst = i;
        }
    }
    return most;
}
