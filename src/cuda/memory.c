#include "cuda/memory.h"

#include <stdlib.h>

#include "cuda/address.h"

static ek_cuda_block *cuda_block_of(ek_block *block)
{
    return (ek_cuda_block *)block;
}

ek_status ek_cuda_block_enter(ek_device *device, ek_block *block)
{
    ek_cuda_device *cuda = ek_cuda_device_of(device);
    if (!ek_cuda_address_add(block))
        return ek_fail(EK_OUT_OF_MEMORY, "ek_alloc: no host memory for a table of addresses");
    cuda_block_of(block)->device = device;
    ek_lock_take(&cuda->blocks_lock);
    cuda_block_of(block)->next = cuda->blocks;
    if (cuda->blocks)
        cuda->blocks->before = cuda_block_of(block);
    cuda->blocks = cuda_block_of(block);
    ek_lock_give(&cuda->blocks_lock);
    return EK_OK;
}

void ek_cuda_block_leave(ek_block *block)
{
    ek_cuda_block *gone = cuda_block_of(block);
    ek_cuda_device *cuda = ek_cuda_device_of(gone->device);
    ek_cuda_address_remove(block);
    ek_lock_take(&cuda->blocks_lock);
    *(gone->before ? &gone->before->next : &cuda->blocks) = gone->next;
    if (gone->next)
        gone->next->before = gone->before;
    ek_lock_give(&cuda->blocks_lock);
}

void ek_cuda_blocks_forget(ek_cuda_device *device)
{
    while (device->blocks) {
        ek_cuda_block *block = device->blocks;
        ek_cuda_block_leave(&block->base);
        if (block->reached)
            ek_cu.cuEventDestroy(block->reached);
        free(block);
    }
}

static ek_status from_pool(ek_device *device, CUstream stream, ek_block *block)
{
    CUdeviceptr address = 0;
    CUresult result = ek_cu.cuMemAllocFromPoolAsync(&address, block->bytes,
                                                    ek_cuda_device_of(device)->pool, stream);
    if (result != CUDA_SUCCESS)
        return ek_cuda_fail("ek_alloc", "cuMemAllocFromPoolAsync", result);
    block->memory = (char *)address;
    ek_status status = ek_cuda_block_enter(device, block);
    if (status != EK_OK)
        ek_cu.cuMemFreeAsync(address, stream);
    return status;
}

ek_status ek_cuda_block_take(ek_device *device, void *line, size_t bytes, ek_block **block)
{
    EK_TRY(ek_stock_reserve(&device->stock, bytes));
    ek_cuda_block *fresh = calloc(1, sizeof *fresh);
    ek_status status = EK_OUT_OF_MEMORY;
    if (fresh) {
        fresh->base.bytes = bytes;
        fresh->base.class = -1;
        status = from_pool(device, line, &fresh->base);
    }
    if (status != EK_OK) {
        ek_stock_unreserve(&device->stock, bytes);
        free(fresh);
        return status;
    }
    *block = &fresh->base;
    return EK_OK;
}

ek_status ek_cuda_give(ek_device *device, CUstream stream, ek_block *block)
{
    ek_cuda_block_leave(block);
    CUresult result = ek_cu.cuMemFreeAsync((CUdeviceptr)block->memory, stream);
    ek_stock_unreserve(&device->stock, block->bytes);
    free(cuda_block_of(block));
    /* At the end of a process, when the driver has gone with all its memory, there is nothing to
     * free and no one to tell. */
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED)
        return EK_OK;
    return ek_cuda_fail("ek_free", "cuMemFreeAsync", result);
}

void ek_cuda_block_release(ek_cache *cache, ek_block *block)
{
    ek_cuda_give(cache->device, ek_cuda_cache_of(cache)->stream, block);
}

static const char trim_call[] = "ek_memory_trim";

/* The device's next cache behind one of its caches, or its first. Those of a device stay as long as
 * that. */
static ek_cuda_cache *next_cache(const ek_device *device, const ek_cuda_cache *cache)
{
    ek_lock_take(&ek_caches_lock);
    ek_cache *next = cache ? cache->base.next : ek_caches;
    while (next && next->device != device)
        next = next->next;
    ek_lock_give(&ek_caches_lock);
    return ek_cuda_cache_of(next);
}

/* The streams of a cache that may be waited for; null if it has none. */
static void find_streams(const ek_cuda_cache *cache, CUstream *streams)
{
    ek_lock_take(&ek_caches_lock);
    bool usable = cache->base.open && !ek_cuda_cache_captured(&cache->base);
    streams[0] = usable ? cache->stream : NULL;
    streams[1] = usable ? cache->aside : NULL;
    ek_lock_give(&ek_caches_lock);
}

static ek_status wait_for(const ek_cuda_cache *cache)
{
    CUstream streams[2];
    find_streams(cache, streams);
    for (int i = 0; i < 2; i++) {
        if (streams[i])
            EK_CUDA_TRY(trim_call, cuStreamSynchronize, (streams[i]));
    }
    return EK_OK;
}

/* What the streams have still to free becomes free with that. */
static ek_status wait_for_caches(const ek_device *device)
{
    ek_status status = EK_OK;
    ek_cuda_cache *cache = NULL;
    while (status == EK_OK && (cache = next_cache(device, cache))) {
        ek_lock_take(&cache->streams_lock);
        status = wait_for(cache);
        ek_lock_give(&cache->streams_lock);
    }
    return status;
}

ek_status ek_cuda_stock_trim(ek_device *device, size_t keep)
{
    size_t held = (size_t)atomic_load_explicit(&device->stock.held, memory_order_relaxed);
    EK_TRY(wait_for_caches(device));
    EK_CUDA_TRY(trim_call, cuMemPoolTrimTo,
                (ek_cuda_device_of(device)->pool, keep < SIZE_MAX - held ? held + keep : SIZE_MAX));
    return EK_OK;
}

ek_status ek_cuda_stock_info(ek_device *device, ek_memory_info *info)
{
    ek_cuda_device *cuda = ek_cuda_device_of(device);
    cuuint64_t reserved = 0;
    EK_CUDA_TRY("ek_memory_stats", cuMemPoolGetAttribute,
                (cuda->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    info->reserved = (size_t)reserved;
    info->pinned = atomic_load(&cuda->pinned_in_use);
    info->pinned_cached = ek_shelf_kept(&cuda->pinned);
    return EK_OK;
}
