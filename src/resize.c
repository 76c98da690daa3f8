/* ek_resize: whole copies of x, and a part of one. */
#include <inttypes.h>

#include "arrange.h"
#include "einkorn/view.h"
#include "error.h"

ek_status ek_resize(ek_queue *queue, const ek_array *x, ek_array *out)
{
    static const char call[] = "ek_resize";
    ek_view from, to, part;
    ek_operand source, result;
    EK_TRY(ek_operand_init(call, "x", queue, x, &source));
    EK_TRY(ek_operand_init_out(call, "out", queue, out, &result));
    EK_TRY(ek_arrange_input(call, &source, &result));
    EK_TRY(ek_arrange_out(call, &result, result.ndim, result.shape));
    EK_TRY(ek_ravel(x, &from));
    EK_TRY(ek_ravel(out, &to));
    int64_t n = from.shape[0], wanted = to.shape[0];
    if (n == 0 && wanted > 0)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: x is empty: out has %" PRId64 " elements", call,
                       wanted);
    int64_t times = n > 0 ? wanted / n : 0, whole = times * n;
    EK_TRY(ek_slice(&to.array, 1, &(ek_range){0, whole, 1}, &part));
    EK_TRY(ek_tile(queue, &from.array, 1, &times, &part.array));
    EK_TRY(ek_slice(&to.array, 1, &(ek_range){whole, wanted, 1}, &part));
    EK_TRY(ek_slice(&from.array, 1, &(ek_range){0, wanted - whole, 1}, &from));
    const ek_array *rest = &from.array;
    return ek_concatenate(queue, 1, &rest, 0, &part.array);
}
