/* Test values of any dtype. A value depends on the seed and its number alone. */
#ifndef EK_TEST_VALUES_H
#define EK_TEST_VALUES_H

#include <stdint.h>

#include "einkorn/dtype.h"

/* Random bits for a counter. */
uint64_t ek_random(uint64_t seed, uint64_t counter);

/* Values of everyday size: floats of both signs from 2^-12 to 2^5, integers mostly below 100. */
void ek_ordinary_values(ek_dtype dtype, uint64_t seed, int64_t n, void *values);

/* Any bit patterns, NaN and infinity among them. */
void ek_random_values(ek_dtype dtype, uint64_t seed, int64_t n, void *values);

/* Zeros, infinities, NaN, the ends of the range and of the subnormal range, values around powers of
 * two. The most telling ones come first. */
int ek_special_count(ek_dtype dtype);
void ek_special_value(ek_dtype dtype, int index, void *value);

#endif
