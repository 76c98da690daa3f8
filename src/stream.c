/* The order between queues and an application's own streams. */
#include "backend.h"
#include "entry.h"
#include "program.h"
#if EK_HAVE_CUDA
#    include "cuda/streams.h"
#endif

static ek_status order(const char *call, ek_queue *queue, void *stream,
                       ek_status (*on_cuda)(ek_queue *queue, void *stream))
{
    EK_ENTRY(queue, call);
    if (!queue)
        return ek_fail(EK_INVALID_ARGUMENT, "%s: queue is null", call);
    EK_TRY(ek_check_not_recording(call, queue));
    if (queue->variant == EK_CUDA)
        return on_cuda(queue, stream);
    if (stream)
        return ek_fail(EK_UNSUPPORTED, "%s: queue is of cpu, which has no streams: stream is %p",
                       call, stream);
    return EK_OK;
}

#if !EK_HAVE_CUDA
#    define ek_cuda_wait_stream NULL
#    define ek_cuda_signal_stream NULL
#endif

ek_status ek_queue_wait_stream(ek_queue *queue, void *stream)
{
    return order("ek_queue_wait_stream", queue, stream, ek_cuda_wait_stream);
}

ek_status ek_queue_signal_stream(ek_queue *queue, void *stream)
{
    return order("ek_queue_signal_stream", queue, stream, ek_cuda_signal_stream);
}
