/* Floating formats as numbers: conversions and rounding written independently of the library. */
#ifndef EK_TEST_FORMAT_H
#define EK_TEST_FORMAT_H

#include <mpfr.h>
#include <stdbool.h>

#include "einkorn/dtype.h"

/* A number is m * 2^(e - precision + 1) with m of `precision` bits and min <= e <= max. */
typedef struct ek_format {
    int precision, min, max;
} ek_format;

bool ek_is_float(ek_dtype dtype);
bool ek_is_complex(ek_dtype dtype);

/* The dtype of a complex number's parts; the dtype itself otherwise. */
ek_dtype ek_real_dtype(ek_dtype dtype);

/* The format of a floating dtype. */
ek_format ek_format_of(ek_dtype dtype);

/* The value of an element of a floating dtype: exact. */
double ek_element_value(ek_dtype dtype, const void *element);

/* Rounds to nearest even and stores an element of a floating dtype. */
void ek_element_round(ek_dtype dtype, double value, void *element);

/* The exponent of the unit in the last place at r, which is neither zero nor infinite nor NaN. */
long ek_ulp_exponent(ek_format format, mpfr_srcptr r);

/* r rounded to nearest even; overflow gives infinity. The sign of zero is r's. */
double ek_round_to(ek_format format, mpfr_srcptr r);

/* |got - r| in units in the last place at r. Infinity counts as the number after the largest. NaN
 * is at distance 0 from NaN; from everything else the distance is NaN, which no bound admits. */
double ek_ulp_distance(ek_format format, double got, mpfr_srcptr r);

#endif
