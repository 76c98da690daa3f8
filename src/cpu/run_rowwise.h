/* Running softmax and its like on the CPU: the largest element of a row, the sum of the terms in
 * the order of src/lanes.h, the results. */
#ifndef EK_CPU_RUN_ROWWISE_H
#define EK_CPU_RUN_ROWWISE_H

#include "cpu/tree.h"
#include "rowwise.h"

/* The kernels of one loop. Generated. n is at most EK_CHUNK; `top`, `sum` and `terms` are numbers
 * as the operation computes them. terms may be null; if an operation needs them again they are
 * computed again. */
typedef struct ek_rowwise_kernels {
    ek_tree_kernels max, add;
    /* A row. */
    void (*top)(int64_t n, const void *x, void *top);
    void (*sum)(int64_t n, const void *x, const void *top, void *terms, void *sum);
    void (*results)(int64_t n, const void *x, const void *terms, const void *top, const void *sum,
                    void *out);
    /* `count` rows of n <= EK_LANES elements, `stride` elements apart. */
    void (*short_rows)(int64_t count, int64_t n, int64_t stride, const void *x, int64_t out_stride,
                       void *out);
    /* n rows of `width` columns, `stride` elements apart; their terms `terms_stride`. `lanes` is
     * for ek_tree_lanes(n) sums of each column; top takes in what it holds already. */
    void (*top_columns)(int64_t n, int64_t width, int64_t stride, const void *x, void *top);
    void (*sum_columns)(int64_t n, int64_t width, int64_t stride, const void *x, const void *top,
                        int64_t terms_stride, void *terms, void *lanes);
    void (*result_columns)(int64_t n, int64_t width, int64_t stride, const void *x,
                           int64_t terms_stride, const void *terms, const void *top,
                           const void *sum, int64_t out_stride, void *out);
    uint8_t in_size, size; /* bytes of an element in memory and of a number */
    bool uses_terms;       /* for results, not only for the sum */
} ek_rowwise_kernels;

#endif
