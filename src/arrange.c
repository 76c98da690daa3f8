#include "arrange.h"

#include <string.h>

#include "error.h"

ek_status ek_arrange_axis(const char *call, int32_t axis, int32_t ndim, int32_t *found)
{
    *found = axis < 0 ? axis + ndim : axis;
    if (*found < 0 || *found >= ndim)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: axis is %d: there are %d dimensions", call,
                       (int)axis, (int)ndim);
    return EK_OK;
}

ek_status ek_arrange_input(const char *call, const ek_operand *x, const ek_operand *out)
{
    if (x->dtype != out->dtype)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: %s is %s: out is %s; ek_cast converts", call,
                       x->name, ek_dtype_name(x->dtype), ek_dtype_name(out->dtype));
    if (ek_overlaps(out, x))
        return ek_fail(EK_OVERLAP, "%s: out at %p overlaps %s at %p", call, out->data, x->name,
                       x->data);
    return EK_OK;
}

ek_status ek_arrange_out(const char *call, const ek_operand *out, int32_t ndim,
                         const int64_t *shape)
{
    char text[128], wanted[128];
    if (out->ndim != ndim ||
        (ndim > 0 && memcmp(out->shape, shape, (size_t)ndim * sizeof *shape) != 0))
        return ek_fail(EK_SHAPE_MISMATCH, "%s: out has shape %s: must be %s", call,
                       ek_shape_text(out->ndim, out->shape, text),
                       ek_shape_text(ndim, shape, wanted));
    if (ek_self_overlaps(out))
        return ek_fail(EK_OVERLAP, "%s: out with shape %s overlaps itself", call,
                       ek_shape_text(out->ndim, out->shape, text));
    return EK_OK;
}

void ek_arrange_part(ek_operand *operand, int64_t *shape, int32_t axis, int64_t first,
                     int64_t length)
{
    int64_t size = (int64_t)ek_dtype_size(operand->dtype);
    shape[axis] = length;
    operand->shape = shape;
    operand->size = 1;
    for (int32_t d = 0; d < operand->ndim; d++)
        operand->size *= shape[d];
    if (operand->size > 0)
        operand->data = (char *)operand->data + first * operand->stride[axis] * size;
}
