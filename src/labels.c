#include "labels.h"

#include <string.h>

#include "einkorn/ops/copy.h"
#include "einkorn/ops/dot.h"
#include "einkorn/ops/mul.h"
#include "einkorn/ops/sum.h"
#include "error.h"
#include "gemm.h"
#include "layout.h"

int32_t ek_labels_find(const ek_labelled *x, uint8_t label)
{
    for (int32_t d = 0; d < x->view.array.ndim; d++) {
        if (x->label[d] == label)
            return d;
    }
    return -1;
}

void ek_labels_order(const ek_labels *labels, const ek_labelled *x, int32_t count,
                     const uint8_t *label, ek_view *view)
{
    view->array = x->view.array;
    view->array.ndim = count;
    view->array.shape = view->shape;
    view->array.strides = view->strides;
    for (int32_t i = 0; i < count; i++) {
        int32_t d = ek_labels_find(x, label[i]);
        view->shape[i] = labels->length[label[i]];
        view->strides[i] = d < 0 || x->view.shape[d] == 1 ? 0 : x->view.strides[d];
    }
}

ek_status ek_labels_alloc(const ek_labels *labels, int32_t count, const uint8_t *label,
                          ek_labelled *made)
{
    int64_t shape[EK_MAX_NDIM];
    for (int32_t i = 0; i < count; i++)
        shape[i] = labels->length[label[i]];
    EK_TRY(ek_array_alloc(labels->queue, labels->dtype, count, shape, &made->memory));
    made->owns = true;
    memcpy(made->label, label, (size_t)count);
    return ek_view_make(&made->memory, &made->view);
}

void ek_labels_free(const ek_labels *labels, ek_labelled *x)
{
    if (x->owns)
        (void)ek_array_free(labels->queue, &x->memory);
    x->owns = false;
}

ek_status ek_labels_check(ek_labels *labels, int32_t count, const ek_array *const *operands,
                          const ek_array *out)
{
    ek_operand result, operand;
    EK_TRY(ek_operand_init_out(labels->call, "out", labels->queue, out, &result));
    labels->dtype = result.dtype;
    for (int32_t i = 0; i < count; i++) {
        char name[16] = {(char)('a' + i), '\0'};
        EK_TRY(ek_operand_init(labels->call, name, labels->queue, operands[i], &operand));
        if (operand.dtype != result.dtype)
            return ek_fail(EK_DTYPE_MISMATCH,
                           "%s: %s is %s and out %s: must be the same; ek_cast "
                           "converts",
                           labels->call, name, ek_dtype_name(operand.dtype),
                           ek_dtype_name(result.dtype));
        if (ek_overlaps(&result, &operand))
            return ek_fail(EK_OVERLAP, "%s: out at %p overlaps %s at %p", labels->call, result.data,
                           name, operand.data);
    }
    if (ek_self_overlaps(&result))
        return ek_fail(EK_OVERLAP, "%s: out overlaps itself", labels->call);
    return EK_OK;
}

ek_status ek_labels_check_out(const ek_labels *labels, int32_t count, const uint8_t *label,
                              const ek_array *out, ek_labelled *made)
{
    int64_t shape[EK_MAX_NDIM];
    char text[128], wanted[128];
    bool same = out->ndim == count;
    for (int32_t i = 0; i < count; i++) {
        shape[i] = labels->length[label[i]];
        same = same && out->shape[i] == shape[i];
        made->label[i] = label[i];
    }
    if (!same)
        return ek_fail(EK_SHAPE_MISMATCH, "%s: out has shape %s: must be %s", labels->call,
                       ek_shape_text(out->ndim, out->shape, text),
                       ek_shape_text(count, shape, wanted));
    made->owns = false;
    return ek_view_make(out, &made->view);
}

ek_status ek_labels_sum(const ek_labels *labels, const ek_labelled *x, ek_labelled *out)
{
    uint8_t order[EK_LABELS];
    int32_t axes[EK_MAX_NDIM], kept = out->view.array.ndim, count = kept;
    ek_view view;
    memcpy(order, out->label, (size_t)kept);
    for (int32_t d = 0; d < x->view.array.ndim; d++) {
        if (ek_labels_find(out, x->label[d]) >= 0)
            continue;
        axes[count - kept] = count;
        order[count++] = x->label[d];
    }
    ek_labels_order(labels, x, count, order, &view);
    if (count == kept)
        return ek_copy(labels->queue, &out->view.array, &view.array);
    return ek_sum(labels->queue, &view.array, count - kept, axes, false, &out->view.array);
}

/* The labels of a product by where they occur. */
typedef struct groups {
    int32_t rows, columns, sums, batch, only_a, only_b;
    uint8_t row[EK_MAX_NDIM], column[EK_MAX_NDIM]; /* out and a, out and b */
    uint8_t sum[EK_MAX_NDIM];                      /* a and b */
    uint8_t in_all[EK_MAX_NDIM];
} groups;

static groups group(const ek_labelled *a, const ek_labelled *b, const ek_labelled *out)
{
    groups g = {0};
    for (int32_t d = 0; d < out->view.array.ndim; d++) {
        uint8_t label = out->label[d];
        bool in_a = ek_labels_find(a, label) >= 0, in_b = ek_labels_find(b, label) >= 0;
        if (in_a && in_b)
            g.in_all[g.batch++] = label;
        else if (in_a)
            g.row[g.rows++] = label;
        else
            g.column[g.columns++] = label;
    }
    for (int32_t d = 0; d < a->view.array.ndim; d++) {
        if (ek_labels_find(out, a->label[d]) >= 0)
            continue;
        if (ek_labels_find(b, a->label[d]) >= 0)
            g.sum[g.sums++] = a->label[d];
        else
            g.only_a++;
    }
    for (int32_t d = 0; d < b->view.array.ndim; d++)
        g.only_b += ek_labels_find(out, b->label[d]) < 0 && ek_labels_find(a, b->label[d]) < 0;
    return g;
}

/* Element by element: there is nothing to add up. */
static ek_status multiply(const ek_labels *labels, const ek_labelled *a, const ek_labelled *b,
                          ek_labelled *out)
{
    ek_view x, y;
    ek_labels_order(labels, a, out->view.array.ndim, out->label, &x);
    ek_labels_order(labels, b, out->view.array.ndim, out->label, &y);
    return ek_mul(labels->queue, &x.array, &y.array, &out->view.array);
}

/* Sums of pairs: for each element of out, over what it lacks. */
static ek_status reduce(const ek_labels *labels, const ek_labelled *a, const ek_labelled *b,
                        ek_labelled *out)
{
    uint8_t order[EK_LABELS];
    bool seen[EK_LABELS] = {false};
    int32_t axes[EK_LABELS], kept = out->view.array.ndim, count = kept;
    memcpy(order, out->label, (size_t)kept);
    for (int i = 0; i < 2; i++) {
        const ek_labelled *x = i == 0 ? a : b;
        for (int32_t d = 0; d < x->view.array.ndim; d++) {
            if (seen[x->label[d]] || ek_labels_find(out, x->label[d]) >= 0)
                continue;
            if (count == EK_MAX_NDIM)
                return ek_fail(EK_INVALID_ARGUMENT, "%s: a product has more than %d dimensions",
                               labels->call, EK_MAX_NDIM);
            seen[x->label[d]] = true;
            axes[count - kept] = count;
            order[count++] = x->label[d];
        }
    }
    ek_view x, y;
    ek_labels_order(labels, a, count, order, &x);
    ek_labels_order(labels, b, count, order, &y);
    return ek_dot(labels->queue, &x.array, &y.array, count - kept, axes, false, &out->view.array);
}

/* One side of a matrix product: dimensions of a batch, then two that others were merged to. */
typedef struct side {
    ek_view ordered, merged;
    ek_labelled copy; /* where they had to be brought together */
} side;

static void merged_shape(const ek_labels *labels, const groups *g, int32_t rows, const uint8_t *row,
                         int32_t columns, const uint8_t *column, int64_t *shape)
{
    for (int32_t d = 0; d < g->batch; d++)
        shape[d] = labels->length[g->in_all[d]];
    shape[g->batch] = shape[g->batch + 1] = 1;
    for (int32_t d = 0; d < rows; d++)
        shape[g->batch] *= labels->length[row[d]];
    for (int32_t d = 0; d < columns; d++)
        shape[g->batch + 1] *= labels->length[column[d]];
}

/* x as matrices. What lies so that its dimensions cannot be merged is copied if it is read, and
 * gets memory to be computed in if it is written. */
static ek_status take_side(const ek_labels *labels, const groups *g, const ek_labelled *x,
                           int32_t rows, const uint8_t *row, int32_t columns, const uint8_t *column,
                           bool reads, side *side)
{
    uint8_t order[EK_LABELS];
    int64_t shape[EK_MAX_NDIM + 2];
    int32_t count = g->batch + rows + columns;
    memcpy(order, g->in_all, (size_t)g->batch);
    memcpy(order + g->batch, row, (size_t)rows);
    memcpy(order + g->batch + rows, column, (size_t)columns);
    merged_shape(labels, g, rows, row, columns, column, shape);
    ek_labels_order(labels, x, count, order, &side->ordered);
    ek_status status = ek_reshape(&side->ordered.array, g->batch + 2, shape, &side->merged);
    if (status != EK_UNSUPPORTED)
        return status;
    EK_TRY(ek_labels_alloc(labels, count, order, &side->copy));
    if (reads)
        EK_TRY(ek_copy(labels->queue, &side->copy.view.array, &side->ordered.array));
    return ek_reshape(&side->copy.view.array, g->batch + 2, shape, &side->merged);
}

static ek_status matrices(const ek_labels *labels, const groups *g, const ek_labelled *a,
                          const ek_labelled *b, ek_labelled *out, side *sides)
{
    EK_TRY(take_side(labels, g, a, g->rows, g->row, g->sums, g->sum, true, &sides[0]));
    EK_TRY(take_side(labels, g, b, g->sums, g->sum, g->columns, g->column, true, &sides[1]));
    EK_TRY(take_side(labels, g, out, g->rows, g->row, g->columns, g->column, false, &sides[2]));
    EK_TRY(ek_gemm_arrays(labels->queue, labels->gemm, NULL, &sides[0].merged.array,
                          &sides[1].merged.array, &sides[2].merged.array));
    if (!sides[2].copy.owns)
        return EK_OK;
    return ek_copy(labels->queue, &sides[2].ordered.array, &sides[2].copy.view.array);
}

static ek_status multiply_matrices(const ek_labels *labels, const groups *g, const ek_labelled *a,
                                   const ek_labelled *b, ek_labelled *out)
{
    side sides[3];
    for (int i = 0; i < 3; i++)
        sides[i].copy.owns = false;
    if (g->batch + 2 > EK_MAX_NDIM)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: a product has more than %d dimensions",
                       labels->call, EK_MAX_NDIM);
    ek_status status = matrices(labels, g, a, b, out, sides);
    for (int i = 0; i < 3; i++)
        ek_labels_free(labels, &sides[i].copy);
    return status;
}

/* x without the labels that neither `other` nor out have. */
static ek_status sum_alone(const ek_labels *labels, const ek_labelled *x, const ek_labelled *other,
                           const ek_labelled *out, ek_labelled *made)
{
    uint8_t label[EK_MAX_NDIM];
    int32_t count = 0;
    for (int32_t d = 0; d < x->view.array.ndim; d++) {
        if (ek_labels_find(other, x->label[d]) >= 0 || ek_labels_find(out, x->label[d]) >= 0)
            label[count++] = x->label[d];
    }
    EK_TRY(ek_labels_alloc(labels, count, label, made));
    return ek_labels_sum(labels, x, made);
}

static bool dot_takes(ek_dtype dtype)
{
    for (int32_t i = 0; i < ek_op_dot.info.loop_count; i++) {
        if (ek_op_dot.info.loops[i].dtype == dtype)
            return true;
    }
    return false;
}

ek_status ek_labels_product(const ek_labels *labels, const ek_labelled *a, const ek_labelled *b,
                            ek_labelled *out)
{
    groups g = group(a, b, out);
    if (g.sums + g.only_a + g.only_b == 0)
        return multiply(labels, a, b, out);
    if ((g.rows == 0 || g.columns == 0) && dot_takes(labels->dtype))
        return reduce(labels, a, b, out);
    ek_labelled less_a = {.owns = false}, less_b = {.owns = false};
    ek_status status = EK_OK;
    if (g.only_a > 0)
        status = sum_alone(labels, a, b, out, &less_a);
    if (status == EK_OK && g.only_b > 0)
        status = sum_alone(labels, b, a, out, &less_b);
    if (status == EK_OK)
        status = multiply_matrices(labels, &g, g.only_a ? &less_a : a, g.only_b ? &less_b : b, out);
    ek_labels_free(labels, &less_a);
    ek_labels_free(labels, &less_b);
    return status;
}
