/* Memory of a GPU. */
#ifndef EK_CUDA_MEMORY_H
#define EK_CUDA_MEMORY_H

#include "cuda/device.h"

/* A block of a GPU's memory or of pinned memory. */
typedef struct ek_cuda_block {
    ek_block base;
    ek_device *device;
    struct ek_cuda_block *next, *before; /* of the device's blocks */
    CUevent reached;                     /* (pinned) recorded behind its last use; null: never */
    bool pending;                        /* (pinned) until it is reached the block is used */
} ek_cuda_block;

/* What a queue keeps, and what others need to wait for it. */
typedef struct ek_cuda_cache {
    ek_cache base;
    CUstream stream;
    CUevent reached; /* recorded when another stream shall wait for the queue; under ek_caches_lock,
                      * and so is what follows */
    bool recording;  /* `reached` is as it was before the recording */
    CUstream aside;  /* gives back what several queues used; null until first needed */
    ek_lock streams_lock; /* while a trim waits for the streams, which neither end nor are captured
                           * meanwhile; before ek_caches_lock */
} ek_cuda_cache;

static inline ek_cuda_cache *ek_cuda_cache_of(const ek_cache *cache)
{
    return (ek_cuda_cache *)cache;
}

/* Gives a block to the driver's pool in the order of a stream. */
ek_status ek_cuda_give(ek_device *device, CUstream stream, ek_block *block);

/* Enters a new block among those of the device and in the table of addresses, and takes it out. */
ek_status ek_cuda_block_enter(ek_device *device, ek_block *block);
void ek_cuda_block_leave(ek_block *block);

/* Forgets blocks that were never freed, as the device goes. */
void ek_cuda_blocks_forget(ek_cuda_device *device);

/* Unpins what is free until at most `keep` bytes of it are pinned. */
void ek_cuda_pinned_shrink(ek_device *device, size_t keep);

/* What a queue needs to share memory, and the end of it. The device's context is current. */
ek_status ek_cuda_cache_make(ek_cuda_cache *cache, CUstream stream);
void ek_cuda_cache_end(ek_cache *cache);

/* Leaves the cache of a queue that is being closed to the next. */
void ek_cuda_cache_leave(ek_cache *cache);

/* Around a recording: in between, its stream cannot be asked. */
ek_status ek_cuda_cache_record(ek_cache *cache);
void ek_cuda_cache_recorded(ek_cache *cache);

/* Makes the stream wait for what the users were told until now. The caches are locked. */
ek_status ek_cuda_wait_users(const char *call, CUstream stream, uint64_t users);

/* The same on the host; for where the stream cannot. */
ek_status ek_cuda_sync_users(const char *call, uint64_t users);

/* Fails if one of the users' streams is captured by the application, which forbids to wait. */
ek_status ek_cuda_check_users(const char *call, uint64_t users);

#endif
