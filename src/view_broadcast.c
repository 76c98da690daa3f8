/* Views that repeat elements by strides of 0. */
#include "view.h"

ek_status ek_draft_broadcast(ek_draft *draft, int32_t ndim, const int64_t *shape)
{
    char text[128], had[128];
    const ek_draft x = *draft;
    int32_t added = ndim - x.ndim;
    bool fits = added >= 0;
    for (int32_t d = 0; d < ndim && fits; d++) {
        bool there = d >= added;
        bool steps = there && x.shape[d - added] == shape[d];
        fits = shape[d] >= 0 && (!there || steps || x.shape[d - added] == 1);
        draft->shape[d] = shape[d];
        draft->stride[d] = steps ? x.stride[d - added] : 0;
    }
    if (!fits)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: x has shape %s: does not broadcast to %s", x.call,
                       ek_shape_text(x.ndim, x.shape, had), ek_shape_text(ndim, shape, text));
    draft->ndim = ndim;
    return EK_OK;
}

ek_status ek_broadcast_to(const ek_array *x, int32_t ndim, const int64_t *shape, ek_view *view)
{
    ek_draft draft;
    ek_operand result;
    EK_TRY(ek_draft_open("ek_broadcast_to", x, view, &draft));
    EK_TRY(ek_draft_ndim(&draft, ndim));
    if (ndim > 0 && !shape)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_broadcast_to: shape is null with ndim = %d",
                       (int)ndim);
    EK_TRY(ek_draft_broadcast(&draft, ndim, shape));
    /* Whether there can be so many elements. */
    ek_array wanted = ek_array_view(NULL, draft.dtype, NULL, ndim, draft.shape);
    EK_TRY(ek_operand_describe("ek_broadcast_to", "the view", &wanted, &result));
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_broadcast_arrays(int32_t count, const ek_array *const *arrays, ek_view *views)
{
    static const char call[] = "ek_broadcast_arrays";
    int64_t shape[EK_MAX_NDIM];
    int32_t ndim = 0;
    if (count < 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: count is %d: must not be negative", call,
                       (int)count);
    if (count > 0 && (!arrays || !views))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call, arrays ? "views" : "arrays");
    EK_TRY(ek_broadcast_for(call, count, arrays, &ndim, shape));
    for (int32_t i = 0; i < count; i++) {
        ek_array wanted = *arrays[i];
        ek_operand result;
        wanted.ndim = ndim;
        wanted.shape = shape;
        wanted.strides = NULL;
        EK_TRY(ek_operand_describe(call, "a view", &wanted, &result));
    }
    for (int32_t i = 0; i < count; i++) {
        ek_draft draft;
        EK_TRY(ek_draft_open(call, arrays[i], &views[i], &draft));
        EK_TRY(ek_draft_broadcast(&draft, ndim, shape));
        ek_draft_close(&draft, &views[i]);
    }
    return EK_OK;
}
