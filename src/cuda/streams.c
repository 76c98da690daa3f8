#include "cuda/streams.h"

#include "cuda/guard.h"
#include "cuda/queue.h"

/* The default streams are names for what the current context has: here that of the device. */
static bool is_default(CUstream stream)
{
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

static ek_status check_stream(const char *call, const ek_device *device, CUstream stream)
{
    CUcontext context = NULL;
    if (is_default(stream))
        return EK_OK;
    EK_CUDA_TRY(call, cuStreamGetCtx, (stream, &context));
    if (context != ek_cuda_device_of((ek_device *)device)->context)
        return ek_fail(EK_DEVICE_MISMATCH, "%s: stream %p is not of the primary context of %s",
                       call, (void *)stream, device->name);
    return EK_OK;
}

/* An event for one use: what waits for it keeps what it needs of it when it is destroyed. */
static ek_status order(const char *call, CUstream first, CUstream second)
{
    CUevent event;
    EK_CUDA_TRY(call, cuEventCreate, (&event, CU_EVENT_DISABLE_TIMING));
    const char *entry = "cuEventRecord";
    CUresult result = ek_cu.cuEventRecord(event, first);
    if (result == CUDA_SUCCESS) {
        entry = "cuStreamWaitEvent";
        result = ek_cu.cuStreamWaitEvent(second, event, CU_EVENT_WAIT_DEFAULT);
    }
    ek_cu.cuEventDestroy(event);
    return result == CUDA_SUCCESS ? EK_OK : ek_cuda_fail(call, entry, result);
}

static ek_status order_on(const char *call, const ek_device *device, CUstream stream,
                          CUstream first, CUstream second)
{
    ek_cuda_guard guard;
    EK_TRY(check_stream(call, device, stream));
    if (first == second)
        return EK_OK;
    EK_TRY(ek_cuda_guard_enter(call, device, &guard));
    ek_status status = order(call, first, second);
    ek_cuda_guard_leave(&guard);
    return status;
}

ek_status ek_cuda_wait_stream(ek_queue *queue, void *stream)
{
    return order_on("ek_queue_wait_stream", ek_queue_device(queue), stream, stream,
                    ek_cuda_stream_of(queue));
}

ek_status ek_cuda_signal_stream(ek_queue *queue, void *stream)
{
    return order_on("ek_queue_signal_stream", ek_queue_device(queue), stream,
                    ek_cuda_stream_of(queue), stream);
}

void ek_cuda_wait_until_idle(const ek_device *device)
{
    ek_cuda_guard guard;
    if (ek_cuda_guard_enter("ek_dlpack_give", device, &guard) != EK_OK)
        return;
    ek_cu.cuCtxSynchronize();
    ek_cuda_guard_leave(&guard);
}
