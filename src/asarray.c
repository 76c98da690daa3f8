/* ek_asarray, which links every cast: in a file of its own, for those who call it. */
#include "backend.h"
#include "einkorn/ops/cast.h"
#include "error.h"
#include "layout.h"

static const char call[] = "ek_asarray";

/* src on the queue's device, with its dtype. */
static ek_status bring(ek_queue *queue, const ek_array *src, ek_array *array)
{
    EK_TRY(ek_empty_like(queue, src, EK_SAME_SHAPE, NULL, array));
    ek_status status = ek_copy(queue, array, src);
    if (status != EK_OK)
        ek_array_free(queue, array);
    return status;
}

static ek_status convert(ek_queue *queue, ek_dtype dtype, const ek_array *src, ek_array *array)
{
    EK_TRY(ek_array_alloc(queue, dtype, src->ndim, src->shape, array));
    ek_status status = ek_cast(queue, src, array);
    if (status != EK_OK)
        ek_array_free(queue, array);
    return status;
}

static ek_status bring_and_convert(ek_queue *queue, ek_dtype dtype, const ek_array *src,
                                   ek_array *array)
{
    ek_array brought;
    EK_TRY(bring(queue, src, &brought));
    ek_status status = convert(queue, dtype, &brought, array);
    ek_status freed = ek_array_free(queue, &brought);
    if (status == EK_OK && freed != EK_OK)
        ek_array_free(queue, array);
    return status != EK_OK ? status : freed;
}

ek_status ek_asarray(ek_queue *queue, ek_dtype dtype, const ek_array *src, ek_array *array,
                     bool *made)
{
    ek_operand operand;
    ek_array fresh;
    if (!queue || !array || !made)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call,
                       !queue ? "queue" : (array ? "made" : "array"));
    if ((unsigned)dtype >= EK_DTYPES)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: dtype is %d: no dtype has that number", call,
                       (int)dtype);
    EK_TRY(ek_operand_read(call, "src", src, &operand));
    bool here = ek_belongs(&operand, ek_queue_device(queue));
    if (here && operand.dtype == dtype) {
        *array = *src;
        *made = false;
        return EK_OK;
    }
    if (here)
        EK_TRY(convert(queue, dtype, src, &fresh));
    else if (operand.dtype == dtype)
        EK_TRY(bring(queue, src, &fresh));
    else
        EK_TRY(bring_and_convert(queue, dtype, src, &fresh));
    *array = fresh;
    *made = true;
    return EK_OK;
}
