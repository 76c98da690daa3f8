/* A GPU as the library holds it. */
#ifndef EK_CUDA_DEVICE_H
#define EK_CUDA_DEVICE_H

#include <stdbool.h>

#include "backend.h"
#include "cuda/driver.h"
#include "lock.h"
#include "shelf.h"

typedef struct ek_cuda_device {
    ek_device base;
    CUdevice device;
    CUcontext context; /* the primary one, which applications of the CUDA runtime use too */
    CUmemoryPool pool; /* what all queues of the device allocate from */
    int32_t multiprocessors;
    int32_t capability;  /* compute capability 9.0 is 90 */
    bool reads_pageable; /* through the host's page tables, so when it comes to it */
    bool clusters;       /* blocks can be launched in clusters */

    ek_lock cublas_lock;
    struct ek_cublas_owned *cublas_spare; /* handles that no queue has at present */

    ek_lock blocks_lock;
    struct ek_cuda_block *blocks; /* of its memory and pinned for it, in use and free */
    ek_shelf pinned;              /* pinned memory that is free */
    _Atomic(size_t) pinned_in_use;
    CUstream pinned_line; /* waits for pinned memory; null until needed, under ek_caches_lock */
} ek_cuda_device;

static inline ek_cuda_device *ek_cuda_device_of(const ek_device *device)
{
    return (ek_cuda_device *)device;
}

/* The parts of ek_cuda_backend; src/backend.h says what each does. */

int32_t ek_cuda_count(void);
ek_status ek_cuda_device_open(int32_t index, ek_device **device);
void ek_cuda_device_free(ek_device *device);

/* Destroys the cuBLAS handles that queues have left. */
void ek_cublas_destroy_spares(ek_cuda_device *device);

ek_status ek_cuda_queue_open(ek_device *device, void *stream, ek_queue **queue);
void ek_cuda_queue_free(ek_queue *queue);
ek_status ek_cuda_queue_sync(ek_queue *queue);

ek_status ek_cuda_block_take(ek_device *device, void *line, size_t bytes, ek_block **block);
void ek_cuda_block_release(ek_cache *cache, ek_block *block);
ek_status ek_cuda_block_free_shared(ek_queue *queue, ek_block *block);
void ek_cuda_memory_use(const ek_queue *queue, const void *memory);
bool ek_cuda_cache_captured(const ek_cache *cache);
ek_status ek_cuda_stock_trim(ek_device *device, size_t keep);
ek_status ek_cuda_stock_info(ek_device *device, ek_memory_info *info);
ek_status ek_cuda_pinned_alloc(ek_device *device, size_t bytes, void **memory);
ek_status ek_cuda_pinned_free(ek_device *device, void *memory);

ek_status ek_cuda_event_open(ek_device *device, ek_event **event);
void ek_cuda_event_free(ek_event *event);
ek_status ek_cuda_event_record(ek_event *event, ek_queue *queue);
ek_status ek_cuda_event_wait(ek_event *event, ek_queue *queue);
ek_status ek_cuda_event_sync(ek_event *event);
ek_status ek_cuda_event_query(ek_event *event, int *reached);
ek_status ek_cuda_event_elapsed(ek_event *start, ek_event *end, double *nanoseconds);

bool ek_cuda_is_pinned(ek_device_type type, const void *memory);
ek_status ek_cuda_transfer(ek_queue *queue, void *dst, int64_t dst_pitch, ek_device_type dst_type,
                           const void *src, int64_t src_pitch, ek_device_type src_type,
                           int64_t width, int64_t rows);
ek_status ek_cuda_stage(ek_queue *queue, const char *call, const ek_layout *layout, int64_t element,
                        bool to_device);

#endif
