/* What var, std and norm2 must give. */
#ifndef EK_TEST_REFERENCE_MOMENTS_H
#define EK_TEST_REFERENCE_MOMENTS_H

#include <stdint.h>

#include "einkorn/dtype.h"

/* The result on n elements, in the output's dtype and bit for bit: the plainest code that follows
 * the rules of src/moments.h and src/lanes.h. */
void ek_reference_moments(const char *op, ek_dtype dtype, int64_t ddof, int64_t n, const void *x,
                          void *out);

/* How far `got`, of dtype `out`, is from the value by the definition, in units in its last place.
 */
double ek_moments_error(const char *op, ek_dtype dtype, int64_t ddof, int64_t n, const void *x,
                        ek_dtype out, const void *got);

#endif
