#include "layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "error.h"
#include "integer.h"

const char *ek_shape_text(int32_t ndim, const int64_t *shape, char *text)
{
    enum { SIZE = 128 };
    int used = snprintf(text, SIZE, "(");
    for (int32_t d = 0; d < ndim && used < SIZE - 24; d++)
        used += snprintf(text + used, (size_t)(SIZE - used), "%s%" PRId64, d ? ", " : "", shape[d]);
    snprintf(text + used, (size_t)(SIZE - used), "%s)", ndim == 1 ? "," : "");
    return text;
}

bool ek_on_host(const ek_operand *operand)
{
    return operand->device_type == EK_DEVICE_CPU || operand->device_type == EK_DEVICE_CUDA_HOST;
}

bool ek_belongs(const ek_operand *operand, const ek_device *device)
{
    if (device->type == EK_DEVICE_CPU)
        return ek_on_host(operand);
    return operand->device_type == device->type && operand->device_index == device->index;
}

const char *ek_place_text(const ek_operand *operand, char *text)
{
    enum { SIZE = 64 };
    switch (operand->device_type) {
    case EK_DEVICE_CPU:
        return "cpu";
    case EK_DEVICE_CUDA_HOST:
        return "pinned host memory";
    case EK_DEVICE_CUDA:
        snprintf(text, SIZE, "cuda:%d", (int)operand->device_index);
        return text;
    default:
        snprintf(text, SIZE, "device type %d index %d", (int)operand->device_type,
                 (int)operand->device_index);
        return text;
    }
}

/* Elements of a shape; false if a length is negative or the bytes do not fit 63 bits. A zero length
 * does not excuse an overflow among the others. */
static bool shape_size(const ek_array *array, size_t element, int64_t *size)
{
    int64_t count = 1, nonzero = (int64_t)element;
    for (int32_t d = 0; d < array->ndim; d++) {
        int64_t length = array->shape[d];
        if (length < 0 || (length > 0 && __builtin_mul_overflow(nonzero, length, &nonzero)))
            return false;
        count *= length;
    }
    *size = count;
    return true;
}

ek_status ek_array_size(const ek_array *array, int64_t *size)
{
    char text[128];
    ek_dtype dtype;
    if (!array || !size)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_array_size: %s is null", array ? "size" : "array");
    EK_TRY(ek_array_dtype(array, &dtype));
    if (array->ndim < 0 || array->ndim > EK_MAX_NDIM || (array->ndim > 0 && !array->shape))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "ek_array_size: ndim is %d: must be 0 to %d, with a shape", (int)array->ndim,
                       EK_MAX_NDIM);
    if (!shape_size(array, ek_dtype_size(dtype), size))
        return ek_fail(EK_INVALID_ARGUMENT, "ek_array_size: shape is %s: negative or too large",
                       ek_shape_text(array->ndim, array->shape, text));
    return EK_OK;
}

/* A GPU ends its context over an address that CPUs read without a word. */
static bool misaligned(const ek_operand *operand)
{
    size_t parts = operand->dtype == EK_C64 || operand->dtype == EK_C128 ? 2 : 1;
    return (uintptr_t)operand->data % (ek_dtype_size(operand->dtype) / parts) != 0;
}

/* What would help an operand that is not on the device. */
static const char *way_out(const ek_operand *operand, const ek_device *device, bool output)
{
    if (output)
        return "outputs are never copied";
    if (ek_on_host(operand) && device->type == EK_DEVICE_CUDA)
        return "a queue with EK_HOST_TO_DEVICE would copy it in";
    return "ek_copy moves it";
}

static ek_status init_operand(const char *call, const char *name, const ek_queue *queue,
                              const ek_array *array, bool output, ek_operand *operand)
{
    char text[64];
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: queue is null", call);
    EK_TRY(ek_operand_read(call, name, array, operand));
    const ek_device *device = ek_queue_device(queue);
    if (EK_UNLIKELY(!ek_belongs(operand, device)))
        return ek_fail(EK_DEVICE_MISMATCH, "%s: %s is on %s: the queue's device is %s; %s", call,
                       name, ek_place_text(operand, text), device->name,
                       way_out(operand, device, output));
    ek_operand_use(queue, operand->data);
    return EK_OK;
}

void ek_operand_use(const ek_queue *queue, const void *data)
{
    const ek_backend *backend = ek_queue_device(queue)->backend;
    if (backend->memory_use)
        backend->memory_use(queue, data);
}

ek_status ek_operand_init(const char *call, const char *name, const ek_queue *queue,
                          const ek_array *array, ek_operand *operand)
{
    return init_operand(call, name, queue, array, false, operand);
}

ek_status ek_operand_init_out(const char *call, const char *name, const ek_queue *queue,
                              const ek_array *array, ek_operand *operand)
{
    return init_operand(call, name, queue, array, true, operand);
}

ek_status ek_operand_read(const char *call, const char *name, const ek_array *array,
                          ek_operand *operand)
{
    EK_TRY(ek_operand_describe(call, name, array, operand));
    if (!operand->data && operand->size > 0)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s has no data and %" PRId64 " elements", call,
                       name, operand->size);
    if (operand->device_type == EK_DEVICE_CUDA && operand->size > 0 && misaligned(operand))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is at %p: must be a multiple of its element",
                       call, name, operand->data);
    return EK_OK;
}

/* The strides as the array gives them, so that arithmetic with them cannot overflow: those of all
 * dimensions reach over less than EK_MAX_REACH bytes, and one that is never used, of a dimension of
 * one element or of an array without any, does not matter. */
static ek_status take_strides(const char *call, const ek_array *array, ek_operand *operand)
{
    int64_t left = EK_MAX_REACH / (int64_t)ek_dtype_size(operand->dtype);
    const int64_t most = left;
    for (int32_t d = 0; d < array->ndim; d++) {
        int64_t length = array->shape[d], step = array->strides[d], reach;
        bool fits = step >= -most && step <= most;
        operand->stride[d] = fits && operand->size > 0 ? step : 0;
        if (length <= 1 || operand->size == 0)
            continue;
        if (!fits || __builtin_mul_overflow(length, ek_magnitude(step), &reach) || reach > left)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: %s has a stride of %" PRId64 " over %" PRId64
                           " elements: reaches further than memory",
                           call, operand->name, step, length);
        left -= reach;
    }
    return EK_OK;
}

ek_status ek_operand_describe(const char *call, const char *name, const ek_array *array,
                              ek_operand *operand)
{
    char text[128];
    if (!array)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call, name);
    if (array->ndim < 0 || array->ndim > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s has %d dimensions: must be 0 to %d", call, name,
                       (int)array->ndim, EK_MAX_NDIM);
    if (array->ndim > 0 && !array->shape)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s has %d dimensions and no shape", call, name,
                       (int)array->ndim);
    if (ek_array_dtype(array, &operand->dtype) != EK_OK)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: %s has DLPack type code %d with %d bits: unknown",
                       call, name, array->type.code, array->type.bits);
    if (!shape_size(array, ek_dtype_size(operand->dtype), &operand->size))
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s has shape %s: negative or too large", call,
                       name, ek_shape_text(array->ndim, array->shape, text));
    if (array->byte_offset > EK_MAX_REACH)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: %s has byte_offset %" PRIu64 ": reaches further than memory", call,
                       name, array->byte_offset);
    operand->data = ek_array_data(array);
    operand->name = name;
    operand->device_type = (ek_device_type)array->device.type;
    operand->device_index = array->device.index;
    operand->ndim = array->ndim;
    operand->shape = array->shape;
    if (array->strides)
        return take_strides(call, array, operand);
    int64_t step = 1;
    for (int32_t d = array->ndim - 1; d >= 0; d--) {
        operand->stride[d] = step;
        step *= array->shape[d] ? array->shape[d] : 1;
    }
    return EK_OK;
}

/* Lowest and one-past-highest byte of an operand with at least one element. */
static void bounds(const ek_operand *operand, uintptr_t *low, uintptr_t *high)
{
    int64_t below = 0, above = 0;
    int64_t size = (int64_t)ek_dtype_size(operand->dtype);
    for (int32_t d = 0; d < operand->ndim; d++) {
        int64_t span = (operand->shape[d] - 1) * operand->stride[d];
        *(span < 0 ? &below : &above) += span;
    }
    *low = (uintptr_t)operand->data + (uintptr_t)(below * size);
    *high = (uintptr_t)operand->data + (uintptr_t)((above + 1) * size);
}

bool ek_self_overlaps(const ek_operand *operand)
{
    int64_t stride[EK_MAX_NDIM], length[EK_MAX_NDIM];
    int32_t count = 0;
    if (operand->size <= 1)
        return false;
    /* Dimensions by stride: none may step within the reach of the smaller ones. */
    for (int32_t d = 0; d < operand->ndim; d++) {
        if (operand->shape[d] == 1)
            continue;
        int64_t step = operand->stride[d] < 0 ? -operand->stride[d] : operand->stride[d];
        int32_t at = count++;
        for (; at > 0 && stride[at - 1] > step; at--) {
            stride[at] = stride[at - 1];
            length[at] = length[at - 1];
        }
        stride[at] = step;
        length[at] = operand->shape[d];
    }
    int64_t reach = 0;
    for (int32_t i = 0; i < count; i++) {
        if (stride[i] <= reach)
            return true;
        reach += (length[i] - 1) * stride[i];
    }
    return false;
}

/* Note [Do two arrays share memory?]
 *
 * Two strided arrays share a byte if the equation
 *     sum_k step_k * t_k = target,  0 <= t_k <= last_k
 * has a solution in integers: t_k are the indices of both arrays (counted from the end where a
 * stride has the other sign) and the byte within an element of either. The search tries the largest
 * steps first and gives up a branch when the remaining steps cannot reach the target, or when their
 * greatest common divisor does not divide it. Usual layouts end after a few nodes; a search that
 * does not end soon counts as shared, since refusing is safe and a wrong answer is not. */
typedef struct equation {
    int count, budget;
    int64_t step[2 * EK_MAX_NDIM + 2], last[2 * EK_MAX_NDIM + 2];
    int64_t reach[2 * EK_MAX_NDIM + 3]; /* what steps i.. can add at most */
    int64_t gcd[2 * EK_MAX_NDIM + 3];   /* of steps i.. */
} equation;

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool solvable(equation *eq, int i, int64_t target)
{
    if (target == 0)
        return true;
    if (target < 0 || target > eq->reach[i] || target % eq->gcd[i] != 0)
        return false;
    int64_t most = target / eq->step[i];
    if (most > eq->last[i])
        most = eq->last[i];
    for (int64_t t = most; t >= 0 && --eq->budget >= 0; t--) {
        int64_t rest = target - t * eq->step[i];
        if (rest > eq->reach[i + 1])
            break;
        if (solvable(eq, i + 1, rest))
            return true;
    }
    return eq->budget < 0;
}

static void add_term(equation *eq, int64_t step, int64_t last)
{
    if (step == 0 || last == 0)
        return;
    for (int i = 0; i < eq->count; i++) {
        if (eq->step[i] == step) { /* one index does for both: arrays that interleave end soon */
            eq->last[i] += last;
            return;
        }
    }
    int at = eq->count++;
    for (; at > 0 && eq->step[at - 1] < step; at--) {
        eq->step[at] = eq->step[at - 1];
        eq->last[at] = eq->last[at - 1];
    }
    eq->step[at] = step;
    eq->last[at] = last;
}

static void add_operand(equation *eq, const ek_operand *operand)
{
    int64_t size = (int64_t)ek_dtype_size(operand->dtype);
    for (int32_t d = 0; d < operand->ndim; d++) {
        int64_t step = operand->stride[d] * size;
        add_term(eq, ek_magnitude(step), operand->shape[d] - 1);
    }
    add_term(eq, 1, size - 1);
}

bool ek_overlaps(const ek_operand *a, const ek_operand *b)
{
    uintptr_t a_low, a_high, b_low, b_high;
    if (a->size == 0 || b->size == 0)
        return false;
    bounds(a, &a_low, &a_high);
    bounds(b, &b_low, &b_high);
    if (a_high <= b_low || b_high <= a_low)
        return false;
    /* a_low + (terms of a) = b_high - 1 - (terms of b) */
    equation eq = {.count = 0, .budget = 4096};
    add_operand(&eq, a);
    add_operand(&eq, b);
    eq.reach[eq.count] = 0;
    eq.gcd[eq.count] = 0;
    for (int i = eq.count - 1; i >= 0; i--) {
        int64_t reach;
        if (__builtin_mul_overflow(eq.step[i], eq.last[i], &reach) ||
            __builtin_add_overflow(eq.reach[i + 1], reach, &eq.reach[i]))
            return true;
        eq.gcd[i] = gcd(eq.step[i], eq.gcd[i + 1]);
    }
    return solvable(&eq, 0, (int64_t)(b_high - 1 - a_low));
}

static bool same_shape(const ek_operand *a, const ek_operand *b)
{
    bool same = a->ndim == b->ndim;
    for (int32_t d = 0; d < a->ndim && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

static bool same_array(const ek_operand *a, const ek_operand *b)
{
    bool same = a->data == b->data && same_shape(a, b) &&
                ek_dtype_size(a->dtype) == ek_dtype_size(b->dtype);
    for (int32_t d = 0; d < a->ndim && same; d++)
        same = a->shape[d] <= 1 || a->stride[d] == b->stride[d];
    return same;
}

static ek_status check_shapes(const char *call, int32_t outputs, int32_t count,
                              const ek_operand *operands, bool stretch)
{
    char text[128], wanted[128];
    const ek_operand *out = &operands[0];
    int64_t needed[EK_MAX_NDIM];
    for (int32_t d = 0; d < out->ndim; d++)
        needed[d] = 1;
    for (int32_t i = 1; i < outputs; i++) {
        if (!same_shape(out, &operands[i]))
            return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: %s has %s", call,
                           operands[i].name,
                           ek_shape_text(operands[i].ndim, operands[i].shape, text), out->name,
                           ek_shape_text(out->ndim, out->shape, wanted));
    }
    for (int32_t i = outputs; i < count; i++) {
        const ek_operand *in = &operands[i];
        int32_t shift = out->ndim - in->ndim;
        for (int32_t d = 0; d < in->ndim; d++) {
            int64_t length = in->shape[d];
            if (shift + d < 0 || (length != 1 && length != out->shape[shift + d]))
                return ek_fail(EK_SHAPE_MISMATCH,
                               "%s: %s has shape %s: does not broadcast to %s's %s", call, in->name,
                               ek_shape_text(in->ndim, in->shape, text), out->name,
                               ek_shape_text(out->ndim, out->shape, wanted));
            if (length != 1)
                needed[shift + d] = length;
        }
    }
    /* An output longer than what the inputs broadcast to would hide a mistake. */
    for (int32_t d = 0; d < out->ndim && !stretch; d++) {
        if (needed[d] != out->shape[d])
            return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: the inputs broadcast to %s",
                           call, out->name, ek_shape_text(out->ndim, out->shape, text),
                           ek_shape_text(out->ndim, needed, wanted));
    }
    return EK_OK;
}

/* Output k by itself, and with those after it and the inputs. */
static ek_status check_output(const char *call, int32_t k, int32_t outputs, int32_t count,
                              const ek_operand *operands)
{
    const ek_operand *out = &operands[k];
    char text[128];
    if (ek_self_overlaps(out))
        return ek_fail(EK_OVERLAP, "%s: %s with shape %s overlaps itself", call, out->name,
                       ek_shape_text(out->ndim, out->shape, text));
    for (int32_t i = k + 1; i < count; i++) {
        bool input = i >= outputs;
        if (!(input && same_array(out, &operands[i])) && ek_overlaps(out, &operands[i]))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p%s", call, out->name,
                           out->data, operands[i].name, operands[i].data,
                           input ? " without being it" : "");
    }
    return EK_OK;
}

ek_status ek_check_outputs(const char *call, int32_t count, const ek_operand *operands)
{
    for (int32_t k = 0; k < count; k++)
        EK_TRY(check_output(call, k, count, count, operands));
    return EK_OK;
}

/* Adds a dimension inside the last one of the layout, merged with it if every operand steps from
 * the end of a run to the start of the next. */
static void add_dimension(ek_layout *layout, int64_t length, const int64_t *stride)
{
    int32_t last = layout->ndim - 1;
    bool merges = last >= 0;
    for (int32_t i = 0; i < layout->operands && merges; i++)
        merges = layout->stride[last][i] == stride[i] * length;
    if (merges)
        layout->shape[last] *= length;
    else
        layout->shape[++last] = length;
    memcpy(layout->stride[last], stride, (size_t)layout->operands * sizeof *stride);
    layout->ndim = last + 1;
}

/* The output's dimensions, those of length 1 left out, by falling strides of either sign: the order
 * in which memory is written. Equal strides keep their order. Returns how many there are. */
static int32_t order_by_output(const ek_operand *out, int32_t *order)
{
    int32_t count = 0;
    for (int32_t d = 0; d < out->ndim; d++) {
        if (out->shape[d] == 1)
            continue;
        int64_t step = ek_magnitude(out->stride[d]);
        int32_t at = count++;
        for (; at > 0; at--) {
            if (ek_magnitude(out->stride[order[at - 1]]) >= step)
                break;
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    return count;
}

/* Starts every operand at the other end of a dimension. */
static void turn(ek_layout *layout, const ek_operand *operands, int64_t length, int64_t *stride)
{
    for (int32_t i = 0; i < layout->operands; i++) {
        int64_t size = (int64_t)ek_dtype_size(operands[i].dtype);
        if (stride[i] != 0)
            layout->data[i] = (char *)layout->data[i] + (length - 1) * stride[i] * size;
        stride[i] = -stride[i];
    }
}

static ek_status init(const char *call, int32_t outputs, int32_t count, const ek_operand *operands,
                      bool stretch, ek_layout *layout)
{
    const ek_operand *out = &operands[0];
    int32_t order[EK_MAX_NDIM];
    EK_TRY(check_shapes(call, outputs, count, operands, stretch));
    for (int32_t k = 0; k < outputs; k++)
        EK_TRY(check_output(call, k, outputs, count, operands));
    layout->outputs = outputs;
    layout->operands = count;
    layout->ndim = 0;
    layout->size = out->size;
    for (int32_t i = 0; i < count; i++)
        layout->data[i] = operands[i].data;
    if (out->size == 0)
        return EK_OK;
    int32_t ndim = order_by_output(out, order);
    for (int32_t k = 0; k < ndim; k++) {
        int64_t stride[EK_MAX_OPERANDS], length = out->shape[order[k]];
        for (int32_t i = 0; i < count; i++) {
            int32_t at = order[k] - (out->ndim - operands[i].ndim);
            bool steps = at >= 0 && operands[i].shape[at] != 1;
            stride[i] = steps ? operands[i].stride[at] : 0;
        }
        if (stride[0] < 0)
            turn(layout, operands, length, stride);
        add_dimension(layout, length, stride);
    }
    return EK_OK;
}

ek_status ek_layout_init(const char *call, int32_t outputs, int32_t count,
                         const ek_operand *operands, ek_layout *layout)
{
    return init(call, outputs, count, operands, false, layout);
}

ek_status ek_layout_init_stretched(const char *call, int32_t count, const ek_operand *operands,
                                   ek_layout *layout)
{
    return init(call, 1, count, operands, true, layout);
}
