#include "reduction.h"

#include "backend.h"
#include "call.h"
#include "cpu/run_reduction.h"
#include "error.h"

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_rows *rows)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_reduce(queue, kernels, op, loop, rows);
#endif
    return ek_cpu_reduce(queue, (const ek_reduction_kernels *)kernels + loop, rows);
}

static ek_status run_nonempty(ek_queue *queue, const ek_op_info *op, int32_t loop,
                              const ek_rows *rows)
{
    EK_TRY(ek_rows_need_elements(op->call, rows));
    return run(queue, op, loop, rows);
}

typedef struct reduction_args {
    int32_t naxes;
    const int64_t *axes; /* null: all */
    int64_t ddof;
    bool keepdims;
} reduction_args;

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    const reduction_args *a = args;
    ek_operand x, result;
    bool marked[EK_MAX_NDIM];
    int32_t loop = 0;
    ek_rows rows;
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &result));
    EK_TRY(ek_operand_init(op->call, op->input_names[0], queue, in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, &result.dtype, &loop));
    EK_TRY(ek_rows_axes(op, x.ndim, a->naxes, a->axes, marked));
    EK_TRY(ek_rows_reduce(op, &x, marked, a->keepdims, &result, &rows));
    rows.ddof = a->ddof;
    return op->run->run(queue, op, loop, &rows);
}

ek_status ek_reduction(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t naxes,
                       const int32_t *axes, bool keepdims, ek_array *out)
{
    return ek_reduction_ddof(queue, op, x, naxes, axes, 0, keepdims, out);
}

ek_status ek_reduction_ddof(ek_queue *queue, const ek_op_info *op, const ek_array *x, int32_t naxes,
                            const int32_t *axes, int64_t ddof, bool keepdims, ek_array *out)
{
    int64_t wide[EK_MAX_NDIM];
    if (naxes > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: naxes is %d: must be 0 to %d", op->call,
                       (int)naxes, EK_MAX_NDIM);
    for (int32_t i = 0; axes && i < naxes; i++)
        wide[i] = axes[i];
    const reduction_args args = {naxes, axes ? wide : NULL, ddof, keepdims};
    return ek_call(compute, queue, op, &x, &args, &out);
}

/* The parameters, with their defaults. */
static void read_params(int32_t count, const ek_param *params, int32_t *naxes, const int64_t **axes,
                        bool *keepdims)
{
    const ek_param *param = ek_find_param(count, params, "axes");
    *naxes = param ? param->count : 0;
    *axes = param ? param->list : NULL;
    param = ek_find_param(count, params, "keepdims");
    *keepdims = param && param->integer;
}

ek_status ek_reduction_infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                             const ek_param *params, ek_output *out)
{
    ek_operand x;
    int32_t naxes, loop = 0;
    const int64_t *axes;
    bool keepdims, marked[EK_MAX_NDIM];
    read_params(param_count, params, &naxes, &axes, &keepdims);
    EK_TRY(ek_operand_describe(op->call, op->input_names[0], in[0], &x));
    EK_TRY(ek_rows_loop(op, x.dtype, NULL, &loop));
    EK_TRY(ek_rows_axes(op, x.ndim, naxes, axes, marked));
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    ek_rows_reduced_shape(x.ndim, x.shape, marked, keepdims, &out->ndim, out->shape);
    return EK_OK;
}

ek_status ek_reduction_apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                             int32_t param_count, const ek_param *params, ek_array *const *out)
{
    reduction_args args;
    read_params(param_count, params, &args.naxes, &args.axes, &args.keepdims);
    const ek_param *ddof = ek_find_param(param_count, params, "ddof");
    args.ddof = ddof ? ddof->integer : 0;
    return ek_call(compute, queue, op, in, &args, out);
}

const ek_kind ek_kind_reduction = {
    .infer = ek_reduction_infer, .apply = ek_reduction_apply, .run = run};
const ek_kind ek_kind_reduction_nonempty = {
    .infer = ek_reduction_infer, .apply = ek_reduction_apply, .run = run_nonempty};
