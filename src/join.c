/* ek_concatenate and ek_stack: every array is copied to a part of out. */
#include <stdio.h>
#include <string.h>

#include "arrange.h"
#include "call.h"
#include "einkorn/ops/copy.h"
#include "pieces.h"

enum { OUT, X };

typedef struct join {
    const char *call;
    ek_queue *queue;
    int32_t count;
    const ek_array *const *arrays;
    int32_t axis;
    bool stacks; /* along a new axis */
    ek_operand out;
} join;

static bool brings_in(const ek_queue *queue)
{
    return queue->variant == EK_CUDA && (ek_queue_base_of(queue)->options & EK_HOST_TO_DEVICE);
}

/* Describes array i. Host memory passes where it is copied in. */
static ek_status take_array(const join *join, int32_t i, const char *name, ek_operand *x)
{
    if (EK_UNLIKELY(brings_in(join->queue))) {
        EK_TRY(ek_operand_read(join->call, name, join->arrays[i], x));
        if (ek_on_host(x))
            return EK_OK;
    }
    return ek_operand_init(join->call, name, join->queue, join->arrays[i], x);
}

/* Lengths along the axis of an array, as the array has it or as a stack gives it one. */
static int64_t length_of(const join *join, const ek_operand *x)
{
    return join->stacks ? 1 : x->shape[join->axis];
}

/* The shape of out with that length along the axis, from an array's. */
static int32_t shape_with(const join *join, const ek_operand *x, int64_t length, int64_t *shape)
{
    int32_t ndim = x->ndim + join->stacks;
    for (int32_t d = 0; d < ndim; d++) {
        bool behind = join->stacks && d > join->axis;
        shape[d] = d == join->axis ? length : x->shape[behind ? d - 1 : d];
    }
    return ndim;
}

/* Refuses array i if it does not fit the first one. Adds its length to *total. */
static ek_status check_array(const join *join, int32_t i, const char *name, const ek_operand *first,
                             int64_t *total)
{
    char text[128], other[128];
    ek_operand x;
    EK_TRY(take_array(join, i, name, &x));
    bool fits = x.ndim == first->ndim;
    for (int32_t d = 0; d < x.ndim && fits; d++)
        fits = x.shape[d] == first->shape[d] || (!join->stacks && d == join->axis);
    if (!fits)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: arrays[0] has %s", join->call, name,
                       ek_shape_text(x.ndim, x.shape, text),
                       ek_shape_text(first->ndim, first->shape, other));
    if (__builtin_add_overflow(*total, length_of(join, &x), total))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: the sum of lengths is too large", join->call);
    return ek_arrange_input(join->call, &x, &join->out);
}

static ek_status check(join *join, int32_t axis, ek_array *out)
{
    char name[32];
    ek_operand first;
    int64_t total = 0, shape[EK_MAX_NDIM + 1];
    if (join->count < 1)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: count is %d: must be 1 or more", join->call,
                       (int)join->count);
    if (!join->arrays)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: arrays is null", join->call);
    if (!join->queue)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: queue is null", join->call);
    EK_TRY(take_array(join, 0, "arrays[0]", &first));
    EK_TRY(ek_operand_init_out(join->call, "out", join->queue, out, &join->out));
    EK_TRY(ek_arrange_axis(join->call, axis, first.ndim + join->stacks, &join->axis));
    for (int32_t i = 0; i < join->count; i++) {
        int64_t before = total;
        if (check_array(join, i, "arrays", &first, &total) == EK_OK)
            continue;
        /* Names are written where they are needed: that takes longer than a check. */
        snprintf(name, sizeof name, "arrays[%d]", (int)i);
        return check_array(join, i, name, &first, &before);
    }
    int32_t ndim = shape_with(join, &first, total, shape);
    return ek_arrange_out(join->call, &join->out, ndim, shape);
}

/* The part of out that an array goes to. A stack's new axis, of one index, is left out. */
static void part_of(const join *join, const ek_operand *x, int64_t begins, int64_t *shape,
                    ek_operand *part)
{
    *part = join->out;
    memcpy(shape, join->out.shape, (size_t)join->out.ndim * sizeof *shape);
    ek_arrange_part(part, shape, join->axis, begins, length_of(join, x));
    if (!join->stacks)
        return;
    part->ndim--;
    for (int32_t d = join->axis; d < part->ndim; d++) {
        shape[d] = shape[d + 1];
        part->stride[d] = part->stride[d + 1];
    }
}

static ek_status each(ek_pieces *pieces, const void *args)
{
    const join *join = args;
    int64_t begins = 0, shape[EK_MAX_NDIM];
    for (int32_t i = 0; i < join->count; i++) {
        ek_operand side[2];
        ek_layout layout;
        EK_TRY(ek_operand_describe(join->call, "arrays", join->arrays[i], &side[X]));
        part_of(join, &side[X], begins, shape, &side[OUT]);
        EK_TRY(ek_layout_init(join->call, 1, 2, side, &layout));
        EK_TRY(ek_pieces_add(pieces, &layout));
        begins += length_of(join, &side[X]);
    }
    return EK_OK;
}

/* Where host memory is brought in: array by array, by the call that does it. */
static ek_status copy_each(const join *join)
{
    int64_t begins = 0, shape[EK_MAX_NDIM];
    for (int32_t i = 0; i < join->count; i++) {
        ek_operand x, part;
        EK_TRY(take_array(join, i, "arrays", &x));
        part_of(join, &x, begins, shape, &part);
        ek_array to =
            ek_array_view(part.data, part.dtype, ek_queue_device(join->queue), part.ndim, shape);
        to.strides = part.stride;
        EK_TRY(ek_copy(join->queue, &to, join->arrays[i]));
        begins += length_of(join, &x);
    }
    return EK_OK;
}

static ek_status run(join *join, int32_t axis, ek_array *out)
{
    EK_ENTRY(join->queue, join->call);
    EK_TRY(check(join, axis, out));
    if (join->out.size == 0)
        return EK_OK;
    if (EK_UNLIKELY(brings_in(join->queue)))
        return copy_each(join);
    return ek_pieces_run(join->queue, join->out.dtype, each, join);
}

ek_status ek_concatenate(ek_queue *queue, int32_t count, const ek_array *const *arrays,
                         int32_t axis, ek_array *out)
{
    join join = {.call = "ek_concatenate", .queue = queue, .count = count, .arrays = arrays};
    return run(&join, axis, out);
}

ek_status ek_stack(ek_queue *queue, int32_t count, const ek_array *const *arrays, int32_t axis,
                   ek_array *out)
{
    join join = {
        .call = "ek_stack", .queue = queue, .count = count, .arrays = arrays, .stacks = true};
    return run(&join, axis, out);
}
