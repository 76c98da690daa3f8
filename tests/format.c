#include "format.h"

#include <math.h>
#include <string.h>

bool ek_is_float(ek_dtype dtype)
{
    return dtype >= EK_F16 && dtype <= EK_F64;
}

bool ek_is_complex(ek_dtype dtype)
{
    return dtype == EK_C64 || dtype == EK_C128;
}

ek_dtype ek_real_dtype(ek_dtype dtype)
{
    return dtype == EK_C64 ? EK_F32 : (dtype == EK_C128 ? EK_F64 : dtype);
}

ek_format ek_format_of(ek_dtype dtype)
{
    switch (dtype) {
    case EK_F16:
        return (ek_format){11, -14, 15};
    case EK_BF16:
        return (ek_format){8, -126, 127};
    case EK_F32:
        return (ek_format){24, -126, 127};
    default:
        return (ek_format){53, -1022, 1023};
    }
}

/* An element of 16 bits with `exponent_bits` bits of exponent. */
static double half_value(uint16_t bits, int exponent_bits)
{
    int fraction_bits = 15 - exponent_bits;
    int exponent = (bits & 0x7fff) >> fraction_bits;
    int fraction = bits & ((1 << fraction_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double magnitude;
    if (exponent == (1 << exponent_bits) - 1)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, 1 - bias - fraction_bits);
    else
        magnitude = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static uint16_t half_bits(double value, ek_format format, int exponent_bits)
{
    int fraction_bits = format.precision - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);
    double magnitude = fabs(value);
    if (isnan(value))
        return (uint16_t)(sign | infinity | (1 << (fraction_bits - 1)));
    int exponent = magnitude > 0 && !isinf(magnitude) ? ilogb(magnitude) : format.min;
    if (exponent < format.min)
        exponent = format.min;
    /* nearbyint rounds to nearest even; a carry into the next power of two is right as it is. */
    double count = nearbyint(ldexp(magnitude, fraction_bits - exponent));
    if (isinf(magnitude) || ldexp(count, exponent - fraction_bits) >= ldexp(1, format.max + 1))
        return sign | infinity;
    return (uint16_t)(sign + ((exponent - format.min) << fraction_bits) + (uint16_t)count);
}

double ek_element_value(ek_dtype dtype, const void *element)
{
    uint16_t bits;
    float single;
    double value;
    switch (dtype) {
    case EK_F16:
    case EK_BF16:
        memcpy(&bits, element, sizeof bits);
        return half_value(bits, dtype == EK_F16 ? 5 : 8);
    case EK_F32:
        memcpy(&single, element, sizeof single);
        return single;
    default:
        memcpy(&value, element, sizeof value);
        return value;
    }
}

void ek_element_round(ek_dtype dtype, double value, void *element)
{
    uint16_t bits;
    float single = (float)value;
    switch (dtype) {
    case EK_F16:
    case EK_BF16:
        bits = half_bits(value, ek_format_of(dtype), dtype == EK_F16 ? 5 : 8);
        memcpy(element, &bits, sizeof bits);
        break;
    case EK_F32:
        memcpy(element, &single, sizeof single);
        break;
    default:
        memcpy(element, &value, sizeof value);
        break;
    }
}

long ek_ulp_exponent(ek_format format, mpfr_srcptr r)
{
    long exponent = (long)mpfr_get_exp(r) - 1;
    if (exponent < format.min)
        exponent = format.min;
    if (exponent > format.max)
        exponent = format.max;
    return exponent - format.precision + 1;
}

double ek_round_to(ek_format format, mpfr_srcptr r)
{
    if (!mpfr_regular_p(r))
        return mpfr_get_d(r, MPFR_RNDN);
    long ulp = ek_ulp_exponent(format, r);
    mpfr_t count;
    mpfr_init2(count, mpfr_get_prec(r));
    mpfr_mul_2si(count, r, -ulp, MPFR_RNDN);
    mpfr_rint(count, count, MPFR_RNDN);
    mpfr_mul_2si(count, count, ulp, MPFR_RNDN);
    double value = mpfr_get_d(count, MPFR_RNDN);
    mpfr_clear(count);
    return fabs(value) >= ldexp(1, format.max) * 2 ? copysign(INFINITY, value) : value;
}

double ek_ulp_distance(ek_format format, double got, mpfr_srcptr r)
{
    if (isnan(got) || mpfr_nan_p(r))
        return isnan(got) && mpfr_nan_p(r) ? 0 : NAN;
    if (mpfr_zero_p(r))
        return got == 0 ? 0 : INFINITY;
    mpfr_t exact, value;
    mpfr_init2(exact, mpfr_get_prec(r));
    mpfr_init2(value, mpfr_get_prec(r));
    mpfr_set_ui_2exp(value, 1, format.max + 1, MPFR_RNDN);
    mpfr_set(exact, r, MPFR_RNDN);
    if (mpfr_cmpabs(exact, value) > 0)
        mpfr_copysign(exact, value, r, MPFR_RNDN);
    if (isinf(got))
        mpfr_setsign(value, value, signbit(got), MPFR_RNDN);
    else
        mpfr_set_d(value, got, MPFR_RNDN);
    long ulp = ek_ulp_exponent(format, exact);
    mpfr_sub(value, value, exact, MPFR_RNDN);
    mpfr_mul_2si(value, value, -ulp, MPFR_RNDN);
    double distance = fabs(mpfr_get_d(value, MPFR_RNDN));
    mpfr_clear(exact);
    mpfr_clear(value);
    return distance;
}
