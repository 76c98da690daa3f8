/* What an operation must give, computed without the library: integers, booleans, choices and
 * conversions exactly, real functions with MPFR, complex ones with both. */
#ifndef EK_TEST_REFERENCE_H
#define EK_TEST_REFERENCE_H

#include <stdint.h>

#include "op_test.h"

/* Packed operands of a loop, and the parameters of the call. */
typedef struct ek_results {
    int64_t n;
    const void *const *in;
    const double *params;
    const void *const *out;
} ek_results;

/* Compares the results of a loop with the reference. Ends the test with a message at the first that
 * is wrong. Returns how many were compared. */
int64_t ek_check_exact(const ek_op_test *test, int loop, const ek_results *results);
int64_t ek_check_mpfr(const ek_op_test *test, int loop, const ek_results *results);
int64_t ek_check_complex(const ek_op_test *test, int loop, const ek_results *results);

/* Ends the test: element i of output k should be `wanted`. */
void ek_wrong_element(const ek_op_test *test, int loop, const ek_results *results, int k, int64_t i,
                      const char *wanted) __attribute__((noreturn));

#endif
