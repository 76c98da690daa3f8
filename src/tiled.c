/* ek_tile and ek_repeat: copies from axes with strides of 0 to what an axis of out is made of. */
#include <inttypes.h>
#include <string.h>

#include "arrange.h"
#include "call.h"
#include "einkorn/ops/copy.h"
#include "pieces.h"

enum { OUT, X };

/* x and out as axes of both. */
typedef struct pair {
    ek_operand side[2];
    int64_t shape[EK_MAX_NDIM];
} pair;

static void begin(pair *pair, const ek_operand *out, const ek_operand *x)
{
    pair->side[OUT] = *out;
    pair->side[X] = *x;
    for (int s = OUT; s <= X; s++) {
        pair->side[s].ndim = 0;
        pair->side[s].size = 1;
        pair->side[s].shape = pair->shape;
    }
}

/* Adds an axis; false if there are too many. One of a single element is left out. */
static bool add_axis(pair *pair, int64_t length, int64_t out_stride, int64_t x_stride)
{
    int32_t d = pair->side[X].ndim;
    if (length == 1)
        return true;
    if (d == EK_MAX_NDIM)
        return false;
    pair->shape[d] = length;
    pair->side[OUT].stride[d] = out_stride;
    pair->side[X].stride[d] = x_stride;
    pair->side[OUT].ndim = pair->side[X].ndim = d + 1;
    pair->side[OUT].size = pair->side[X].size = pair->side[X].size * length;
    return true;
}

static ek_status copy(const char *call, ek_queue *queue, const pair *pair)
{
    ek_layout layout;
    EK_TRY(ek_layout_init(call, 1, 2, pair->side, &layout));
    return ek_elementwise_run(queue, &ek_op_copy.info, (int32_t)pair->side[X].dtype, &layout, NULL);
}

static ek_status take_operands(const char *call, ek_queue *queue, const ek_array *in,
                               const ek_array *out, ek_operand *side)
{
    EK_TRY(ek_operand_init(call, "x", queue, in, &side[X]));
    EK_TRY(ek_operand_init_out(call, "out", queue, out, &side[OUT]));
    return ek_arrange_input(call, &side[X], &side[OUT]);
}

/* How often: `count` numbers. */
typedef struct counts {
    int64_t count;
    const int64_t *times;
    int32_t axis;
} counts;

static ek_status check_counts(const char *call, const counts *counts)
{
    if (counts->count < 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: count is %" PRId64 ": must not be negative", call,
                       counts->count);
    if (counts->count > 0 && !counts->times)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: times is null", call);
    for (int64_t i = 0; i < counts->count; i++) {
        if (counts->times[i] < 0)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: times[%" PRId64 "] is %" PRId64 ": must not be negative", call, i,
                           counts->times[i]);
    }
    return EK_OK;
}

static ek_status too_large(const char *call)
{
    return ek_fail(EK_INVALID_ARGUMENT, "%s: the result is too large", call);
}

static ek_status tile(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                      const void *args, ek_array *const *out)
{
    static const char call[] = "ek_tile";
    const counts *counts = args;
    ek_operand side[2];
    pair pair;
    int64_t shape[EK_MAX_NDIM];
    bool fits = true;
    (void)op;
    EK_TRY(take_operands(call, queue, in[0], *out, side));
    EK_TRY(check_counts(call, counts));
    int32_t had = side[X].ndim;
    if (counts->count > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: count is %" PRId64 ": must be 0 to %d", call,
                       counts->count, EK_MAX_NDIM);
    int32_t ndim = counts->count > had ? (int32_t)counts->count : had;
    begin(&pair, &side[OUT], &side[X]);
    for (int32_t d = 0; d < ndim; d++) {
        int32_t at = d - (ndim - had), which = d - (ndim - (int32_t)counts->count);
        int64_t n = at < 0 ? 1 : side[X].shape[at], times = which < 0 ? 1 : counts->times[which];
        if (__builtin_mul_overflow(n, times, &shape[d]))
            return too_large(call);
    }
    EK_TRY(ek_arrange_out(call, &side[OUT], ndim, shape));
    for (int32_t d = 0; d < ndim && fits; d++) {
        int32_t at = d - (ndim - had);
        int64_t n = at < 0 ? 1 : side[X].shape[at], step = side[OUT].stride[d];
        fits = side[OUT].size == 0 || (add_axis(&pair, shape[d] / n, step * n, 0) &&
                                       add_axis(&pair, n, step, at < 0 ? 0 : side[X].stride[at]));
    }
    if (!fits)
        return too_large(call);
    return side[OUT].size > 0 ? copy(call, queue, &pair) : EK_OK;
}

ek_status ek_tile(ek_queue *queue, const ek_array *x, int32_t count, const int64_t *times,
                  ek_array *out)
{
    const counts counts = {count, times, 0};
    return ek_call(tile, queue, &ek_op_copy.info, &x, &counts, &out);
}

/* ---- repeat */

typedef struct repeat {
    const counts *counts;
    ek_operand side[2];
} repeat;

static const char repeat_call[] = "ek_repeat";

/* Indices first to end of x, `times` times each, from index `at` of out. */
static ek_status repeat_part(const repeat *r, int64_t first, int64_t end, int64_t times, int64_t at,
                             ek_pieces *pieces)
{
    const ek_operand *out = &r->side[OUT], *x = &r->side[X];
    int32_t axis = r->counts->axis;
    int64_t size = (int64_t)ek_dtype_size(x->dtype);
    pair pair;
    ek_layout layout;
    bool fits = true;
    begin(&pair, out, x);
    for (int32_t d = 0; d < x->ndim && fits; d++) {
        int64_t step = out->stride[d];
        fits = d != axis ? add_axis(&pair, x->shape[d], step, x->stride[d])
                         : add_axis(&pair, end - first, step * times, x->stride[d]) &&
                               add_axis(&pair, times, step, 0);
    }
    if (!fits)
        return too_large(repeat_call);
    pair.side[OUT].data = (char *)out->data + at * out->stride[axis] * size;
    pair.side[X].data = (char *)x->data + first * x->stride[axis] * size;
    EK_TRY(ek_layout_init(repeat_call, 1, 2, pair.side, &layout));
    return ek_pieces_add(pieces, &layout);
}

/* True if what has an index of the axis lies without gaps in both arrays: then it can be copied as
 * a row, as often as it is repeated. */
static bool is_row(const repeat *r, int64_t *length)
{
    const ek_operand *x = &r->side[X], *out = &r->side[OUT];
    int64_t step = 1;
    for (int32_t d = x->ndim - 1; d > r->counts->axis; d--) {
        if (x->shape[d] != 1 && (x->stride[d] != step || out->stride[d] != step))
            return false;
        step *= x->shape[d];
    }
    for (int32_t d = 0; d < r->counts->axis; d++) {
        if (x->shape[d] != 1)
            return false;
    }
    *length = step * (int64_t)ek_dtype_size(x->dtype);
    return true;
}

/* Neighbours that are repeated equally often go together. */
static ek_status each(ek_pieces *pieces, const void *args)
{
    const repeat *r = args;
    const int64_t *times = r->counts->times;
    int32_t axis = r->counts->axis;
    int64_t n = r->side[X].shape[axis], at = 0, length = 0;
    int64_t size = (int64_t)ek_dtype_size(r->side[X].dtype);
    int64_t to_row = r->side[OUT].stride[axis] * size, from = r->side[X].stride[axis] * size;
    bool rows = r->counts->count > 1 && is_row(r, &length);
    for (int64_t i = 0, end; i < n; i = end) {
        int64_t each = r->counts->count == 1 ? times[0] : times[i];
        for (end = r->counts->count == 1 ? n : i + 1; end < n && times[end] == each; end++)
            continue;
        if (each > 0 && rows && end == i + 1) {
            const ek_piece piece = {(char *)r->side[OUT].data + at * to_row,
                                    (const char *)r->side[X].data + i * from,
                                    each,
                                    length,
                                    to_row,
                                    0};
            EK_TRY(ek_pieces_add_rows(pieces, &piece));
        } else if (each > 0) {
            EK_TRY(repeat_part(r, i, end, each, at, pieces));
        }
        at += (end - i) * each;
    }
    return EK_OK;
}

static ek_status repeat_checked(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                                const void *args, ek_array *const *out)
{
    counts counts = *(const struct counts *)args;
    repeat r = {.counts = &counts};
    int64_t shape[EK_MAX_NDIM], total = 0;
    (void)op;
    EK_TRY(take_operands(repeat_call, queue, in[0], *out, r.side));
    EK_TRY(check_counts(repeat_call, &counts));
    const ek_operand *x = &r.side[X];
    EK_TRY(ek_arrange_axis(repeat_call, counts.axis, x->ndim, &counts.axis));
    int64_t n = x->shape[counts.axis];
    if (counts.count != 1 && counts.count != n)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: count is %" PRId64 ": axis %d has a length of %" PRId64, repeat_call,
                       counts.count, (int)counts.axis, n);
    bool fits = counts.count != 1 || !__builtin_mul_overflow(n, counts.times[0], &total);
    for (int64_t i = 0; i < counts.count && counts.count != 1; i++)
        fits &= !__builtin_add_overflow(total, counts.times[i], &total);
    if (!fits)
        return too_large(repeat_call);
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    shape[counts.axis] = total;
    EK_TRY(ek_arrange_out(repeat_call, &r.side[OUT], x->ndim, shape));
    return r.side[OUT].size > 0 ? ek_pieces_run(queue, x->dtype, each, &r) : EK_OK;
}

ek_status ek_repeat(ek_queue *queue, const ek_array *x, int64_t count, const int64_t *times,
                    int32_t axis, ek_array *out)
{
    const counts counts = {count, times, axis};
    return ek_call(repeat_checked, queue, &ek_op_copy.info, &x, &counts, &out);
}
