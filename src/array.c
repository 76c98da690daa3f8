#include "einkorn/array.h"

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "einkorn/memory.h"
#include "error.h"
#include "layout.h"

/* DLPack's type codes. */
enum { INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4, COMPLEX = 5, BOOL = 6, CODES = 7 };

static const struct {
    uint8_t code, bits;
} types[EK_DTYPES] = {
    [EK_B8] = {BOOL, 8},    [EK_I8] = {INT, 8},       [EK_I16] = {INT, 16},
    [EK_I32] = {INT, 32},   [EK_I64] = {INT, 64},     [EK_U8] = {UINT, 8},
    [EK_U16] = {UINT, 16},  [EK_U32] = {UINT, 32},    [EK_U64] = {UINT, 64},
    [EK_F16] = {FLOAT, 16}, [EK_BF16] = {BFLOAT, 16}, [EK_F32] = {FLOAT, 32},
    [EK_F64] = {FLOAT, 64}, [EK_C64] = {COMPLEX, 64}, [EK_C128] = {COMPLEX, 128},
};

ek_status ek_array_dtype(const ek_array *array, ek_dtype *dtype)
{
    /* By code and the logarithm of the bits: 8, 16, 32, 64, 128. One more than the dtype, so that 0
     * means none. */
    static const uint8_t table[CODES][5] = {
        [INT] = {EK_I8 + 1, EK_I16 + 1, EK_I32 + 1, EK_I64 + 1},
        [UINT] = {EK_U8 + 1, EK_U16 + 1, EK_U32 + 1, EK_U64 + 1},
        [FLOAT] = {0, EK_F16 + 1, EK_F32 + 1, EK_F64 + 1},
        [BFLOAT] = {0, EK_BF16 + 1},
        [COMPLEX] = {0, 0, 0, EK_C64 + 1, EK_C128 + 1},
        [BOOL] = {EK_B8 + 1},
    };
    if (!array || !dtype)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_array_dtype: %s is null",
                       array ? "dtype" : "array");
    unsigned bits = array->type.bits, code = array->type.code;
    if (code < CODES && array->type.lanes == 1 && bits >= 8 && bits <= 128 &&
        (bits & (bits - 1)) == 0) {
        unsigned entry = table[code][__builtin_ctz(bits) - 3];
        if (entry) {
            *dtype = (ek_dtype)(entry - 1);
            return EK_OK;
        }
    }
    return ek_fail(EK_DTYPE_MISMATCH,
                   "ek_array_dtype: DLPack type code %u, %u bits, %u lanes is no dtype", code, bits,
                   (unsigned)array->type.lanes);
}

ek_array ek_array_view(void *data, ek_dtype dtype, const ek_device *device, int32_t ndim,
                       int64_t *shape)
{
    ek_array array = {.data = data, .ndim = ndim, .shape = shape};
    /* It cannot refuse, so what is none of them becomes an array that every call refuses. */
    if (device) {
        array.device.type = (int32_t)device->type;
        array.device.index = device->index;
    }
    if ((unsigned)dtype < EK_DTYPES) {
        array.type.code = types[dtype].code;
        array.type.bits = types[dtype].bits;
        array.type.lanes = 1;
    }
    return array;
}

ek_status ek_array_alloc(ek_queue *queue, ek_dtype dtype, int32_t ndim, const int64_t *shape,
                         ek_array *array)
{
    if (!queue || !array || (ndim > 0 && !shape))
        return ek_fail(EK_INVALID_ARGUMENT, "ek_array_alloc: %s is null",
                       !queue ? "queue" : (array ? "shape" : "array"));
    if ((unsigned)dtype >= EK_DTYPES)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_array_alloc: dtype is %d: no dtype has that number",
                       (int)dtype);
    if (ndim < 0 || ndim > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_array_alloc: ndim is %d: must be 0 to %d",
                       (int)ndim, EK_MAX_NDIM);
    int64_t *kept = malloc((size_t)(ndim ? ndim : 1) * sizeof *kept);
    if (!kept)
        return ek_fail(EK_OUT_OF_MEMORY, "ek_array_alloc: no host memory");
    if (ndim > 0)
        memcpy(kept, shape, (size_t)ndim * sizeof *kept);
    ek_array fresh = ek_array_view(NULL, dtype, ek_queue_device(queue), ndim, kept);
    ek_operand operand;
    ek_status status = ek_operand_describe("ek_array_alloc", "array", &fresh, &operand);
    if (status == EK_OK)
        status = ek_alloc(queue, (size_t)operand.size * ek_dtype_size(dtype), &fresh.data);
    if (status != EK_OK) {
        free(kept);
        return status;
    }
    *array = fresh;
    return EK_OK;
}

ek_status ek_empty_like(ek_queue *queue, const ek_array *like, int32_t ndim, const int64_t *shape,
                        ek_array *array)
{
    ek_operand operand;
    EK_TRY(ek_operand_describe("ek_empty_like", "like", like, &operand));
    if (ndim == EK_SAME_SHAPE)
        return ek_array_alloc(queue, operand.dtype, operand.ndim, operand.shape, array);
    return ek_array_alloc(queue, operand.dtype, ndim, shape, array);
}

ek_status ek_array_free(ek_queue *queue, ek_array *array)
{
    if (!array)
        return EK_OK;
    ek_status status = ek_free(queue, array->data);
    if (status == EK_INVALID_ARGUMENT || status == EK_DEVICE_MISMATCH ||
        status == EK_UNSUPPORTED) /* refused */
        return status;
    free(array->shape); /* if the device failed, it has the memory no more than we do */
    memset(array, 0, sizeof *array);
    return status;
}

ek_status ek_broadcast_for(const char *call, int32_t count, const ek_array *const *arrays,
                           int32_t *ndim, int64_t *shape)
{
    char text[128], other[128];
    int32_t most = 0;
    int64_t result[EK_MAX_NDIM];
    for (int32_t i = 0; i < count; i++) {
        ek_operand operand;
        EK_TRY(ek_operand_describe(call, "an operand", arrays[i], &operand));
        most = arrays[i]->ndim > most ? arrays[i]->ndim : most;
    }
    for (int32_t d = 0; d < most; d++)
        result[d] = 1;
    for (int32_t i = 0; i < count; i++) {
        int32_t shift = most - arrays[i]->ndim;
        for (int32_t d = 0; d < arrays[i]->ndim; d++) {
            int64_t length = arrays[i]->shape[d];
            if (length == 1 || length == result[shift + d])
                continue;
            if (result[shift + d] != 1)
                return ek_fail(EK_SHAPE_MISMATCH, "%s: shape %s does not broadcast with %s", call,
                               ek_shape_text(arrays[i]->ndim, arrays[i]->shape, text),
                               ek_shape_text(most, result, other));
            result[shift + d] = length;
        }
    }
    *ndim = most;
    for (int32_t d = 0; d < most; d++)
        shape[d] = result[d];
    return EK_OK;
}

ek_status ek_broadcast(int32_t count, const ek_array *const *arrays, int32_t *ndim, int64_t *shape)
{
    if (count < 0)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_broadcast: count is %d: must not be negative",
                       (int)count);
    if ((count > 0 && !arrays) || !ndim || !shape)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_broadcast: %s is null",
                       count > 0 && !arrays ? "arrays" : (ndim ? "shape" : "ndim"));
    return ek_broadcast_for("ek_broadcast", count, arrays, ndim, shape);
}
