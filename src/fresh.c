#include "fresh.h"

#include <inttypes.h>

#include "call.h"
#include "kind.h"

ek_status ek_infer_fresh(const ek_op_info *op, int32_t param_count, const ek_param *params,
                         ek_dtype standard, ek_output *out)
{
    const ek_param *wanted = ek_find_param(param_count, params, "dtype");
    const ek_param *lengths = ek_find_param(param_count, params, "shape");
    if (wanted && (wanted->integer < 0 || wanted->integer >= EK_DTYPES))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: dtype is %" PRId64 ": must be 0 to %d", op->call,
                       wanted->integer, EK_DTYPES - 1);
    out->dtype = wanted ? (ek_dtype)wanted->integer : standard;
    out->ndim = lengths ? lengths->count : 0;
    if (out->ndim < 0 || out->ndim > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape has %d lengths: must be 0 to %d", op->call,
                       (int)out->ndim, EK_MAX_NDIM);
    if (out->ndim > 0 && !lengths->list)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape is null with %d lengths", op->call,
                       (int)out->ndim);
    for (int32_t d = 0; d < out->ndim; d++) {
        out->shape[d] = lengths->list[d];
        if (out->shape[d] < 0)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: shape has a length of %" PRId64 ": must not be negative", op->call,
                           out->shape[d]);
    }
    return EK_OK;
}
