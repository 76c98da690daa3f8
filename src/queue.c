#include "backend.h"
#include "entry.h"
#include "fallback.h"
#include "options.h"
#include "program.h"

/* More than any machine has: OpenMP ends the process if it cannot start as many as it is told. */
enum { MOST_THREADS = 4096 };

ek_status ek_queue_make(ek_device *device, void *stream, ek_queue **queue)
{
    EK_TRY(device->backend->queue_open(device, stream, queue));
    ek_device_retain(device);
    return EK_OK;
}

static ek_status open_queue(const char *call, ek_device *device, void *stream, ek_queue **queue)
{
    if (!device || !queue)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call, device ? "queue" : "device");
    uint32_t options;
    EK_TRY(ek_options_read(call, &options));
    ek_queue *fresh = NULL;
    EK_TRY(ek_queue_make(device, stream, &fresh));
    ek_status status = ek_queue_set_options(fresh, options);
    if (status != EK_OK) {
        ek_queue_close(fresh);
        return status;
    }
    *queue = fresh;
    return EK_OK;
}

ek_status ek_queue_open(ek_device *device, ek_queue **queue)
{
    return open_queue("ek_queue_open", device, NULL, queue);
}

ek_status ek_queue_wrap_stream(ek_device *device, void *stream, ek_queue **queue)
{
    if (!stream)
        return ek_fail(EK_UNSUPPORTED, "ek_queue_wrap_stream: stream is null: the default stream "
                                       "synchronizes with all others and cannot be wrapped");
    if (device && device->type == EK_DEVICE_CPU)
        return ek_fail(EK_UNSUPPORTED, "ek_queue_wrap_stream: device is cpu: it has no streams");
    return open_queue("ek_queue_wrap_stream", device, stream, queue);
}

void ek_queue_close(ek_queue *queue)
{
    if (!queue)
        return;
    EK_LAST_ENTRY(queue, "ek_queue_close");
    ek_device *device = ek_queue_base_of(queue)->device;
    if (ek_recording(queue))
        ek_record_drop(queue);
    ek_fallback_free(ek_queue_base_of(queue)->fallback);
    device->backend->queue_free(queue);
    ek_device_close(device);
}

ek_status ek_queue_sync(ek_queue *queue)
{
    EK_ENTRY(queue, "ek_queue_sync");
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_queue_sync: queue is null");
    EK_TRY(ek_check_not_recording("ek_queue_sync", queue));
    return ek_queue_base_of(queue)->device->backend->queue_sync(queue);
}

ek_device *ek_queue_device(const ek_queue *queue)
{
    return ek_queue_base_of(queue)->device;
}

void *ek_queue_stream(const ek_queue *queue)
{
    const ek_queue_base *base = ek_queue_base_of(queue);
    if (base->stream)
        base->cache->exposed = true;
    return base->stream;
}

ek_status ek_queue_set_threads(ek_queue *queue, int32_t threads)
{
    EK_ENTRY(queue, "ek_queue_set_threads");
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_queue_set_threads: queue is null");
    if (threads < 1 || threads > MOST_THREADS)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_queue_set_threads: threads is %d: must be 1 to %d",
                       (int)threads, MOST_THREADS);
    ek_queue_base_of(queue)->threads = threads;
    return EK_OK;
}

int32_t ek_queue_threads(const ek_queue *queue)
{
    return ek_queue_base_of(queue)->threads;
}

ek_status ek_queue_set_options(ek_queue *queue, uint32_t options)
{
    EK_ENTRY(queue, "ek_queue_set_options");
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_queue_set_options: queue is null");
    if (options & ~(uint32_t)EK_ALL_OPTIONS)
        return ek_fail(EK_INVALID_ARGUMENT,
                       "ek_queue_set_options: options is 0x%x: must be a sum of ek_queue_option",
                       (unsigned)options);
    if ((options & EK_FALLBACK) && ek_queue_device(queue)->type != EK_DEVICE_CPU)
        EK_TRY(ek_fallback_prepare(queue));
    ek_queue_base_of(queue)->options = options;
    return EK_OK;
}

uint32_t ek_queue_options(const ek_queue *queue)
{
    return ek_queue_base_of(queue)->options;
}

ek_status ek_queue_set_variant(ek_queue *queue, ek_variant variant)
{
    EK_ENTRY(queue, "ek_queue_set_variant");
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_queue_set_variant: queue is null");
    if ((ek_queue_base_of(queue)->device->type == EK_DEVICE_CPU) == (variant == EK_CUDA) ||
        !ek_variant_available(variant))
        return ek_fail(EK_UNSUPPORTED, "ek_queue_set_variant: variant is %s: %s does not have it",
                       ek_variant_name(variant), ek_queue_base_of(queue)->device->name);
    queue->variant = variant;
    return EK_OK;
}
