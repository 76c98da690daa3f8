/* Note [Copies between devices]
 *
 * On one device ek_copy is an elementwise operation. Between the host and a GPU elements pass in
 * the order of the host's memory, without gaps, and each once however often it is repeated: so a
 * dense host array, transposed or reversed or not, is moved as it lies, and what must be rearranged
 * is rearranged by the GPU, whose memory is a hundred times faster. Only gaps in host memory are
 * the host's to leave out or to keep. Between two GPUs they pass in the order of the source. */
#include <stdlib.h>

#include "cpu/features.h"
#include "einkorn/memory.h"
#include "einkorn/ops/copy.h"
#include "elementwise.h"
#include "entry.h"
#include "move.h"
#include "program.h"
#if EK_HAVE_CUDA
#    include "cuda/away.h"
#endif

static const char call[] = "ek_copy";

enum { DST, SRC };

typedef struct copy {
    ek_queue *queue;
    ek_operand side[2];
    ek_layout layout;
    int64_t element; /* bytes */
} copy;

#if EK_HAVE_CUDA

/* dst from src by the operation's kernel, on the device of `queue`, where both are. */
static ek_status run_kernel(ek_queue *queue, const ek_operand *dst, const ek_operand *src)
{
    const ek_operand side[2] = {*dst, *src};
    ek_layout layout;
    EK_TRY(ek_layout_init_stretched(call, 2, side, &layout));
    /* The row has every dtype, in the enum's order. */
    return ek_elementwise_run(queue, &ek_op_copy.info, (int32_t)dst->dtype, &layout, NULL);
}

/* Memory of the queue's device for an operand that ek_mirror described. */
static ek_status alloc(ek_queue *queue, int64_t count, int64_t first, ek_operand *operand,
                       void **memory)
{
    int64_t size = (int64_t)ek_dtype_size(operand->dtype);
    EK_TRY(ek_alloc(queue, (size_t)(count * size), memory));
    operand->data = (char *)*memory + first * size;
    return EK_OK;
}

/* Passes the status of a call through, or that of freeing what it used. */
static ek_status after_free(ek_queue *queue, void *memory, ek_status status)
{
    ek_status freed = ek_free(queue, memory);
    return status != EK_OK ? status : freed;
}

static ek_status copy_in(ek_queue *queue, const ek_operand *dst, const ek_operand *src)
{
    ek_operand packed;
    int64_t first, count = ek_mirror(src, dst->device_type, dst->device_index, &packed, &first);
    void *memory;
    if (ek_same_layout(&packed, dst)) {
        packed.data = dst->data;
        return ek_move(queue, call, &packed, src);
    }
    EK_TRY(alloc(queue, count, first, &packed, &memory));
    ek_status status = ek_move(queue, call, &packed, src);
    if (status == EK_OK)
        status = run_kernel(queue, dst, &packed);
    return after_free(queue, memory, status);
}

/* To host memory that repeats nothing. */
static ek_status copy_out_once(ek_queue *queue, const ek_operand *dst, const ek_operand *src)
{
    ek_operand packed;
    int64_t first, count = ek_mirror(dst, src->device_type, src->device_index, &packed, &first);
    void *memory;
    if (ek_same_layout(&packed, src)) {
        packed.data = src->data;
        return ek_move(queue, call, dst, &packed);
    }
    EK_TRY(alloc(queue, count, first, &packed, &memory));
    ek_status status = run_kernel(queue, &packed, src);
    if (status == EK_OK)
        status = ek_move(queue, call, dst, &packed);
    return after_free(queue, memory, status);
}

/* The part of dst that src fills before it is repeated. Returns false if that is all. */
static bool first_part(const ek_operand *dst, const ek_operand *src, ek_operand *part,
                       int64_t *shape)
{
    bool repeats = false;
    *part = *dst;
    part->shape = shape;
    part->size = 1;
    for (int32_t d = 0; d < dst->ndim; d++) {
        int32_t at = d - (dst->ndim - src->ndim);
        bool repeated = at < 0 || src->shape[at] != dst->shape[d] || src->stride[at] == 0;
        shape[d] = repeated ? 1 : dst->shape[d];
        part->size *= shape[d];
        repeats |= repeated && dst->shape[d] != 1;
    }
    return repeats;
}

/* Repeats on the host what came there once. */
static ek_status spread(ek_queue *queue, const ek_operand *dst, const ek_operand *part,
                        const ek_operand *src)
{
    ek_operand once, few = *src;
    int64_t first, count = ek_mirror(part, EK_DEVICE_CPU, 0, &once, &first);
    int64_t size = (int64_t)ek_dtype_size(dst->dtype), shape[EK_MAX_NDIM];
    void *memory = malloc((size_t)(count * size));
    if (!memory)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory for %lld bytes", call,
                       (long long)(count * size));
    once.data = (char *)memory + first * size;
    few.shape = shape;
    few.size = part->size;
    for (int32_t d = 0; d < src->ndim; d++)
        shape[d] = part->shape[dst->ndim - src->ndim + d];
    ek_status status = copy_out_once(queue, &once, &few);
    if (status == EK_OK) {
        ek_queue_base host = {.head = {.variant = ek_cpu_best_variant()},
                              .threads = ek_queue_threads(queue)};
        status = run_kernel(&host.head, dst, &once);
    }
    free(memory);
    return status;
}

static ek_status copy_out(ek_queue *queue, const ek_operand *dst, const ek_operand *src)
{
    ek_operand part;
    int64_t shape[EK_MAX_NDIM];
    if (first_part(dst, src, &part, shape))
        return spread(queue, dst, &part, src);
    return copy_out_once(queue, dst, src);
}

/* When a program runs, the host does nothing but start it. */
static ek_status check_recordable(const copy *copy)
{
    bool out = ek_on_host(&copy->side[DST]);
    const ek_operand *host = &copy->side[out ? DST : SRC];
    ek_operand packed, part;
    int64_t first, shape[EK_MAX_NDIM];
    ek_mirror(host, host->device_type, host->device_index, &packed, &first);
    if (!ek_same_layout(host, &packed))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: queue is recording: %s has gaps in host memory, which would have to be "
                       "left out or kept at every run",
                       call, host->name);
    if (out && first_part(&copy->side[DST], &copy->side[SRC], &part, shape))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: queue is recording: dst repeats src on the host, which would have to "
                       "do so at every run",
                       call);
    return EK_OK;
}

static ek_status between_host_and_device(const copy *copy)
{
    const ek_operand *dst = &copy->side[DST], *src = &copy->side[SRC];
    bool out = ek_on_host(dst), recording = ek_recording(copy->queue);
    const ek_operand *host = out ? dst : src;
    if (EK_UNLIKELY(recording)) {
        EK_TRY(ek_check_recorded(copy->queue, call, host));
        if (ek_has_runs(&copy->layout))
            return ek_move_runs(copy->queue, dst, src, &copy->layout);
        EK_TRY(check_recordable(copy));
    }
    if (ek_suits_driver(copy->queue, &copy->layout, host))
        return ek_move_runs(copy->queue, dst, src, &copy->layout);
    return out ? copy_out(copy->queue, dst, src) : copy_in(copy->queue, dst, src);
}

/* ---- between two GPUs */

/* The ends of a copy: the queue of each GPU, and memory of each if its side is not packed. */
typedef struct ends {
    ek_queue *to, *from;
    ek_cuda_away *away;
    void *to_memory, *from_memory;
} ends;

static ek_status pass(const copy *copy, ends *e)
{
    const ek_operand *dst = &copy->side[DST], *src = &copy->side[SRC];
    ek_operand sent, got;
    int64_t first, count = ek_mirror(src, src->device_type, src->device_index, &sent, &first);
    sent.data = src->data;
    if (!ek_same_layout(&sent, src)) {
        ek_operand once = *src;
        int64_t shape[EK_MAX_NDIM];
        EK_TRY(alloc(e->from, count, first, &sent, &e->from_memory));
        for (int32_t d = 0; d < src->ndim; d++)
            shape[d] = src->stride[d] == 0 ? 1 : src->shape[d];
        ek_operand into = sent;
        once.shape = into.shape = shape;
        once.size = into.size = count;
        EK_TRY(run_kernel(e->from, &into, &once));
    }
    got = sent;
    got.device_type = dst->device_type;
    got.device_index = dst->device_index;
    got.data = dst->data;
    bool packed = ek_same_layout(&got, dst);
    if (!packed)
        EK_TRY(alloc(e->to, count, first, &got, &e->to_memory));
    int64_t offset = first * copy->element;
    EK_TRY(ek_cuda_away_copy(copy->queue, e->away, (char *)got.data - offset,
                             (char *)sent.data - offset, (size_t)(count * copy->element),
                             e->from == copy->queue));
    return packed ? EK_OK : run_kernel(e->to, dst, &got);
}

static ek_status between_devices(const copy *copy)
{
    ek_queue *queue = copy->queue;
    const ek_operand *dst = &copy->side[DST], *src = &copy->side[SRC];
    bool sends = ek_belongs(src, ek_queue_device(queue));
    ends e = {.to_memory = NULL, .from_memory = NULL};
    if (EK_UNLIKELY(ek_recording(queue)))
        return ek_fail(EK_UNSUPPORTED,
                       "%s: queue is recording: a program cannot copy from one GPU to another",
                       call);
    EK_TRY(ek_cuda_away_get(queue, sends ? dst->device_index : src->device_index, &e.away));
    e.from = sends ? queue : e.away->queue;
    e.to = sends ? e.away->queue : queue;
    EK_TRY(ek_cuda_away_begin(queue, e.away));
    ek_status status = pass(copy, &e);
    if (e.from_memory)
        status = after_free(e.from, e.from_memory, status);
    if (e.to_memory)
        status = after_free(e.to, e.to_memory, status);
    ek_status ended = ek_cuda_away_end(queue, e.away);
    return status != EK_OK ? status : ended;
}

static ek_status between(const copy *copy)
{
    if (ek_on_host(&copy->side[DST]) || ek_on_host(&copy->side[SRC]))
        return between_host_and_device(copy);
    return between_devices(copy);
}

#endif

static ek_status check_queue(const copy *copy)
{
    const ek_device *device = ek_queue_device(copy->queue);
    const ek_operand *dst = &copy->side[DST], *src = &copy->side[SRC];
    char to[64], from[64];
    bool known = device->type != EK_DEVICE_CPU &&
                 (ek_on_host(dst) || dst->device_type == device->type) &&
                 (ek_on_host(src) || src->device_type == device->type) &&
                 (ek_belongs(dst, device) || ek_belongs(src, device));
    if (known || (ek_belongs(dst, device) && ek_belongs(src, device)))
        return EK_OK;
    return ek_fail(EK_DEVICE_MISMATCH, "%s: queue is of %s: dst is on %s and src on %s", call,
                   device->name, ek_place_text(dst, to), ek_place_text(src, from));
}

ek_status ek_copy(ek_queue *queue, ek_array *dst, const ek_array *src)
{
    EK_ENTRY(queue, call);
    copy copy = {.queue = queue};
    ek_operand *to = &copy.side[DST], *from = &copy.side[SRC];
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: queue is null", call);
    EK_TRY(ek_operand_read(call, "dst", dst, to));
    EK_TRY(ek_operand_read(call, "src", src, from));
    if (to->dtype != from->dtype)
        return ek_fail(EK_DTYPE_MISMATCH, "%s: src is %s: dst is %s; ek_cast converts", call,
                       ek_dtype_name(from->dtype), ek_dtype_name(to->dtype));
    EK_TRY(check_queue(&copy));
    ek_operand_use(queue, to->data);
    ek_operand_use(queue, from->data);
    EK_TRY(ek_layout_init_stretched(call, 2, copy.side, &copy.layout));
    if (copy.layout.size == 0)
        return EK_OK;
    copy.element = (int64_t)ek_dtype_size(to->dtype);
#if EK_HAVE_CUDA
    const ek_device *device = ek_queue_device(queue);
    if (!ek_belongs(to, device) || !ek_belongs(from, device))
        return between(&copy);
#endif
    return ek_elementwise_run(queue, &ek_op_copy.info, (int32_t)to->dtype, &copy.layout, NULL);
}
