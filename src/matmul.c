/* ek_matmul: the dimensions of both operands as labels. */
#include "call.h"
#include "labels.h"
#include "layout.h"

enum { ROW = EK_LABELS - 1, COLUMN = EK_LABELS - 2, SUM = EK_LABELS - 3 };

/* Labels of an operand: its matrix, and from the last to the first 0, 1, ... for all others. */
static ek_status take(const ek_array *x, uint8_t first, uint8_t second, bool first_is_sum,
                      ek_labelled *made)
{
    made->owns = false;
    EK_TRY(ek_view_make(x, &made->view));
    for (int32_t d = 0; d < x->ndim - 2; d++)
        made->label[d] = (uint8_t)(x->ndim - 3 - d);
    if (x->ndim == 1) {
        made->label[0] = first_is_sum ? first : second;
    } else {
        made->label[x->ndim - 2] = first;
        made->label[x->ndim - 1] = second;
    }
    return EK_OK;
}

static ek_status refuse_scalar(const char *call, const char *name)
{
    return ek_fail(EK_SHAPE_MISMATCH, "%s: %s has no dimension: must have one or more", call, name);
}

static ek_status set_length(const ek_labels *labels, int64_t *length, const char *name,
                            const ek_array *x, int64_t found)
{
    char text[128];
    if (*length != 1 && found != 1 && *length != found)
        return ek_fail(EK_SHAPE_MISMATCH,
                       "%s: %s has shape %s, which does not fit the other: %lld "
                       "is not %lld",
                       labels->call, name, ek_shape_text(x->ndim, x->shape, text), (long long)found,
                       (long long)*length);
    if (found != 1)
        *length = found;
    return EK_OK;
}

ek_status ek_matmul(ek_queue *queue, const ek_op_info *gemm, const ek_array *a, const ek_array *b,
                    ek_array *out)
{
    EK_ENTRY(queue, "ek_matmul");
    ek_labels labels = {.call = "ek_matmul", .queue = queue, .gemm = gemm};
    ek_labelled x, y, result;
    uint8_t label[EK_MAX_NDIM];
    int32_t count = 0;
    EK_TRY(ek_labels_check(&labels, 2, (const ek_array *[]){a, b}, out));
    if (a->ndim == 0 || b->ndim == 0)
        return refuse_scalar(labels.call, a->ndim == 0 ? "a" : "b");
    EK_TRY(take(a, ROW, SUM, false, &x));
    EK_TRY(take(b, SUM, COLUMN, true, &y));
    for (int32_t i = 0; i < EK_LABELS; i++)
        labels.length[i] = 1;
    for (int32_t d = 0; d < a->ndim; d++)
        labels.length[x.label[d]] = a->shape[d];
    int64_t depth = b->shape[b->ndim == 1 ? 0 : b->ndim - 2];
    if (depth != labels.length[SUM])
        return ek_fail(EK_SHAPE_MISMATCH, "%s: a has %lld columns, b %lld rows", labels.call,
                       (long long)labels.length[SUM], (long long)depth);
    for (int32_t d = 0; d < b->ndim; d++)
        EK_TRY(set_length(&labels, &labels.length[y.label[d]], "b", b, b->shape[d]));
    for (int32_t d = (a->ndim > b->ndim ? a->ndim : b->ndim) - 3; d >= 0; d--)
        label[count++] = (uint8_t)d;
    if (a->ndim > 1)
        label[count++] = ROW;
    if (b->ndim > 1)
        label[count++] = COLUMN;
    EK_TRY(ek_labels_check_out(&labels, count, label, out, &result));
    return ek_labels_product(&labels, &x, &y, &result);
}
