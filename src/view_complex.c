/* Views of the parts of complex numbers. */
#include "view.h"

static ek_status part(const char *call, const ek_array *x, int64_t which, ek_view *view)
{
    ek_draft draft;
    EK_TRY(ek_draft_open(call, x, view, &draft));
    if (draft.dtype != EK_C64 && draft.dtype != EK_C128)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: x is %s: must be c64 or c128", call,
                       ek_dtype_name(draft.dtype));
    draft.dtype = draft.dtype == EK_C64 ? EK_F32 : EK_F64;
    draft.x.type = ek_array_view(NULL, draft.dtype, NULL, 0, NULL).type;
    draft.offset = which * (int64_t)ek_dtype_size(draft.dtype);
    for (int32_t d = 0; d < draft.ndim; d++)
        draft.stride[d] *= 2; /* in range: a stride reaches over less than EK_MAX_REACH bytes */
    ek_draft_close(&draft, view);
    return EK_OK;
}

ek_status ek_real_part(const ek_array *x, ek_view *view)
{
    return part("ek_real_part", x, 0, view);
}

ek_status ek_imag_part(const ek_array *x, ek_view *view)
{
    return part("ek_imag_part", x, 1, view);
}
