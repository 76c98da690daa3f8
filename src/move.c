#include "move.h"

#include "backend.h"
#include "program.h"

enum { DST, SRC };

int64_t ek_mirror(const ek_operand *x, ek_device_type type, int32_t index, ek_operand *copy,
                  int64_t *first)
{
    int32_t order[EK_MAX_NDIM], count = 0;
    *copy = *x;
    copy->device_type = type;
    copy->device_index = index;
    for (int32_t d = 0; d < x->ndim; d++) {
        int64_t step = x->stride[d] < 0 ? -x->stride[d] : x->stride[d];
        copy->stride[d] = 0;
        if (step == 0 || x->shape[d] <= 1)
            continue;
        int32_t at = count++;
        for (; at > 0; at--) {
            int64_t inner = x->stride[order[at - 1]];
            if ((inner < 0 ? -inner : inner) < step)
                break;
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    int64_t step = 1;
    *first = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t d = order[i];
        copy->stride[d] = x->stride[d] < 0 ? -step : step;
        if (x->stride[d] < 0)
            *first += (x->shape[d] - 1) * step;
        step *= x->shape[d];
    }
    return x->size > 0 ? step : 0;
}

/* Runs that are contiguous on both sides: the innermost dimension if it is, or single elements.
 * Rows of them are one transfer, further dimensions follow one after the other. */
ek_status ek_move_layout(ek_queue *queue, const ek_operand *dst, const ek_operand *src,
                         const ek_layout *layout)
{
    const ek_backend *backend = ek_queue_device(queue)->backend;
    int64_t element = (int64_t)ek_dtype_size(dst->dtype), width = element, rows = 1;
    int64_t pitch[2] = {element, element};
    int32_t outer = layout->ndim;
    if (outer > 0 && layout->stride[outer - 1][DST] == 1 && layout->stride[outer - 1][SRC] == 1)
        width *= layout->shape[--outer];
    if (outer > 0) {
        rows = layout->shape[--outer];
        for (int side = DST; side <= SRC; side++)
            pitch[side] = layout->stride[outer][side] * element;
    }
    int64_t blocks = layout->size * element / (width * rows);
    for (int64_t block = 0; block < blocks; block++) {
        int64_t offset[2] = {0, 0}, rest = block;
        for (int32_t d = outer - 1; d >= 0; d--) {
            int64_t at = rest % layout->shape[d];
            rest /= layout->shape[d];
            offset[DST] += at * layout->stride[d][DST] * element;
            offset[SRC] += at * layout->stride[d][SRC] * element;
        }
        EK_TRY(backend->transfer(queue, (char *)layout->data[DST] + offset[DST], pitch[DST],
                                 dst->device_type, dst->device_index,
                                 (const char *)layout->data[SRC] + offset[SRC], pitch[SRC],
                                 src->device_type, src->device_index, width, rows));
    }
    return EK_OK;
}

ek_status ek_move(ek_queue *queue, const char *call, const ek_operand *dst, const ek_operand *src)
{
    ek_operand side[2] = {*dst, *src};
    int64_t shape[EK_MAX_NDIM];
    ek_layout layout;
    for (int32_t d = 0; d < src->ndim; d++)
        shape[d] = src->stride[d] == 0 ? 1 : src->shape[d];
    side[DST].shape = side[SRC].shape = shape;
    if (src->size == 0)
        return EK_OK;
    side[DST].size = side[SRC].size = 1;
    for (int32_t d = 0; d < src->ndim; d++)
        side[DST].size = side[SRC].size *= shape[d];
    EK_TRY(ek_layout_init(call, 2, side, &layout));
    if (EK_UNLIKELY(ek_recording(queue)))
        EK_TRY(ek_queue_device(queue)->backend->record_transfer(
            queue, dst->data, dst->device_type, dst->device_index, src->data, src->device_type,
            src->device_index));
    return ek_move_layout(queue, dst, src, &layout);
}
