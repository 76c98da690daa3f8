/* ek_roll: each rolled axis has two parts that move past each other, so the array is cut into two
 * parts for each such axis, and every combination of parts is a copy. */
#include <inttypes.h>

#include "call.h"
#include "einkorn/ops/copy.h"
#include "elementwise.h"

static const char call[] = "ek_roll";

enum { OUT, X };

typedef struct roll {
    ek_queue *queue;
    ek_operand side[2];
    int32_t count; /* axes that are rolled */
    int32_t axis[EK_MAX_NDIM];
    int64_t shift[EK_MAX_NDIM]; /* of each: 1 to its length - 1 */
} roll;

/* Adds up the shifts of every axis and keeps those that move something. */
static ek_status take_shifts(roll *roll, int32_t count, const int64_t *shifts, const int32_t *axes)
{
    const ek_operand *x = &roll->side[X];
    int64_t sum[EK_MAX_NDIM] = {0};
    if (count < 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: count is %d: must not be negative", call,
                       (int)count);
    if (count > 0 && (!shifts || !axes))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with count = %d", call,
                       shifts ? "axes" : "shifts", (int)count);
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = axes[i] < 0 ? axes[i] + x->ndim : axes[i];
        if (axis < 0 || axis >= x->ndim)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: axis is %d: x has %d dimensions", call,
                           (int)axes[i], (int)x->ndim);
        int64_t length = x->shape[axis];
        if (length > 1) {
            sum[axis] += shifts[i] % length;
            sum[axis] %= length;
        }
    }
    for (int32_t d = 0; d < x->ndim; d++) {
        if (sum[d] == 0)
            continue;
        roll->axis[roll->count] = d;
        roll->shift[roll->count++] = sum[d] < 0 ? sum[d] + x->shape[d] : sum[d];
    }
    return EK_OK;
}

static ek_status check(const roll *roll)
{
    const ek_operand *out = &roll->side[OUT], *x = &roll->side[X];
    char text[128], wanted[128];
    if (out->dtype != x->dtype)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: x is %s: out is %s; ek_cast converts", call,
                       ek_dtype_name(x->dtype), ek_dtype_name(out->dtype));
    bool same = out->ndim == x->ndim;
    for (int32_t d = 0; d < x->ndim && same; d++)
        same = out->shape[d] == x->shape[d];
    if (!same)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: out has shape %s: x has %s", call,
                       ek_shape_text(out->ndim, out->shape, text),
                       ek_shape_text(x->ndim, x->shape, wanted));
    if (ek_self_overlaps(out))
        return ek_fail(EK_OVERLAP, "%s: out with shape %s overlaps itself", call,
                       ek_shape_text(out->ndim, out->shape, text));
    if (ek_overlaps(out, x))
        return ek_fail(EK_OVERLAP, "%s: out at %p overlaps x at %p", call, out->data, x->data);
    return EK_OK;
}

/* Copies one part: bit i of `part` says which of the two along axis i. */
static ek_status copy_part(const roll *roll, int64_t part)
{
    ek_operand side[2] = {roll->side[OUT], roll->side[X]};
    int64_t shape[EK_MAX_NDIM], size = (int64_t)ek_dtype_size(side[X].dtype);
    for (int32_t d = 0; d < side[X].ndim; d++)
        shape[d] = side[X].shape[d];
    for (int32_t i = 0; i < roll->count; i++) {
        int32_t axis = roll->axis[i];
        int64_t shift = roll->shift[i], first[2] = {shift, 0};
        bool wraps = part >> i & 1;
        if (wraps) {
            first[OUT] = 0;
            first[X] = shape[axis] - shift;
        }
        shape[axis] = wraps ? shift : shape[axis] - shift;
        for (int s = OUT; s <= X; s++)
            side[s].data = (char *)side[s].data + first[s] * side[s].stride[axis] * size;
    }
    side[OUT].shape = side[X].shape = shape;
    side[OUT].size = side[X].size = 1;
    for (int32_t d = 0; d < side[X].ndim; d++)
        side[OUT].size = side[X].size *= shape[d];
    ek_layout layout;
    EK_TRY(ek_layout_init(call, 1, 2, side, &layout));
    return ek_elementwise_run(roll->queue, &ek_op_copy.info, (int32_t)side[X].dtype, &layout, NULL);
}

typedef struct roll_args {
    int32_t count;
    const int64_t *shifts;
    const int32_t *axes;
} roll_args;

static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    (void)op;
    const roll_args *a = args;
    roll roll = {.queue = queue};
    EK_TRY(ek_operand_init(call, "x", queue, in[0], &roll.side[X]));
    EK_TRY(ek_operand_init_out(call, "out", queue, *out, &roll.side[OUT]));
    EK_TRY(check(&roll));
    EK_TRY(take_shifts(&roll, a->count, a->shifts, a->axes));
    for (int64_t part = 0; part < INT64_C(1) << roll.count && roll.side[X].size > 0; part++)
        EK_TRY(copy_part(&roll, part));
    return EK_OK;
}

ek_status ek_roll(ek_queue *queue, const ek_array *x, int32_t count, const int64_t *shifts,
                  const int32_t *axes, ek_array *out)
{
    const roll_args args = {count, shifts, axes};
    return ek_call(compute, queue, &ek_op_copy.info, &x, &args, &out);
}
