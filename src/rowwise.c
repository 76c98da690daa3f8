#include "rowwise.h"

#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "call.h"
#include "cpu/run_rowwise.h"
#include "error.h"
#include "params.h"
#include "reduction.h"
#include "typed.h"

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_rows *rows,
                     const ek_affine *affine)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_rowwise(queue, kernels, op, loop, rows, affine);
#endif
    return ek_cpu_rowwise(queue, (const ek_rowwise_kernels *)kernels + loop, rows, affine);
}

static ek_status run_reduction(ek_queue *queue, const ek_op_info *op, int32_t loop,
                               const ek_rows *rows)
{
    return run(queue, op, loop, rows, NULL);
}

static ek_status check_eps(const char *call, const ek_op_info *op, double eps)
{
    return ek_check_value(call, ek_param_of(op, "eps"), eps);
}

/* Gain or bias: one dimension, as long as the rows, of the dtype of x, apart from out. */
static ek_status check_along(const ek_op_info *op, const ek_operand *x, int32_t axis,
                             const ek_operand *operand, const ek_operand *out)
{
    char text[128];
    if (operand->dtype != x->dtype)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: %s is %s: must be as x, %s; ek_cast converts",
                       op->call, operand->name, ek_dtype_name(operand->dtype),
                       ek_dtype_name(x->dtype));
    if (operand->ndim != 1 || operand->shape[0] != x->shape[axis])
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must be (%" PRId64 ",)", op->call,
                       operand->name, ek_shape_text(operand->ndim, operand->shape, text),
                       x->shape[axis]);
    if (out && ek_overlaps(out, operand))
        return ek_fail(EK_OVERLAP, "%s: out at %p overlaps %s at %p", op->call, out->data,
                       operand->name, operand->data);
    return EK_OK;
}

static ek_status read_affine(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                             const ek_operand *x, int32_t axis, const ek_operand *out,
                             ek_affine *affine)
{
    const void **data[] = {&affine->gain, &affine->bias};
    int64_t *step[] = {&affine->gain_step, &affine->bias_step};
    for (int32_t i = 1; i < op->inputs; i++) {
        ek_operand operand;
        if (!in[i])
            continue;
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operand));
        EK_TRY(check_along(op, x, axis, &operand, out));
        *data[i - 1] = operand.data;
        *step[i - 1] = operand.stride[0];
    }
    return EK_OK;
}

typedef struct rowwise_args {
    int64_t axis;
    bool is_norm;
    double eps; /* of a norm */
} rowwise_args;

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const rowwise_args *a = args;
    ek_affine affine = {.gain_step = 1, .bias_step = 1, .eps = a->eps};
    ek_operand x, result;
    int32_t loop = 0, along = 0;
    ek_rows rows;
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &result));
    EK_TRY(ek_operand_init(op->call, op->input_names[0], queue, in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, &result.dtype, &loop));
    EK_TRY(ek_rows_axis(op, x.ndim, a->axis, &along));
    if (a->is_norm) {
        EK_TRY(check_eps(op->call, op, a->eps));
        EK_TRY(read_affine(queue, op, in, &x, along, &result, &affine));
    }
    EK_TRY(ek_rows_along(op, &x, along, &result, &rows));
    return run(queue, op, loop, &rows, a->is_norm ? &affine : NULL);
}

ek_status ek_rowwise(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                     ek_array *out)
{
    const rowwise_args args = {.axis = axis};
    return ek_call(compute, queue, op, &x, &args, &out);
}

ek_status ek_norm(ek_queue *queue, const ek_op_info *op, const ek_array *const *in, int32_t axis,
                  double eps, ek_array *out)
{
    const rowwise_args args = {axis, true, eps};
    return ek_call(compute, queue, op, in, &args, &out);
}

ek_status ek_norm_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t inner,
                        const void *x, const ek_affine *affine, void *out, ek_rows *rows)
{
    char call[64];
    EK_TRY(ek_rows_typed(op, loop, outer, n, inner, x, out, true, rows));
    if (EK_UNLIKELY(!(affine->eps >= 0)))
        return check_eps(ek_rows_call(op, loop, call), op, affine->eps);
    const void *data[] = {affine->gain, affine->bias};
    uint64_t size = ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    uint64_t bytes = (uint64_t)(rows->count * n) * size;
    for (int i = 0; i < 2; i++) {
        if (EK_UNLIKELY(bytes && data[i] && !ek_disjoint(out, bytes, data[i], (uint64_t)n * size)))
            return ek_fail(EK_OVERLAP, "%s: out at %p overlaps %s at %p",
                           ek_rows_call(op, loop, call), out, op->input_names[i + 1], data[i]);
    }
    return EK_OK;
}

/* The last axis unless the parameter says another. */
static int64_t axis_param(int32_t count, const ek_param *params)
{
    const ek_param *param = ek_find_param(count, params, "axis");
    return param ? param->integer : -1;
}

static double eps_param(const ek_op_info *op, int32_t count, const ek_param *params)
{
    const ek_param *param = ek_find_param(count, params, "eps");
    return param ? param->real : ek_param_of(op, "eps")->standard;
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand x, along;
    int32_t loop = 0, axis = 0;
    EK_TRY(ek_operand_describe(op->call, op->input_names[0], in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, NULL, &loop));
    EK_TRY(ek_rows_axis(op, x.ndim, axis_param(param_count, params), &axis));
    if (op->run == &ek_kind_norm)
        EK_TRY(check_eps(op->call, op, eps_param(op, param_count, params)));
    for (int32_t i = 1; i < op->inputs; i++) {
        if (!in[i])
            continue;
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &along));
        EK_TRY(check_along(op, &x, axis, &along, NULL));
    }
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    out->ndim = x.ndim;
    memcpy(out->shape, x.shape, (size_t)x.ndim * sizeof *out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    const rowwise_args args = {.axis = axis_param(param_count, params)};
    return ek_call(compute, queue, op, in, &args, out);
}

static ek_status apply_norm(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                            int32_t param_count, const ek_param *params, ek_array *const *out)
{
    const rowwise_args args = {axis_param(param_count, params), true,
                               eps_param(op, param_count, params)};
    return ek_call(compute, queue, op, in, &args, out);
}

const ek_kind ek_kind_row = {.infer = infer, .apply = apply};
const ek_kind ek_kind_norm = {.infer = infer, .apply = apply_norm};
const ek_kind ek_kind_rowreduction = {
    .infer = ek_reduction_infer, .apply = ek_reduction_apply, .run = run_reduction};
