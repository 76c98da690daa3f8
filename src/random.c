#include "random.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "backend.h"
#include "call.h"
#include "fresh.h"
#include "integer.h"

/* How many parameters of an operation without an input say what comes out. The offset is before
 * them. */
enum { OUTPUT_PARAMS = 2 };

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, ek_random_work *work,
                     const ek_scalar *params)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    if (work->size == 0)
        return EK_OK;
    memcpy(work->params, params, sizeof work->params);
    work->place = (uint64_t)params[op->param_count - 1 - (op->inputs ? 0 : OUTPUT_PARAMS)].i64;
    work->bytes[0] = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    work->bytes[1] = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].in[0]);
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_random(queue, kernels, loop, work);
#endif
    return ek_cpu_random(queue, (ek_random_fn *const *)kernels + loop, work);
}

static ek_status check_reals(const char *call, double low, double high)
{
    if (isfinite(low) && isfinite(high) && low <= high)
        return EK_OK;
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: low is %g and high is %g: must be finite, and low not above high", call,
                   low, high);
}

static ek_status check_integers(const char *call, ek_dtype dtype, int64_t low, int64_t high)
{
    int64_t most = ek_dtype_size(dtype) == 8 ? INT64_MAX : INT32_MAX;
    if (low <= high && low >= -most - 1 && high <= most)
        return EK_OK;
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: low is %" PRId64 " and high is %" PRId64
                   ": low must not be above high, and both numbers that %s holds",
                   call, low, high, ek_dtype_name(dtype));
}

ek_status ek_random_check_bounds(const char *call, const ek_op_info *op, int32_t loop,
                                 const ek_scalar *params)
{
    ek_dtype dtype = (ek_dtype)op->loops[loop].out[0];
    if (op->params[0].type[0] == 'i')
        return check_integers(call, dtype, params[0].i64, params[1].i64);
    if (dtype == EK_F64)
        return check_reals(call, params[0].f64, params[1].f64);
    return check_reals(call, (double)params[0].f32, (double)params[1].f32);
}

/* The parameters of an array call as the loop has them. */
static ek_status params_for_loop(const ek_op_info *op, int32_t loop, const ek_scalar *given,
                                 ek_scalar *params)
{
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, params));
    if (strcmp(op->params[0].name, "low") == 0)
        return ek_random_check_bounds(op->call, op, loop, params);
    return EK_OK;
}

ek_status ek_random_typed(ek_queue *queue, const ek_op_info *op, int32_t loop, int64_t n,
                          void *const *data, const ek_scalar *params)
{
    ek_random_work work; /* large, so only what one dimension needs is set */
    work.operands = 1 + op->inputs;
    work.ndim = 1;
    work.size = work.shape[0] = n;
    for (int32_t i = 0; i < work.operands; i++) {
        work.data[i] = data[i];
        work.stride[0][i] = 1;
    }
    return run(queue, op, loop, &work, params);
}

/* Numbers the output's elements in C order. */
static void lay_out(const ek_operand *operands, ek_random_work *work)
{
    const ek_operand *out = &operands[0];
    int32_t last = -1;
    work->size = out->size;
    for (int32_t i = 0; i < work->operands; i++)
        work->data[i] = operands[i].data;
    for (int32_t d = 0; d < out->ndim; d++) {
        int64_t stride[2] = {out->stride[d], 0};
        int32_t at = work->operands > 1 ? d - (out->ndim - operands[1].ndim) : -1;
        if (at >= 0 && operands[1].shape[at] != 1)
            stride[1] = operands[1].stride[at];
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
    if (last < 0) { /* one element, a line of its own */
        last = 0;
        work->shape[0] = 1;
        work->stride[0][0] = work->stride[0][1] = 1;
    }
    work->ndim = last + 1;
}

/* The loop for an output of that dtype. */
static ek_status find_loop(const ek_op_info *op, ek_dtype out, int32_t *loop)
{
    for (*loop = 0; *loop < op->loop_count; ++*loop) {
        if (op->loops[*loop].out[0] == out)
            return EK_OK;
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: no kernel makes %s", op->call, ek_dtype_name(out));
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    ek_operand operands[2];
    ek_scalar params[EK_MAX_PARAMS];
    ek_layout layout;
    ek_random_work work;
    int32_t loop = 0;
    EK_TRY(ek_operand_init_out(op->call, op->output_names[0], queue, *out, &operands[0]));
    if (op->inputs)
        EK_TRY(ek_operand_init(op->call, op->input_names[0], queue, in[0], &operands[1]));
    EK_TRY(find_loop(op, operands[0].dtype, &loop));
    if (op->inputs && operands[1].dtype != operands[0].dtype)
        return ek_fail(EK_DTYPE_MISMATCH,
                       "%s: %s is %s and %s is %s: must be the same; ek_cast "
                       "converts",
                       op->call, op->input_names[0], ek_dtype_name(operands[1].dtype),
                       op->output_names[0], ek_dtype_name(operands[0].dtype));
    EK_TRY(params_for_loop(op, loop, args, params));
    /* For its checks; without an input nothing says what the shape must be. */
    if (op->inputs)
        EK_TRY(ek_layout_init(op->call, 1, 2, operands, &layout));
    else
        EK_TRY(ek_check_outputs(op->call, 1, operands));
    work.operands = 1 + op->inputs;
    lay_out(operands, &work);
    return run(queue, op, loop, &work, params);
}

ek_status ek_random_array(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                          const ek_scalar *params, ek_array *const *out)
{
    return ek_call(compute, queue, op, in, params, out);
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_scalar given[EK_MAX_PARAMS], values[EK_MAX_PARAMS];
    ek_operand x;
    int32_t loop = 0;
    if (op->inputs) {
        EK_TRY(ek_operand_describe(op->call, op->input_names[0], in[0], &x));
        out->dtype = x.dtype;
        out->ndim = x.ndim;
        memcpy(out->shape, x.shape, (size_t)x.ndim * sizeof *out->shape);
    } else {
        EK_TRY(ek_infer_fresh(op, param_count, params, (ek_dtype)op->loops[0].out[0], out));
    }
    EK_TRY(find_loop(op, out->dtype, &loop));
    ek_params_by_name(op, param_count, params, given);
    return params_for_loop(op, loop, given, values);
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    ek_params_by_name(op, param_count, params, given);
    return ek_random_array(queue, op, in, given, out);
}

const ek_kind ek_kind_random = {.infer = infer, .apply = apply};
