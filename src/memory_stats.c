#include "einkorn/memory.h"

#include "backend.h"
#include "error.h"

static ek_status check(const char *call, const ek_device *device)
{
    return device ? EK_OK : ek_fail(EK_INVALID_ARGUMENT, "%s: device is null", call);
}

ek_status ek_memory_stats(ek_device *device, ek_memory_info *info)
{
    EK_TRY(check("ek_memory_stats", device));
    if (!info)
        return ek_fail(EK_INVALID_ARGUMENT, "ek_memory_stats: info is null");
    ek_stock *stock = &device->stock;
    ek_memory_info found = {
        .in_use = ek_stock_in_use(device),
        .peak = (size_t)atomic_load(&stock->peak),
        .limit = atomic_load(&stock->limit),
        .trims = atomic_load(&stock->trims),
    };
    ek_lock_take(&ek_caches_lock);
    for (ek_cache *cache = ek_caches; cache; cache = cache->next) {
        if (cache->device != device)
            continue;
        ek_lock_take(&cache->lock);
        found.cached += ek_cache_kept(cache);
        found.allocations += cache->allocations;
        found.reused += cache->reused;
        ek_lock_give(&cache->lock);
    }
    ek_lock_give(&ek_caches_lock);
    EK_TRY(device->backend->stock_info(device, &found));
    *info = found;
    return EK_OK;
}

ek_status ek_memory_set_limit(ek_device *device, size_t bytes)
{
    EK_TRY(check("ek_memory_set_limit", device));
    atomic_store(&device->stock.limit, bytes);
    if (bytes == SIZE_MAX)
        return EK_OK;
    size_t in_use = ek_stock_in_use(device);
    return ek_stock_empty(device, bytes > in_use ? bytes - in_use : 0);
}

ek_status ek_memory_trim(ek_device *device, size_t keep)
{
    EK_TRY(check("ek_memory_trim", device));
    return ek_stock_empty(device, keep);
}
