#include "grid.h"

#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "fresh.h"
#include "typed.h"

/* Adds the operands that stand for the last two indices. */
static void add_places(const ek_operand *out, ek_operand *row, ek_operand *column)
{
    for (int k = 0; k < 2; k++) {
        ek_operand *place = k ? column : row;
        int32_t along = out->ndim - 2 + k;
        *place = *out;
        place->name = k ? "j" : "i";
        place->dtype = EK_U8;
        place->data = (void *)EK_GRID_ORIGIN;
        memset(place->stride, 0, (size_t)out->ndim * sizeof *place->stride);
        if (along >= 0)
            place->stride[along] = 1;
    }
}

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, ek_operand *operands,
                     const ek_scalar *params)
{
    const void *kernels;
    int32_t count = 1 + op->inputs;
    ek_layout layout;
    uint8_t size = (uint8_t)ek_dtype_size(operands[0].dtype);
    add_places(&operands[0], &operands[count], &operands[count + 1]);
    EK_TRY(ek_layout_init(op->call, 1, count + 2, operands, &layout));
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    if (layout.size == 0)
        return EK_OK;
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_grid(queue, kernels, loop, &layout, size, params);
#endif
    ek_grid_fn *const *table = kernels;
    return ek_cpu_grid(queue, table[loop], &layout, size, params);
}

static ek_status find_loop(const ek_op_info *op, ek_dtype dtype, int32_t *loop)
{
    for (*loop = 0; *loop < op->loop_count; ++*loop) {
        if (op->loops[*loop].out[0] == dtype)
            return EK_OK;
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: out is %s: no kernel makes that", op->call,
                   ek_dtype_name(dtype));
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    ek_operand operands[4];
    ek_scalar params[EK_MAX_PARAMS];
    int32_t loop = 0;
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &operands[0]));
    EK_TRY(find_loop(op, operands[0].dtype, &loop));
    if (op->inputs > 0) {
        EK_TRY(ek_operand_init(op->call, op->input_names[0], queue, in[0], &operands[1]));
        if (operands[1].dtype != operands[0].dtype)
            return ek_fail(EK_DTYPE_MISMATCH, "%s: %s is %s: out is %s; ek_cast converts", op->call,
                           op->input_names[0], ek_dtype_name(operands[1].dtype),
                           ek_dtype_name(operands[0].dtype));
    }
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], args, params));
    return run(queue, op, loop, operands, params);
}

ek_status ek_grid_array(ek_queue *queue, const ek_op_info *op, const ek_array *x,
                        const ek_scalar *params, ek_array *out)
{
    return ek_call(compute, queue, op, &x, params, &out);
}

static ek_status refuse_lengths(const char *call, int64_t rows, int64_t columns)
{
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: %" PRId64 " rows of %" PRId64 ": must not be negative, and at most %" PRId64
                   " elements",
                   call, rows, columns, EK_MAX_COUNT);
}

ek_status ek_grid_typed(ek_queue *queue, const char *call, const ek_op_info *op, int32_t loop,
                        int64_t rows, int64_t columns, const void *x, const ek_scalar *params,
                        void *out)
{
    ek_operand operands[4];
    int64_t n, shape[2] = {rows, columns};
    uint8_t size[2];
    void *const data[] = {out, (void *)x};
    if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &n) || n > EK_MAX_COUNT)
        return refuse_lengths(call, rows, columns);
    size[0] = size[1] = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].out[0]);
    if (!ek_typed_ok(1, 1 + op->inputs, n, data, size))
        return ek_typed_refuse(op, loop, n, data, params);
    if (params)
        EK_TRY(ek_params_check_typed(call, op, &op->loops[loop], params));
    if (n == 0)
        return EK_OK;
    for (int32_t k = 0; k < 1 + op->inputs; k++) {
        ek_array array = ek_array_view(data[k], (ek_dtype)op->loops[loop].out[0],
                                       ek_queue_device(queue), 2, shape);
        EK_TRY(ek_operand_read(call, ek_operand_name(op, k), &array, &operands[k]));
    }
    return run(queue, op, loop, operands, params);
}

/* ---- by the row alone */

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand x;
    int32_t loop = 0;
    if (op->inputs == 0) {
        EK_TRY(ek_infer_fresh(op, param_count, params, EK_F32, out));
        return find_loop(op, out->dtype, &loop);
    }
    EK_TRY(ek_operand_describe(op->call, op->input_names[0], in[0], &x));
    EK_TRY(find_loop(op, x.dtype, &loop));
    out->dtype = x.dtype;
    out->ndim = x.ndim;
    if (x.ndim > 0)
        memcpy(out->shape, x.shape, (size_t)x.ndim * sizeof *out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    ek_params_by_name(op, param_count, params, given);
    return ek_grid_array(queue, op, op->inputs > 0 ? in[0] : NULL, given, *out);
}

const ek_kind ek_kind_grid = {.infer = infer, .apply = apply};
