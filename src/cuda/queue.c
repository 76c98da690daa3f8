#include "cuda/queue.h"

#include <omp.h>
#include <stdlib.h>

#include "cuda/away.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/rows_args.h"
#include "cuda/staging.h"

/* The workspace begins with the tickets, and a word with some room around it. */
enum { WORD_AT = EK_CUDA_TICKETS * sizeof(uint32_t), TICKET_BYTES = WORD_AT + 256 };

/* Refuses a stream of another context: its work would run beside the device's pool and kernels. The
 * legacy and per-thread default streams are no objects, only names for whatever the current context
 * has, so they cannot stand for a device. */
static ek_status check_stream(const ek_device *device, CUstream stream)
{
    CUcontext context = NULL;
    if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
        return ek_fail(EK_UNSUPPORTED, "ek_queue_wrap_stream: stream is a default stream: it must "
                                       "be one that was made");
    EK_CUDA_TRY("ek_queue_wrap_stream", cuStreamGetCtx, (stream, &context));
    if (context != ek_cuda_device_of(device)->context)
        return ek_fail(EK_DEVICE_MISMATCH,
                       "ek_queue_wrap_stream: stream %p is not of the primary context of %s",
                       (void *)stream, device->name);
    return EK_OK;
}

/* Makes the queue's stream, unless it is the application's, and its cache ready. */
static ek_status make(ek_cuda_queue *queue, CUstream wrapped)
{
    ek_device *device = queue->base.device;
    CUstream stream = wrapped;
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter("ek_queue_open", device, &guard));
    CUresult result =
        wrapped ? CUDA_SUCCESS : ek_cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    ek_status status = EK_OK;
    if (result != CUDA_SUCCESS) {
        status = ek_cuda_fail("ek_queue_open", "cuStreamCreate", result);
    } else {
        status = ek_cuda_cache_make(ek_cuda_cache_of(queue->base.cache), stream);
        if (status != EK_OK && !wrapped)
            ek_cu.cuStreamDestroy(stream);
    }
    ek_cuda_guard_leave(&guard);
    queue->base.stream = stream;
    return status;
}

static ek_status open_queue(ek_cuda_queue *queue, ek_device *device, CUstream wrapped)
{
    if (wrapped)
        EK_TRY(check_stream(device, wrapped));
    ek_cache *cache = ek_cache_take(device, sizeof(ek_cuda_cache));
    if (!cache)
        return ek_fail(EK_OUT_OF_MEMORY, "ek_queue_open: no host memory");
    queue->base.device = device;
    queue->base.cache = cache;
    queue->owns_stream = !wrapped;
    ek_status status = make(queue, wrapped);
    cache->exposed = wrapped != NULL;
    if (status == EK_OK)
        ek_cache_open(cache);
    else
        ek_cache_leave(cache, ek_cuda_cache_end);
    return status;
}

ek_status ek_cuda_queue_open(ek_device *device, void *stream, ek_queue **queue)
{
    ek_cuda_queue *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "ek_queue_open: no host memory");
    fresh->base.head.variant = EK_CUDA;
    fresh->base.threads = omp_get_max_threads(); /* for what the driver would copy with one */
    ek_status status = open_queue(fresh, device, stream);
    if (status != EK_OK) {
        free(fresh);
        return status;
    }
    *queue = &fresh->base.head;
    return EK_OK;
}

void ek_cuda_queue_free(ek_queue *queue)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    CUstream stream = ek_cuda_stream_of(queue);
    /* Whatever fails here has failed before, at a call that could report it. */
    ek_cu.cuStreamSynchronize(stream);
    ek_cuda_staging_free(cuda->base.device, cuda->staging);
    ek_cuda_away_free(cuda->base.device, cuda->away);
    ek_cublas_release(cuda);
    ek_cuda_late_free(queue);
    if (cuda->cublas_workspace)
        ek_cache_free(queue, cuda->cublas_workspace);
    if (cuda->workspace)
        ek_cache_free(queue, cuda->workspace);
    ek_cuda_cache_leave(cuda->base.cache);
    if (cuda->owns_stream)
        ek_cu.cuStreamDestroy(stream);
    free(cuda);
}

ek_status ek_cuda_queue_fail(const ek_queue *queue, const char *name, const char *entry,
                             CUresult result)
{
    return ek_cuda_fail_after(ek_cuda_queue_of(queue)->given, name, entry, result);
}

/* Fails with what kernels found wrong, once all are done: this call is the last to say so. */
static ek_status report_late(ek_queue *queue)
{
    ek_status status = ek_cuda_check_late(queue);
    if (status != EK_OK)
        ek_cuda_late_clear(queue);
    return status;
}

ek_status ek_cuda_queue_sync(ek_queue *queue)
{
    EK_CUDA_QUEUE_TRY(queue, "ek_queue_sync", cuStreamSynchronize, (ek_cuda_stream_of(queue)));
    return report_late(queue);
}

static bool is_captured(const ek_queue *queue)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return ek_cu.cuStreamIsCapturing(ek_cuda_stream_of(queue), &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult ek_cuda_earlier(const ek_queue *queue)
{
    if (is_captured(queue)) /* which asking would end */
        return CUDA_SUCCESS;
    CUresult result = ek_cu.cuStreamQuery(ek_cuda_stream_of(queue));
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
}

/* The driver would make memory that is there only while the graph runs. */
ek_status ek_cuda_check_not_captured(const ek_queue *queue, const char *what)
{
    if (!ek_recording(queue) && is_captured(queue))
        return ek_fail(EK_UNSUPPORTED,
                       "ek_alloc: the application captures the queue's stream, so %s: make the "
                       "call once before the capture",
                       what);
    return EK_OK;
}

/* Waiting would be the end of a capture, ours or the application's. */
ek_status ek_cuda_wait_for_call(ek_queue *queue)
{
    if (is_captured(queue))
        return EK_OK;
    CUresult result = ek_cu.cuStreamSynchronize(ek_cuda_stream_of(queue));
    if (result != CUDA_SUCCESS)
        return ek_cuda_fail_in(ek_cuda_queue_of(queue)->given, result);
    return report_late(queue);
}

static ek_status clear_tickets(ek_queue *queue, void *tickets)
{
    CUresult result =
        ek_cu.cuMemsetD8Async((CUdeviceptr)tickets, 0, TICKET_BYTES, ek_cuda_stream_of(queue));
    if (result == CUDA_SUCCESS)
        return EK_OK;
    return ek_recorded(queue,
                       ek_cuda_queue_fail(queue, "ek_cuda_workspace", "cuMemsetD8Async", result));
}

ek_status ek_cuda_workspace(ek_queue *queue, size_t bytes, void **memory)
{
    enum { SMALLEST = 1 << 20 };
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    if (EK_UNLIKELY(bytes > cuda->workspace_bytes)) {
        /* By half at least, so that slowly growing calls settle soon. The old room is given up only
         * when the new one is there. */
        size_t grown = cuda->workspace_bytes + cuda->workspace_bytes / 2;
        size_t wanted = bytes > grown ? bytes : grown;
        void *fresh = NULL, *old = cuda->workspace;
        ek_program *recording = ek_recording(queue);
        wanted = wanted > SMALLEST ? wanted : SMALLEST;
        EK_TRY(ek_cuda_check_not_captured(queue, "its workspace cannot grow"));
        if (EK_UNLIKELY(recording))
            EK_TRY(ek_recorded(queue, ek_program_alloc(recording, TICKET_BYTES + wanted, &fresh)));
        else
            EK_TRY(ek_cache_alloc(queue, TICKET_BYTES + wanted, &fresh));
        ek_status status = clear_tickets(queue, fresh);
        if (status != EK_OK)
            old = fresh;
        if (old && EK_UNLIKELY(recording))
            ek_program_free(recording, old);
        else if (old)
            ek_cache_free(queue, old);
        EK_TRY(status);
        cuda->workspace = fresh;
        cuda->workspace_bytes = wanted;
    }
    *memory = (char *)cuda->workspace + TICKET_BYTES;
    return EK_OK;
}

uint32_t *ek_cuda_tickets(const ek_queue *queue)
{
    return ek_cuda_queue_of(queue)->workspace;
}

void *ek_cuda_word(const ek_queue *queue)
{
    return (char *)ek_cuda_queue_of(queue)->workspace + WORD_AT;
}

int32_t ek_cuda_capability(const ek_queue *queue)
{
    return ek_cuda_device_of(ek_queue_base_of(queue)->device)->capability;
}

bool ek_cuda_has_clusters(const ek_queue *queue)
{
    return ek_cuda_device_of(ek_queue_base_of(queue)->device)->clusters;
}

int32_t ek_cuda_multiprocessors(const ek_queue *queue)
{
    return ek_cuda_device_of(ek_queue_base_of(queue)->device)->multiprocessors;
}
