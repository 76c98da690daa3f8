#include <stdlib.h>

#include "cuda/guard.h"
#include "cuda/queue.h"

typedef struct cuda_event {
    ek_event base;
    CUevent event;
    const char *given; /* what the queue that recorded it had been given last */
} cuda_event;

static CUevent event_of(const ek_event *event)
{
    return ((const cuda_event *)event)->event;
}

static ek_status fail(const ek_event *event, const char *call, const char *entry, CUresult result)
{
    return ek_cuda_fail_after(((const cuda_event *)event)->given, call, entry, result);
}

ek_status ek_cuda_event_open(ek_device *device, ek_event **event)
{
    ek_cuda_guard guard;
    cuda_event *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "ek_event_open: no host memory");
    ek_status status = ek_cuda_guard_enter("ek_event_open", device, &guard);
    if (status == EK_OK) {
        CUresult result = ek_cu.cuEventCreate(&fresh->event, CU_EVENT_DEFAULT);
        ek_cuda_guard_leave(&guard);
        if (result != CUDA_SUCCESS)
            status = ek_cuda_fail("ek_event_open", "cuEventCreate", result);
    }
    if (status != EK_OK) {
        free(fresh);
        return status;
    }
    fresh->base.device = device;
    *event = &fresh->base;
    return EK_OK;
}

void ek_cuda_event_free(ek_event *event)
{
    ek_cu.cuEventDestroy(event_of(event));
    free(event);
}

ek_status ek_cuda_event_record(ek_event *event, ek_queue *queue)
{
    EK_CUDA_QUEUE_TRY(queue, "ek_event_record", cuEventRecord,
                      (event_of(event), ek_cuda_stream_of(queue)));
    ((cuda_event *)event)->given = ek_cuda_queue_of(queue)->given;
    return EK_OK;
}

ek_status ek_cuda_event_wait(ek_event *event, ek_queue *queue)
{
    EK_CUDA_QUEUE_TRY(queue, "ek_event_wait", cuStreamWaitEvent,
                      (ek_cuda_stream_of(queue), event_of(event), CU_EVENT_WAIT_DEFAULT));
    return EK_OK;
}

ek_status ek_cuda_event_sync(ek_event *event)
{
    CUresult result = ek_cu.cuEventSynchronize(event_of(event));
    if (result != CUDA_SUCCESS)
        return fail(event, "ek_event_sync", "cuEventSynchronize", result);
    return EK_OK;
}

ek_status ek_cuda_event_query(ek_event *event, int *reached)
{
    CUresult result = ek_cu.cuEventQuery(event_of(event));
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        return fail(event, "ek_event_query", "cuEventQuery", result);
    *reached = result == CUDA_SUCCESS;
    return EK_OK;
}

ek_status ek_cuda_event_elapsed(ek_event *start, ek_event *end, double *nanoseconds)
{
    float milliseconds = 0;
    CUresult result = ek_cu.cuEventElapsedTime(&milliseconds, event_of(start), event_of(end));
    if (result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_INVALID_HANDLE)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_event_elapsed: start or end is not reached yet");
    if (result != CUDA_SUCCESS)
        return ek_cuda_fail("ek_event_elapsed", "cuEventElapsedTime", result);
    *nanoseconds = (double)milliseconds * 1e6;
    return EK_OK;
}
