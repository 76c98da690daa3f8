#include "image.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "cpu/run_image.h"
#include "elementwise.h"
#include "error.h"
#include "integer.h"
#include "layout.h"

/* Parameters by their place (gen/model.py): of windows, with an operation's own behind them; of
 * images that are scaled. */
enum { KERNEL = 0, STRIDE = 2, PADDING = 4, DILATION = 6, OWN = 7 };
enum { TO = 0 };

static const char *const axis_names[] = {"rows", "columns"};

static bool is_window(const ek_op_info *op)
{
    return op->run == &ek_kind_pool || op->run == &ek_kind_pool_bwd;
}

/* Whether an operand has the size of the image: x and its gradient have, all others that of the
 * windows, or of the scaled image. */
static bool is_image(const ek_op_info *op, int32_t k)
{
    const char *name = ek_operand_name(op, k);
    return strcmp(name, "x") == 0 || strcmp(name, "dx") == 0;
}

static void take_params(const ek_op_info *op, const ek_scalar *params, ek_window *window)
{
    if (!is_window(op))
        return;
    for (int axis = 0; axis < 2; axis++) {
        window->kernel[axis] = params[KERNEL + axis].i64;
        window->stride[axis] = params[STRIDE + axis].i64;
        window->padding[axis] = params[PADDING + axis].i64;
    }
    window->dilation = params[DILATION].i64;
    window->every = op->param_count > OWN ? params[OWN].i64 : 0;
}

/* From the first element of a window to behind the last, and the image with its padding. */
static ek_status reaches(const char *call, const ek_window *window, int axis, int64_t *reach,
                         int64_t *padded)
{
    int64_t kernel = window->kernel[axis], padding = window->padding[axis];
    if (__builtin_mul_overflow(kernel - 1, window->dilation, reach) ||
        __builtin_add_overflow(*reach, 1, reach) || *reach > EK_MAX_REACH ||
        padding > EK_MAX_REACH || window->stride[axis] > EK_MAX_REACH)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: kernel is %" PRId64 " %s with dilation %" PRId64 ", padding %" PRId64
                       ", stride %" PRId64 ": reaches further than memory",
                       call, kernel, axis_names[axis], window->dilation, padding,
                       window->stride[axis]);
    *padded = window->image[axis] + 2 * padding;
    return EK_OK;
}

/* How many windows an image has. */
static ek_status count_windows(const char *call, ek_window *window)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t reach = 0, padded = 0;
        EK_TRY(reaches(call, window, axis, &reach, &padded));
        if (reach > padded)
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: a window reaches over %" PRId64 " %s: the image has %" PRId64
                           " with its padding",
                           call, reach, axis_names[axis], padded);
        window->result[axis] = (padded - reach) / window->stride[axis] + 1;
    }
    return EK_OK;
}

/* The smallest image that has so many windows. */
static ek_status smallest_image(const char *call, ek_window *window)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t reach = 0, padded = 0, length, windows = window->result[axis];
        window->image[axis] = 0;
        EK_TRY(reaches(call, window, axis, &reach, &padded));
        if (windows < 1 || __builtin_mul_overflow(windows - 1, window->stride[axis], &length) ||
            __builtin_add_overflow(length, reach - padded, &length) || length < 0)
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: no image has %" PRId64 " %s of windows that reach over %" PRId64
                           ", with padding %" PRId64,
                           call, windows, axis_names[axis], reach, window->padding[axis]);
        window->image[axis] = length;
    }
    return EK_OK;
}

/* What both sizes of a scaled image must be. */
static ek_status check_scaled(const char *call, const ek_window *window)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t from = window->image[axis], to = window->result[axis], product;
        if ((from == 0) != (to == 0))
            return ek_fail(EK_SHAPE_MISMATCH,
                           "%s: the images have %" PRId64 " and %" PRId64 " %s: none or both must "
                           "be empty",
                           call, from, to, axis_names[axis]);
        if (__builtin_mul_overflow(from + 1, to + 1, &product) || product > EK_MAX_REACH)
            return ek_fail(EK_INVALID_ARGUMENT,
                           "%s: the images have %" PRId64 " and %" PRId64 " %s: too many", call,
                           from, to, axis_names[axis]);
    }
    return EK_OK;
}

/* The size that a parameter says, or else `standard`. */
static int64_t asked(const ek_scalar *params, int axis, int64_t standard)
{
    return params[TO + axis].i64 ? params[TO + axis].i64 : standard;
}

/* The other image's size. */
static ek_status find_scaled(const char *call, const ek_op_info *op, const ek_scalar *params,
                             ek_window *window)
{
    for (int axis = 0; axis < 2; axis++) {
        if (op->run == &ek_kind_scale)
            window->result[axis] = asked(params, axis, 2 * window->image[axis]);
        else
            window->image[axis] = asked(params, axis, ek_divide_up(window->result[axis], 2));
    }
    return check_scaled(call, window);
}

/* The output's size from the inputs'. */
static ek_status find_output(const char *call, const ek_op_info *op, const ek_scalar *params,
                             ek_window *window)
{
    if (!is_window(op))
        return find_scaled(call, op, params, window);
    for (int32_t k = 1; k <= op->inputs; k++) {
        if (is_image(op, k))
            return count_windows(call, window);
    }
    return smallest_image(call, window);
}

/* ---- typed calls */

static ek_status overflowing(const char *call, int64_t planes, int64_t height, int64_t width)
{
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: planes is %" PRId64 ", height %" PRId64 ", width %" PRId64
                   ": negative or too large",
                   call, planes, height, width);
}

/* Elements of an operand in C order. */
static bool count_elements(int64_t planes, const int64_t *size, int64_t *count)
{
    int64_t area;
    return planes >= 0 && size[0] >= 0 && size[1] >= 0 &&
           !__builtin_mul_overflow(size[0], size[1], &area) &&
           !__builtin_mul_overflow(area, planes, count) && *count <= EK_MAX_COUNT &&
           area <= EK_MAX_COUNT;
}

ek_status ek_image_typed(const char *name, const ek_op_info *op, int32_t loop, int64_t planes,
                         int64_t height, int64_t width, const ek_scalar *params, void *const *data,
                         ek_image_call *call)
{
    uint8_t size[EK_MAX_OPERANDS];
    int64_t count[EK_IMAGE_OPERANDS];
    ek_window *window = &call->window;
    EK_TRY(ek_params_check_typed(name, op, &op->loops[loop], params));
    take_params(op, params, window);
    if (planes < 0 || height < 0 || width < 0)
        return overflowing(name, planes, height, width);
    int64_t *size_given = op->run == &ek_kind_scale_bwd ? window->result : window->image;
    size_given[0] = height;
    size_given[1] = width;
    EK_TRY(is_window(op) ? count_windows(name, window) : find_scaled(name, op, params, window));
    call->planes = planes;
    call->operands = 1 + op->inputs;
    call->ndim = 1;
    call->shape[0] = planes;
    ek_loop_sizes(op, loop, size);
    for (int32_t k = 0; k < call->operands; k++) {
        const int64_t *lengths = is_image(op, k) ? window->image : window->result;
        if (!count_elements(planes, lengths, &count[k]))
            return overflowing(name, planes, lengths[0], lengths[1]);
        if (!data[k] && count[k] > 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with %" PRId64 " elements", name,
                           ek_operand_name(op, k), count[k]);
        if (k > 0 && !ek_disjoint(data[0], (uint64_t)count[0] * size[0], data[k],
                                  (uint64_t)count[k] * size[k]))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p", name,
                           ek_operand_name(op, 0), data[0], ek_operand_name(op, k), data[k]);
        call->data[k] = data[k];
        call->row[k] = lengths[1];
        call->column[k] = 1;
        call->step[0][k] = lengths[0] * lengths[1];
    }
    call->height = is_image(op, 0) ? window->image[0] : window->result[0];
    call->width = is_image(op, 0) ? window->image[1] : window->result[1];
    return EK_OK;
}

/* ---- array calls */

static ek_status find_loop(const ek_op_info *op, const ek_operand *operands, int32_t from,
                           int32_t *found)
{
    for (int32_t i = 0; i < op->loop_count; i++) {
        bool fits = true;
        for (int32_t k = from; k <= op->inputs; k++)
            fits &= (k == 0 ? op->loops[i].out[0] : op->loops[i].in[k - 1]) == operands[k].dtype;
        *found = i;
        if (fits)
            return EK_OK;
    }
    return ek_fail(EK_DTYPE_MISMATCH, "%s: %s is %s%s%s: no kernel takes them; ek_cast converts",
                   op->call, operands[1].name, ek_dtype_name(operands[1].dtype),
                   from == 0 ? ", out is " : "", from == 0 ? ek_dtype_name(operands[0].dtype) : "");
}

/* That all operands from `from` on have the planes of operand 1, and the sizes of the window. */
static ek_status check_shapes(const ek_op_info *op, const ek_operand *operands, int32_t from,
                              const ek_window *window)
{
    char text[128], wanted[128];
    const ek_operand *first = &operands[1];
    for (int32_t k = from; k <= op->inputs; k++) {
        const ek_operand *x = &operands[k];
        const int64_t *size = is_image(op, k) ? window->image : window->result;
        int64_t shape[EK_MAX_NDIM];
        memcpy(shape, first->shape, (size_t)(first->ndim - 2) * sizeof *shape);
        memcpy(shape + first->ndim - 2, size, 2 * sizeof *shape);
        if (x->ndim != first->ndim ||
            memcmp(x->shape, shape, (size_t)first->ndim * sizeof *shape) != 0)
            return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must be %s", op->call, x->name,
                           ek_shape_text(x->ndim, x->shape, text),
                           ek_shape_text(first->ndim, shape, wanted));
    }
    return EK_OK;
}

static ek_status check_ndim(const ek_op_info *op, const ek_operand *x)
{
    char text[128];
    if (x->ndim < 2)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must have 2 dimensions or more",
                       op->call, x->name, ek_shape_text(x->ndim, x->shape, text));
    return EK_OK;
}

/* Sizes of the window as the operands from `from` on have them. */
static void take_sizes(const ek_op_info *op, const ek_operand *operands, int32_t from,
                       ek_window *window)
{
    for (int32_t k = op->inputs; k >= from; k--)
        memcpy(is_image(op, k) ? window->image : window->result,
               operands[k].shape + operands[k].ndim - 2, sizeof window->image);
}

/* Dimensions that lead to a plane, from the outermost on. */
static void lead(const ek_op_info *op, const ek_operand *operands, ek_image_call *call)
{
    int32_t last = -1, leading = operands[1].ndim - 2;
    call->operands = 1 + op->inputs;
    call->planes = 1;
    call->ndim = 0;
    for (int32_t k = 0; k < call->operands; k++) {
        const ek_operand *x = &operands[k];
        call->data[k] = x->data;
        call->row[k] = x->stride[leading];
        call->column[k] = x->stride[leading + 1];
    }
    for (int32_t d = 0; d < leading; d++) {
        int64_t length = operands[1].shape[d];
        bool merges = last >= 0;
        call->planes *= length;
        if (length == 1)
            continue;
        for (int32_t k = 0; k < call->operands && merges; k++)
            merges = call->step[last][k] == operands[k].stride[d] * length;
        if (!merges)
            call->shape[last = call->ndim++] = 1;
        call->shape[last] *= length;
        for (int32_t k = 0; k < call->operands; k++)
            call->step[last][k] = operands[k].stride[d];
    }
}

static ek_status check_overlap(const ek_op_info *op, const ek_operand *operands)
{
    EK_TRY(ek_check_outputs(op->call, 1, operands));
    for (int32_t k = 1; k <= op->inputs; k++) {
        if (ek_overlaps(&operands[0], &operands[k]))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p", op->call, operands[0].name,
                           operands[0].data, operands[k].name, operands[k].data);
    }
    return EK_OK;
}

/* The sizes of all operands, which must belong together. */
static ek_status settle(const ek_op_info *op, const ek_scalar *params, const ek_operand *operands,
                        ek_window *window)
{
    take_sizes(op, operands, 0, window);
    if (is_window(op)) {
        EK_TRY(count_windows(op->call, window));
    } else {
        const int64_t *size = is_image(op, 0) ? window->image : window->result;
        for (int axis = 0; axis < 2; axis++) {
            if (asked(params, axis, size[axis]) != size[axis])
                return ek_fail(EK_SHAPE_MISMATCH, "%s: %s is %" PRId64 ": %s has %" PRId64 " %s",
                               op->call, op->params[TO + axis].name, params[TO + axis].i64,
                               operands[0].name, size[axis], axis_names[axis]);
        }
        EK_TRY(check_scaled(op->call, window));
    }
    return check_shapes(op, operands, 0, window);
}

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_image_call *call)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_image(queue, kernels, op, loop, call);
#endif
    return ek_cpu_image(queue, (const ek_image_kernel *)kernels + loop, call);
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    ek_operand operands[EK_IMAGE_OPERANDS];
    ek_scalar params[EK_MAX_PARAMS];
    ek_image_call call;
    int32_t loop = 0;
    EK_TRY(ek_operand_init_out(op->call, op->output_names[0], queue, out[0], &operands[0]));
    for (int32_t i = 0; i < op->inputs; i++)
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &operands[i + 1]));
    EK_TRY(find_loop(op, operands, 0, &loop));
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], args, params));
    for (int32_t k = 0; k <= op->inputs; k++)
        EK_TRY(check_ndim(op, &operands[k]));
    take_params(op, params, &call.window);
    EK_TRY(settle(op, params, operands, &call.window));
    EK_TRY(check_overlap(op, operands));
    lead(op, operands, &call);
    call.height = operands[0].shape[operands[0].ndim - 2];
    call.width = operands[0].shape[operands[0].ndim - 1];
    return run(queue, op, loop, &call);
}

ek_status ek_image(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                   const ek_scalar *params, ek_array *out)
{
    return ek_call(compute, queue, op, in, params, &out);
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand operands[EK_IMAGE_OPERANDS];
    ek_scalar given[EK_MAX_PARAMS], values[EK_MAX_PARAMS];
    ek_window window;
    int32_t loop = 0;
    for (int32_t i = 0; i < op->inputs; i++) {
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operands[i + 1]));
        EK_TRY(check_ndim(op, &operands[i + 1]));
    }
    EK_TRY(find_loop(op, operands, 1, &loop));
    ek_params_by_name(op, param_count, params, given);
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, values));
    take_params(op, values, &window);
    take_sizes(op, operands, 1, &window);
    EK_TRY(find_output(op->call, op, values, &window));
    EK_TRY(check_shapes(op, operands, 1, &window));
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    out->ndim = operands[1].ndim;
    memcpy(out->shape, operands[1].shape, (size_t)out->ndim * sizeof *out->shape);
    memcpy(out->shape + out->ndim - 2, is_image(op, 0) ? window.image : window.result,
           sizeof window.image);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    ek_params_by_name(op, param_count, params, given);
    return ek_image(queue, op, in, given, out[0]);
}

const ek_kind ek_kind_pool = {.infer = infer, .apply = apply};
const ek_kind ek_kind_pool_bwd = {.infer = infer, .apply = apply};
const ek_kind ek_kind_scale = {.infer = infer, .apply = apply};
const ek_kind ek_kind_scale_bwd = {.infer = infer, .apply = apply};
