#include "scan.h"

#include <string.h>

#include "backend.h"
#include "call.h"
#include "cpu/run_scan.h"
#include "error.h"

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_rows *rows)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_scan(queue, kernels, op, loop, rows);
#endif
    return ek_cpu_scan(queue, (const ek_scan_kernels *)kernels + loop, rows);
}

/* args: the axis, an int64_t. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const int64_t axis = *(const int64_t *)args;
    ek_operand x, result;
    int32_t loop = 0, along = 0;
    ek_rows rows;
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &result));
    EK_TRY(ek_operand_init(op->call, op->input_names[0], queue, in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, &result.dtype, &loop));
    if (axis == EK_ALL_AXES) {
        EK_TRY(ek_rows_flat(op, &x, &result, &rows));
    } else {
        EK_TRY(ek_rows_axis(op, x.ndim, axis, &along));
        EK_TRY(ek_rows_along(op, &x, along, &result, &rows));
    }
    return run(queue, op, loop, &rows);
}

ek_status ek_scan(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                  ek_array *out)
{
    const int64_t along = axis;
    return ek_call(compute, queue, op, &x, &along, &out);
}

/* All of x, flattened, unless the parameter names an axis. */
static int64_t axis_param(int32_t count, const ek_param *params)
{
    const ek_param *param = ek_find_param(count, params, "axis");
    return param ? param->integer : EK_ALL_AXES;
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand x;
    int32_t loop = 0, along = 0;
    int64_t axis = axis_param(param_count, params);
    EK_TRY(ek_operand_describe(op->call, op->input_names[0], in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, NULL, &loop));
    if (axis != EK_ALL_AXES)
        EK_TRY(ek_rows_axis(op, x.ndim, axis, &along));
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    out->ndim = axis == EK_ALL_AXES ? 1 : x.ndim;
    memcpy(out->shape, axis == EK_ALL_AXES ? &x.size : x.shape,
           (size_t)out->ndim * sizeof *out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    const int64_t axis = axis_param(param_count, params);
    return ek_call(compute, queue, op, in, &axis, out);
}

const ek_kind ek_kind_scan = {.infer = infer, .apply = apply};
