/* Which memory arrays have, and whether two have some in common. */
#include "einkorn/view.h"
#include "error.h"
#include "layout.h"

/* The bounds, which are equal if there is no element. */
static void bounds(const ek_operand *x, uintptr_t *low, uintptr_t *high)
{
    int64_t size = (int64_t)ek_dtype_size(x->dtype), below = 0, above = x->size > 0;
    for (int32_t d = 0; d < x->ndim && x->size > 0; d++) {
        int64_t span = (x->shape[d] - 1) * x->stride[d];
        *(span < 0 ? &below : &above) += span;
    }
    *low = (uintptr_t)x->data + (uintptr_t)(below * size);
    *high = (uintptr_t)x->data + (uintptr_t)(above * size);
}

ek_status ek_byte_bounds(const ek_array *x, const void **low, const void **high)
{
    ek_operand operand;
    uintptr_t first, end;
    EK_TRY(ek_operand_describe("ek_byte_bounds", "x", x, &operand));
    if (!low || !high)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_byte_bounds: %s is null", low ? "high" : "low");
    bounds(&operand, &first, &end);
    *low = (const void *)first;
    *high = (const void *)end;
    return EK_OK;
}

/* Both arrays, and whether they are of one device: all memory of the host counts as one. */
static ek_status describe(const char *call, const ek_array *x, const ek_array *y,
                          const bool *shares, ek_operand *both, bool *together)
{
    EK_TRY(ek_operand_describe(call, "x", x, &both[0]));
    EK_TRY(ek_operand_describe(call, "y", y, &both[1]));
    if (!shares)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shares is null", call);
    *together = (ek_on_host(&both[0]) && ek_on_host(&both[1])) ||
                (both[0].device_type == both[1].device_type &&
                 both[0].device_index == both[1].device_index);
    return EK_OK;
}

ek_status ek_may_share_memory(const ek_array *x, const ek_array *y, bool *shares)
{
    ek_operand both[2];
    uintptr_t low[2], high[2];
    bool together = false;
    EK_TRY(describe("ek_may_share_memory", x, y, shares, both, &together));
    for (int i = 0; i < 2; i++)
        bounds(&both[i], &low[i], &high[i]);
    *shares =
        together && both[0].size > 0 && both[1].size > 0 && low[0] < high[1] && low[1] < high[0];
    return EK_OK;
}

ek_status ek_shares_memory(const ek_array *x, const ek_array *y, bool *shares)
{
    ek_operand both[2];
    bool together = false;
    EK_TRY(describe("ek_shares_memory", x, y, shares, both, &together));
    *shares = together && ek_overlaps(&both[0], &both[1]);
    return EK_OK;
}
