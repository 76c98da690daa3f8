/* Views of the same elements in the same order with another shape. */
#include <inttypes.h>

#include "view.h"

/* The lengths asked for, with the one that was left open. */
static ek_status take_shape(const ek_draft *x, int32_t ndim, const int64_t *shape, int64_t *taken)
{
    char text[128], had[128];
    int32_t open = -1;
    int64_t known = 1, count = 1;
    bool fits = true;
    EK_TRY(ek_draft_ndim(x, ndim));
    if (ndim > 0 && !shape)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape is null with ndim = %d", x->call, (int)ndim);
    for (int32_t d = 0; d < ndim; d++) {
        taken[d] = shape[d];
        if (shape[d] < -1 || (shape[d] == -1 && open >= 0))
            return ek_fail(EK_INVALID_ARGUMENT, "%s: shape is %s: %s", x->call,
                           ek_shape_text(ndim, shape, text),
                           shape[d] < -1 ? "must not be negative, but for one -1"
                                         : "only one length may be -1");
        if (shape[d] == -1)
            open = d;
        else if (shape[d] > 0)
            fits &= !__builtin_mul_overflow(known, shape[d], &known);
        count = shape[d] == 0 ? 0 : count;
    }
    count = fits ? count * known : -1;
    if (open >= 0 && count > 0 && x->size % count == 0) {
        taken[open] = x->size / count;
        return EK_OK;
    }
    if (open >= 0 || count != x->size)
        return ek_fail(
            EK_SHAPE_MISMATCH, "%s: shape is %s: x has %" PRId64 " elements, of shape %s", x->call,
            ek_shape_text(ndim, shape, text), x->size, ek_shape_text(x->ndim, x->shape, had));
    return EK_OK;
}

/* The strides of another shape, if there are any. Axes of both shapes are taken together in the
 * smallest groups of equal size: within a group the elements of x must be evenly apart. */
static bool find_strides(const ek_draft *x, int32_t ndim, const int64_t *shape, int64_t *stride)
{
    int64_t length[EK_MAX_NDIM], step[EK_MAX_NDIM];
    int32_t count = 0, from = 0, to = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        if (x->shape[d] == 1)
            continue;
        length[count] = x->shape[d];
        step[count++] = x->stride[d];
    }
    while (from < count && to < ndim) {
        int32_t from_end = from + 1, to_end = to + 1;
        int64_t have = length[from], want = shape[to];
        while (have != want) {
            if (want < have)
                want *= shape[to_end++];
            else
                have *= length[from_end++];
        }
        for (int32_t k = from; k + 1 < from_end; k++) {
            if (step[k] != length[k + 1] * step[k + 1])
                return false;
        }
        stride[to_end - 1] = step[from_end - 1];
        for (int32_t k = to_end - 1; k > to; k--)
            stride[k - 1] = stride[k] * shape[k];
        from = from_end;
        to = to_end;
    }
    for (; to < ndim; to++)
        stride[to] = 1; /* lengths of 1 */
    return true;
}

static ek_status reshape(ek_draft *x, int32_t ndim, const int64_t *shape)
{
    char text[128], had[128], steps[128];
    int64_t taken[EK_MAX_NDIM], stride[EK_MAX_NDIM] = {0};
    EK_TRY(take_shape(x, ndim, shape, taken));
    if (x->size > 0 && !find_strides(x, ndim, taken, stride))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: x with shape %s and strides %s is no view of shape %s: it must be "
                       "copied first (ek_copy to an array in C order)",
                       x->call, ek_shape_text(x->ndim, x->shape, had),
                       ek_shape_text(x->ndim, x->stride, steps), ek_shape_text(ndim, taken, text));
    x->ndim = ndim;
    for (int32_t d = 0; d < ndim; d++) {
        x->shape[d] = taken[d];
        x->stride[d] = stride[d];
    }
    return EK_OK;
}

ek_status ek_reshape(const ek_array *x, int32_t ndim, const int64_t *shape, ek_view *view)
{
    ek_draft draft;
    EK_TRY(ek_draft_open("ek_reshape", x, view, &draft));
    EK_TRY(reshape(&draft, ndim, shape));
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_ravel(const ek_array *x, ek_view *view)
{
    static const int64_t all[] = {-1};
    ek_draft draft;
    EK_TRY(ek_draft_open("ek_ravel", x, view, &draft));
    EK_TRY(reshape(&draft, 1, draft.size > 0 ? all : &draft.size));
    ek_draft_close(&draft, view);
    return EK_OK;
}
