#include "view.h"

#include <inttypes.h>
#include <string.h>

ek_status ek_draft_open(const char *call, const ek_array *x, const void *view, ek_draft *draft)
{
    ek_operand operand;
    if (!view)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: view is null", call);
    EK_TRY(ek_operand_describe(call, "x", x, &operand));
    draft->call = call;
    draft->x = *x;
    draft->dtype = operand.dtype;
    draft->ndim = operand.ndim;
    draft->size = operand.size;
    draft->offset = 0;
    if (operand.ndim > 0)
        memcpy(draft->shape, operand.shape, (size_t)operand.ndim * sizeof *draft->shape);
    memcpy(draft->stride, operand.stride, (size_t)operand.ndim * sizeof *draft->stride);
    return EK_OK;
}

void ek_draft_close(const ek_draft *draft, ek_view *view)
{
    ek_array array = draft->x;
    bool empty = false;
    for (int32_t d = 0; d < draft->ndim; d++) {
        view->shape[d] = draft->shape[d];
        view->strides[d] = draft->stride[d];
        empty |= draft->shape[d] == 0;
    }
    array.ndim = draft->ndim;
    array.shape = view->shape;
    array.strides = view->strides;
    /* A view that begins before `data` needs another one; one without elements begins anywhere. */
    int64_t offset = (int64_t)array.byte_offset + draft->offset;
    if (!empty && offset >= 0) {
        array.byte_offset = (uint64_t)offset;
    } else if (!empty) {
        array.data = (char *)array.data + offset;
        array.byte_offset = 0;
    }
    view->array = array;
}

ek_status ek_draft_axis(const ek_draft *draft, int32_t axis, int32_t ndim, int32_t *found)
{
    *found = axis < 0 ? axis + ndim : axis;
    if (*found < 0 || *found >= ndim)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: axis is %d: there are %d dimensions", draft->call,
                       (int)axis, (int)ndim);
    return EK_OK;
}

ek_status ek_draft_axes(const ek_draft *draft, const char *name, int32_t count, const int32_t *axes,
                        int32_t ndim, uint32_t *named)
{
    *named = 0;
    if (count < 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: count is %d: must not be negative", draft->call,
                       (int)count);
    if (count > 0 && !axes)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with count = %d", draft->call, name,
                       (int)count);
    for (int32_t i = 0; i < count; i++) {
        int32_t axis;
        EK_TRY(ek_draft_axis(draft, axes[i], ndim, &axis));
        if (*named >> axis & 1)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s names axis %d twice", draft->call, name,
                           (int)axis);
        *named |= UINT32_C(1) << axis;
    }
    return EK_OK;
}

ek_status ek_draft_ndim(const ek_draft *draft, int64_t ndim)
{
    if (ndim < 0 || ndim > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: the view has %" PRId64 " dimensions: must be 0 to "
                       "%d",
                       draft->call, ndim, EK_MAX_NDIM);
    return EK_OK;
}

void ek_draft_reorder(ek_draft *draft, int32_t ndim, const int32_t *order)
{
    const ek_draft before = *draft;
    draft->ndim = ndim;
    for (int32_t i = 0; i < ndim; i++) {
        draft->shape[i] = before.shape[order[i]];
        draft->stride[i] = before.stride[order[i]];
    }
}

void ek_draft_drop(ek_draft *draft, int32_t axis)
{
    draft->ndim--;
    for (int32_t d = axis; d < draft->ndim; d++) {
        draft->shape[d] = draft->shape[d + 1];
        draft->stride[d] = draft->stride[d + 1];
    }
}

void ek_draft_advance(ek_draft *draft, int32_t axis, int64_t at)
{
    draft->offset += at * draft->stride[axis] * (int64_t)ek_dtype_size(draft->dtype);
}

ek_status ek_view_make(const ek_array *x, ek_view *view)
{
    ek_draft draft;
    EK_TRY(ek_draft_open("ek_view_make", x, view, &draft));
    ek_draft_close(&draft, view);
    return EK_OK;
}
