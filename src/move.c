#include "move.h"

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

bool ek_same_layout(const ek_operand *a, const ek_operand *b)
{
    int32_t most = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int32_t k = 1; k <= most; k++) {
        int64_t a_length = k <= a->ndim ? a->shape[a->ndim - k] : 1;
        int64_t b_length = k <= b->ndim ? b->shape[b->ndim - k] : 1;
        if (a_length != b_length ||
            (a_length > 1 && a->stride[a->ndim - k] != b->stride[b->ndim - k]))
            return false;
    }
    return true;
}

bool ek_is_pinned(const ek_queue *queue, const ek_operand *operand)
{
    return ek_queue_device(queue)->backend->is_pinned(operand->device_type, operand->data);
}

ek_status ek_check_recorded(const ek_queue *queue, const char *call, const ek_operand *host)
{
    if (ek_is_pinned(queue, host))
        return EK_OK;
    return ek_fail(EK_UNSUPPORTED,
                   "%s: queue is recording: %s is pageable host memory, which a program cannot "
                   "use: it must be pinned",
                   call, host->name);
}

bool ek_has_runs(const ek_layout *layout)
{
    int32_t inner = layout->ndim - 1;
    for (int side = DST; side <= SRC && inner >= 0; side++) {
        if (layout->stride[inner][side] != 1)
            return false;
        if (inner >= 1 && layout->stride[inner - 1][side] < layout->shape[inner])
            return false;
    }
    return true;
}

bool ek_suits_driver(const ek_queue *queue, const ek_layout *layout, const ek_operand *host)
{
    enum {
        /* Bytes of a row from which two-dimensional copies are fast: measured on an H200, 256 bytes
         * from rows 16 kB apart go at half the full speed, 64 bytes at a quarter. */
        WIDE = 256,
        /* Such copies that are made one after the other. */
        MOST_BLOCKS = 64,
    };
    int64_t element = (int64_t)ek_dtype_size(host->dtype);
    int32_t inner = layout->ndim - 1;
    if (!ek_has_runs(layout))
        return false;
    if (inner >= 1) {
        int64_t width = layout->shape[inner] * element, rows = layout->shape[inner - 1];
        if (width < WIDE || layout->size * element / (width * rows) > MOST_BLOCKS)
            return false;
    } else if (layout->size * element <= EK_TAKEN_BYTES) {
        return true;
    }
    return ek_is_pinned(queue, host);
}

ek_status ek_move_runs(ek_queue *queue, const ek_operand *dst, const ek_operand *src,
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
                                 dst->device_type, (const char *)layout->data[SRC] + offset[SRC],
                                 pitch[SRC], src->device_type, width, rows));
    }
    return EK_OK;
}

/* The shape of x with one element for each that it repeats. */
static void distinct(const ek_operand *x, ek_operand *side, int64_t *shape)
{
    for (int i = DST; i <= SRC; i++) {
        side[i].shape = shape;
        side[i].size = 1;
    }
    for (int32_t d = 0; d < x->ndim; d++) {
        shape[d] = x->stride[d] == 0 ? 1 : x->shape[d];
        side[DST].size = side[SRC].size *= shape[d];
    }
}

static bool in_order(const ek_layout *layout, int side)
{
    int64_t step = 1;
    for (int32_t d = layout->ndim - 1; d >= 0; d--) {
        if (layout->stride[d][side] != step)
            return false;
        step *= layout->shape[d];
    }
    return true;
}

/* Through staging memory, where the host's threads gather and scatter. */
static ek_status stage(ek_queue *queue, const char *call, const ek_operand *side,
                       const ek_layout *layout)
{
    bool to_device = !ek_on_host(&side[DST]);
    ek_layout turned = *layout;
    /* The host must not overtake what the queue was told before: it may write to this memory. */
    if (to_device && ek_is_pinned(queue, &side[SRC]))
        EK_TRY(ek_queue_sync(queue));
    for (int32_t d = 0; d < layout->ndim && !to_device; d++) {
        turned.stride[d][0] = layout->stride[d][SRC];
        turned.stride[d][1] = layout->stride[d][DST];
    }
    if (!to_device) {
        turned.data[0] = layout->data[SRC];
        turned.data[1] = layout->data[DST];
    }
    return ek_queue_device(queue)->backend->stage(
        queue, call, &turned, (int64_t)ek_dtype_size(side[DST].dtype), to_device);
}

ek_status ek_move(ek_queue *queue, const char *call, const ek_operand *dst, const ek_operand *src)
{
    ek_operand side[2] = {*dst, *src};
    int64_t shape[EK_MAX_NDIM];
    ek_layout layout;
    if (src->size == 0)
        return EK_OK;
    distinct(src, side, shape);
    EK_TRY(ek_layout_init(call, 1, 2, side, &layout));
    bool recording = ek_recording(queue), out = ek_on_host(dst);
    const ek_operand *host = out ? dst : src;
    if (EK_UNLIKELY(recording))
        EK_TRY(ek_check_recorded(queue, call, host));
    if (recording || ek_suits_driver(queue, &layout, host) || !in_order(&layout, out ? SRC : DST))
        return ek_move_runs(queue, dst, src, &layout);
    return stage(queue, call, side, &layout);
}
