#include "rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "typed.h"

void ek_rows_start(ek_rows *rows, const void *x, void *out)
{
    rows->x = x;
    rows->y = NULL;
    rows->out = out;
    rows->count = rows->n = 1;
    rows->out_step = rows->ddof = 0;
    rows->kept_ndim = rows->row_ndim = 0;
}

void ek_rows_keep(ek_rows *rows, int64_t length, int64_t x_step, int64_t out_step)
{
    ek_rows_keep_two(rows, length, x_step, 0, out_step);
}

void ek_rows_keep_two(ek_rows *rows, int64_t length, int64_t x_step, int64_t y_step,
                      int64_t out_step)
{
    rows->count *= length;
    if (length == 1)
        return;
    int32_t last = rows->kept_ndim - 1;
    if (last >= 0 && rows->kept_x[last] == x_step * length &&
        rows->kept_y[last] == y_step * length && rows->kept_out[last] == out_step * length)
        rows->kept_shape[last] *= length;
    else
        rows->kept_shape[++last] = length;
    rows->kept_x[last] = x_step;
    rows->kept_y[last] = y_step;
    rows->kept_out[last] = out_step;
    rows->kept_ndim = last + 1;
}

void ek_rows_walk(ek_rows *rows, int64_t length, int64_t x_step)
{
    ek_rows_walk_two(rows, length, x_step, 0);
}

void ek_rows_walk_two(ek_rows *rows, int64_t length, int64_t x_step, int64_t y_step)
{
    rows->n *= length;
    if (length == 1)
        return;
    int32_t last = rows->row_ndim - 1;
    if (last >= 0 && rows->row_x[last] == x_step * length && rows->row_y[last] == y_step * length)
        rows->row_shape[last] *= length;
    else
        rows->row_shape[++last] = length;
    rows->row_x[last] = x_step;
    rows->row_y[last] = y_step;
    rows->row_ndim = last + 1;
}

const char *ek_rows_call(const ek_op_info *op, int32_t loop, char *text)
{
    snprintf(text, 64, "%s_%s", op->call, ek_dtype_name((ek_dtype)op->loops[loop].in[0]));
    return text;
}

/* a * b of lengths, where a zero does not hide an overflow of the others. */
static bool grows(int64_t *product, int64_t length, bool *empty)
{
    *empty |= length == 0;
    return length == 0 || !__builtin_mul_overflow(*product, length, product);
}

static int64_t largest_size(const ek_op_info *op, int32_t loop)
{
    size_t in = ek_dtype_size((ek_dtype)op->loops[loop].in[0]);
    size_t out = ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    return (int64_t)(in > out ? in : out);
}

__attribute__((cold)) static ek_status refuse_typed(const ek_op_info *op, int32_t loop,
                                                    int64_t outer, int64_t n, int64_t inner,
                                                    const void *x, void *out)
{
    char call[64];
    ek_rows_call(op, loop, call);
    const struct {
        const char *name;
        int64_t length;
    } lengths[] = {{"outer", outer}, {"n", n}, {"inner", inner}};
    for (int i = 0; i < 3; i++) {
        if (lengths[i].length < 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %" PRId64 ": must not be negative", call,
                           lengths[i].name, lengths[i].length);
    }
    int64_t bytes = largest_size(op, loop);
    bool empty = false;
    if (!grows(&bytes, outer, &empty) || !grows(&bytes, n, &empty) || !grows(&bytes, inner, &empty))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: x has %" PRId64 " x %" PRId64 " x %" PRId64 " elements: too many", call,
                       outer, n, inner);
    if (!x || !out)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s is null with outer, n, inner = %" PRId64 ", %" PRId64 ", %" PRId64,
                       call, out ? "x" : "out", outer, n, inner);
    return ek_fail(EK_OVERLAP, "%s: out at %p overlaps x at %p", call, out, x);
}

ek_status ek_rows_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t inner,
                        const void *x, void *out, bool per_element, ek_rows *rows)
{
    size_t in_size = ek_dtype_size((ek_dtype)op->loops[loop].in[0]);
    size_t out_size = ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    int64_t size = largest_size(op, loop);
    bool empty = false;
    bool fits = outer >= 0 && n >= 0 && inner >= 0 && grows(&size, outer, &empty) &&
                grows(&size, n, &empty) && grows(&size, inner, &empty);
    if (EK_UNLIKELY(!fits))
        return refuse_typed(op, loop, outer, n, inner, x, out);
    int64_t results = outer * inner * (per_element ? n : 1);
    bool disjoint =
        (per_element && x == out && in_size == out_size) ||
        ek_disjoint(out, (uint64_t)results * out_size, x, (uint64_t)(outer * n * inner) * in_size);
    if (EK_UNLIKELY((!out && results > 0) || (!x && !empty) ||
                    (results > 0 && !empty && !disjoint)))
        return refuse_typed(op, loop, outer, n, inner, x, out);
    ek_rows_start(rows, x, out);
    ek_rows_keep(rows, outer, n * inner, per_element ? n * inner : inner);
    ek_rows_keep(rows, inner, 1, 1);
    ek_rows_walk(rows, n, inner);
    rows->out_step = per_element ? inner : 0;
    return EK_OK;
}

ek_status ek_rows_loop(const ek_op_info *op, ek_dtype in, const ek_dtype *out, int32_t *loop)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        if (op->loops[i].in[0] == in && (!out || op->loops[i].out[0] == *out)) {
            *loop = i;
            return EK_OK;
        }
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: no kernel takes (%s)%s%s; ek_cast converts", op->call,
                   ek_dtype_name(in), out ? " to " : "", out ? ek_dtype_name(*out) : "");
}

ek_status ek_rows_axes(const ek_op_info *op, int32_t ndim, int32_t count, const int64_t *axes,
                       bool *marked)
{
    for (int32_t d = 0; d < ndim; d++)
        marked[d] = !axes;
    if (count < 0 || (!axes && count > 0))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: naxes is %d with%s axes: must be the number of axes", op->call,
                       (int)count, axes ? "" : "out");
    for (int32_t i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + ndim : axes[i];
        if (axis < 0 || axis >= ndim)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: axis is %" PRId64 ": x has %d dimensions",
                           op->call, axes[i], (int)ndim);
        if (marked[axis])
            return ek_fail(EK_INVALID_ARGUMENT, "%s: axis %" PRId64 " is given twice", op->call,
                           axes[i]);
        marked[axis] = true;
    }
    return EK_OK;
}

ek_status ek_rows_axis(const ek_op_info *op, int32_t ndim, int64_t axis, int32_t *found)
{
    bool marked[EK_MAX_NDIM];
    EK_TRY(ek_rows_axes(op, ndim, 1, &axis, marked));
    *found = (int32_t)(axis < 0 ? axis + ndim : axis);
    return EK_OK;
}

void ek_rows_reduced_shape(int32_t ndim, const int64_t *shape, const bool *marked, bool keepdims,
                           int32_t *out_ndim, int64_t *out_shape)
{
    *out_ndim = 0;
    for (int32_t d = 0; d < ndim; d++) {
        if (!marked[d] || keepdims)
            out_shape[(*out_ndim)++] = marked[d] ? 1 : shape[d];
    }
}

static ek_status check_shape(const ek_op_info *op, const ek_operand *out, int32_t ndim,
                             const int64_t *shape)
{
    char text[128], wanted[128];
    if (out->ndim == ndim &&
        (ndim == 0 || memcmp(out->shape, shape, (size_t)ndim * sizeof *shape) == 0))
        return EK_OK;
    return ek_fail(EK_SHAPE_MISMATCH, "%s: out has shape %s: must be %s", op->call,
                   ek_shape_text(out->ndim, out->shape, text), ek_shape_text(ndim, shape, wanted));
}

static ek_status check_self_overlap(const ek_op_info *op, const ek_operand *out)
{
    char text[128];
    if (ek_self_overlaps(out))
        return ek_fail(EK_OVERLAP, "%s: out with shape %s overlaps itself", op->call,
                       ek_shape_text(out->ndim, out->shape, text));
    return EK_OK;
}

static ek_status refuse_overlap(const ek_op_info *op, const ek_operand *x, const ek_operand *out)
{
    return ek_fail(EK_OVERLAP, "%s: out at %p overlaps x at %p", op->call, out->data, x->data);
}

ek_status ek_rows_reduce(const ek_op_info *op, const ek_operand *x, const bool *marked,
                         bool keepdims, const ek_operand *out, ek_rows *rows)
{
    int32_t ndim = 0;
    int64_t shape[EK_MAX_NDIM];
    ek_rows_reduced_shape(x->ndim, x->shape, marked, keepdims, &ndim, shape);
    EK_TRY(check_shape(op, out, ndim, shape));
    EK_TRY(check_self_overlap(op, out));
    if (ek_overlaps(out, x))
        return refuse_overlap(op, x, out);
    ek_rows_start(rows, x->data, out->data);
    for (int32_t d = 0, to = 0; d < x->ndim; d++) {
        if (marked[d])
            ek_rows_walk(rows, x->shape[d], x->stride[d]);
        else
            ek_rows_keep(rows, x->shape[d], x->stride[d], out->stride[to]);
        to += !marked[d] || keepdims;
    }
    return EK_OK;
}

static bool same_steps(const ek_operand *a, const ek_operand *b)
{
    bool same = a->data == b->data && ek_dtype_size(a->dtype) == ek_dtype_size(b->dtype);
    for (int32_t d = 0; d < a->ndim; d++)
        same &= a->shape[d] <= 1 || a->stride[d] == b->stride[d];
    return same;
}

ek_status ek_rows_along(const ek_op_info *op, const ek_operand *x, int32_t axis,
                        const ek_operand *out, ek_rows *rows)
{
    EK_TRY(check_shape(op, out, x->ndim, x->shape));
    EK_TRY(check_self_overlap(op, out));
    if (!same_steps(x, out) && ek_overlaps(out, x))
        return refuse_overlap(op, x, out);
    ek_rows_start(rows, x->data, out->data);
    for (int32_t d = 0; d < x->ndim; d++) {
        if (d == axis)
            ek_rows_walk(rows, x->shape[d], x->stride[d]);
        else
            ek_rows_keep(rows, x->shape[d], x->stride[d], out->stride[d]);
    }
    rows->out_step = out->stride[axis];
    return EK_OK;
}

ek_status ek_rows_flat(const ek_op_info *op, const ek_operand *x, const ek_operand *out,
                       ek_rows *rows)
{
    EK_TRY(check_shape(op, out, 1, &x->size));
    EK_TRY(check_self_overlap(op, out));
    ek_rows_start(rows, x->data, out->data);
    for (int32_t d = 0; d < x->ndim; d++)
        ek_rows_walk(rows, x->shape[d], x->stride[d]);
    rows->out_step = out->stride[0];
    bool same = x->data == out->data && ek_dtype_size(x->dtype) == ek_dtype_size(out->dtype) &&
                (rows->row_ndim == 0 || (rows->row_ndim == 1 && rows->row_x[0] == rows->out_step));
    if (!same && ek_overlaps(out, x))
        return refuse_overlap(op, x, out);
    return EK_OK;
}

ek_status ek_rows_need_elements(const char *call, const ek_rows *rows)
{
    if (EK_UNLIKELY(rows->n == 0 && rows->count > 0))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: x has no element for %" PRId64 " results: there is no identity", call,
                       rows->count);
    return EK_OK;
}
