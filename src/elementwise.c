#include "elementwise.h"

#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "call.h"
#include "cpu/run_elementwise.h"

/* The number of the loop for these dtypes, -1 if there is none: of the inputs and of the outputs,
 * with zeros behind them. `out` may be null where only the inputs are known. */
static int32_t loop_for(const ek_op_info *op, const uint8_t *in, const uint8_t *out)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *loop = &op->loops[i];
        if (memcmp(loop->in, in, sizeof loop->in) == 0 &&
            (!out || memcmp(loop->out, out, sizeof loop->out) == 0))
            return i;
    }
    return -1;
}

/* Adds dtypes to a message, with commas between. */
static void list_dtypes(char *text, size_t size, int32_t count, const uint8_t *dtypes)
{
    for (int32_t k = 0; k < count; k++)
        snprintf(text + strlen(text), size - strlen(text), "%s%s", k ? ", " : "",
                 ek_dtype_name((ek_dtype)dtypes[k]));
}

static ek_status find_loop(const ek_op_info *op, const uint8_t *in, const uint8_t *out,
                           int32_t *found)
{
    *found = loop_for(op, in, out);
    if (*found >= 0)
        return EK_OK;
    char text[64] = "", results[64] = "";
    bool several = out && op->outputs > 1;
    list_dtypes(text, sizeof text, op->inputs, in);
    if (out)
        list_dtypes(results, sizeof results, op->outputs, out);
    return ek_fail(EK_DTYPE_MISMATCH, "%s: no kernel takes (%s)%s%s%s%s; ek_cast converts",
                   op->call, text, out ? " to " : "", several ? "(" : "", results,
                   several ? ")" : "");
}

/* Note [Plain calls]
 *
 * Nearly all calls are of arrays of one shape, in C order, on the queue's device, and a small one
 * is little more than its checks. Such a call is recognized from the arrays as they are, and is
 * then what the typed call is. Whatever is not plain for any reason, a mistake among them, goes the
 * general way, which finds out what it is and says so. */
typedef struct plain {
    int32_t loop;
    int64_t n;
    void *data[EK_MAX_OPERANDS];
    uint8_t size[EK_MAX_OPERANDS]; /* bytes of an element */
} plain;

/* How many elements an array has, 0 if none or if its shape is none. */
static int64_t count_of(const ek_array *array)
{
    int64_t count = 1;
    if (array->ndim < 0 || array->ndim > EK_MAX_NDIM || (array->ndim > 0 && !array->shape))
        return 0;
    for (int32_t d = 0; d < array->ndim; d++) {
        if (array->shape[d] <= 0 || __builtin_mul_overflow(count, array->shape[d], &count))
            return 0;
    }
    return count;
}

/* Whether an array has the shape of `out`, which is one, and is in C order. */
static bool in_order(const ek_array *array, const ek_array *out)
{
    if (array->ndim != out->ndim || (array->ndim > 0 && !array->shape))
        return false;
    int64_t step = 1;
    for (int32_t d = array->ndim - 1; d >= 0; d--) {
        int64_t length = out->shape[d];
        if (array->shape[d] != length ||
            (array->strides && array->strides[d] != step && length != 1))
            return false;
        step *= length;
    }
    return true;
}

/* An operand that is where the queue computes, at a boundary of its elements. */
static bool read_plain_operand(const ek_device *device, const ek_array *array, int i, plain *plain)
{
    if (array->device.type != (int32_t)device->type || array->device.index != device->index ||
        !array->data || array->byte_offset > EK_MAX_REACH)
        return false;
    plain->data[i] = ek_array_data(array);
    plain->size[i] = array->type.bits / 8;
    return ((uintptr_t)plain->data[i] & (plain->size[i] - 1U)) == 0;
}

static bool read_plain(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       ek_array *const *out, plain *plain)
{
    uint8_t results[EK_MAX_OUTPUTS] = {0}, dtypes[EK_MAX_INPUTS] = {0};
    int32_t outputs = op->outputs;
    ek_dtype dtype;
    if (!queue || !out[0] || ek_array_dtype(out[0], &dtype) != EK_OK)
        return false;
    const ek_device *device = ek_queue_base_of(queue)->device;
    const ek_array *before = out[0]; /* has this dtype */
    plain->n = count_of(before);
    if (plain->n == 0)
        return false;
    for (int32_t i = 0; i < outputs + op->inputs; i++) {
        const ek_array *x = i < outputs ? out[i] : in[i - outputs];
        if (!x || !in_order(x, out[0]))
            return false;
        if (memcmp(&x->type, &before->type, sizeof x->type) != 0 &&
            ek_array_dtype(x, &dtype) != EK_OK)
            return false;
        before = x;
        *(i < outputs ? &results[i] : &dtypes[i - outputs]) = (uint8_t)dtype;
        if (!read_plain_operand(device, x, i, plain))
            return false;
    }
    plain->loop = loop_for(op, dtypes, results);
    return plain->loop >= 0 && op->kernels[queue->variant] &&
           ek_typed_ok(outputs, outputs + op->inputs, plain->n, plain->data, plain->size);
}

static ek_status run_plain(ek_queue *queue, const ek_op_info *op, const plain *plain,
                           const ek_scalar *params)
{
    const void *kernels = op->kernels[queue->variant];
    int32_t operands = op->outputs + op->inputs;
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA) {
        ek_layout layout; /* large, so only what one dimension needs is set */
        layout.outputs = op->outputs;
        layout.operands = operands;
        layout.ndim = 1;
        layout.size = layout.shape[0] = plain->n;
        for (int32_t i = 0; i < operands; i++) {
            ek_operand_use(queue, plain->data[i]);
            layout.data[i] = plain->data[i];
            layout.stride[0][i] = 1;
        }
        return ek_cuda_elementwise_layout(queue, kernels, plain->loop, &layout, plain->size,
                                          params);
    }
#endif
    ek_elementwise_fn *const *table = kernels;
    return ek_cpu_elementwise(queue, table[plain->loop], op->outputs, operands, plain->n,
                              plain->data, plain->size, params);
}

/* Any call, by the operands it checks. */
static ek_status compute_general(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                                 const ek_scalar *given, ek_array *const *out)
{
    int32_t outputs = op->outputs, loop = 0;
    ek_operand operands[EK_MAX_OPERANDS];
    uint8_t results[EK_MAX_OUTPUTS] = {0}, dtypes[EK_MAX_INPUTS] = {0};
    ek_scalar params[EK_MAX_PARAMS];
    for (int32_t i = 0; i < outputs; i++) {
        EK_TRY(ek_operand_init_out(op->call, op->output_names[i], queue, out[i], &operands[i]));
        results[i] = (uint8_t)operands[i].dtype;
    }
    for (int32_t i = 0; i < op->inputs; i++) {
        ek_operand *operand = &operands[outputs + i];
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], operand));
        dtypes[i] = (uint8_t)operand->dtype;
    }
    EK_TRY(find_loop(op, dtypes, results, &loop));
    if (given)
        EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, params));
    ek_layout layout;
    EK_TRY(ek_layout_init(op->call, outputs, outputs + op->inputs, operands, &layout));
    return ek_elementwise_run(queue, op, loop, &layout, given ? params : NULL);
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    plain plain;
    ek_scalar params[EK_MAX_PARAMS];
    if (!read_plain(queue, op, in, out, &plain))
        return compute_general(queue, op, in, args, out);
    if (args)
        EK_TRY(ek_params_for_loop(op, &op->loops[plain.loop], args, params));
    return run_plain(queue, op, &plain, args ? params : NULL);
}

ek_status ek_elementwise(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const ek_scalar *params, ek_array *const *out)
{
    return ek_call(compute, queue, op, in, params, out);
}

void ek_loop_sizes(const ek_op_info *op, int32_t loop, uint8_t *size)
{
    for (int32_t i = 0; i < op->outputs; i++)
        size[i] = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].out[i]);
    for (int32_t i = 0; i < op->inputs; i++)
        size[op->outputs + i] = (uint8_t)ek_dtype_size((ek_dtype)op->loops[loop].in[i]);
}

ek_status ek_elementwise_run(ek_queue *queue, const ek_op_info *op, int32_t loop,
                             const ek_layout *layout, const ek_scalar *params)
{
    const void *kernels;
    uint8_t size[EK_MAX_OPERANDS];
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    if (layout->size == 0)
        return EK_OK;
    ek_loop_sizes(op, loop, size);
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_elementwise_layout(queue, kernels, loop, layout, size, params);
#endif
    ek_elementwise_fn *const *table = kernels;
    return ek_cpu_elementwise_layout(queue, table[loop], layout, size, params);
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    uint8_t dtypes[EK_MAX_INPUTS] = {0};
    ek_scalar given[EK_MAX_PARAMS], values[EK_MAX_PARAMS];
    int32_t loop = 0;
    for (int32_t i = 0; i < op->inputs; i++) {
        ek_operand operand;
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operand));
        dtypes[i] = (uint8_t)operand.dtype;
    }
    EK_TRY(find_loop(op, dtypes, NULL, &loop));
    ek_params_by_name(op, param_count, params, given);
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, values));
    EK_TRY(ek_broadcast_for(op->call, op->inputs, in, &out->ndim, out->shape));
    for (int32_t i = 0; i < op->outputs; i++) {
        if (i > 0)
            out[i] = out[0];
        out[i].dtype = (ek_dtype)op->loops[loop].out[i];
    }
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    if (op->param_count == 0)
        return ek_elementwise(queue, op, in, NULL, out);
    ek_params_by_name(op, param_count, params, given);
    return ek_elementwise(queue, op, in, given, out);
}

const ek_kind ek_kind_elementwise = {.infer = infer, .apply = apply};
