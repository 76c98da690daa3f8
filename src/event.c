#include "einkorn/event.h"

#include "entry.h"
#include "program.h"

static ek_status check(const char *call, const void *event, const void *other, const char *name)
{
    if (event && other)
        return EK_OK;
    return ek_fail(EK_INVALID_ARGUMENT, "%s: %s is null", call, event ? name : "event");
}

ek_status ek_event_open(ek_device *device, ek_event **event)
{
    EK_TRY(check("ek_event_open", event, device, "device"));
    EK_TRY(device->backend->event_open(device, event));
    ek_device_retain(device);
    return EK_OK;
}

void ek_event_close(ek_event *event)
{
    if (!event)
        return;
    ek_device *device = event->device;
    device->backend->event_free(event);
    ek_device_close(device);
}

ek_status ek_event_record(ek_event *event, ek_queue *queue)
{
    EK_ENTRY(queue, "ek_event_record");
    EK_TRY(check("ek_event_record", event, queue, "queue"));
    if (event->device != ek_queue_device(queue))
        return ek_fail(EK_DEVICE_MISMATCH, "ek_event_record: queue is of %s: the event is of %s",
                       ek_queue_device(queue)->name, event->device->name);
    EK_TRY(ek_check_not_recording("ek_event_record", queue));
    return event->device->backend->event_record(event, queue);
}

ek_status ek_event_wait(ek_event *event, ek_queue *queue)
{
    EK_ENTRY(queue, "ek_event_wait");
    EK_TRY(check("ek_event_wait", event, queue, "queue"));
    EK_TRY(ek_check_not_recording("ek_event_wait", queue));
    /* A CPU queue works at once, so it can only wait here and now; a CPU event is reached as soon
     * as it is recorded. */
    if (event->device->type == EK_DEVICE_CPU)
        return EK_OK;
    if (ek_queue_device(queue)->type == EK_DEVICE_CPU)
        return ek_event_sync(event);
    return event->device->backend->event_wait(event, queue);
}

ek_status ek_event_sync(ek_event *event)
{
    EK_TRY(check("ek_event_sync", event, event, "event"));
    return event->device->backend->event_sync(event);
}

ek_status ek_event_query(ek_event *event, int *reached)
{
    EK_TRY(check("ek_event_query", event, reached, "reached"));
    return event->device->backend->event_query(event, reached);
}

ek_status ek_event_elapsed(ek_event *start, ek_event *end, double *nanoseconds)
{
    if (!start || !end || !nanoseconds)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_event_elapsed: %s is null",
                       !start ? "start" : (end ? "nanoseconds" : "end"));
    if (start->device != end->device)
        return ek_fail(EK_DEVICE_MISMATCH, "ek_event_elapsed: end is of %s: start is of %s",
                       end->device->name, start->device->name);
    return start->device->backend->event_elapsed(start, end, nanoseconds);
}
