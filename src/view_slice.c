/* Views of parts: slices, indices, backward, splits, windows. */
#include <inttypes.h>

#include "view.h"

/* A place as Python takes it: counted from the end if negative, and within low to high. */
static int64_t place_of(int64_t place, int64_t n, int64_t low, int64_t high)
{
    if (place < 0)
        place += n; /* no overflow: n is positive or 0 */
    return place < low ? low : (place > high ? high : place);
}

ek_status ek_draft_slice(ek_draft *draft, int32_t axis, const ek_range *range)
{
    int64_t n = draft->shape[axis], step = range->step == EK_NONE ? 1 : range->step;
    if (step == 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: step of axis %d is 0", draft->call, (int)axis);
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    int64_t start = step < 0 ? high : low, stop = step < 0 ? low : high;
    if (range->start != EK_NONE)
        start = place_of(range->start, n, low, high);
    if (range->stop != EK_NONE)
        stop = place_of(range->stop, n, low, high);
    int64_t length = step < 0 ? (start - stop - 1) / -step + 1 : (stop - start - 1) / step + 1;
    if (step < 0 ? start <= stop : start >= stop)
        length = 0;
    if (length > 0)
        ek_draft_advance(draft, axis, start);
    /* A step that is taken is shorter than the axis, one that is never taken may be of any size. */
    draft->stride[axis] = length > 1 ? draft->stride[axis] * step : 0;
    draft->shape[axis] = length;
    return EK_OK;
}

ek_status ek_slice(const ek_array *x, int32_t count, const ek_range *ranges, ek_view *view)
{
    ek_draft draft;
    EK_TRY(ek_draft_open("ek_slice", x, view, &draft));
    if (count < 0 || count > draft.ndim)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_slice: count is %d: x has %d dimensions",
                       (int)count, (int)draft.ndim);
    if (count > 0 && !ranges)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_slice: ranges is null with count = %d", (int)count);
    for (int32_t d = 0; d < count; d++)
        EK_TRY(ek_draft_slice(&draft, d, &ranges[d]));
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_index(const ek_array *x, int32_t axis, int64_t index, ek_view *view)
{
    ek_draft draft;
    int32_t along;
    EK_TRY(ek_draft_open("ek_index", x, view, &draft));
    EK_TRY(ek_draft_axis(&draft, axis, draft.ndim, &along));
    int64_t n = draft.shape[along], at = index < 0 ? index + n : index;
    if (at < 0 || at >= n)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "ek_index: index is %" PRId64 ": axis %d has a length of %" PRId64, index,
                       (int)along, n);
    ek_draft_advance(&draft, along, at);
    ek_draft_drop(&draft, along);
    ek_draft_close(&draft, view);
    return EK_OK;
}

void ek_draft_flip(ek_draft *draft, int32_t axis)
{
    if (draft->shape[axis] > 0)
        ek_draft_advance(draft, axis, draft->shape[axis] - 1);
    draft->stride[axis] = -draft->stride[axis];
}

ek_status ek_flip(const ek_array *x, int32_t count, const int32_t *axes, ek_view *view)
{
    ek_draft draft;
    uint32_t named = UINT32_MAX;
    EK_TRY(ek_draft_open("ek_flip", x, view, &draft));
    if (axes || count != 0)
        EK_TRY(ek_draft_axes(&draft, "axes", count, axes, draft.ndim, &named));
    for (int32_t d = 0; d < draft.ndim; d++) {
        if (named >> d & 1)
            ek_draft_flip(&draft, d);
    }
    ek_draft_close(&draft, view);
    return EK_OK;
}

/* Two different axes. */
static ek_status two_axes(const ek_draft *draft, int32_t axis1, int32_t axis2, int32_t *first,
                          int32_t *second)
{
    EK_TRY(ek_draft_axis(draft, axis1, draft->ndim, first));
    EK_TRY(ek_draft_axis(draft, axis2, draft->ndim, second));
    if (*first == *second)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: axis1 and axis2 are both axis %d", draft->call,
                       (int)*first);
    return EK_OK;
}

ek_status ek_rot90(const ek_array *x, int32_t times, int32_t axis1, int32_t axis2, ek_view *view)
{
    ek_draft draft;
    int32_t order[EK_MAX_NDIM], first, second, turns = times & 3;
    EK_TRY(ek_draft_open("ek_rot90", x, view, &draft));
    EK_TRY(two_axes(&draft, axis1, axis2, &first, &second));
    for (int32_t d = 0; d < draft.ndim; d++)
        order[d] = d;
    order[first] = second;
    order[second] = first;
    if (turns == 1 || turns == 2)
        ek_draft_flip(&draft, second);
    if (turns == 2 || turns == 3)
        ek_draft_flip(&draft, first);
    if (turns == 1 || turns == 3)
        ek_draft_reorder(&draft, draft.ndim, order);
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_diagonal(const ek_array *x, int64_t offset, int32_t axis1, int32_t axis2,
                      ek_view *view)
{
    ek_draft draft;
    int32_t first, second;
    EK_TRY(ek_draft_open("ek_diagonal", x, view, &draft));
    EK_TRY(two_axes(&draft, axis1, axis2, &first, &second));
    int64_t rows = draft.shape[first], columns = draft.shape[second];
    int64_t down = 0, right = 0;
    if (offset < 0)
        down = offset < -rows ? rows : -offset;
    else
        right = offset > columns ? columns : offset;
    int64_t length = rows - down < columns - right ? rows - down : columns - right;
    if (length > 0) {
        ek_draft_advance(&draft, first, down);
        ek_draft_advance(&draft, second, right);
    }
    int64_t stride = length > 1 ? draft.stride[first] + draft.stride[second] : 0;
    ek_draft_drop(&draft, first > second ? first : second);
    ek_draft_drop(&draft, first > second ? second : first);
    draft.shape[draft.ndim] = length;
    draft.stride[draft.ndim++] = stride;
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_sliding_window(const ek_array *x, int32_t count, const int32_t *axes,
                            const int64_t *lengths, ek_view *view)
{
    ek_draft draft;
    EK_TRY(ek_draft_open("ek_sliding_window", x, view, &draft));
    int32_t ndim = draft.ndim;
    if (count < 0 || (count > 0 && (!axes || !lengths)))
        return ek_fail(EK_INVALID_ARGUMENT, "ek_sliding_window: count is %d with %s", (int)count,
                       count < 0 ? "no meaning" : (axes ? "lengths null" : "axes null"));
    EK_TRY(ek_draft_ndim(&draft, (int64_t)ndim + count));
    for (int32_t i = 0; i < count; i++) {
        int32_t axis;
        EK_TRY(ek_draft_axis(&draft, axes[i], ndim, &axis));
        if (lengths[i] < 0)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "ek_sliding_window: a window has a length of %" PRId64, lengths[i]);
        if (lengths[i] > draft.shape[axis])
            return ek_fail(EK_SHAPE_MISMATCH,
                           "ek_sliding_window: a window has a length of %" PRId64
                           ": axis %d has %" PRId64,
                           lengths[i], (int)axis, draft.shape[axis]);
        draft.shape[axis] -= lengths[i] - 1;
        draft.shape[draft.ndim] = lengths[i];
        draft.stride[draft.ndim++] = draft.stride[axis];
    }
    ek_draft_close(&draft, view);
    return EK_OK;
}

/* Part i of an axis of n elements that is cut into `count` parts, evenly or at `cuts`. */
static ek_range part(int64_t n, int32_t count, const int64_t *cuts, int32_t i)
{
    ek_range range = {EK_NONE, EK_NONE, 1};
    int64_t length = n / count, longer = n % count;
    if (!cuts) {
        range.start = i * length + (i < longer ? i : longer);
        range.stop = range.start + length + (i < longer);
        return range;
    }
    if (i > 0)
        range.start = cuts[i - 1];
    if (i < count - 1)
        range.stop = cuts[i];
    return range;
}

ek_status ek_split(const ek_array *x, int32_t axis, int32_t count, const int64_t *cuts,
                   ek_view *views)
{
    ek_draft whole;
    int32_t along;
    EK_TRY(ek_draft_open("ek_split", x, views, &whole));
    EK_TRY(ek_draft_axis(&whole, axis, whole.ndim, &along));
    if (count < 1)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_split: count is %d: must be 1 or more", (int)count);
    for (int32_t i = 0; i < count; i++) {
        ek_draft draft = whole;
        const ek_range range = part(whole.shape[along], count, cuts, i);
        EK_TRY(ek_draft_slice(&draft, along, &range));
        ek_draft_close(&draft, &views[i]);
    }
    return EK_OK;
}
