#include "argreduction.h"

#include "backend.h"
#include "call.h"
#include "cpu/run_argreduction.h"
#include "error.h"

static ek_status mark(const ek_op_info *op, int32_t ndim, int64_t axis, bool *marked)
{
    bool all = axis == EK_ALL_AXES;
    return ek_rows_axes(op, ndim, all ? 0 : 1, all ? NULL : &axis, marked);
}

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_rows *rows)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    EK_TRY(ek_rows_need_elements(op->call, rows));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_argreduce(queue, kernels, op, loop, rows);
#endif
    return ek_cpu_argreduce(queue, (const ek_argreduction_kernels *)kernels + loop, rows);
}

typedef struct argreduction_args {
    int64_t axis;
    bool keepdims;
} argreduction_args;

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const argreduction_args *a = args;
    ek_operand x, result;
    bool marked[EK_MAX_NDIM];
    int32_t loop = 0;
    ek_rows rows;
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &result));
    EK_TRY(ek_operand_init(op->call, op->input_names[0], queue, in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, &result.dtype, &loop));
    EK_TRY(mark(op, x.ndim, a->axis, marked));
    EK_TRY(ek_rows_reduce(op, &x, marked, a->keepdims, &result, &rows));
    return run(queue, op, loop, &rows);
}

ek_status ek_argreduction(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t axis,
                          bool keepdims, ek_array *out)
{
    const argreduction_args args = {axis, keepdims};
    return ek_call(compute, queue, op, &x, &args, &out);
}

/* The parameters, with their defaults. */
static void read_params(int32_t count, const ek_param *params, int64_t *axis, bool *keepdims)
{
    const ek_param *param = ek_find_param(count, params, "axis");
    *axis = param ? param->integer : EK_ALL_AXES;
    param = ek_find_param(count, params, "keepdims");
    *keepdims = param && param->integer;
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand x;
    int32_t loop = 0;
    int64_t axis;
    bool keepdims, marked[EK_MAX_NDIM];
    read_params(param_count, params, &axis, &keepdims);
    EK_TRY(ek_operand_describe(op->call, op->input_names[0], in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, NULL, &loop));
    EK_TRY(mark(op, x.ndim, axis, marked));
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    ek_rows_reduced_shape(x.ndim, x.shape, marked, keepdims, &out->ndim, out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    argreduction_args args;
    read_params(param_count, params, &args.axis, &args.keepdims);
    return ek_call(compute, queue, op, in, &args, out);
}

const ek_kind ek_kind_argreduction = {.infer = infer, .apply = apply};
