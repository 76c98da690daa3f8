#include "elementwise.h"

#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "call.h"
#include "cpu/run_elementwise.h"

/* The number of the loop for these dtypes, -1 if there is none. `in` has those of the inputs, zeros
 * behind them; `out` may be null where only the inputs are known. */
static int32_t loop_for(const ek_op_info *op, const uint8_t *in, const ek_dtype *out)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        const ek_loop *loop = &op->loops[i];
        if (memcmp(loop->in, in, sizeof loop->in) == 0 && (!out || loop->out == *out))
            return i;
    }
    return -1;
}

static ek_status find_loop(const ek_op_info *op, const uint8_t *in, const ek_dtype *out,
                           int32_t *found)
{
    *found = loop_for(op, in, out);
    if (*found >= 0)
        return EK_OK;
    char text[64] = "";
    for (int32_t k = 0; k < op->inputs; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? ", " : "",
                 ek_dtype_name((ek_dtype)in[k]));
    return ek_fail(EK_DTYPE_MISMATCH, "%s: no kernel takes (%s)%s%s; ek_cast converts", op->call,
                   text, out ? " to " : "", out ? ek_dtype_name(*out) : "");
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
                       const ek_array *out, plain *plain)
{
    uint8_t dtypes[EK_MAX_INPUTS] = {0};
    ek_dtype dtype, result;
    if (!queue || !out || ek_array_dtype(out, &result) != EK_OK)
        return false;
    const ek_device *device = ek_queue_base_of(queue)->device;
    plain->n = count_of(out);
    if (plain->n == 0 || !in_order(out, out) || !read_plain_operand(device, out, 0, plain))
        return false;
    dtype = result;
    for (int32_t i = 0; i < op->inputs; i++) {
        const ek_array *x = in[i];
        if (!x || !in_order(x, out))
            return false;
        if (memcmp(&x->type, i > 0 ? &in[i - 1]->type : &out->type, sizeof x->type) != 0 &&
            ek_array_dtype(x, &dtype) != EK_OK)
            return false;
        dtypes[i] = (uint8_t)dtype;
        if (!read_plain_operand(device, x, i + 1, plain))
            return false;
    }
    plain->loop = loop_for(op, dtypes, &result);
    return plain->loop >= 0 && op->kernels[queue->variant] &&
           ek_typed_ok(op->inputs + 1, plain->n, plain->data, plain->size);
}

static ek_status run_plain(ek_queue *queue, const ek_op_info *op, const plain *plain)
{
    const void *kernels = op->kernels[queue->variant];
    int32_t operands = op->inputs + 1;
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA) {
        ek_layout layout; /* large, so only what one dimension needs is set */
        layout.operands = operands;
        layout.ndim = 1;
        layout.size = layout.shape[0] = plain->n;
        for (int32_t i = 0; i < operands; i++) {
            ek_operand_use(queue, plain->data[i]);
            layout.data[i] = plain->data[i];
            layout.stride[0][i] = 1;
        }
        return ek_cuda_elementwise_layout(queue, kernels, plain->loop, &layout, plain->size);
    }
#endif
    ek_elementwise_fn *const *table = kernels;
    return ek_cpu_elementwise(queue, table[plain->loop], operands, plain->n, plain->data,
                              plain->size);
}

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *out)
{
    (void)args;
    plain plain;
    if (read_plain(queue, op, in, out, &plain))
        return run_plain(queue, op, &plain);
    ek_operand operands[EK_MAX_OPERANDS];
    uint8_t dtypes[EK_MAX_INPUTS] = {0};
    EK_TRY(ek_operand_init_out(op->call, "out", queue, out, &operands[0]));
    for (int32_t i = 0; i < op->inputs; i++) {
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operands[i + 1]));
        dtypes[i] = (uint8_t)operands[i + 1].dtype;
    }
    int32_t loop = 0;
    EK_TRY(find_loop(op, dtypes, &operands[0].dtype, &loop));
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
    uint8_t dtypes[EK_MAX_INPUTS] = {0};
    for (int32_t i = 0; i < op->inputs; i++) {
        ek_operand operand;
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operand));
        dtypes[i] = (uint8_t)operand.dtype;
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
