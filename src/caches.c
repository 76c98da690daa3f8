/* The list of all caches. */
#include <stdlib.h>

#include "backend.h"
#include "cache.h"

ek_lock ek_caches_lock;
ek_cache *ek_caches;
static unsigned made; /* bits are shared from the 65th on: those queues are waited for together */

static ek_cache *find_left(const ek_device *device)
{
    ek_cache *cache = ek_caches;
    while (cache && (cache->device != device || cache->taken))
        cache = cache->next;
    return cache;
}

ek_cache *ek_cache_take(ek_device *device, size_t size)
{
    ek_lock_take(&ek_caches_lock);
    ek_cache *cache = find_left(device);
    if (!cache && (cache = calloc(1, size))) {
        cache->device = device;
        ek_shelf_init(&cache->large, device->stock.keep_large);
        cache->bit = UINT64_C(1) << made++ % 64;
        cache->next = ek_caches;
        ek_caches = cache;
    }
    if (cache)
        cache->taken = true;
    ek_lock_give(&ek_caches_lock);
    return cache;
}

void ek_cache_open(ek_cache *cache)
{
    ek_lock_take(&ek_caches_lock);
    cache->open = true;
    ek_lock_give(&ek_caches_lock);
}

void ek_cache_leave(ek_cache *cache, void (*end)(ek_cache *cache))
{
    ek_lock_take(&ek_caches_lock);
    ek_lock_take(&cache->lock);
    ek_cache_shrink(cache, 0);
    ek_lock_give(&cache->lock);
    cache->open = false;
    if (end)
        end(cache);
    cache->taken = false;
    ek_lock_give(&ek_caches_lock);
}

void ek_caches_free(const ek_device *device)
{
    ek_lock_take(&ek_caches_lock);
    for (ek_cache **at = &ek_caches; *at;) {
        ek_cache *cache = *at;
        if (cache->device != device) {
            at = &cache->next;
            continue;
        }
        *at = cache->next;
        free(cache);
    }
    ek_lock_give(&ek_caches_lock);
}
