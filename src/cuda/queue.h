/* A queue of a GPU: a stream and what its calls need beside it. */
#ifndef EK_CUDA_QUEUE_H
#define EK_CUDA_QUEUE_H

#include <stdbool.h>

#include "cuda/device.h"
#include "cuda/late.h"

typedef struct ek_cublas_owned ek_cublas_owned;

typedef struct ek_cuda_queue {
    ek_queue_base base;
    bool owns_stream;
    const char *given; /* the last operation its stream was given, "add"; null: none yet */
    void *workspace;   /* null until first asked for */
    size_t workspace_bytes;
    ek_late *late;           /* src/cuda/late.h; null until first used */
    int32_t judged;          /* calls whose indices kernels judged, since the word for that was 0 */
    ek_cublas_owned *cublas; /* null until first used */
    void *cublas_workspace;  /* null until first used */
    struct ek_cuda_staging *staging; /* src/cuda/staging.h; null until first used */
    struct ek_cuda_away *away;       /* src/cuda/away.h; other GPUs it copied from or to */
} ek_cuda_queue;

static inline ek_cuda_queue *ek_cuda_queue_of(const ek_queue *queue)
{
    return (ek_cuda_queue *)queue;
}

static inline CUstream ek_cuda_stream_of(const ek_queue *queue)
{
    return (CUstream)ek_queue_base_of(queue)->stream;
}

/* Fails as ek_cuda_fail does; a failure of earlier work names what the queue was given last. */
ek_status ek_cuda_queue_fail(const ek_queue *queue, const char *call, const char *entry,
                             CUresult result) __attribute__((cold));

/* What the queue's work has failed with, as far as is known; does not wait. */
CUresult ek_cuda_earlier(const ek_queue *queue);

/* Refuses what needs new memory for the queue while the application captures its stream. `what`
 * says so: "its workspace cannot grow". */
ek_status ek_cuda_check_not_captured(const ek_queue *queue, const char *what);

/* Waits for the work of the call just made, unless it was recorded or captured. */
ek_status ek_cuda_wait_for_call(ek_queue *queue) __attribute__((cold));

/* Fails if a kernel of an earlier call is known to have found something wrong. */
static inline ek_status ek_cuda_check_late(const ek_queue *queue)
{
    const volatile ek_late *late = ek_cuda_queue_of(queue)->late;
    return EK_UNLIKELY(late && late->set) ? ek_cuda_late_fail(queue) : EK_OK;
}

/* Notes that the queue's stream was given work of an operation ("add"), for the message should it
 * fail: one store. Waits for it if EK_SYNC_EACH_CALL says so. */
static inline ek_status ek_cuda_given(ek_queue *queue, const char *op)
{
    ek_cuda_queue_of(queue)->given = op;
    if (EK_UNLIKELY(ek_queue_base_of(queue)->options & EK_SYNC_EACH_CALL))
        return ek_cuda_wait_for_call(queue);
    return ek_cuda_check_late(queue);
}

/* EK_CUDA_TRY for a call that has a queue. */
#define EK_CUDA_QUEUE_TRY(queue, call, entry, args)                                                \
    do {                                                                                           \
        CUresult ek_try_result = ek_cu.entry args;                                                 \
        if (EK_UNLIKELY(ek_try_result != CUDA_SUCCESS))                                            \
            return ek_cuda_queue_fail(queue, call, #entry, ek_try_result);                         \
    } while (0)

/* Leaves the queue's cuBLAS handle, if it has one, to the next that needs one. The workspace stays
 * with the queue: products under way may be using it, and while the queue records it could not be
 * freed behind them. */
void ek_cublas_release(ek_cuda_queue *queue);

#endif
