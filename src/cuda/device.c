#include "cuda/device.h"

#include <stdlib.h>

#include "cuda/address.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/memory.h"

static const char call[] = "ek_device_open";

/* Bytes of the largest block that a queue keeps for itself, bytes that it keeps in all, and bytes
 * of pinned memory that the device keeps. The driver's pool keeps the rest. */
enum { LARGEST = 32 << 20, KEEP = 64 << 20, KEEP_LARGE = 1 << 30, KEEP_PINNED = 512 << 20 };

int32_t ek_cuda_count(void)
{
    return ek_cuda_devices(NULL);
}

/* The pool is the library's own: what it keeps and when it gives memory back is then no business of
 * the application's allocator, nor the other way round. */
static ek_status make_pool(ek_cuda_device *device)
{
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->device}};
    /* Freed memory stays in the pool, or every synchronization would give it back to the system and
     * the next allocation take milliseconds. What another queue has still to free is not waited
     * for: that would hold up a queue behind another's work. */
    cuuint64_t keep = UINT64_MAX;
    int wait = 0;
    EK_CUDA_TRY(call, cuMemPoolCreate, (&device->pool, &props));
    EK_CUDA_TRY(call, cuMemPoolSetAttribute,
                (device->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    EK_CUDA_TRY(call, cuMemPoolSetAttribute,
                (device->pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &wait));
    return EK_OK;
}

static ek_status ask(ek_cuda_device *device)
{
    int pools = 0, multiprocessors = 0, major = 0, minor = 0, clusters = 0, ats = 0;
    EK_CUDA_TRY(call, cuDeviceGetName,
                (device->base.model, sizeof device->base.model, device->device));
    EK_CUDA_TRY(call, cuDeviceGetAttribute,
                (&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device));
    EK_CUDA_TRY(call, cuDeviceGetAttribute,
                (&pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device->device));
    EK_CUDA_TRY(call, cuDeviceGetAttribute,
                (&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device));
    EK_CUDA_TRY(call, cuDeviceGetAttribute,
                (&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device));
    EK_CUDA_TRY(call, cuDeviceGetAttribute,
                (&clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, device->device));
    EK_CUDA_TRY(
        call, cuDeviceGetAttribute,
        (&ats, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device->device));
    device->reads_pageable = ats;
    device->multiprocessors = multiprocessors;
    device->capability = 10 * major + minor;
    /* The kernels' code for older GPUs does without. */
    device->clusters = EK_CUDA_CLUSTERS && clusters;
    if (!pools)
        return ek_fail(EK_NO_DEVICE, "%s: the driver has no memory pools for %s", call,
                       device->base.model);
    return EK_OK;
}

/* Makes what the device owns. On failure ek_cuda_device_free releases what was made. */
static ek_status make(ek_cuda_device *device, int32_t index)
{
    EK_CUDA_TRY(call, cuDeviceGet, (&device->device, index));
    EK_TRY(ask(device));
    EK_CUDA_TRY(call, cuDevicePrimaryCtxRetain, (&device->context, device->device));
    ek_cuda_guard guard;
    EK_TRY(ek_cuda_guard_enter(call, &device->base, &guard));
    ek_status status = make_pool(device);
    ek_cuda_guard_leave(&guard);
    return status;
}

ek_status ek_cuda_device_open(int32_t index, ek_device **device)
{
    const char *reason;
    if (ek_cuda_devices(&reason) == 0)
        return ek_fail(EK_NO_DEVICE, "%s: %s", call, reason);
    ek_cuda_device *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return ek_fail(EK_OUT_OF_MEMORY, "%s: no host memory", call);
    fresh->base.variant = EK_CUDA;
    fresh->base.stock.log_quantum = 8;
    fresh->base.stock.largest = LARGEST;
    fresh->base.stock.keep = KEEP;
    fresh->base.stock.keep_large = KEEP_LARGE;
    fresh->base.stock.limit = SIZE_MAX;
    ek_shelf_init(&fresh->pinned, KEEP_PINNED);
    ek_status status = make(fresh, index);
    if (status != EK_OK) {
        ek_cuda_device_free(&fresh->base);
        return status;
    }
    *device = &fresh->base;
    return EK_OK;
}

void ek_cuda_device_free(ek_device *device)
{
    ek_cuda_device *cuda = ek_cuda_device_of(device);
    ek_caches_free(device);
    ek_cublas_destroy_spares(cuda);
    ek_cuda_pinned_shrink(device, 0);
    if (cuda->pinned_line)
        ek_cu.cuStreamDestroy(cuda->pinned_line);
    ek_cuda_blocks_forget(cuda);
    if (cuda->pool)
        ek_cu.cuMemPoolDestroy(cuda->pool);
    if (cuda->context)
        ek_cu.cuDevicePrimaryCtxRelease(cuda->device);
    free(cuda);
}

const ek_backend ek_cuda_backend = {
    .type = EK_DEVICE_CUDA,
    .name = "cuda",
    .count = ek_cuda_count,
    .device_open = ek_cuda_device_open,
    .device_free = ek_cuda_device_free,
    .queue_open = ek_cuda_queue_open,
    .queue_free = ek_cuda_queue_free,
    .queue_sync = ek_cuda_queue_sync,
    .block_take = ek_cuda_block_take,
    .block_release = ek_cuda_block_release,
    .block_find = ek_cuda_block_find,
    .block_free_shared = ek_cuda_block_free_shared,
    .memory_use = ek_cuda_memory_use,
    .cache_captured = ek_cuda_cache_captured,
    .stock_trim = ek_cuda_stock_trim,
    .stock_info = ek_cuda_stock_info,
    .pinned_alloc = ek_cuda_pinned_alloc,
    .pinned_free = ek_cuda_pinned_free,
    .event_open = ek_cuda_event_open,
    .event_free = ek_cuda_event_free,
    .event_record = ek_cuda_event_record,
    .event_wait = ek_cuda_event_wait,
    .event_sync = ek_cuda_event_sync,
    .event_query = ek_cuda_event_query,
    .event_elapsed = ek_cuda_event_elapsed,
    .is_pinned = ek_cuda_is_pinned,
    .transfer = ek_cuda_transfer,
    .stage = ek_cuda_stage,
    .record_begin = ek_cuda_record_begin,
    .record_end = ek_cuda_record_end,
    .program_take = ek_cuda_program_take,
    .program_run = ek_cuda_program_run,
    .program_close = ek_cuda_program_close,
};
