#include "cuda/late.h"

#include <inttypes.h>
#include <string.h>

#include "cuda/guard.h"
#include "cuda/queue.h"
#include "program.h"

ek_status ek_cuda_late(ek_queue *queue, const char *call, ek_late **late)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    if (ek_recording(queue))
        return ek_recorded(queue,
                           ek_fail(EK_UNSUPPORTED,
                                   "%s: queue is recording: a program cannot refuse indices; "
                                   "mode 1 (wrap) and 2 (clip) can be recorded",
                                   call));
    if (EK_UNLIKELY(!cuda->late)) {
        void *memory = NULL;
        ek_cuda_guard guard;
        EK_TRY(ek_cuda_check_not_captured(queue, "it cannot have memory for refused indices"));
        EK_TRY(ek_cuda_guard_enter(call, cuda->base.device, &guard));
        CUresult result = ek_cu.cuMemHostAlloc(&memory, sizeof(ek_late), CU_MEMHOSTALLOC_PORTABLE);
        ek_cuda_guard_leave(&guard);
        if (result != CUDA_SUCCESS)
            return ek_cuda_fail(call, "cuMemHostAlloc", result);
        cuda->late = memset(memory, 0, sizeof(ek_late));
    }
    *late = cuda->late;
    return EK_OK;
}

void ek_cuda_late_free(ek_queue *queue)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    ek_cuda_guard guard;
    if (!cuda->late || ek_cuda_guard_enter("ek_queue_close", cuda->base.device, &guard) != EK_OK)
        return;
    ek_cu.cuMemFreeHost((void *)cuda->late);
    ek_cuda_guard_leave(&guard);
}

ek_status ek_cuda_late_fail(const ek_queue *queue)
{
    const volatile ek_late *late = ek_cuda_queue_of(queue)->late;
    return ek_fail(EK_ASYNC_ERROR,
                   "%s: earlier asynchronous work failed: indices has %" PRId64 " at place %" PRId64
                   ": must be %" PRId64 " to %" PRId64 "; out is untouched",
                   late->call, late->index, late->place, -late->length, late->length - 1);
}

void ek_cuda_late_clear(ek_queue *queue)
{
    ek_cuda_queue_of(queue)->late->set = 0;
}
