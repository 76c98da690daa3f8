#include "conv.h"

#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "error.h"
#include "integer.h"
#include "layout.h"
#include "params.h"

/* Parameters by their place (gen/model.py). */
enum { STRIDE = 0, PADDING = 2, DILATION = 4, GROUPS = 5 };

static const char *const axis_names[] = {"rows", "columns"};

/* The array that operand k is, of the output and then the inputs. */
static int array_of(const ek_op_info *op, int k)
{
    static const int conv[] = {EK_CONV_RESULT, EK_CONV_IMAGE, EK_CONV_FILTERS};
    static const int transposed[] = {EK_CONV_IMAGE, EK_CONV_RESULT, EK_CONV_FILTERS};
    static const int filters[] = {EK_CONV_FILTERS, EK_CONV_IMAGE, EK_CONV_RESULT};
    return (op->run == &ek_kind_conv        ? conv
            : op->run == &ek_kind_convtrans ? transposed
                                            : filters)[k];
}

/* The lengths of an array. */
static void lengths_of(const ek_conv_call *call, int array, int64_t *lengths)
{
    const int64_t of[EK_CONV_ARRAYS][4] = {
        {call->batch, call->channels, call->image[0], call->image[1]},
        {call->filters, call->groups ? call->channels / call->groups : 0, call->kernel[0],
         call->kernel[1]},
        {call->batch, call->filters, call->result[0], call->result[1]},
    };
    memcpy(lengths, of[array], sizeof of[array]);
}

/* From a filter's first element to behind its last, and the image with its padding; refuses what
 * would overflow. */
static ek_status reaches(const char *name, const ek_conv_call *call, int axis, int64_t *reach,
                         int64_t *padded)
{
    const int64_t most = EK_MAX_REACH;
    int64_t steps = call->kernel[axis] > 0 ? call->kernel[axis] - 1 : 0;
    *padded = *reach = 0;
    if (__builtin_mul_overflow(steps, call->dilation, reach) || *reach >= most ||
        call->padding[axis] > most || call->stride[axis] > most || call->image[axis] > most)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: kernel has %" PRId64 " %s with dilation %" PRId64 ", padding %" PRId64
                       ", stride %" PRId64 ": reaches further than memory",
                       name, call->kernel[axis], axis_names[axis], call->dilation,
                       call->padding[axis], call->stride[axis]);
    *reach += 1;
    *padded = call->image[axis] + 2 * call->padding[axis];
    return EK_OK;
}

static ek_status check_groups(const char *name, const ek_conv_call *call)
{
    if (call->groups < 1 || call->channels % call->groups != 0 || call->filters % call->groups != 0)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: groups is %" PRId64 ": must divide the %" PRId64
                       " channels and the %" PRId64 " filters",
                       name, call->groups, call->channels, call->filters);
    return EK_OK;
}

/* How many places filters of that size have in the image. */
static ek_status count_places(const char *name, const ek_conv_call *call, int64_t *places)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t reach, padded;
        if (call->kernel[axis] < 1)
            return ek_fail(EK_SHAPE_MISMATCH, "%s: filters have %" PRId64 " %s: must be 1 or more",
                           name, call->kernel[axis], axis_names[axis]);
        EK_TRY(reaches(name, call, axis, &reach, &padded));
        if (reach > padded)
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: a filter reaches over %" PRId64 " %s: the image has %" PRId64
                           " with its padding",
                           name, reach, axis_names[axis], padded);
        places[axis] = (padded - reach) / call->stride[axis] + 1;
    }
    return EK_OK;
}

/* ---- typed calls */

static ek_status take_shape(const char *name, const ek_conv_shape *s, ek_conv_call *call)
{
    const struct {
        const char *name;
        int64_t value, least;
    } fields[] = {
        {"batch", s->batch, 0},         {"channels", s->channels, 0},
        {"height", s->height, 0},       {"width", s->width, 0},
        {"filters", s->filters, 0},     {"kernel_y", s->kernel_y, 1},
        {"kernel_x", s->kernel_x, 1},   {"stride_y", s->stride_y, 1},
        {"stride_x", s->stride_x, 1},   {"padding_y", s->padding_y, 0},
        {"padding_x", s->padding_x, 0}, {"dilation", s->dilation, 1},
        {"groups", s->groups, 1},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value < fields[i].least)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: %s is %" PRId64 ": must be %" PRId64 " or larger", name,
                           fields[i].name, fields[i].value, fields[i].least);
    }
    call->batch = s->batch;
    call->channels = s->channels;
    call->filters = s->filters;
    call->groups = s->groups;
    call->image[0] = s->height;
    call->image[1] = s->width;
    call->kernel[0] = s->kernel_y;
    call->kernel[1] = s->kernel_x;
    call->stride[0] = s->stride_y;
    call->stride[1] = s->stride_x;
    call->padding[0] = s->padding_y;
    call->padding[1] = s->padding_x;
    call->dilation = s->dilation;
    return EK_OK;
}

/* Steps of an array in C order, and its elements. */
static ek_status in_order(const char *name, ek_conv_call *call, int array, int64_t *count)
{
    int64_t lengths[4], most = EK_MAX_COUNT;
    lengths_of(call, array, lengths);
    *count = 1;
    for (int d = 0; d < 4; d++) {
        int64_t left = 1;
        for (int i = d; i < 4; i++) {
            if (lengths[i] > 0 && left > most / lengths[i])
                return ek_fail(EK_INVALID_ARGUMENT,
                               "%s: an array of %" PRId64 " by %" PRId64 " by %" PRId64
                               " by %" PRId64 " elements: too large",
                               name, lengths[0], lengths[1], lengths[2], lengths[3]);
            left *= lengths[i] > 0 ? lengths[i] : 1;
        }
        *count *= lengths[d];
        call->step[array][d] = d < 3 && lengths[d] > 0 ? left / lengths[d] : d < 3 ? left : 1;
    }
    return EK_OK;
}

ek_status ek_conv_typed(const char *name, const ek_op_info *op, int32_t loop,
                        const ek_conv_shape *shape, const void *a, const void *b, void *out,
                        ek_conv_call *call)
{
    const void *const data[] = {out, a, b};
    int64_t count[3];
    if (!shape)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: shape is null", name);
    memset(call, 0, sizeof *call);
    call->dtype = (ek_dtype)op->loops[loop].out[0];
    call->makes = array_of(op, 0);
    EK_TRY(take_shape(name, shape, call));
    EK_TRY(check_groups(name, call));
    EK_TRY(count_places(name, call, call->result));
    uint64_t size = ek_dtype_size(call->dtype);
    for (int k = 0; k < 3; k++) {
        int array = array_of(op, k);
        EK_TRY(in_order(name, call, array, &count[k]));
        call->data[array] = (void *)data[k];
        if (!data[k] && count[k] > 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with %" PRId64 " elements", name,
                           ek_operand_name(op, k), count[k]);
        if (k > 0 &&
            !ek_disjoint(out, (uint64_t)count[0] * size, data[k], (uint64_t)count[k] * size))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p", name,
                           ek_operand_name(op, 0), out, ek_operand_name(op, k), data[k]);
    }
    return EK_OK;
}

/* ---- array calls */

static ek_status check_ndim(const ek_op_info *op, const ek_operand *x)
{
    char text[128];
    if (x->ndim != 4)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must have 4 dimensions", op->call,
                       x->name, ek_shape_text(x->ndim, x->shape, text));
    return EK_OK;
}

static ek_status find_loop(const ek_op_info *op, const ek_operand *operands, int count,
                           int32_t *found)
{
    ek_dtype dtype = operands[1].dtype;
    for (int k = 0; k < count; k++) {
        const ek_operand *x = &operands[2 - k];
        if (x->dtype != dtype)
            return ek_fail(EK_DTYPE_MISMATCH,
                           "%s: %s is %s and %s is %s: must be the same; ek_cast "
                           "converts",
                           op->call, operands[1].name, ek_dtype_name(dtype), x->name,
                           ek_dtype_name(x->dtype));
    }
    for (*found = 0; *found < op->loop_count; ++*found) {
        if (op->loops[*found].out[0] == dtype)
            return EK_OK;
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: %s is %s: no kernel takes it", op->call,
                   operands[1].name, ek_dtype_name(dtype));
}

/* Parameters, and the lengths that operands from `from` on say. */
static void describe(const ek_op_info *op, const ek_scalar *params, const ek_operand *operands,
                     int from, ek_conv_call *call)
{
    memset(call, 0, sizeof *call);
    call->dtype = operands[1].dtype;
    call->makes = array_of(op, 0);
    call->groups = params[GROUPS].i64;
    call->dilation = params[DILATION].i64;
    memset(call->kernel, 0xff, sizeof call->kernel); /* unknown */
    for (int axis = 0; axis < 2; axis++) {
        call->stride[axis] = params[STRIDE + axis].i64;
        call->padding[axis] = params[PADDING + axis].i64;
    }
    for (int k = 2; k >= from; k--) {
        const int64_t *shape = operands[k].shape;
        switch (array_of(op, k)) {
        case EK_CONV_IMAGE:
            call->batch = shape[0];
            call->channels = shape[1];
            memcpy(call->image, shape + 2, sizeof call->image);
            break;
        case EK_CONV_FILTERS:
            call->filters = shape[0];
            call->channels =
                call->makes == EK_CONV_IMAGE && from > 0 ? shape[1] * call->groups : call->channels;
            memcpy(call->kernel, shape + 2, sizeof call->kernel);
            break;
        default:
            call->batch = shape[0];
            call->filters = shape[1];
            memcpy(call->result, shape + 2, sizeof call->result);
            break;
        }
    }
}

/* What an output's lengths are that the inputs leave open: the smallest image, the largest kernel.
 */
static ek_status find_output(const char *name, ek_conv_call *call)
{
    if (call->makes == EK_CONV_RESULT)
        return count_places(name, call, call->result);
    for (int axis = 0; axis < 2; axis++) {
        int64_t reach, padded, span;
        EK_TRY(reaches(name, call, axis, &reach, &padded));
        if (call->result[axis] < 1 ||
            __builtin_mul_overflow(call->result[axis] - 1, call->stride[axis], &span) ||
            span > EK_MAX_REACH)
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: y has %" PRId64 " %s: no image has so many places", name,
                           call->result[axis], axis_names[axis]);
        if (call->makes == EK_CONV_IMAGE) {
            call->image[axis] = span + reach - 2 * call->padding[axis];
        } else {
            int64_t room = padded - span - 1;
            call->kernel[axis] = room < 0 ? 0 : room / call->dilation + 1;
        }
        if (call->image[axis] < 0)
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: no image has %" PRId64 " %s of places with padding %" PRId64, name,
                           call->result[axis], axis_names[axis], call->padding[axis]);
    }
    int64_t places[2];
    return count_places(name, call, places);
}

/* That all operands from `from` on have the lengths of the call. */
static ek_status check_shapes(const ek_op_info *op, const ek_operand *operands, int from,
                              const ek_conv_call *call)
{
    char text[128], wanted[128];
    EK_TRY(check_groups(op->call, call));
    int64_t places[2], lengths[4];
    EK_TRY(count_places(op->call, call, places));
    ek_conv_call made = *call;
    memcpy(made.result, places, sizeof places);
    for (int k = from; k < 3; k++) {
        lengths_of(&made, array_of(op, k), lengths);
        if (memcmp(operands[k].shape, lengths, sizeof lengths) != 0)
            return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must be %s", op->call,
                           operands[k].name, ek_shape_text(4, operands[k].shape, text),
                           ek_shape_text(4, lengths, wanted));
    }
    return EK_OK;
}

static ek_status check_overlap(const ek_op_info *op, const ek_operand *operands)
{
    EK_TRY(ek_check_outputs(op->call, 1, operands));
    for (int k = 1; k < 3; k++) {
        if (ek_overlaps(&operands[0], &operands[k]))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p", op->call, operands[0].name,
                           operands[0].data, operands[k].name, operands[k].data);
    }
    return EK_OK;
}

/* Where the arrays are. A dimension of one element has the step that makes its rows even. */
static void take_places(const ek_op_info *op, const ek_operand *operands, ek_conv_call *call)
{
    for (int k = 0; k < 3; k++) {
        const ek_operand *x = &operands[k];
        int64_t *step = call->step[array_of(op, k)];
        call->data[array_of(op, k)] = x->data;
        memcpy(step, x->stride, 4 * sizeof *step);
        if (x->shape[3] == 1)
            step[3] = step[2];
        if (x->shape[2] == 1)
            step[2] = step[3] * x->shape[3];
    }
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    ek_operand operands[3];
    ek_scalar params[EK_MAX_PARAMS];
    ek_conv_call call;
    const void *kernels;
    int32_t loop = 0;
    EK_TRY(ek_operand_init_out(op->call, op->output_names[0], queue, out[0], &operands[0]));
    for (int i = 0; i < 2; i++)
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operands[i + 1]));
    EK_TRY(find_loop(op, operands, 3, &loop));
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], args, params));
    for (int k = 0; k < 3; k++)
        EK_TRY(check_ndim(op, &operands[k]));
    describe(op, params, operands, 0, &call);
    EK_TRY(check_shapes(op, operands, 0, &call));
    EK_TRY(check_overlap(op, operands));
    take_places(op, operands, &call);
    EK_TRY(ek_find_kernels(op, queue, &kernels));
    return ((ek_conv_fn *const *)kernels)[call.dtype](queue, &call);
}

ek_status ek_conv_arrays(ek_queue *queue, const ek_op_info *op, const ek_array *a,
                         const ek_array *b, const ek_scalar *params, ek_array *out)
{
    const ek_array *const in[] = {a, b};
    return ek_call(compute, queue, op, in, params, &out);
}

/* ---- by the row */

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand operands[3];
    ek_scalar given[EK_MAX_PARAMS], values[EK_MAX_PARAMS];
    ek_conv_call call;
    int32_t loop = 0;
    for (int i = 0; i < 2; i++) {
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operands[i + 1]));
        EK_TRY(check_ndim(op, &operands[i + 1]));
    }
    EK_TRY(find_loop(op, operands, 2, &loop));
    ek_params_by_name(op, param_count, params, given);
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, values));
    describe(op, values, operands, 1, &call);
    EK_TRY(find_output(op->call, &call));
    EK_TRY(check_shapes(op, operands, 1, &call));
    out->dtype = call.dtype;
    out->ndim = 4;
    lengths_of(&call, array_of(op, 0), out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    ek_params_by_name(op, param_count, params, given);
    return ek_conv_arrays(queue, op, in[0], in[1], given, out[0]);
}

const ek_kind ek_kind_conv = {.infer = infer, .apply = apply};
const ek_kind ek_kind_convtrans = {.infer = infer, .apply = apply};
const ek_kind ek_kind_conv_filters = {.infer = infer, .apply = apply};
