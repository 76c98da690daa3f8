#include "stock.h"

#include <stdio.h>

#include "backend.h"
#include "cache.h"
#include "error.h"

void ek_stock_count(ek_stock *stock, int64_t bytes)
{
    int64_t now = atomic_fetch_add_explicit(&stock->in_use, bytes, memory_order_relaxed) + bytes;
    int64_t peak = atomic_load_explicit(&stock->peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak_explicit(
                             &stock->peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

void ek_stock_count_program(ek_stock *stock, int64_t bytes)
{
    atomic_fetch_add_explicit(&stock->in_programs, bytes, memory_order_relaxed);
    ek_stock_count(stock, bytes);
}

size_t ek_stock_in_use(const ek_device *device)
{
    int64_t bytes = atomic_load_explicit(&device->stock.in_programs, memory_order_relaxed);
    ek_lock_take(&ek_caches_lock);
    for (ek_cache *cache = ek_caches; cache; cache = cache->next) {
        if (cache->device != device)
            continue;
        ek_lock_take(&cache->lock);
        bytes += cache->in_use;
        ek_lock_give(&cache->lock);
    }
    ek_lock_give(&ek_caches_lock);
    return bytes > 0 ? (size_t)bytes : 0;
}

ek_status ek_stock_reserve(ek_stock *stock, size_t bytes)
{
    size_t limit = atomic_load_explicit(&stock->limit, memory_order_relaxed);
    int64_t held = atomic_load_explicit(&stock->held, memory_order_relaxed);
    /* What is refused is never counted, or another thread's bytes would be refused beside it. */
    do {
        if (bytes > limit || (held > 0 && (size_t)held > limit - bytes))
            return ek_fail(EK_OUT_OF_MEMORY, "ek_alloc: %zu bytes are beyond the limit", bytes);
    } while (!atomic_compare_exchange_weak_explicit(&stock->held, &held,
                                                    (int64_t)((uint64_t)held + bytes),
                                                    memory_order_relaxed, memory_order_relaxed));
    return EK_OK;
}

void ek_stock_unreserve(ek_stock *stock, size_t bytes)
{
    atomic_fetch_sub_explicit(&stock->held, (int64_t)bytes, memory_order_relaxed);
}

static ek_status no_room(const ek_device *device, size_t bytes)
{
    char text[40] = "no limit set";
    size_t limit = atomic_load_explicit(&device->stock.limit, memory_order_relaxed);
    if (limit != SIZE_MAX)
        snprintf(text, sizeof text, "limit %zu", limit);
    return ek_fail(EK_OUT_OF_MEMORY,
                   "ek_alloc: bytes is %zu: %s has no room for them: %zu in use, %s", bytes,
                   device->name, ek_stock_in_use(device), text);
}

ek_status ek_stock_take(ek_device *device, void *line, size_t bytes, ek_block **block)
{
    ek_status status = device->backend->block_take(device, line, bytes, block);
    if (status != EK_OUT_OF_MEMORY)
        return status;
    atomic_fetch_add_explicit(&device->stock.trims, 1, memory_order_relaxed);
    /* Whether all could be emptied does not matter: there is room now, or there is not. */
    ek_stock_empty(device, 0);
    status = device->backend->block_take(device, line, bytes, block);
    return status == EK_OUT_OF_MEMORY ? no_room(device, bytes) : status;
}

ek_status ek_stock_empty(ek_device *device, size_t keep)
{
    const ek_backend *backend = device->backend;
    ek_lock_take(&ek_caches_lock);
    for (ek_cache *cache = ek_caches; cache; cache = cache->next) {
        if (cache->device != device || !cache->open)
            continue;
        ek_lock_take(&cache->lock);
        if (!backend->cache_captured || !backend->cache_captured(cache))
            ek_cache_shrink(cache, keep);
        size_t kept = ek_cache_kept(cache);
        keep -= kept < keep ? kept : keep;
        ek_lock_give(&cache->lock);
    }
    ek_lock_give(&ek_caches_lock);
    return backend->stock_trim(device, keep);
}
