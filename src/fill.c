#include "fill.h"

#include <string.h>

#include "call.h"
#include "einkorn/body.h"
#include "fresh.h"

/* args: the value. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    (void)in;
    const void *value = args;
    ek_operand operand;
    ek_layout layout;
    if (!value)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: value is null", op->call);
    EK_TRY(ek_operand_init_out(op->call, "out", queue, *out, &operand));
    EK_TRY(ek_layout_init_stretched(op->call, 1, &operand, &layout));
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    if (layout.size == 0)
        return EK_OK;
    uint8_t size = (uint8_t)ek_dtype_size(operand.dtype);
    const ek_b8 truth = *(const ek_b8 *)value != 0;
    if (operand.dtype == EK_B8)
        value = &truth;
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        /* The row has every dtype, in the enum's order. */
        return ek_cuda_fill_layout(queue, kernels, (int32_t)operand.dtype, &layout, value, size);
#endif
    uint8_t sizes[EK_MAX_OPERANDS] = {size, size};
    return ek_cpu_fill_layout(queue, &layout, value, sizes);
}

ek_status ek_fill_array(ek_queue *queue, const ek_op_info *op, const void *value, ek_array *out)
{
    return ek_call(compute, queue, op, NULL, value, &out);
}

const ek_param_info ek_fill_params[EK_FILL_PARAMS] = {
    {"dtype", "int", "the number of out's dtype (default: f32)", NULL, 0, 0, EK_F32},
    {"shape", "ints", "the shape of out (default: none, a single element)", NULL, 0, 0, 0},
    {"value", "real", "the value, converted to out's dtype (default: 0)", NULL, 0, 0, 0},
};

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    (void)in;
    return ek_infer_fresh(op, param_count, params, EK_F32, out);
}

/* A real number as one element of a dtype, by the rules of ek_cast. */
static void to_element(double value, ek_dtype dtype, void *element)
{
    int64_t integer =
        value >= 0x1p+63 ? INT64_MAX : (value > -0x1p+63 ? (int64_t)value : INT64_MIN);
    uint64_t natural = value >= 0x1p+64 ? UINT64_MAX : (value > 0 ? (uint64_t)value : 0);
    size_t size = ek_dtype_size(dtype);
    int64_t top = size < 8 ? (INT64_C(1) << (8 * size - 1)) - 1 : INT64_MAX;
    uint64_t high = size < 8 ? (UINT64_C(1) << (8 * size)) - 1 : UINT64_MAX;
    if (value != value)
        integer = 0, natural = 0;
    integer = integer > top ? top : (integer < -top - 1 ? -top - 1 : integer);
    natural = natural > high ? high : natural;
    switch (dtype) {
    case EK_B8:
        *(ek_b8 *)element = value != 0;
        break;
    case EK_I8:
    case EK_I16:
    case EK_I32:
    case EK_I64:
        memcpy(element, &integer, size); /* little-endian: the low bytes come first */
        break;
    case EK_U8:
    case EK_U16:
    case EK_U32:
    case EK_U64:
        memcpy(element, &natural, size);
        break;
    case EK_F16:
        *(ek_f16 *)element = ek_store_f16(ek_body_odd_f32(value));
        break;
    case EK_BF16:
        *(ek_bf16 *)element = ek_store_bf16(ek_body_odd_f32(value));
        break;
    case EK_F32:
        *(float *)element = (float)value;
        break;
    case EK_F64:
        *(double *)element = value;
        break;
    case EK_C64:
        *(ek_c64 *)element = (ek_c64){(float)value, 0};
        break;
    default:
        *(ek_c128 *)element = (ek_c128){value, 0};
        break;
    }
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    (void)in;
    const ek_param *value = ek_find_param(param_count, params, "value");
    ek_c128 element;
    ek_dtype dtype;
    if (!*out)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: out is null", op->call);
    EK_TRY(ek_array_dtype(*out, &dtype));
    to_element(value ? value->real : 0, dtype, &element);
    return ek_fill_array(queue, op, &element, *out);
}

const ek_kind ek_kind_fill = {.infer = infer, .apply = apply};
