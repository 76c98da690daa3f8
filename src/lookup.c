#include "lookup.h"

#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "cpu/run_lookup.h"
#include "einkorn/memory.h"
#include "einkorn/ops/copy.h"
#include "elementwise.h"
#include "error.h"
#include "layout.h"

/* Parameters by their place (gen/model.py). */
enum { AXIS, ALONG, MODE };

/* What each operand is as long as. */
typedef enum side { TABLE, ROWS, INDEX } side;

static side side_of(const ek_op_info *op, int32_t k)
{
    if (k == EK_LOOKUP_INDICES)
        return INDEX;
    if (op->run == &ek_kind_take)
        return k == EK_LOOKUP_X ? TABLE : ROWS;
    return k == EK_LOOKUP_VALUES ? ROWS : TABLE;
}

ek_status ek_lookup_refuse(const char *name, int64_t place, int64_t index, int64_t n)
{
    return ek_fail(EK_INVALID_ARGUMENT,
                   "%s: indices has %" PRId64 " at place %" PRId64 ": must be %" PRId64
                   " to %" PRId64,
                   name, index, place, -n, n - 1);
}

/* An empty table has no place for any index. */
static ek_status check_places(const char *name, const ek_lookup *call)
{
    if (call->n == 0 && call->m > 0 && call->outer > 0 && call->inner > 0)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %" PRId64 " indices into an axis without elements",
                       name, call->m);
    return EK_OK;
}

/* ---- typed calls */

static bool product(int64_t a, int64_t b, int64_t c, int64_t *count)
{
    return a >= 0 && b >= 0 && c >= 0 && !__builtin_mul_overflow(a, b, count) &&
           !__builtin_mul_overflow(*count, c, count) && *count <= EK_MAX_COUNT;
}

ek_status ek_lookup_typed(const ek_op_info *op, int32_t loop, int64_t outer, int64_t n, int64_t m,
                          int64_t inner, bool along, int64_t mode, void *const *data,
                          ek_lookup *call)
{
    char name[EK_TYPED_CALL_TEXT];
    uint8_t size[EK_MAX_OPERANDS];
    int64_t count[EK_LOOKUP_OPERANDS], table, rows;
    ek_typed_call(op, loop, name);
    EK_TRY(ek_check_value(name, ek_param_of(op, "mode"), (double)mode));
    if (!product(outer, n, inner, &table) || !product(outer, m, inner, &rows) || m < 0 ||
        m > EK_MAX_COUNT)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: outer is %" PRId64 ", n %" PRId64 ", m %" PRId64 ", inner %" PRId64
                       ": negative or too large",
                       name, outer, n, m, inner);
    *call = (ek_lookup){
        .outer = outer, .n = n, .m = m, .inner = inner, .mode = (int32_t)mode, .along = along};
    ek_loop_sizes(op, loop, size);
    call->size = size[0];
    call->index_size = size[EK_LOOKUP_INDICES];
    for (int32_t k = 0; k <= op->inputs; k++) {
        side side = side_of(op, k);
        bool listed = side == INDEX && !along;
        int64_t length = side == TABLE ? n : m;
        count[k] = side == TABLE ? table : (listed ? m : rows);
        call->data[k] = data[k];
        call->outer_step[k] = listed ? 0 : length * inner;
        call->row_step[k] = listed ? 1 : inner;
        call->inner_step[k] = listed ? 0 : 1;
        if (!data[k] && count[k] > 0)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null with %" PRId64 " elements", name,
                           ek_operand_name(op, k), count[k]);
        bool same =
            k == EK_LOOKUP_X && side == TABLE && side_of(op, 0) == TABLE && data[k] == data[0];
        if (k > 0 && !same &&
            !ek_disjoint(data[0], (uint64_t)count[0] * size[0], data[k],
                         (uint64_t)count[k] * size[k]))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p", name,
                           ek_operand_name(op, 0), data[0], ek_operand_name(op, k), data[k]);
    }
    return check_places(name, call);
}

/* ---- array calls */

/* The rows of a call: those of x with the axis replaced by the indices' shape, or, `along`, by
 * their length in that axis. */
typedef struct rows_shape {
    int32_t ndim, axis, width; /* dimensions that stand where the axis was */
    int64_t shape[2 * EK_MAX_NDIM];
} rows_shape;

static ek_status find_rows(const ek_op_info *op, const ek_operand *x, const ek_operand *indices,
                           const ek_scalar *params, rows_shape *rows)
{
    int64_t axis = params[AXIS].i64;
    bool along = params[ALONG].i64;
    char text[128], wanted[128];
    if (x->ndim == 0 || axis < -x->ndim || axis >= x->ndim)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: axis is %" PRId64 ": x has %d dimensions",
                       op->call, axis, (int)x->ndim);
    if (along && indices->ndim != x->ndim)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: indices has shape %s: must have as many dimensions "
                       "as x with %s",
                       op->call, ek_shape_text(indices->ndim, indices->shape, text),
                       ek_shape_text(x->ndim, x->shape, wanted));
    rows->axis = (int32_t)(axis < 0 ? axis + x->ndim : axis);
    rows->width = along ? 1 : indices->ndim;
    rows->ndim = x->ndim - 1 + rows->width;
    if (rows->ndim > EK_MAX_NDIM)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: x of %d dimensions and indices of %d: the result "
                       "would have %d, at most %d are allowed",
                       op->call, (int)x->ndim, (int)indices->ndim, (int)rows->ndim, EK_MAX_NDIM);
    const int64_t *middle = along ? &indices->shape[rows->axis] : indices->shape;
    size_t before = (size_t)rows->axis, width = (size_t)rows->width;
    memcpy(rows->shape, x->shape, before * sizeof *rows->shape);
    if (width > 0)
        memcpy(rows->shape + before, middle, width * sizeof *rows->shape);
    memcpy(rows->shape + before + width, x->shape + before + 1,
           ((size_t)x->ndim - before - 1) * sizeof *rows->shape);
    return EK_OK;
}

static int64_t count_in(const int64_t *shape, int32_t first, int32_t end)
{
    int64_t count = 1;
    for (int32_t d = first; d < end; d++)
        count *= shape[d];
    return count;
}

/* Gives an operand a shape that it broadcasts to, with steps of 0 where it is repeated. */
static ek_status stretch(const ek_op_info *op, int32_t ndim, const int64_t *shape, bool exactly,
                         ek_operand *x)
{
    char text[128], wanted[128];
    int64_t stride[EK_MAX_NDIM] = {0};
    int32_t missing = ndim - x->ndim;
    bool fits = missing >= 0 && !(exactly && missing > 0);
    for (int32_t d = 0; d < x->ndim && fits; d++) {
        fits = x->shape[d] == shape[missing + d] || (x->shape[d] == 1 && !exactly);
        stride[missing + d] = x->shape[d] == shape[missing + d] ? x->stride[d] : 0;
    }
    if (!fits)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has shape %s: must be %s", op->call, x->name,
                       ek_shape_text(x->ndim, x->shape, text), ek_shape_text(ndim, shape, wanted));
    memcpy(x->stride, stride, sizeof stride);
    x->shape = shape;
    x->ndim = ndim;
    x->size = count_in(shape, 0, ndim);
    return EK_OK;
}

/* Whether dimensions are crossed in steps of one size, and which. */
static bool one_step(const ek_operand *x, int32_t first, int32_t end, int64_t *step)
{
    int64_t reach = 0;
    bool found = false;
    *step = 0;
    for (int32_t d = end - 1; d >= first; d--) {
        if (x->shape[d] == 1)
            continue;
        if (!found)
            *step = x->stride[d];
        else if (x->stride[d] != reach)
            return false;
        found = true;
        reach = x->stride[d] * x->shape[d];
    }
    return true;
}

/* The steps of an operand whose dimensions `axis` to before `axis + width` are the rows. */
static bool find_steps(const ek_operand *x, int32_t axis, int32_t width, int32_t k, ek_lookup *call)
{
    return one_step(x, 0, axis, &call->outer_step[k]) &&
           one_step(x, axis, axis + width, &call->row_step[k]) &&
           one_step(x, axis + width, x->ndim, &call->inner_step[k]);
}

/* The operands of an array call, some with copies without gaps in their places. */
typedef struct lookup {
    ek_operand given[EK_LOOKUP_OPERANDS];
    ek_operand used[EK_LOOKUP_OPERANDS];
    void *memory[EK_LOOKUP_OPERANDS]; /* null: none */
    rows_shape rows;
    ek_lookup call;
} lookup;

static ek_status copy(ek_queue *queue, const ek_op_info *op, const ek_operand *to,
                      const ek_operand *from)
{
    ek_operand sides[2] = {*to, *from};
    ek_layout layout;
    EK_TRY(ek_layout_init(op->call, 1, 2, sides, &layout));
    return ek_elementwise_run(queue, &ek_op_copy.info, (int32_t)from->dtype, &layout, NULL);
}

/* Lets a copy without gaps stand in for operand k. */
static ek_status stand_in(ek_queue *queue, const ek_op_info *op, lookup *l, int32_t k)
{
    ek_operand *made = &l->used[k];
    size_t bytes = (size_t)made->size * ek_dtype_size(made->dtype);
    EK_TRY(ek_alloc(queue, bytes, &l->memory[k]));
    made->data = l->memory[k];
    int64_t step = 1;
    for (int32_t d = made->ndim - 1; d >= 0; d--) {
        made->stride[d] = step;
        step *= made->shape[d];
    }
    /* An output too: if an index is refused on a GPU it must come out as it was. */
    return copy(queue, op, made, &l->given[k]);
}

static bool same_array(const ek_operand *a, const ek_operand *b)
{
    return a->data == b->data && a->ndim == b->ndim &&
           memcmp(a->stride, b->stride, (size_t)a->ndim * sizeof *a->stride) == 0;
}

static ek_status run(ek_queue *queue, const ek_op_info *op, int32_t loop, const ek_lookup *call)
{
    const void *kernels;
    EK_TRY(ek_find_kernels(op, queue, &kernels));
#if EK_HAVE_CUDA
    if (queue->variant == EK_CUDA)
        return ek_cuda_lookup(queue, kernels, op, loop, call);
#endif
    return ek_cpu_lookup(queue, (const ek_lookup_kernels *)kernels + loop, call);
}

/* Finds the steps of all operands, and runs. */
static ek_status run_stepwise(ek_queue *queue, const ek_op_info *op, int32_t loop, lookup *l)
{
    ek_lookup *call = &l->call;
    bool in_place = side_of(op, 0) == TABLE && same_array(&l->given[0], &l->given[EK_LOOKUP_X]);
    for (int32_t k = 0; k <= op->inputs; k++) {
        side side = side_of(op, k);
        int32_t axis = side == INDEX && !call->along ? 0 : l->rows.axis;
        int32_t width = side == TABLE ? 1 : l->rows.width;
        l->used[k] = k == EK_LOOKUP_X && in_place ? l->used[0] : l->given[k];
        if (!find_steps(&l->used[k], axis, width, k, call)) {
            EK_TRY(stand_in(queue, op, l, k));
            find_steps(&l->used[k], axis, width, k, call);
        }
        call->data[k] = l->used[k].data;
    }
    EK_TRY(run(queue, op, loop, call));
    return l->memory[0] ? copy(queue, op, &l->given[0], &l->used[0]) : EK_OK;
}

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
    const ek_operand *last = &operands[op->inputs];
    return ek_fail(EK_DTYPE_MISMATCH,
                   "%s: x is %s, indices is %s, %s is %s: indices must be i32 or i64, all else of "
                   "one dtype that ek_%s has; ek_cast converts",
                   op->call, ek_dtype_name(operands[EK_LOOKUP_X].dtype),
                   ek_dtype_name(operands[EK_LOOKUP_INDICES].dtype), from == 0 ? "out" : last->name,
                   ek_dtype_name(from == 0 ? operands[0].dtype : last->dtype), op->name);
}

/* That the shapes belong together; broadcasts what may be. */
static ek_status settle(const ek_op_info *op, ek_operand *operands, int32_t from,
                        const ek_scalar *params, rows_shape *rows)
{
    const ek_operand *x = &operands[EK_LOOKUP_X];
    EK_TRY(find_rows(op, x, &operands[EK_LOOKUP_INDICES], params, rows));
    for (int32_t k = from; k <= op->inputs; k++) {
        side side = side_of(op, k);
        if (k == EK_LOOKUP_X || (side == INDEX && !params[ALONG].i64))
            continue;
        if (side == TABLE)
            EK_TRY(stretch(op, x->ndim, x->shape, true, &operands[k]));
        else
            EK_TRY(stretch(op, rows->ndim, rows->shape, k == 0, &operands[k]));
    }
    return EK_OK;
}

static ek_status check_overlap(const ek_op_info *op, const ek_operand *operands)
{
    EK_TRY(ek_check_outputs(op->call, 1, operands));
    for (int32_t k = 1; k <= op->inputs; k++) {
        bool same =
            k == EK_LOOKUP_X && side_of(op, 0) == TABLE && same_array(&operands[0], &operands[k]);
        if (!same && ek_overlaps(&operands[0], &operands[k]))
            return ek_fail(EK_OVERLAP, "%s: %s at %p overlaps %s at %p", op->call, operands[0].name,
                           operands[0].data, operands[k].name, operands[k].data);
    }
    return EK_OK;
}

static void measure(const ek_operand *x, const rows_shape *rows, ek_lookup *call)
{
    call->outer = count_in(x->shape, 0, rows->axis);
    call->n = x->shape[rows->axis];
    call->m = count_in(rows->shape, rows->axis, rows->axis + rows->width);
    call->inner = count_in(x->shape, rows->axis + 1, x->ndim);
}

/* args: the parameters of an array call. */
static ek_status compute(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                         const void *args, ek_array *const *out)
{
    lookup l; /* large: what is used is set */
    ek_scalar params[EK_MAX_PARAMS];
    int32_t loop = 0;
    memset(l.memory, 0, sizeof l.memory);
    EK_TRY(ek_operand_init_out(op->call, op->output_names[0], queue, out[0], &l.given[0]));
    for (int32_t i = 0; i < op->inputs; i++)
        EK_TRY(ek_operand_init(op->call, op->input_names[i], queue, in[i], &l.given[i + 1]));
    EK_TRY(find_loop(op, l.given, 0, &loop));
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], args, params));
    EK_TRY(check_overlap(op, l.given));
    EK_TRY(settle(op, l.given, 0, params, &l.rows));
    l.call = (ek_lookup){
        .mode = (int32_t)params[MODE].i64,
        .along = params[ALONG].i64,
        .size = (uint8_t)ek_dtype_size(l.given[0].dtype),
        .index_size = (uint8_t)ek_dtype_size(l.given[EK_LOOKUP_INDICES].dtype),
    };
    measure(&l.given[EK_LOOKUP_X], &l.rows, &l.call);
    EK_TRY(check_places(op->call, &l.call));
    ek_status status = run_stepwise(queue, op, loop, &l);
    for (int32_t k = 0; k <= op->inputs; k++) {
        ek_status freed = l.memory[k] ? ek_free(queue, l.memory[k]) : EK_OK;
        status = status == EK_OK ? freed : status;
    }
    return status;
}

ek_status ek_lookup_array(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                          const ek_scalar *params, ek_array *out)
{
    return ek_call(compute, queue, op, in, params, &out);
}

static ek_status infer(const ek_op_info *op, const ek_array *const *in, int32_t param_count,
                       const ek_param *params, ek_output *out)
{
    ek_operand operands[EK_LOOKUP_OPERANDS];
    ek_scalar given[EK_MAX_PARAMS], values[EK_MAX_PARAMS];
    rows_shape rows;
    ek_lookup call;
    int32_t loop = 0;
    for (int32_t i = 0; i < op->inputs; i++)
        EK_TRY(ek_operand_describe(op->call, op->input_names[i], in[i], &operands[i + 1]));
    EK_TRY(find_loop(op, operands, 1, &loop));
    ek_params_by_name(op, param_count, params, given);
    EK_TRY(ek_params_for_loop(op, &op->loops[loop], given, values));
    EK_TRY(settle(op, operands, 1, values, &rows));
    const ek_operand *x = &operands[EK_LOOKUP_X];
    measure(x, &rows, &call);
    EK_TRY(check_places(op->call, &call));
    bool table = side_of(op, 0) == TABLE;
    out->dtype = (ek_dtype)op->loops[loop].out[0];
    out->ndim = table ? x->ndim : rows.ndim;
    memcpy(out->shape, table ? x->shape : rows.shape, (size_t)out->ndim * sizeof *out->shape);
    return EK_OK;
}

static ek_status apply(ek_queue *queue, const ek_op_info *op, const ek_array *const *in,
                       int32_t param_count, const ek_param *params, ek_array *const *out)
{
    ek_scalar given[EK_MAX_PARAMS];
    ek_params_by_name(op, param_count, params, given);
    return ek_lookup_array(queue, op, in, given, out[0]);
}

const ek_kind ek_kind_take = {.infer = infer, .apply = apply};
const ek_kind ek_kind_put = {.infer = infer, .apply = apply};
const ek_kind ek_kind_scatter = {.infer = infer, .apply = apply};
