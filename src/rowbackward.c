#include "rowbackward.h"

#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "call.h"

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, ek_rowbackward_work *work,
                     const ek_scalar *params)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    if (work->rows == 0 || work->n == 0)
        return EK_OK;
    work->bytes = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].dtype);
    memcpy(work->params, params, sizeof work->params);
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_rowbackward(queue, kernels, op, loop, work);
#endif
    return ek_cpu_rowbackward(queue, (ek_rowbackward_fn *const *)kernels + loop, work);
}

static ek_status check_operands(const char *call, const ek_op_info *op, int64_t rows, int64_t n,
                                void *const *data, unsigned shared, uint8_t size)
{
    for (int32_t i = 0; i <= op->inputs; i++) {
        if (!data[i])
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: %s is null with %" PRId64 " rows of %" PRId64 " elements", call,
                           ek_operand_name(op, i), rows, n);
    }
    uint64_t bytes = (uint64_t)(rows * n) * size;
    for (int32_t i = 1; i <= op->inputs; i++) {
        bool one = shared >> (i - 1) & 1;
        bool same = data[i] == data[0] && !one;
        if (!same && !ek_disjoint(data[0], bytes, data[i], one ? (uint64_t)n * size : bytes))
            return ek_fail(EK_OVERLAP, "%s: out at %p overlaps %s at %p without being it", call,
                           data[0], ek_operand_name(op, i), data[i]);
    }
    return EK_OK;
}

ek_status ek_rowbackward_typed(ek_queue *queue, const char *call, const ek_op_info *op,
                               int32_t loop, int64_t rows, int64_t n, void *const *data,
                               unsigned shared, const ek_scalar *params)
{
    int64_t size;
    uint8_t bytes = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].dtype);
    ek_rowbackward_work work; /* large, so only what one dimension needs is set */
    if (EK_UNLIKELY(rows < 0 || n < 0 || __builtin_mul_overflow(rows, n, &size) ||
                    size > EK_MAX_COUNT))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: rows is %" PRId64 " and n %" PRId64
                       ": must not be negative, and at most %" PRId64 " elements in all",
                       call, rows, n, EK_MAX_COUNT);
    for (int32_t k = 0; k < op->param_count - 1; k++) {
        const ek_param_info *info = &op->params[k];
        double value = op->loops[loop].dtype == EK_F64 ? params[k].f64 : (double)params[k].f32;
        if (EK_UNLIKELY(info->allowed && !ek_within(value, info->least, info->most)))
            return ek_check_value(call, info, value);
    }
    if (size > 0)
        EK_TRY(check_operands(call, op, rows, n, data, shared, bytes));
    work.operands = 1 + op->inputs;
    work.ndim = 1;
    work.rows = work.shape[0] = rows;
    work.n = n;
    for (int32_t i = 0; i < work.operands; i++) {
        work.data[i] = data[i];
        work.step[i] = 1;
        work.stride[0][i] = i > 0 && shared >> (i - 1) & 1 ? 0 : n;
    }
    return run(queue, op, loop, &work, params);
}

/* The output's dimensions, but for the axis, which rows lie along. */
static void lay_out(const ek_operand *operands, int32_t axis, ek_rowbackward_work *work)
{
    const ek_operand *out = &operands[0];
    int32_t last = -1;
    work->n = out->shape[axis];
    work->rows = 1;
    for (int32_t i = 0; i < work->operands; i++)
        work->data[i] = operands[i].data;
    for (int32_t d = 0; d < out->ndim; d++) {
        int64_t stride[EK_ROWBACKWARD_OPERANDS];
        for (int32_t i = 0; i < work->operands; i++) {
            int32_t at = d - (out->ndim - operands[i].ndim);
            stride[i] = at >= 0 && operands[i].shape[at] != 1 ? operands[i].stride[at] : 0;
        }
        if (d == axis) {
            memcpy(work->step, stride, sizeof stride);
            continue;
        }
        work->rows *= out->shape[d];
        if (out->shape[d] == 1)
            continue;
        bool merges = last >= 0;
        for (int32_t i = 0; i < work->operands && merges; i++)
            merges = work->stride[last][i] == stride[i] * out->shape[d];
        if (merges)
            work->shape[last] *= out->shape[d];
        else
            work->shape[++last] = out->shape[d];
        memcpy(work->stride[last], stride, sizeof stride);
    }
    work->ndim = last + 1;
}

/* The loop of a dtype, which all operands have. */
static ek_status find_loop(const ek_op_info *op, const ek_operand *operands, int32_t count,
                           int32_t *loop)
{
    for (int32_t i = 1; i < count; i++) {
        if (operands[i].dtype != operands[0].dtype)
            return ek_fail(EK_DTYPE_MISMATCH,
                           "%s: %s is %s and %s is %s: must be the same; ek_cast "
                           "converts",
                           op->call, operands[0].name, ek_dtype_name(operands[0].dtype),
                           operands[i].name, ek_dtype_name(operands[i].dtype));
    }
    for (*loop = 0; *loop < op->loop_count; ++*loop) {
        if (op->loops[*loop].dtype == operands[0].dtype)
            return EK_OK;
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: no kernel takes %s", op->call,
                   ek_dtype_name(operands[0].dtype));
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const ek_scalar *given = args;
    ek_operand operands[EK_ROWBACKWARD_OPERANDS];
    ek_scalar params[EK_MAX_PARAMS];
    ek_layout layout;
    ek_rowbackward_work work;
    int32_t loop = 0, axis = 0;
    EK_TRY(ek_operand_init_out(op->call, op->output_names[0], queue, *out, &operands[0]));
    for (int32_t i = 0; i < op->inputs; i++)
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operands[1 + i]));
    EK_TRY(find_loop(op, operands, 1 + op->inputs, &loop));
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, params));
    EK_TRY(ek_rows_axis(op, operands[0].ndim, given[op->param_count - 1].i64, &axis));
    EK_TRY(ek_layout_init(op->call, 1, 1 + op->inputs, operands, &layout)); /* for its checks */
    work.operands = 1 + op->inputs;
    lay_out(operands, axis, &work);
    return run(queue, op, loop, &work, params);
}

ek_status ek_rowbackward_array(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                               const ek_scalar *params, ek_array *const *out)
{
    return ek_call(compute, queue, op, in, params, out);
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand operands[EK_ROWBACKWARD_OPERANDS];
    ek_scalar given[EK_MAX_PARAMS], values[EK_MAX_PARAMS];
    int32_t loop = 0, axis = 0;
    for (int32_t i = 0; i < op->inputs; i++)
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operands[i]));
    EK_TRY(find_loop(op, operands, op->inputs, &loop));
    ek_params_by_name(op, param_count, params, given);
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, values));
    EK_TRY(ek_broadcast_for(op->call, op->inputs, in, &out->ndim, out->shape));
    out->dtype = operands[0].dtype;
    return ek_rows_axis(op, out->ndim, given[op->param_count - 1].i64, &axis);
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    ek_params_by_name(op, param_count, params, given);
    return ek_rowbackward_array(queue, op, in, given, out);
}

const ek_kind ek_kind_rowbackward = {.infer = infer, .apply = apply};
