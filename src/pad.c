/* ek_pad: x goes into the middle of out, and the slabs around it are filled axis by axis from what
 * is there by then, so that corners come about as NumPy's do. */
#include <inttypes.h>
#include <string.h>

#include "arrange.h"
#include "call.h"
#include "einkorn/ops/copy.h"
#include "einkorn/ops/fill.h"
#include "einkorn/view.h"
#include "integer.h"

static const char call[] = "ek_pad";

enum { OUT, X };

typedef struct pad_args {
    const int64_t *before, *after;
    ek_pad_mode mode;
    const void *value;
} pad_args;

typedef struct pad {
    const pad_args *args;
    ek_queue *queue;
    ek_array *out;
    ek_range filled[EK_MAX_NDIM]; /* of out, so far */
    int32_t axis;
    int64_t n, first; /* of x along the axis, and where it begins in out */
} pad;

static ek_status check(ek_queue *queue, const pad_args *args, const ek_array *in,
                       const ek_array *result)
{
    ek_operand side[2];
    int64_t shape[EK_MAX_NDIM];
    EK_TRY(ek_operand_init(call, "x", queue, in, &side[X]));
    EK_TRY(ek_operand_init_out(call, "out", queue, result, &side[OUT]));
    const ek_operand *x = &side[X];
    if ((unsigned)args->mode >= EK_PAD_MODES)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: mode is %d: must be 0 to %d", call,
                       (int)args->mode, EK_PAD_MODES - 1);
    if (args->mode == EK_PAD_CONSTANT && !args->value)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: value is null", call);
    if (x->ndim > 0 && (!args->before || !args->after))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call,
                       args->before ? "after" : "before");
    for (int32_t d = 0; d < x->ndim; d++) {
        int64_t before = args->before[d], after = args->after[d], n = x->shape[d];
        if (before < 0 || after < 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s[%d] is %" PRId64 ": must not be negative",
                           call, before < 0 ? "before" : "after", (int)d,
                           before < 0 ? before : after);
        if (n == 0 && (before > 0 || after > 0) && args->mode != EK_PAD_CONSTANT &&
            args->mode != EK_PAD_EMPTY)
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: x has no element along axis %d: only a constant can be added", call,
                           (int)d);
        if (__builtin_add_overflow(n, before, &shape[d]) ||
            __builtin_add_overflow(shape[d], after, &shape[d]))
            return ek_fail(EK_INVALID_ARGUMENT, "%s: the result is too large", call);
    }
    EK_TRY(ek_arrange_out(call, &side[OUT], x->ndim, shape));
    return ek_arrange_input(call, x, &side[OUT]);
}

/* Indices from first to end along the axis, of what is filled along all others. */
static ek_status slab(const pad *pad, int64_t first, int64_t end, ek_view *view)
{
    ek_range ranges[EK_MAX_NDIM];
    memcpy(ranges, pad->filled, (size_t)pad->out->ndim * sizeof *ranges);
    ranges[pad->axis] = (ek_range){first, end, 1};
    return ek_slice(pad->out, pad->out->ndim, ranges, view);
}

/* The places of x's axis that those outside, from `at` on, stand for: the first one of a run in one
 * direction, its length, and whether it goes backward. Places count from x's first element. */
static int64_t run_at(const pad *pad, int64_t at, int64_t *from, bool *backward)
{
    int64_t n = pad->n, period = n, phase;
    if (pad->args->mode == EK_PAD_REFLECT && n > 1)
        period = n - 1;
    phase = at % period < 0 ? at % period + period : at % period;
    int64_t turn = (at - phase) / period;
    *backward = pad->args->mode != EK_PAD_WRAP && turn % 2 != 0;
    *from = *backward ? n - 1 - phase : phase;
    return period - phase;
}

/* Fills indices first to end from parts of x, each of one run. */
static ek_status fill_runs(const pad *pad, int64_t first, int64_t end)
{
    for (int64_t at = first, length; at < end; at += length) {
        ek_view to, from;
        int64_t place;
        bool backward;
        length = ek_smaller(run_at(pad, at - pad->first, &place, &backward), end - at);
        int64_t low = pad->first + (backward ? place - length + 1 : place);
        EK_TRY(slab(pad, at, at + length, &to));
        EK_TRY(slab(pad, low, low + length, &from));
        if (backward)
            EK_TRY(ek_flip(&from.array, 1, &pad->axis, &from));
        EK_TRY(ek_copy(pad->queue, &to.array, &from.array));
    }
    return EK_OK;
}

/* Fills indices first to end beside x; `edge` is x's last index on that side. */
static ek_status fill_side(const pad *pad, int64_t first, int64_t end, int64_t edge)
{
    ek_view to, from;
    if (first == end)
        return EK_OK;
    EK_TRY(slab(pad, first, end, &to));
    switch (pad->args->mode) {
    case EK_PAD_CONSTANT:
        return ek_fill(pad->queue, pad->args->value, &to.array);
    case EK_PAD_EDGE:
        EK_TRY(slab(pad, edge, edge + 1, &from));
        return ek_copy(pad->queue, &to.array, &from.array);
    default:
        return fill_runs(pad, first, end);
    }
}

static ek_status run(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                     const void *args, ek_array *const *out)
{
    pad pad = {.args = args, .queue = queue, .out = *out};
    const pad_args *given = args;
    ek_view middle;
    (void)op;
    EK_TRY(check(queue, given, in[0], *out));
    int32_t ndim = in[0]->ndim;
    for (int32_t d = 0; d < ndim; d++)
        pad.filled[d] = (ek_range){given->before[d], given->before[d] + in[0]->shape[d], 1};
    EK_TRY(ek_slice(*out, ndim, pad.filled, &middle));
    EK_TRY(ek_copy(queue, &middle.array, in[0]));
    /* The last axis first: its slabs are narrow, and then lie in what later slabs copy as a whole.
     */
    for (pad.axis = ndim - 1; pad.axis >= 0 && given->mode != EK_PAD_EMPTY; pad.axis--) {
        ek_range *filled = &pad.filled[pad.axis];
        pad.first = filled->start;
        pad.n = filled->stop - filled->start;
        EK_TRY(fill_side(&pad, 0, filled->start, filled->start));
        EK_TRY(fill_side(&pad, filled->stop, (*out)->shape[pad.axis], filled->stop - 1));
        *filled = (ek_range){0, (*out)->shape[pad.axis], 1};
    }
    return EK_OK;
}

ek_status ek_pad(ek_queue *queue, const ek_array *x, const int64_t *before, const int64_t *after,
                 ek_pad_mode mode, const void *value, ek_array *out)
{
    const pad_args args = {before, after, mode, value};
    return ek_call(run, queue, &ek_op_copy.info, &x, &args, &out);
}
