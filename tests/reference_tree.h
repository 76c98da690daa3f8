/* What reductions, argmax and softmax must give, bit for bit: the plainest code that follows the
 * rule of src/lanes.h, one element at a time. */
#ifndef EK_TEST_REFERENCE_TREE_H
#define EK_TEST_REFERENCE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/dtype.h"

/* True of the reductions and scans below. */
bool ek_reference_knows(const char *op);

/* The result of a reduction to a number or to an index, but for moments, by its name, on n elements,
 * in the output's dtype. */
void ek_reference_reduce(const char *op, ek_dtype dtype, int64_t n, const void *x, void *out);

/* Beside x, what norms take: n elements each, or null. */
typedef struct ek_reference_affine {
    const void *gain, *bias;
    double eps;
} ek_reference_affine;

/* What a row gives: n results of "softmax", "log_softmax", "layer_norm", "rms_norm", or the one of
 * "logsumexp". */
void ek_reference_rowwise(const char *op, ek_dtype dtype, int64_t n, const void *x,
                          const ek_reference_affine *affine, void *out);

/* The n results of "cumsum", "cumprod", "cummax", "cummin", "nancumsum" or "nancumprod" on a row, by the rule of
 * src/prefixes.h, in the output's dtype. */
void ek_reference_scan(const char *op, ek_dtype dtype, int64_t n, const void *x, void *out);

#endif
