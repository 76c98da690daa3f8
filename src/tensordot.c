/* ek_tensordot: each pair of axes has a label, and each other axis one of its own. */
#include "call.h"
#include "labels.h"
#include "layout.h"

/* The axes that are contracted get the labels 0, 1, ... in x. */
static ek_status mark(const ek_labels *labels, const char *name, const ek_array *x, int32_t count,
                      const int32_t *axes, ek_labelled *made, bool *marked)
{
    made->owns = false;
    EK_TRY(ek_view_make(x, &made->view));
    for (int32_t d = 0; d < x->ndim; d++)
        marked[d] = false;
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = axes[i] < 0 ? axes[i] + x->ndim : axes[i];
        if (axis < 0 || axis >= x->ndim)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: axes_%s holds %d: %s has %d dimensions",
                           labels->call, name, (int)axes[i], name, (int)x->ndim);
        if (marked[axis])
            return ek_fail(EK_INVALID_ARGUMENT, "%s: axes_%s holds %d twice", labels->call, name,
                           (int)axes[i]);
        marked[axis] = true;
        made->label[axis] = (uint8_t)i;
    }
    return EK_OK;
}

/* The others get labels from *next on, in x and in the result. */
static ek_status keep(ek_labels *labels, ek_labelled *x, const bool *marked, uint8_t *next,
                      int32_t *count, uint8_t *label)
{
    for (int32_t d = 0; d < x->view.array.ndim; d++) {
        if (marked[d])
            continue;
        if (*count == EK_MAX_NDIM)
            return ek_fail(EK_INVALID_ARGUMENT, "%s: the result has more than %d dimensions",
                           labels->call, EK_MAX_NDIM);
        labels->length[*next] = x->view.shape[d];
        x->label[d] = *next;
        label[(*count)++] = (*next)++;
    }
    return EK_OK;
}

ek_status ek_tensordot(ek_queue *queue, const ek_op_info *gemm, const ek_array *a,
                       const ek_array *b, int32_t count, const int32_t *axes_a,
                       const int32_t *axes_b, ek_array *out)
{
    EK_ENTRY(queue, "ek_tensordot");
    ek_labels labels = {.call = "ek_tensordot", .queue = queue, .gemm = gemm};
    ek_labelled x, y, result;
    bool marked_a[EK_MAX_NDIM], marked_b[EK_MAX_NDIM];
    uint8_t label[EK_MAX_NDIM], next = (uint8_t)count;
    int32_t kept = 0;
    EK_TRY(ek_labels_check(&labels, 2, (const ek_array *[]){a, b}, out));
    if (count < 0 || count > EK_MAX_NDIM || (count > 0 && (!axes_a || !axes_b)))
        return ek_fail(EK_INVALID_ARGUMENT,
                       "%s: count is %d with%s axes: must be the number of "
                       "axes",
                       labels.call, (int)count, axes_a && axes_b ? "" : "out");
    EK_TRY(mark(&labels, "a", a, count, axes_a, &x, marked_a));
    EK_TRY(mark(&labels, "b", b, count, axes_b, &y, marked_b));
    for (int32_t i = 0; i < count; i++) {
        int64_t of_a = a->shape[ek_labels_find(&x, (uint8_t)i)];
        int64_t of_b = b->shape[ek_labels_find(&y, (uint8_t)i)];
        if (of_a != of_b)
            return ek_fail(EK_SHAPE_MISMATCH, "%s: axis %d of a has length %lld, axis %d of b %lld",
                           labels.call, (int)axes_a[i], (long long)of_a, (int)axes_b[i],
                           (long long)of_b);
        labels.length[i] = of_a;
    }
    EK_TRY(keep(&labels, &x, marked_a, &next, &kept, label));
    EK_TRY(keep(&labels, &y, marked_b, &next, &kept, label));
    EK_TRY(ek_labels_check_out(&labels, kept, label, out, &result));
    return ek_labels_product(&labels, &x, &y, &result);
}
