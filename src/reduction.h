/* Reductions on arrays of any shape and strides, and what the kinds that walk rows share. */
#ifndef EK_REDUCTION_H
#define EK_REDUCTION_H

#include <stdbool.h>

#include "kind.h"
#include "layout.h"

/* Rows and their results: kept dimensions lead to a row, row dimensions through its elements, in C
 * order. Dimensions of length 1 are left out, neighbours that are crossed in one step merged. */
typedef struct ek_rows {
    const void *x;
    void *out;
    int64_t rows;
    int64_t n;         /* elements of a row */
    int64_t out_step;  /* from one result of a row to the next, where a row has n results */
    int32_t kept_ndim;
    int32_t row_ndim;
    int64_t kept_shape[EK_MAX_NDIM];
    int64_t kept_x[EK_MAX_NDIM]; /* steps in elements */
    int64_t kept_out[EK_MAX_NDIM];
    int64_t row_shape[EK_MAX_NDIM];
    int64_t row_x[EK_MAX_NDIM];
} ek_rows;

extern const ek_kind ek_kind_reduction;

/* Reductions that have no result for no elements. */
extern const ek_kind ek_kind_reduction_nonempty;

/* The array call of a reduction: checks, merges dimensions, runs. axes null: all. */
ek_status ek_reduction(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t naxes,
                       const int32_t *axes, bool keepdims, ek_array *out);

/* The check of a typed call, and its rows: x[outer][n][inner] along n. `results` is 1, or n where a
 * row has as many results as elements; then out may be x. */
ek_status ek_rows_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t inner,
                        const void *x, void *out, bool per_element, ek_rows *rows);

/* ---- shared by array calls */

/* The loop for these dtypes; out may be null where only the input is known. */
ek_status ek_find_unary_loop(const ek_op_info *op, ek_dtype in, const ek_dtype *out, int32_t *loop);

/* Marks axes: negative ones count from the end. Refuses those out of range and duplicates. axes
 * null: all. */
ek_status ek_mark_axes(const ek_op_info *op, int32_t ndim, int32_t count, const int64_t *axes,
                       bool *marked);

/* The shape of x without its marked dimensions, or with length 1 there. */
void ek_reduced_shape(int32_t ndim, const int64_t *shape, const bool *marked, bool keepdims,
                      int32_t *out_ndim, int64_t *out_shape);

/* Checks the shape of out and that it overlaps neither itself nor x, and sets rows. */
ek_status ek_rows_reduced(const ek_op_info *op, const ek_operand *x, const bool *marked,
                          bool keepdims, const ek_operand *out, ek_rows *rows);

void ek_rows_keep(ek_rows *rows, int64_t length, int64_t x_step, int64_t out_step);
void ek_rows_walk(ek_rows *rows, int64_t length, int64_t x_step);

/* EK_INVALID_ARGUMENT if there are results but no elements to choose them from. */
ek_status ek_refuse_empty(const char *call, const char *name, const ek_rows *rows);

#endif
