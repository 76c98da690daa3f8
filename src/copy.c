/* ek_copy: from any device to any device. On one device it is an elementwise operation. Between
 * two, memory is moved in runs that are contiguous on both sides; what has no such runs is packed
 * on the source's side first and unpacked on the destination's. */
#include <stdlib.h>

#include "cpu/features.h"
#include "einkorn/memory.h"
#include "einkorn/ops/copy.h"
#include "elementwise.h"
#include "move.h"
#include "program.h"

enum { DST, SRC };

typedef struct copy {
    ek_queue *queue;
    ek_operand side[2];
    ek_layout layout;
    int32_t loop;
    int64_t element; /* bytes */
} copy;

/* True if the layout visits the side's elements one after the other. */
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

/* Copies within the host by way of the operation's own CPU kernel. */
static ek_status run_on_host(const copy *copy, const ek_layout *layout)
{
    ek_queue_base host = {.head = {.variant = ek_cpu_best_variant()}, .threads = 1};
    return ek_elementwise_run(&host.head, &ek_op_copy.info, copy->loop, layout);
}

/* The layout with one side replaced by packed memory. */
static ek_layout packed(const copy *copy, int side, void *memory)
{
    ek_layout layout = copy->layout;
    int64_t step = 1;
    for (int32_t d = layout.ndim - 1; d >= 0; d--) {
        layout.stride[d][side] = step;
        step *= layout.shape[d];
    }
    layout.data[side] = memory;
    return layout;
}

/* True if moving it as it is pays: contiguous runs, and rows that a pitched transfer can take. */
static bool has_runs(const ek_layout *layout)
{
    int32_t inner = layout->ndim - 1;
    if (inner < 0)
        return true;
    for (int side = DST; side <= SRC; side++) {
        if (layout->stride[inner][side] != 1)
            return false;
        if (inner >= 1 && layout->stride[inner - 1][side] < layout->shape[inner])
            return false;
    }
    return true;
}

/* Packed memory where the side's own is. */
static ek_status room(const copy *copy, int side, size_t bytes, void **memory)
{
    if (ek_on_host(&copy->side[side])) {
        *memory = malloc(bytes);
        return *memory ? EK_OK
                       : ek_fail(EK_OUT_OF_MEMORY, "ek_copy: no host memory for %zu bytes", bytes);
    }
    if (!ek_belongs(&copy->side[side], ek_queue_device(copy->queue)))
        return ek_fail(EK_DEVICE_MISMATCH,
                       "ek_copy: %s is not in C order on a device that is not the queue's: pack it "
                       "with a queue of its own device first",
                       copy->side[side].name);
    return ek_alloc(copy->queue, bytes, memory);
}

static ek_status give_back(const copy *copy, int side, void *memory)
{
    if (!ek_on_host(&copy->side[side]))
        return ek_free(copy->queue, memory);
    free(memory);
    return EK_OK;
}

/* Runs the copy kernel where the side's memory is. */
static ek_status rearrange(const copy *copy, int side, const ek_layout *layout)
{
    if (!ek_on_host(&copy->side[side]))
        return ek_elementwise_run(copy->queue, &ek_op_copy.info, copy->loop, layout);
    /* The host must not overtake what the queue was told before: it may write to this memory. */
    if (side == SRC)
        EK_TRY(ek_queue_sync(copy->queue));
    return run_on_host(copy, layout);
}

/* Moves packed memory. Where the host packed it or will unpack it, `wait`: it must be there before
 * the host unpacks it and stay while it is read. */
static ek_status move_packed(const copy *copy, void *dst, void *src, bool wait)
{
    ek_layout flat;
    flat.operands = 2;
    flat.ndim = 1;
    flat.size = flat.shape[0] = copy->layout.size;
    flat.stride[0][DST] = flat.stride[0][SRC] = 1;
    flat.data[DST] = dst;
    flat.data[SRC] = src;
    EK_TRY(ek_move_layout(copy->queue, &copy->side[DST], &copy->side[SRC], &flat));
    return wait ? ek_queue_sync(copy->queue) : EK_OK;
}

static ek_status move_rearranged(const copy *copy)
{
    size_t bytes = (size_t)(copy->layout.size * copy->element);
    void *memory[2] = {copy->layout.data[DST], copy->layout.data[SRC]};
    bool packs[2] = {!in_order(&copy->layout, DST), !in_order(&copy->layout, SRC)};
    bool owns[2] = {false, false}, wait = false;
    ek_status status = EK_OK;
    for (int side = DST; side <= SRC && status == EK_OK; side++) {
        if (!packs[side])
            continue;
        status = room(copy, side, bytes, &memory[side]);
        owns[side] = status == EK_OK;
        wait |= ek_on_host(&copy->side[side]);
    }
    if (status == EK_OK && packs[SRC]) {
        ek_layout pack = packed(copy, DST, memory[SRC]);
        status = rearrange(copy, SRC, &pack);
    }
    if (status == EK_OK)
        status = move_packed(copy, memory[DST], memory[SRC], wait);
    if (status == EK_OK && packs[DST]) {
        ek_layout unpack = packed(copy, SRC, memory[DST]);
        status = rearrange(copy, DST, &unpack);
    }
    for (int side = DST; side <= SRC; side++) {
        ek_status freed = owns[side] ? give_back(copy, side, memory[side]) : EK_OK;
        status = status == EK_OK ? freed : status;
    }
    return status;
}

static ek_status check_queue(const copy *copy)
{
    const ek_operand *dst = &copy->side[DST], *src = &copy->side[SRC];
    char to[64], from[64];
    bool fits = ek_queue_device(copy->queue)->type == EK_DEVICE_CPU
                    ? ek_on_host(dst) && ek_on_host(src)
                    : ek_belongs(dst, ek_queue_device(copy->queue)) ||
                          ek_belongs(src, ek_queue_device(copy->queue));
    if (fits)
        return EK_OK;
    return ek_fail(EK_DEVICE_MISMATCH, "ek_copy: queue is of %s: dst is on %s and src on %s",
                   ek_queue_device(copy->queue)->name, ek_place_text(dst, to),
                   ek_place_text(src, from));
}

/* When a program runs, the host does nothing but start it. */
static ek_status check_recordable(const copy *copy)
{
    const ek_operand *dst = &copy->side[DST], *src = &copy->side[SRC];
    for (int side = DST; side <= SRC && !has_runs(&copy->layout); side++) {
        if (ek_on_host(&copy->side[side]) && !in_order(&copy->layout, side))
            return ek_fail(EK_UNSUPPORTED,
                           "ek_copy: queue is recording: %s is not in C order on the host, which "
                           "would have to rearrange it at every run",
                           copy->side[side].name);
    }
    return ek_queue_device(copy->queue)
        ->backend->record_transfer(copy->queue, dst->data, dst->device_type, dst->device_index,
                                   src->data, src->device_type, src->device_index);
}

ek_status ek_copy(ek_queue *queue, ek_array *dst, const ek_array *src)
{
    EK_ENTRY(queue, "ek_copy");
    copy copy = {.queue = queue};
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_copy: queue is null");
    EK_TRY(ek_operand_read("ek_copy", "dst", dst, &copy.side[DST]));
    EK_TRY(ek_operand_read("ek_copy", "src", src, &copy.side[SRC]));
    if (copy.side[DST].dtype != copy.side[SRC].dtype)
        return ek_fail(EK_DTYPE_MISMATCH, "ek_copy: src is %s: dst is %s; ek_cast converts",
                       ek_dtype_name(copy.side[SRC].dtype), ek_dtype_name(copy.side[DST].dtype));
    EK_TRY(check_queue(&copy));
    ek_operand_use(queue, &copy.side[DST]);
    ek_operand_use(queue, &copy.side[SRC]);
    EK_TRY(ek_layout_init_stretched("ek_copy", 2, copy.side, &copy.layout));
    if (copy.layout.size == 0)
        return EK_OK;
    copy.loop = (int32_t)copy.side[DST].dtype; /* the row has every dtype, in the enum's order */
    copy.element = (int64_t)ek_dtype_size(copy.side[DST].dtype);
    bool same_place = (ek_on_host(&copy.side[DST]) && ek_on_host(&copy.side[SRC])) ||
                      (ek_belongs(&copy.side[DST], ek_queue_device(queue)) &&
                       ek_belongs(&copy.side[SRC], ek_queue_device(queue)));
    if (same_place)
        return ek_elementwise_run(queue, &ek_op_copy.info, copy.loop, &copy.layout);
    if (EK_UNLIKELY(ek_recording(queue)))
        EK_TRY(check_recordable(&copy));
    if (has_runs(&copy.layout))
        return ek_move_layout(queue, &copy.side[DST], &copy.side[SRC], &copy.layout);
    return move_rearranged(&copy);
}
