/* Compares results: bit for bit, and with a reference of higher precision. */
#ifndef COMPARE_H
#define COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/dtype.h"

/* How many of n elements differ; any NaN equals any other. *first is the first that does. */
int64_t compare_bits(ek_dtype dtype, int64_t n, const void *a, const void *b, int64_t *first);

/* True for the dtypes whose errors compare_error measures: f16, bf16, f32. */
bool compare_measures(ek_dtype dtype);

/* The largest error of n results in units in the last place of the exact value, which `exact` holds
 * to double precision; *worst is where it is. Infinite where one is NaN and the other is not, or
 * where a result is not infinite though the exact value is out of range. */
double compare_error(ek_dtype dtype, int64_t n, const void *results, const double *exact,
                     int64_t *worst);

/* n real elements of any dtype as doubles; for a complex one its real part. */
void compare_to_double(ek_dtype dtype, int64_t n, const void *data, double *values);

#endif
