/* Views of the same bytes as another dtype. */
#include <inttypes.h>

#include "view.h"

/* Takes the last axis, and the strides of the others, from one size of elements to another. */
static ek_status resize(ek_draft *x, int64_t from, int64_t to)
{
    char text[128];
    int32_t last = x->ndim - 1;
    bool dense = last >= 0 && (x->shape[last] <= 1 || x->stride[last] == 1);
    bool fits = dense && x->shape[last] * from % to == 0;
    for (int32_t d = 0; d < last && fits; d++)
        fits = x->shape[d] <= 1 || x->stride[d] * from % to == 0;
    if (!fits)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: x with shape %s has elements of %" PRId64 " bytes: its last axis must "
                       "have no gaps, and all steps must be multiples of %" PRId64 " bytes",
                       x->call, ek_shape_text(x->ndim, x->shape, text), from, to);
    x->shape[last] = x->shape[last] * from / to;
    for (int32_t d = 0; d < last; d++)
        x->stride[d] = x->stride[d] * from / to;
    x->stride[last] = 1;
    return EK_OK;
}

ek_status ek_bit_cast(const ek_array *x, ek_dtype dtype, ek_view *view)
{
    ek_draft draft;
    ek_operand result;
    EK_TRY(ek_draft_open("ek_bit_cast", x, view, &draft));
    if ((unsigned)dtype >= EK_DTYPES)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_bit_cast: dtype is %d: no dtype has that number",
                       (int)dtype);
    int64_t from = (int64_t)ek_dtype_size(draft.dtype), to = (int64_t)ek_dtype_size(dtype);
    if (from != to)
        EK_TRY(resize(&draft, from, to));
    draft.dtype = dtype;
    draft.x.type = ek_array_view(NULL, dtype, NULL, 0, NULL).type;
    ek_array wanted = draft.x;
    wanted.ndim = draft.ndim;
    wanted.shape = draft.shape;
    wanted.strides = draft.stride;
    EK_TRY(ek_operand_describe("ek_bit_cast", "the view", &wanted, &result));
    ek_draft_close(&draft, view);
    return EK_OK;
}
