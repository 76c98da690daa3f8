/* Running softmax and its like on the CPU: the numbers of each chunk, of the row, the results. */
#ifndef EK_CPU_RUN_ROWWISE_H
#define EK_CPU_RUN_ROWWISE_H

#include "cpu/tree.h"
#include "rowwise.h"

/* Lanes of the short rows that are computed together. */
enum { EK_ROW_BATCH = 1024 };

/* Rows of n <= EK_LANES elements and their results, so many elements apart. */
typedef struct ek_short_rows {
    int64_t count, n, step, out_step;
    double eps;
    const void *gain, *bias; /* numbers */
} ek_short_rows;

/* Results of n elements each of `width` columns side by side. */
typedef struct ek_column_results {
    int64_t n, width, step, out_step, terms_step;
    const void *x, *terms; /* terms null: computed again */
    const void *center, *rest, *gain, *bias;
    void *out;
} ek_column_results;

struct ek_aside;

/* The kernels of one loop. Generated. n is at most EK_CHUNK; all but elements and results are
 * numbers as the operation computes them. */
typedef struct ek_rowwise_kernels {
    ek_tree_kernels add;
    ek_tree_kernels first;           /* unused if first_lanes is 0: nothing comes first */
    int16_t first_lanes;             /* the most lanes that it needs */
    uint8_t in_size, out_size, size; /* bytes of an element, a result, and a number */
    uint8_t cost;                    /* of an element, in times of what reading it costs */
    uint8_t affine;                  /* 0, 1: gain, 2: gain and bias */
    bool uses_terms;                 /* for results, not only for the sum */
    /* A chunk: what its elements are first reduced to, and the sum of the terms around the center
     * of that. Keeps the terms unless `terms` is null. `aside` says what else is done meanwhile. */
    void (*chunk)(int64_t n, const void *x, struct ek_aside *aside, void *terms, void *first,
                  void *sum);
    void (*results)(int64_t n, const void *x, const void *terms, const void *center,
                    const void *rest, const void *gain, const void *bias, void *out);
    void (*short_rows)(const ek_short_rows *rows, const void *x, void *out);
    /* n rows of `width` columns, `stride` elements apart. lanes hold ek_tree_lanes(n) numbers of
     * each column, or first_lanes if that is less. */
    void (*first_columns)(int64_t n, int64_t width, int64_t stride, const void *x, void *lanes);
    void (*sum_columns)(int64_t n, int64_t width, int64_t stride, const void *x, const void *center,
                        int64_t terms_stride, void *terms, void *lanes);
    void (*result_columns)(const ek_column_results *results);
    /* `count` numbers side by side, of n elements each, in place: centers of first results, */
    void (*centers)(int64_t count, int64_t n, void *first);
    /* sums for other centers, what results need of sums, */
    void (*move)(int64_t count, int64_t n, const void *from, const void *to, void *sums);
    void (*rests)(int64_t count, int64_t n, double eps, void *sums);
    /* and the results of rows that have one. Null for other operations, as results and
     * result_columns are for these. */
    void (*finish)(int64_t count, const void *center, const void *rest, void *out, int64_t stride);
    /* Numbers of n elements that are `step` apart; null unless it is a norm. */
    void (*widen)(int64_t n, int64_t step, const void *from, void *to);
} ek_rowwise_kernels;

#endif
