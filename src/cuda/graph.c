/* Note [Memory of a program]
 *
 * A graph holds the addresses that its kernels were captured with, so whatever a call takes from
 * its queue (the workspace of a reduction, cuBLAS's) must outlive the queue and must not be shared
 * with what the queue does when the program runs elsewhere. While a queue records it therefore has
 * no workspace of its own: what it asks for are blocks of the program. The calls of a program run
 * one after the other, and so do its runs, so one workspace is enough for all.
 *
 * Blocks come from the device's pool by a stream of the program's own, since the queue's is being
 * captured. The same stream frees them once the event is reached that follows the last run. */
#include "cuda/graph.h"

#include <stdlib.h>

#include "cuda/guard.h"
#include "cuda/memory.h"
#include "cuda/queue.h"

typedef struct cuda_program {
    ek_program base;
    CUgraphExec graph;
    CUstream aside;   /* allocates and frees the blocks */
    CUevent last_run; /* recorded behind every run if there are blocks */
    void *workspace;  /* the queue's own, kept for it while it records */
    size_t workspace_bytes;
    const char *given; /* what the queue was given before, likewise */
} cuda_program;

static cuda_program *cuda_program_of(const ek_program *program)
{
    return (cuda_program *)program;
}

static const char begin_call[] = "ek_record_begin", end_call[] = "ek_record_end";

static ek_status make_aside(const ek_device *device, cuda_program *program)
{
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(begin_call, device, &guard));
    CUresult stream = ek_cu.cuStreamCreate(&program->aside, CU_STREAM_NON_BLOCKING);
    CUresult event = ek_cu.cuEventCreate(&program->last_run, CU_EVENT_DISABLE_TIMING);
    ek_cuda_guard_leave(&guard);
    if (stream != CUDA_SUCCESS)
        return ek_cuda_fail(begin_call, "cuStreamCreate", stream);
    if (event != CUDA_SUCCESS)
        return ek_cuda_fail(begin_call, "cuEventCreate", event);
    return EK_OK;
}

/* Relaxed: what other threads do is no part of it, the recording may end in another thread, and
 * kernels may be loaded on the way. */
static ek_status capture(ek_queue *queue)
{
    CUresult result =
        ek_cu.cuStreamBeginCapture(ek_cuda_stream_of(queue), CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result == CUDA_ERROR_ILLEGAL_STATE)
        return ek_fail(EK_UNSUPPORTED, "%s: the queue's stream is being captured already",
                       begin_call);
    if (result != CUDA_SUCCESS)
        return ek_cuda_fail(begin_call, "cuStreamBeginCapture", result);
    return EK_OK;
}

ek_status ek_cuda_record_begin(ek_queue *queue, ek_program **program)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    cuda_program *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", begin_call);
    fresh->base.device = cuda->base.device;
    ek_status status = make_aside(cuda->base.device, fresh);
    if (status == EK_OK)
        status = ek_cuda_cache_record(cuda->base.cache);
    if (status == EK_OK) {
        status = capture(queue);
        if (status != EK_OK)
            ek_cuda_cache_recorded(cuda->base.cache);
    }
    if (status != EK_OK) {
        ek_cuda_program_close(&fresh->base);
        return status;
    }
    fresh->workspace = cuda->workspace;
    fresh->workspace_bytes = cuda->workspace_bytes;
    fresh->given = cuda->given;
    cuda->workspace = NULL;
    cuda->workspace_bytes = 0;
    *program = &fresh->base;
    return EK_OK;
}

static ek_status instantiate(const ek_device *device, CUgraph captured, CUgraphExec *graph)
{
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(end_call, device, &guard));
    CUresult result = ek_cu.cuGraphInstantiate(graph, captured, 0);
    ek_cuda_guard_leave(&guard);
    if (result != CUDA_SUCCESS)
        return ek_cuda_fail(end_call, "cuGraphInstantiate", result);
    return EK_OK;
}

ek_status ek_cuda_record_end(ek_queue *queue, ek_program *program)
{
    ek_cuda_queue *cuda = ek_cuda_queue_of(queue);
    cuda_program *made = cuda_program_of(program);
    CUgraph captured = NULL;
    CUresult result = ek_cu.cuStreamEndCapture(ek_cuda_stream_of(queue), &captured);
    ek_cuda_cache_recorded(cuda->base.cache);
    cuda->workspace = made->workspace;
    cuda->workspace_bytes = made->workspace_bytes;
    cuda->given = made->given;
    ek_status status = EK_OK;
    if (result != CUDA_SUCCESS)
        status = ek_cuda_fail(end_call, "cuStreamEndCapture", result);
    else if (program->failed == EK_OK)
        status = instantiate(program->device, captured, &made->graph);
    if (captured)
        ek_cu.cuGraphDestroy(captured);
    return status;
}

ek_status ek_cuda_program_take(ek_program *program, size_t bytes, ek_block **block)
{
    CUstream aside = cuda_program_of(program)->aside;
    EK_TRY(ek_stock_take(program->device, aside, bytes, block));
    /* Other streams use it; there is nothing else to wait for on this one. */
    CUresult result = ek_cu.cuStreamSynchronize(aside);
    if (result != CUDA_SUCCESS) {
        ek_cuda_give(program->device, aside, *block);
        return ek_cuda_fail("ek_alloc", "cuStreamSynchronize", result);
    }
    return EK_OK;
}

ek_status ek_cuda_program_run(ek_queue *queue, const ek_program *program)
{
    static const char call[] = "ek_program_run";
    const cuda_program *cuda = cuda_program_of(program);
    CUstream stream = ek_cuda_stream_of(queue);
    EK_CUDA_QUEUE_TRY(queue, call, cuGraphLaunch, (cuda->graph, stream));
    if (program->blocks)
        EK_CUDA_QUEUE_TRY(queue, call, cuEventRecord, (cuda->last_run, stream));
    return ek_cuda_given(queue, "program_run");
}

static void release(ek_program *program, ek_block *block)
{
    ek_cuda_give(program->device, cuda_program_of(program)->aside, block);
}

/* Makes the blocks wait for the last run, and for queues that used them outside of the program. */
static void wait_for_users(const cuda_program *program)
{
    uint64_t users = 0;
    for (const ek_program_block *block = program->base.blocks; block; block = block->next)
        users |= atomic_load_explicit(&block->block->users, memory_order_relaxed);
    ek_cu.cuStreamWaitEvent(program->aside, program->last_run, CU_EVENT_WAIT_DEFAULT);
    ek_lock_take(&ek_caches_lock);
    ek_cuda_wait_users("ek_program_close", program->aside, users);
    ek_lock_give(&ek_caches_lock);
}

void ek_cuda_program_close(ek_program *program)
{
    cuda_program *cuda = cuda_program_of(program);
    if (cuda->graph)
        ek_cu.cuGraphExecDestroy(cuda->graph); /* when its runs are done */
    if (program->blocks)
        wait_for_users(cuda);
    ek_program_release(program, release);
    if (cuda->last_run)
        ek_cu.cuEventDestroy(cuda->last_run);
    if (cuda->aside)
        ek_cu.cuStreamDestroy(cuda->aside);
    free(cuda);
}
