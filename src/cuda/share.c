/* Note [Memory that several queues used]
 *
 * A block that is freed on one queue while others may still use it is given back by a stream aside:
 * it waits for all of them and frees. So no queue waits for another, the host waits for none, and
 * the driver's pool hands the memory on when it is free. That takes some microseconds of the host,
 * for each block that really was shared.
 *
 * Waiting for a queue means an event recorded at the present end of its stream, by whichever thread
 * frees. Streams that are captured cannot be asked that, and need not be: the work of a recording
 * is not under way, so its queue's event is recorded before it begins and stays as it is until it
 * ends. For one that the application captures there is no such event, and the free is refused. */
#include "cuda/address.h"
#include "cuda/guard.h"
#include "cuda/memory.h"
#include "cuda/queue.h"
#include "program.h"

ek_status ek_cuda_cache_make(ek_cuda_cache *cache, CUstream stream)
{
    CUresult result = ek_cu.cuEventCreate(&cache->reached, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) {
        cache->reached = NULL;
        return ek_cuda_fail("ek_queue_open", "cuEventCreate", result);
    }
    cache->stream = stream;
    cache->aside = NULL;
    cache->recording = false;
    return EK_OK;
}

void ek_cuda_cache_end(ek_cache *cache)
{
    ek_cuda_cache *cuda = ek_cuda_cache_of(cache);
    if (cuda->reached)
        ek_cu.cuEventDestroy(cuda->reached);
    if (cuda->aside)
        ek_cu.cuStreamDestroy(cuda->aside); /* when it has given back all */
    cuda->reached = NULL;
    cuda->aside = NULL;
}

void ek_cuda_cache_leave(ek_cache *cache)
{
    ek_lock *streams = &ek_cuda_cache_of(cache)->streams_lock;
    ek_lock_take(streams);
    ek_cache_leave(cache, ek_cuda_cache_end);
    ek_lock_give(streams);
}

static bool captured_outside(const ek_cache *cache)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return ek_cu.cuStreamIsCapturing(ek_cuda_cache_of(cache)->stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static ek_status make_aside(const char *call, ek_cuda_cache *cache)
{
    ek_cuda_guard guard;
    if (cache->aside)
        return EK_OK;
    EK_TRY(ek_cuda_guard_enter(call, cache->base.device, &guard));
    CUresult result = ek_cu.cuStreamCreate(&cache->aside, CU_STREAM_NON_BLOCKING);
    ek_cuda_guard_leave(&guard);
    if (result == CUDA_SUCCESS)
        return EK_OK;
    cache->aside = NULL;
    return ek_cuda_fail(call, "cuStreamCreate", result);
}

ek_status ek_cuda_cache_record(ek_cache *cache)
{
    static const char call[] = "ek_record_begin";
    ek_cuda_cache *cuda = ek_cuda_cache_of(cache);
    if (captured_outside(cache))
        return ek_fail(EK_UNSUPPORTED, "%s: the queue's stream is being captured already", call);
    ek_lock_take(&cuda->streams_lock);
    ek_lock_take(&ek_caches_lock);
    ek_status status = make_aside(call, cuda);
    if (status == EK_OK) {
        CUresult result = ek_cu.cuEventRecord(cuda->reached, cuda->stream);
        if (result != CUDA_SUCCESS)
            status = ek_cuda_fail(call, "cuEventRecord", result);
        cuda->recording = status == EK_OK;
    }
    ek_lock_give(&ek_caches_lock);
    ek_lock_give(&cuda->streams_lock);
    return status;
}

void ek_cuda_cache_recorded(ek_cache *cache)
{
    ek_lock_take(&ek_caches_lock);
    ek_cuda_cache_of(cache)->recording = false;
    ek_lock_give(&ek_caches_lock);
}

bool ek_cuda_cache_captured(const ek_cache *cache)
{
    return ek_cuda_cache_of(cache)->recording || captured_outside(cache);
}

/* ---- the queues that used a block */

static ek_cache *next_user(ek_cache *cache, uint64_t users)
{
    while (cache && !(cache->open && cache->bit & users && cache->device->type == EK_DEVICE_CUDA))
        cache = cache->next;
    return cache;
}

ek_status ek_cuda_check_users(const char *call, uint64_t users)
{
    ek_cache *user = ek_caches;
    for (; (user = next_user(user, users)); user = user->next) {
        if (!ek_cuda_cache_of(user)->recording && captured_outside(user))
            return ek_fail(EK_UNSUPPORTED,
                           "%s: the application captures the stream of a queue that uses the "
                           "memory: free it before or after",
                           call);
    }
    return EK_OK;
}

ek_status ek_cuda_wait_users(const char *call, CUstream stream, uint64_t users)
{
    ek_cache *user = ek_caches;
    for (; (user = next_user(user, users)); user = user->next) {
        const ek_cuda_cache *cuda = ek_cuda_cache_of(user);
        if (!cuda->recording)
            EK_CUDA_TRY(call, cuEventRecord, (cuda->reached, cuda->stream));
        EK_CUDA_TRY(call, cuStreamWaitEvent, (stream, cuda->reached, CU_EVENT_WAIT_DEFAULT));
    }
    return EK_OK;
}

ek_status ek_cuda_sync_users(const char *call, uint64_t users)
{
    ek_cache *user = ek_caches;
    for (; (user = next_user(user, users)); user = user->next) {
        const ek_cuda_cache *cuda = ek_cuda_cache_of(user);
        if (cuda->recording)
            EK_CUDA_TRY(call, cuEventSynchronize, (cuda->reached));
        else
            EK_CUDA_TRY(call, cuStreamSynchronize, (cuda->stream));
    }
    return EK_OK;
}

void ek_cuda_memory_use(const ek_queue *queue, const void *memory)
{
    const ek_cache *cache = ek_queue_base_of(queue)->cache;
    ek_block *block = ek_cuda_block_find(memory);
    if (!block || block->owner == cache || ek_recording(queue))
        return;
    /* Most calls find it done, and thus share what they only read. */
    if (!(atomic_load_explicit(&block->users, memory_order_relaxed) & cache->bit))
        atomic_fetch_or_explicit(&block->users, cache->bit, memory_order_relaxed);
}

/* ---- freeing */

static ek_status give_aside(ek_cuda_cache *cache, ek_block *block, uint64_t users)
{
    ek_status status = make_aside("ek_free", cache);
    if (status == EK_OK)
        status = ek_cuda_wait_users("ek_free", cache->aside, users);
    CUstream stream = cache->aside;
    if (status != EK_OK) {
        /* The driver cannot wait for them, so the host does before the failure is reported. */
        ek_cuda_sync_users("ek_free", users);
        stream = cache->recording ? cache->aside : cache->stream;
    }
    ek_status given = ek_cuda_give(cache->base.device, stream, block);
    return status == EK_OK ? given : status;
}

ek_status ek_cuda_block_free_shared(ek_queue *queue, ek_block *block)
{
    ek_cache *cache = ek_queue_base_of(queue)->cache;
    uint64_t users = atomic_load_explicit(&block->users, memory_order_relaxed);
    size_t bytes = block->bytes;
    users |= block->owner->bit | cache->bit;
    ek_lock_take(&ek_caches_lock);
    ek_status allowed = ek_cuda_check_users("ek_free", users), status = allowed;
    if (allowed == EK_OK)
        status = give_aside(ek_cuda_cache_of(cache), block, users);
    ek_lock_give(&ek_caches_lock);
    if (allowed == EK_OK)
        ek_cache_count(cache, -(int64_t)bytes);
    return status;
}
