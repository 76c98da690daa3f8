/* What an operation must give, computed without the library: integers, booleans, choices and
 * conversions exactly, real functions with MPFR, complex ones with both. */
#ifndef EK_TEST_REFERENCE_H
#define EK_TEST_REFERENCE_H

#include <stdint.h>

#include "op_test.h"

/* Compares n results of a loop with the reference; in[] and out are packed. Ends the test with a
 * message at the first that is wrong. Returns how many were compared. */
int64_t ek_check_exact(const ek_op_test *test, int loop, int64_t n, const void *const *in,
                       const void *out);
int64_t ek_check_mpfr(const ek_op_test *test, int loop, int64_t n, const void *const *in,
                      const void *out);
int64_t ek_check_complex(const ek_op_test *test, int loop, int64_t n, const void *const *in,
                         const void *out);

/* Ends the test: element i should be `wanted`. */
void ek_wrong_element(const ek_op_test *test, int loop, int64_t i, const void *const *in,
                      const void *out, const char *wanted) __attribute__((noreturn));

#endif
