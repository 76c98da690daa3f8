#include "contraction.h"

#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "call.h"
#include "cpu/run_contraction.h"
#include "error.h"
#include "reduction.h"
#include "typed.h"

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_rows *rows)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_reduce(queue, kernels, op, loop, rows);
#endif
    return ek_cpu_contract(queue, (const ek_contraction_kernels *)kernels + loop, rows);
}

/* ---- rows of pairs */

static bool along_rows(const ek_rows *rows)
{
    return rows->row_ndim == 0 || rows->n == 0 ||
           (rows->row_ndim == 1 && rows->row_x[0] == 1 && rows->row_y[0] == 1);
}

/* Steps of the innermost kept dimension in the input that leads, and in the other. */
static bool across_rows(const ek_rows *rows, const int64_t *leads, const int64_t *follows)
{
    int32_t last = rows->kept_ndim - 1;
    return rows->row_ndim == 1 && last >= 0 && leads[last] == 1 &&
           (follows[last] == 0 || follows[last] == 1);
}

ek_pair_pattern ek_pair_pattern_of(const ek_rows *rows)
{
    if (along_rows(rows))
        return EK_PAIR_ROWS;
    return across_rows(rows, rows->kept_x, rows->kept_y) ? EK_PAIR_COLUMNS : EK_PAIR_GATHER;
}

static void swap_steps(int32_t ndim, int64_t *x, int64_t *y)
{
    for (int32_t d = 0; d < ndim; d++) {
        int64_t step = x[d];
        x[d] = y[d];
        y[d] = step;
    }
}

/* Makes the input lead along which kernels can go. */
static void order_inputs(ek_rows *rows)
{
    if (ek_pair_pattern_of(rows) != EK_PAIR_GATHER)
        return;
    bool leads = rows->row_ndim == 1 && rows->row_x[0] == 1;
    bool other = rows->row_ndim == 1 && rows->row_y[0] == 1;
    if (!across_rows(rows, rows->kept_y, rows->kept_x) && (leads || !other))
        return;
    const void *x = rows->x;
    rows->x = rows->y;
    rows->y = x;
    swap_steps(rows->kept_ndim, rows->kept_x, rows->kept_y);
    swap_steps(rows->row_ndim, rows->row_x, rows->row_y);
}

/* ---- typed calls */

/* a * b * c of lengths as bytes, or false if that is too much; nothing if one of them is zero. */
static bool bytes_of(int64_t a, int64_t b, int64_t c, size_t size, uint64_t *bytes)
{
    int64_t product = (int64_t)size;
    *bytes = 0;
    if (a == 0 || b == 0 || c == 0)
        return true;
    if (__builtin_mul_overflow(product, a, &product) ||
        __builtin_mul_overflow(product, b, &product) ||
        __builtin_mul_overflow(product, c, &product))
        return false;
    *bytes = (uint64_t)product;
    return true;
}

__attribute__((cold)) static ek_status refuse_length(const char *call, const char *name,
                                                     int64_t length)
{
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is %" PRId64 ": must not be negative", call, name,
                   length);
}

__attribute__((cold)) static ek_status refuse_null(const char *call, const char *name,
                                                   int64_t outer, int64_t n, int64_t inner)
{
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: %s is null with outer, n, inner = %" PRId64 ", %" PRId64 ", %" PRId64, call,
                   name, outer, n, inner);
}

__attribute__((cold)) static ek_status refuse_overlap(const char *call, const void *out,
                                                      const char *name, const void *in)
{
    return ek_fail(EK_OVERLAP, "%s: out at %p overlaps %s at %p", call, out, name, in);
}

ek_status ek_contraction_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n,
                               int64_t inner, const void *x, bool same_y, const void *y, void *out,
                               ek_rows *rows)
{
    size_t in_size = ek_dtype_size((ek_dtype)op->loops[loop].in[0]);
    size_t out_size = ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    size_t larger = in_size > out_size ? in_size : out_size;
    uint64_t x_bytes, y_bytes, out_bytes;
    char call[64];
    if (EK_UNLIKELY((outer | n | inner) < 0))
        return refuse_length(ek_rows_call(op, loop, call),
                             outer < 0 ? "outer"
                             : n < 0   ? "n"
                                       : "inner",
                             outer < 0 ? outer
                             : n < 0   ? n
                                       : inner);
    /* (without rows or elements, what is left may still be too many) */
    if (EK_UNLIKELY(!bytes_of(outer, n ? n : 1, inner, larger, &x_bytes) ||
                    !bytes_of(same_y && outer * inner > 0 ? 1 : outer, n, same_y ? 1 : inner,
                              in_size, &y_bytes)))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: x has %" PRId64 " x %" PRId64 " x %" PRId64 " elements: too many",
                       ek_rows_call(op, loop, call), outer, n, inner);
    x_bytes = n > 0 ? x_bytes / larger * in_size : 0;
    out_bytes = (uint64_t)(outer * inner) * out_size;
    if (EK_UNLIKELY(!out && out_bytes > 0))
        return refuse_null(ek_rows_call(op, loop, call), "out", outer, n, inner);
    if (EK_UNLIKELY(!x && x_bytes > 0))
        return refuse_null(ek_rows_call(op, loop, call), "x", outer, n, inner);
    if (EK_UNLIKELY(!y && y_bytes > 0 && x_bytes > 0))
        return refuse_null(ek_rows_call(op, loop, call), "y", outer, n, inner);
    if (out_bytes > 0 && x_bytes > 0) {
        if (EK_UNLIKELY(!ek_disjoint(out, out_bytes, x, x_bytes)))
            return refuse_overlap(ek_rows_call(op, loop, call), out, "x", x);
        if (EK_UNLIKELY(!ek_disjoint(out, out_bytes, y, y_bytes)))
            return refuse_overlap(ek_rows_call(op, loop, call), out, "y", y);
    }
    ek_rows_start(rows, x, out);
    rows->y = y;
    ek_rows_keep_two(rows, outer, n * inner, same_y ? 0 : n * inner, inner);
    ek_rows_keep_two(rows, inner, 1, same_y ? 0 : 1, 1);
    ek_rows_walk_two(rows, n, inner, same_y ? 1 : inner);
    return EK_OK;
}

/* ---- array calls */

typedef struct contraction_args {
    int32_t naxes;
    const int64_t *axes; /* null: all */
    bool keepdims;
} contraction_args;

/* The steps of an input over the dimensions that both broadcast to. */
static void broadcast_steps(const ek_operand *in, int32_t ndim, const int64_t *shape,
                            int64_t *steps)
{
    int32_t missing = ndim - in->ndim;
    for (int32_t d = 0; d < ndim; d++)
        steps[d] = d < missing || (in->shape[d - missing] == 1 && shape[d] != 1)
                       ? 0
                       : in->stride[d - missing];
}

static ek_status check_out(const ek_op_info *op, const ek_operand *out, const ek_operand *in,
                           int32_t ndim, const int64_t *shape)
{
    char text[128], wanted[128];
    if (out->ndim != ndim ||
        (ndim > 0 && memcmp(out->shape, shape, (size_t)ndim * sizeof *shape) != 0))
        return ek_fail(EK_SHAPE_MISMATCH, "%s: out has shape %s: must be %s", op->call,
                       ek_shape_text(out->ndim, out->shape, text),
                       ek_shape_text(ndim, shape, wanted));
    if (ek_self_overlaps(out))
        return ek_fail(EK_OVERLAP, "%s: out with shape %s overlaps itself", op->call,
                       ek_shape_text(out->ndim, out->shape, text));
    for (int i = 0; i < 2; i++) {
        if (ek_overlaps(out, &in[i]))
            return refuse_overlap(op->call, out->data, op->input_names[i], in[i].data);
    }
    return EK_OK;
}

static ek_status check_dtypes(const ek_op_info *op, ek_dtype x, ek_dtype y)
{
    if (x != y)
        return ek_fail(EK_DTYPE_MISMATCH,
                       "%s: x is %s and y is %s: must be the same; ek_cast converts", op->call,
                       ek_dtype_name(x), ek_dtype_name(y));
    return EK_OK;
}

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const contraction_args *a = args;
    ek_operand operands[2], result;
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &result));
    for (int i = 0; i < 2; i++)
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operands[i]));
    EK_TRY(check_dtypes(op, operands[0].dtype, operands[1].dtype));
    int32_t loop = 0, ndim, out_ndim;
    EK_TRY(ek_rows_loop(op, operands[0].dtype, &result.dtype, &loop));
    int64_t shape[EK_MAX_NDIM], out_shape[EK_MAX_NDIM], x[EK_MAX_NDIM], y[EK_MAX_NDIM];
    bool marked[EK_MAX_NDIM];
    EK_TRY(ek_broadcast_for(op->call, 2, in, &ndim, shape));
    EK_TRY(ek_rows_axes(op, ndim, a->naxes, a->axes, marked));
    ek_rows_reduced_shape(ndim, shape, marked, a->keepdims, &out_ndim, out_shape);
    EK_TRY(check_out(op, &result, operands, out_ndim, out_shape));
    broadcast_steps(&operands[0], ndim, shape, x);
    broadcast_steps(&operands[1], ndim, shape, y);
    ek_rows rows;
    ek_rows_start(&rows, operands[0].data, result.data);
    rows.y = operands[1].data;
    for (int32_t d = 0, to = 0; d < ndim; d++) {
        if (marked[d])
            ek_rows_walk_two(&rows, shape[d], x[d], y[d]);
        else
            ek_rows_keep_two(&rows, shape[d], x[d], y[d], result.stride[to]);
        to += !marked[d] || a->keepdims;
    }
    if (op->run == &ek_kind_contraction)
        order_inputs(&rows);
    return run(queue, op, loop, &rows);
}

ek_status ek_contraction(ek_queue *queue, const ek_op_info *op, const ek_array *x,
                         const ek_array *y, int32_t naxes, const int32_t *axes, bool keepdims,
                         ek_array *out)
{
    int64_t wide[EK_MAX_NDIM];
    if (naxes > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: naxes is %d: must be 0 to %d", op->call,
                       (int)naxes, EK_MAX_NDIM);
    for (int32_t i = 0; axes && i < naxes; i++)
        wide[i] = axes[i];
    const contraction_args args = {naxes, axes ? wide : NULL, keepdims};
    const ek_array *const in[] = {x, y};
    return ek_call(compute, queue, op, in, &args, &out);
}

/* ---- by the row */

static contraction_args read_params(int32_t count, const ek_param *params)
{
    const ek_param *axes = ek_find_param(count, params, "axes");
    const ek_param *keepdims = ek_find_param(count, params, "keepdims");
    contraction_args args = {axes ? axes->count : 0, axes ? axes->list : NULL,
                             keepdims && keepdims->integer};
    return args;
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    contraction_args args = read_params(param_count, params);
    ek_operand operands[2];
    for (int i = 0; i < 2; i++)
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operands[i]));
    EK_TRY(check_dtypes(op, operands[0].dtype, operands[1].dtype));
    int32_t loop = 0, ndim;
    int64_t shape[EK_MAX_NDIM];
    bool marked[EK_MAX_NDIM];
    EK_TRY(ek_rows_loop(op, operands[0].dtype, NULL, &loop));
    EK_TRY(ek_broadcast_for(op->call, 2, in, &ndim, shape));
    EK_TRY(ek_rows_axes(op, ndim, args.naxes, args.axes, marked));
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    ek_rows_reduced_shape(ndim, shape, marked, args.keepdims, &out->ndim, out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    const contraction_args args = read_params(param_count, params);
    return ek_call(compute, queue, op, in, &args, out);
}

const ek_kind ek_kind_contraction = {.infer = infer, .apply = apply, .run = run};
const ek_kind ek_kind_contraction_ordered = {.infer = infer, .apply = apply, .run = run};
