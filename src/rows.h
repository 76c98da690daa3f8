/* Arrays seen as rows, for the kinds that reduce: which elements belong to a result, in which
 * order. */
#ifndef EK_ROWS_H
#define EK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "einkorn/table.h"
#include "layout.h"

/* Kept dimensions lead to a row, row dimensions through its elements, in C order. Dimensions of
 * length 1 are left out, neighbours that are crossed in one step are merged. */
typedef struct ek_rows {
    const void *x;
    const void *y; /* a second input with elements in the same order; null: there is none */
    void *out;
    int64_t count;    /* of rows */
    int64_t n;        /* elements of a row */
    int64_t out_step; /* from one result of a row to the next, if a row has n of them */
    int64_t ddof;     /* what a variance subtracts from n */
    int32_t kept_ndim;
    int32_t row_ndim;
    int64_t kept_shape[EK_MAX_NDIM];
    int64_t kept_x[EK_MAX_NDIM]; /* steps in elements */
    int64_t kept_out[EK_MAX_NDIM];
    int64_t row_shape[EK_MAX_NDIM];
    int64_t row_x[EK_MAX_NDIM];
    int64_t kept_y[EK_MAX_NDIM]; /* of y, where there is one */
    int64_t row_y[EK_MAX_NDIM];
} ek_rows;

/* Dimensions are added from the outermost to the innermost. */
void ek_rows_start(ek_rows *rows, const void *x, void *out);
void ek_rows_keep(ek_rows *rows, int64_t length, int64_t x_step, int64_t out_step);
void ek_rows_walk(ek_rows *rows, int64_t length, int64_t x_step);

/* The same with two inputs: rows->y is set before. */
void ek_rows_keep_two(ek_rows *rows, int64_t length, int64_t x_step, int64_t y_step,
                      int64_t out_step);
void ek_rows_walk_two(ek_rows *rows, int64_t length, int64_t x_step, int64_t y_step);

/* The check of a typed call over x[outer][n][inner], and its rows along n. If a row has a result
 * per element, out is shaped as x and may be x; else it is out[outer][inner]. */
ek_status ek_rows_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t inner,
                        const void *x, void *out, bool per_element, ek_rows *rows);

/* The loop for these dtypes. out may be null where only the input is known. */
ek_status ek_rows_loop(const ek_op_info *op, ek_dtype in, const ek_dtype *out, int32_t *loop);

/* One axis, counted from the end if negative, as 0 to ndim - 1. */
ek_status ek_rows_axis(const ek_op_info *op, int32_t ndim, int64_t axis, int32_t *found);

/* Marks axes, negative ones counted from the end, no axis twice. axes null: all. */
ek_status ek_rows_axes(const ek_op_info *op, int32_t ndim, int32_t count, const int64_t *axes,
                       bool *marked);

/* The shape that is left without the marked dimensions, or with length 1 in their place. */
void ek_rows_reduced_shape(int32_t ndim, const int64_t *shape, const bool *marked, bool keepdims,
                           int32_t *out_ndim, int64_t *out_shape);

/* Rows along the marked dimensions with a result each. Checks the shape of out, and that it
 * overlaps neither itself nor x. */
ek_status ek_rows_reduce(const ek_op_info *op, const ek_operand *x, const bool *marked,
                         bool keepdims, const ek_operand *out, ek_rows *rows);

/* Rows along one axis with a result per element. Checks likewise; out may be x. */
ek_status ek_rows_along(const ek_op_info *op, const ek_operand *x, int32_t axis,
                        const ek_operand *out, ek_rows *rows);

/* One row of all elements with a result each. Checks likewise: out has one dimension; it may be an
 * x of contiguous elements. */
ek_status ek_rows_flat(const ek_op_info *op, const ek_operand *x, const ek_operand *out,
                       ek_rows *rows);

/* EK_INVALID_ARGUMENT if there are results but no elements to choose them from. */
ek_status ek_rows_need_elements(const char *call, const ek_rows *rows);

/* The typed call's name, ek_sum_f32; text holds at least 64 characters. */
const char *ek_rows_call(const ek_op_info *op, int32_t loop, char *text);

/* What a reduction's result may be divided by: n - ddof, or the largest number if that has more. */
static inline int64_t ek_rows_divisor(const ek_rows *rows)
{
    int64_t divisor;
    return __builtin_sub_overflow(rows->n, rows->ddof, &divisor) ? INT64_MAX : divisor;
}

/* Offsets of the first element and the (first) result of row `row`, in elements. */
static inline void ek_rows_offsets(const ek_rows *rows, int64_t row, int64_t *x, int64_t *out)
{
    *x = *out = 0;
    for (int32_t d = rows->kept_ndim - 1; d >= 0; d--) {
        int64_t at = row % rows->kept_shape[d];
        row /= rows->kept_shape[d];
        *x += at * rows->kept_x[d];
        *out += at * rows->kept_out[d];
    }
}

/* Offset of the first element of y in row `row`, in elements. */
static inline int64_t ek_rows_offset_y(const ek_rows *rows, int64_t row)
{
    int64_t y = 0;
    for (int32_t d = rows->kept_ndim - 1; d >= 0; d--) {
        y += row % rows->kept_shape[d] * rows->kept_y[d];
        row /= rows->kept_shape[d];
    }
    return y;
}

#endif
