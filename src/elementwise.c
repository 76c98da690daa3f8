#include "elementwise.h"

#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "call.h"

/* The loop for these dtypes. `out` may be null where only the inputs are known. */
static ek_status find_loop(const ek_op_info *op, const ek_dtype *in, const ek_dtype *out,
                           int32_t *found)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *loop = &op->loops[i];
        bool fits = !out || loop->out == *out;
        for (int32_t k = 0; k < op->inputs && fits; k++)
            fits = loop->in[k] == in[k];
        if (fits) {
            *found = i;
            return EK_OK;
        }
    }
    char text[64] = "";
    for (int32_t k = 0; k < op->inputs; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? ", " : "",
                 ek_dtype_name(in[k]));
    return ek_fail(EK_DTYPE_MISMATCH, "%s: no kernel takes (%s)%s%s; ek_cast converts", op->call,
                   text, out ? " to " : "", out ? ek_dtype_name(*out) : "");
}

/* One dimension is all there is if every operand is in C order with the output's shape. */
static bool contiguous(int32_t count, const ek_operand *operands)
{
    const ek_operand *out = &operands[0];
    for (int32_t i = 0; i < count; i++) {
        const ek_operand *operand = &operands[i];
        if (operand->ndim != out->ndim)
            return false;
        int64_t step = 1;
        for (int32_t d = out->ndim - 1; d >= 0; d--) {
            if (operand->shape[d] != out->shape[d] ||
                (operand->stride[d] != step && out->shape[d] != 1))
                return false;
            step *= out->shape[d];
        }
    }
    return true;
}

static ek_status run_contiguous(ek_queue *queue, const ek_op_info *op, int32_t loop,
                                const ek_operand *operands)
{
    void *data[EK_MAX_OPERANDS];
    uint8_t size[EK_MAX_OPERANDS];
    ek_layout layout; /* large, so only what one dimension needs is set */
    layout.operands = op->inputs + 1;
    layout.ndim = 1;
    layout.size = layout.shape[0] = operands[0].size;
    for (int32_t i = 0; i <= op->inputs; i++) {
        data[i] = layout.data[i] = operands[i].data;
        size[i] = (uint8_t)ek_dtype_size(operands[i].dtype);
        layout.stride[0][i] = 1;
    }
    if (EK_UNLIKELY(!ek_typed_ok(layout.operands, layout.size, data, size)))
        return ek_typed_refuse(op, loop, layout.size, data);
    return ek_elementwise_run(queue, op, loop, &layout);
}

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *out)
{
    (void)args;
    ek_operand operands[EK_MAX_OPERANDS];
    ek_dtype dtypes[EK_MAX_OPERANDS];
    EK_TRY(ek_operand_init_out(op->call, "out", queue, out, &operands[0]));
    for (int32_t i = 0; i < op->inputs; i++) {
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operands[i + 1]));
        dtypes[i] = operands[i + 1].dtype;
    }
    int32_t loop = 0;
    EK_TRY(find_loop(op, dtypes, &operands[0].dtype, &loop));
    if (contiguous(op->inputs + 1, operands))
        return run_contiguous(queue, op, loop, operands);
    ek_layout layout;
    EK_TRY(ek_layout_init(op->call, op->inputs + 1, operands, &layout));
    return ek_elementwise_run(queue, op, loop, &layout);
}

ek_status ek_elementwise(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         ek_array *out)
{
    return ek_call(compute, queue, op, in, NULL, out);
}

ek_status ek_elementwise_run(ek_queue *queue, const ek_op_info *op, int32_t loop,
                             const ek_layout *layout)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    if (layout->size == 0)
        return EK_OK;
    uint8_t size[EK_MAX_OPERANDS] = {(uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].out)};
    for (int32_t i = 0; i < op->inputs; i++)
        size[i + 1] = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].in[i]);
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_elementwise_layout(queue, kernels, loop, layout, size);
#endif
    ek_elementwise_fn *const *table = kernels;
    return ek_cpu_elementwise_layout(queue, table[loop], layout, size);
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_dtype *dtype, int32_t *ndim, int64_t *shape)
{
    (void)param_count;
    (void)params;
    ek_dtype dtypes[EK_MAX_INPUTS];
    for (int32_t i = 0; i < op->inputs; i++) {
        ek_operand operand;
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operand));
        dtypes[i] = operand.dtype;
    }
    int32_t loop = 0;
    EK_TRY(find_loop(op, dtypes, NULL, &loop));
    *dtype = (ek_dtype)op->loops[loop].out;
    return ek_broadcast_for(op->call, op->inputs, in, ndim, shape);
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *out)
{
    (void)param_count;
    (void)params;
    return ek_elementwise(queue, op, in, out);
}

const ek_kind ek_kind_elementwise = {.infer = infer, .apply = apply};
