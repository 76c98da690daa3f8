/* Views with other axes: in another order, with new ones or without some. */
#include "view.h"

ek_status ek_permute(const ek_array *x, const int32_t *axes, ek_view *view)
{
    ek_draft draft;
    int32_t order[EK_MAX_NDIM];
    uint32_t named;
    EK_TRY(ek_draft_open("ek_permute", x, view, &draft));
    if (axes)
        EK_TRY(ek_draft_axes(&draft, "axes", draft.ndim, axes, draft.ndim, &named));
    for (int32_t i = 0; i < draft.ndim; i++) {
        int32_t axis = axes ? axes[i] : draft.ndim - 1 - i;
        order[i] = axis < 0 ? axis + draft.ndim : axis;
    }
    ek_draft_reorder(&draft, draft.ndim, order);
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_swapaxes(const ek_array *x, int32_t axis1, int32_t axis2, ek_view *view)
{
    ek_draft draft;
    int32_t order[EK_MAX_NDIM], first, second;
    EK_TRY(ek_draft_open("ek_swapaxes", x, view, &draft));
    EK_TRY(ek_draft_axis(&draft, axis1, draft.ndim, &first));
    EK_TRY(ek_draft_axis(&draft, axis2, draft.ndim, &second));
    for (int32_t i = 0; i < draft.ndim; i++)
        order[i] = i;
    order[first] = second;
    order[second] = first;
    ek_draft_reorder(&draft, draft.ndim, order);
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_moveaxis(const ek_array *x, int32_t count, const int32_t *from, const int32_t *to,
                      ek_view *view)
{
    ek_draft draft;
    int32_t order[EK_MAX_NDIM], next = 0;
    uint32_t taken, filled;
    EK_TRY(ek_draft_open("ek_moveaxis", x, view, &draft));
    EK_TRY(ek_draft_axes(&draft, "from", count, from, draft.ndim, &taken));
    EK_TRY(ek_draft_axes(&draft, "to", count, to, draft.ndim, &filled));
    for (int32_t i = 0; i < count; i++) {
        int32_t place = to[i] < 0 ? to[i] + draft.ndim : to[i];
        order[place] = from[i] < 0 ? from[i] + draft.ndim : from[i];
    }
    for (int32_t i = 0; i < draft.ndim; i++) {
        if (filled >> i & 1)
            continue;
        while (taken >> next & 1)
            next++;
        order[i] = next++;
    }
    ek_draft_reorder(&draft, draft.ndim, order);
    ek_draft_close(&draft, view);
    return EK_OK;
}

/* New axes of length 1 where bits of `added` are set. */
static void expand(ek_draft *draft, int32_t ndim, uint32_t added)
{
    const ek_draft x = *draft;
    int32_t next = 0;
    draft->ndim = ndim;
    for (int32_t d = 0; d < ndim; d++) {
        bool fresh = added >> d & 1;
        draft->shape[d] = fresh ? 1 : x.shape[next];
        draft->stride[d] = fresh ? 0 : x.stride[next];
        next += !fresh;
    }
}

ek_status ek_expand_dims(const ek_array *x, int32_t count, const int32_t *axes, ek_view *view)
{
    ek_draft draft;
    uint32_t added;
    EK_TRY(ek_draft_open("ek_expand_dims", x, view, &draft));
    EK_TRY(ek_draft_ndim(&draft, count < 0 ? 0 : (int64_t)draft.ndim + count));
    EK_TRY(ek_draft_axes(&draft, "axes", count, axes, draft.ndim + count, &added));
    expand(&draft, draft.ndim + count, added);
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_squeeze(const ek_array *x, int32_t count, const int32_t *axes, ek_view *view)
{
    char text[128];
    ek_draft draft;
    uint32_t named = 0;
    EK_TRY(ek_draft_open("ek_squeeze", x, view, &draft));
    if (axes || count != 0)
        EK_TRY(ek_draft_axes(&draft, "axes", count, axes, draft.ndim, &named));
    for (int32_t d = draft.ndim - 1; d >= 0; d--) {
        bool one = draft.shape[d] == 1;
        if ((named >> d & 1) && !one)
            return ek_fail(EK_SHAPE_MISMATCH, "ek_squeeze: axis %d of shape %s is not of length 1",
                           (int)d, ek_shape_text(x->ndim, x->shape, text));
        if (axes ? named >> d & 1 : one)
            ek_draft_drop(&draft, d);
    }
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_atleast(const ek_array *x, int32_t ndim, ek_view *view)
{
    /* By the dimensions wanted and those that there are: which are added. */
    static const uint8_t added[4][3] = {[1] = {1}, [2] = {3, 1}, [3] = {7, 5, 4}};
    ek_draft draft;
    EK_TRY(ek_draft_open("ek_atleast", x, view, &draft));
    if (ndim < 1 || ndim > 3)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_atleast: ndim is %d: must be 1 to 3", (int)ndim);
    if (draft.ndim < ndim)
        expand(&draft, ndim, added[ndim][draft.ndim]);
    ek_draft_close(&draft, view);
    return EK_OK;
}
