/* The list of all caches. */
#include <stdlib.h>

#include "cache.h"

pthread_mutex_t ek_caches_lock = PTHREAD_MUTEX_INITIALIZER;
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
    pthread_mutex_lock(&ek_caches_lock);
    ek_cache *cache = find_left(device);
    if (!cache && (cache = calloc(1, size))) {
        pthread_mutex_init(&cache->lock, NULL);
        cache->device = device;
        cache->bit = UINT64_C(1) << made++ % 64;
        cache->next = ek_caches;
        ek_caches = cache;
    }
    if (cache)
        cache->taken = true;
    pthread_mutex_unlock(&ek_caches_lock);
    return cache;
}

void ek_cache_open(ek_cache *cache)
{
    pthread_mutex_lock(&ek_caches_lock);
    cache->open = true;
    pthread_mutex_unlock(&ek_caches_lock);
}

void ek_cache_leave(ek_cache *cache, void (*end)(ek_cache *cache))
{
    pthread_mutex_lock(&ek_caches_lock);
    pthread_mutex_lock(&cache->lock);
    ek_cache_shrink(cache, 0);
    pthread_mutex_unlock(&cache->lock);
    cache->open = false;
    if (end)
        end(cache);
    cache->taken = false;
    pthread_mutex_unlock(&ek_caches_lock);
}

void ek_caches_free(const ek_device *device)
{
    pthread_mutex_lock(&ek_caches_lock);
    for (ek_cache **at = &ek_caches; *at;) {
        ek_cache *cache = *at;
        if (cache->device != device) {
            at = &cache->next;
            continue;
        }
        *at = cache->next;
        pthread_mutex_destroy(&cache->lock);
        free(cache);
    }
    pthread_mutex_unlock(&ek_caches_lock);
}
